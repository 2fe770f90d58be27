#include "loader.hpp"

#include <chrono>
#include <utility>

namespace trainer {

loader::loader(const std::vector<std::uint8_t> &text, share share, int batch_size, int context, const bug_plan &plan,
               int rank)
    : text_(text), share_(share), batch_size_(batch_size), context_(context), plan_(plan), rank_(rank),
      position_(share.begin) {
  thread_ = std::thread([this] { prefetch(); });
}

loader::~loader() {
  {
    const std::lock_guard<std::mutex> lock(queue_mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

bool loader::has_next() {
  std::unique_lock<std::mutex> lock(queue_mutex_);
  changed_.wait(lock, [this] { return has_ready_ || exhausted_; });
  return has_ready_;
}

batch loader::next(int step) {
  if (plan_.strikes(bug::slow, rank_, step))
    std::this_thread::sleep_for(std::chrono::milliseconds(plan_.slow_ms)); // bug: slow
  if (plan_.strikes(bug::stuck_loader, rank_, step))
    find_next_record();
  {
    const std::lock_guard<std::mutex> lock(statistics_mutex_); // bug: stuck-lock
    ++statistics_.used;
  }
  batch result;
  {
    std::unique_lock<std::mutex> lock(queue_mutex_);
    changed_.wait(lock, [this] { return has_ready_; });
    result = std::move(ready_);
    has_ready_ = false;
  }
  changed_.notify_all();
  return result;
}

// Looks for a separator that is not in the data, and starts again at the end of the text.
void loader::find_next_record() {
  constexpr std::uint8_t separator = 255;
  std::size_t at = share_.begin;
  while (text_[at] != separator && !ending_.load(std::memory_order_relaxed))
    at = at + 1 < text_.size() ? at + 1 : 0; // bug: stuck-loader
}

loader::statistics loader::so_far() {
  const std::lock_guard<std::mutex> lock(statistics_mutex_);
  return statistics_;
}

void loader::prefetch() {
  std::unique_lock<std::mutex> counting(statistics_mutex_, std::defer_lock);
  for (int number = 0;; ++number) {
    batch made;
    const bool exists = make_batch(made);
    if (!publish(made, exists, counting) || !exists)
      return;
    // With the bug the lock is kept while the thread waits for room in the queue, which only those can make who count.
    if (!(plan_.strikes(bug::stuck_lock, rank_, plan_.step) && number >= plan_.step))
      counting.unlock();
  }
}

// Waits for room in the queue and counts the batch with `counting` locked. Returns false if nobody wants it any more.
bool loader::publish(batch &made, bool exists, std::unique_lock<std::mutex> &counting) {
  {
    std::unique_lock<std::mutex> lock(queue_mutex_);
    changed_.wait(lock, [this] { return !has_ready_ || ending_; });
    if (ending_)
      return false;
    if (!counting.owns_lock())
      counting.lock();
    statistics_.prepared += exists ? 1 : 0;
    ready_ = std::move(made);
    has_ready_ = exists;
    exhausted_ = !exists;
  }
  changed_.notify_all();
  return true;
}

// A batch that the share cannot fill any more is dropped, so that all batches of all ranks have one size.
bool loader::make_batch(batch &result) {
  const auto reach = static_cast<std::size_t>(context_);
  for (int sample = 0; sample < batch_size_; ++sample) {
    if (position_ + reach >= share_.end)
      return false;
    for (std::size_t i = 0; i < reach; ++i)
      result.inputs.push_back(text_[position_ + i]);
    result.targets.push_back(text_[position_ + reach]);
    position_ += share_.stride;
  }
  result.samples = batch_size_;
  return true;
}

} // namespace trainer
