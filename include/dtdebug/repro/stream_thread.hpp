// A stream of a rank: a thread that makes what it is given, in order.
#pragma once

#include <dtdebug/core/config.hpp>

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace repro {

/// Work may block for ever; a process that ends then ends without the thread. Never destroyed while work is open.
class stream_thread {
public:
  stream_thread() : thread_([this] { run(); }) { thread_.detach(); }
  stream_thread(const stream_thread &) = delete;
  stream_thread &operator=(const stream_thread &) = delete;

  void enqueue(std::function<void()> work) {
    const std::lock_guard<std::mutex> held(mutex_);
    work_.push_back(std::move(work));
    changed_.notify_all();
  }

  /// Blocks until all work is done.
  void drain() {
    std::unique_lock<std::mutex> held(mutex_);
    changed_.wait(held, [this] { return work_.empty(); });
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> work_; ///< the first is being done
  std::thread thread_;                     ///< last: it uses all of the above

  void run() {
    std::unique_lock<std::mutex> held(mutex_);
    for (;;) {
      changed_.wait(held, [this] { return !work_.empty(); });
      const std::function<void()> work = work_.front();
      held.unlock();
      work();
      held.lock();
      work_.pop_front();
      changed_.notify_all();
    }
  }
};

} // namespace repro
} // namespace DTDEBUG_ABI
} // namespace dtdebug
