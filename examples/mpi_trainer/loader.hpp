// Batches of this rank's share of the text, prepared ahead by a thread of their own.
#pragma once

#include "bugs.hpp"

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace trainer {

struct batch {
  std::vector<std::uint8_t> inputs;  ///< [samples, context]
  std::vector<std::uint8_t> targets; ///< [samples]
  int samples = 0;
};

/// All samples of a text that start at `begin`, `begin + stride`, … below `end`.
struct share {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t stride = 1;
};

class loader {
public:
  /// `text` must outlive the loader.
  loader(const std::vector<std::uint8_t> &text, share share, int batch_size, int context, const bug_plan &plan,
         int rank);
  ~loader();
  loader(const loader &) = delete;
  loader &operator=(const loader &) = delete;

  /// Is there another batch? Blocks until it is known.
  bool has_next();

  /// The next batch, which must exist.
  batch next(int step);

  struct statistics {
    long prepared = 0; ///< batches
    long used = 0;
  };
  statistics so_far();

private:
  void prefetch();
  bool publish(batch &made, bool exists, std::unique_lock<std::mutex> &counting);
  bool make_batch(batch &result);
  void find_next_record();

  const std::vector<std::uint8_t> &text_;
  const share share_;
  const int batch_size_;
  const int context_;
  const bug_plan plan_;
  const int rank_;

  std::size_t position_;   // of the prefetching thread
  std::mutex queue_mutex_; // guards ready_, has_ready_, exhausted_
  std::condition_variable changed_;
  batch ready_;
  bool has_ready_ = false;
  bool exhausted_ = false;
  std::mutex statistics_mutex_; // guards statistics_
  statistics statistics_;
  std::atomic<bool> ending_{false};
  std::thread thread_;
};

} // namespace trainer
