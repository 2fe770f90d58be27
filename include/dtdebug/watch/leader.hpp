// Which rank of this host compares, diagnoses and reports: the one that holds a lock the kernel takes back at its
// death.
#pragma once

#include <dtdebug/blackbox/reader.hpp>
#include <dtdebug/os/clock.hpp>
#include <dtdebug/watch/liveness.hpp>

#include <cstdio>
#include <string>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace watch {

inline constexpr const char *leader_lock_name = "leader.lock.";

/// An flock on `leader.lock.<generation>`, in which the holder writes its rank. A dead holder loses the lock to whoever
/// asks next. A stopped or frozen one keeps it, so the others go on to the next generation, whose existence tells the
/// old holder that it leads no more.
class leadership {
public:
  static constexpr int most_generations = 64;
  static constexpr std::uint64_t stopped_ns = 500'000'000;  ///< silence after which a stopped holder is passed over
  static constexpr std::uint64_t frozen_ns = 8'000'000'000; ///< and one that runs: longer than any diagnosis may take

  leadership(std::string directory, int rank) : directory_(std::move(directory)), rank_(rank) {}
  leadership(const leadership &) = delete;
  leadership &operator=(const leadership &) = delete;
  ~leadership() { resign(); }

  /// Whether this rank leads at this moment. A few system calls; never waits.
  bool hold() {
    while (generation_ + 1 < most_generations && exists(generation_ + 1)) {
      advance();
    }
    if (try_lock()) {
      return true;
    }
    if (generation_ + 1 < most_generations && holder_is_silent()) {
      advance();
      return try_lock();
    }
    return false;
  }

  /// Gives the lock to the next that asks.
  void resign() {
    if (fd_ >= 0) {
      ::close(fd_);
      fd_ = -1;
    }
    held_ = false;
  }

  static void remove_files(const std::string &directory) {
    for (int generation = 0; generation < most_generations; ++generation) {
      if (::unlink(path_of(directory, generation).c_str()) != 0) {
        break; // they are made in order
      }
    }
  }

private:
  std::string directory_;
  int rank_;
  int generation_ = 0;
  int fd_ = -1;
  bool held_ = false;

  static std::string path_of(const std::string &directory, int generation) {
    return directory + "/" + leader_lock_name + std::to_string(generation);
  }
  bool exists(int generation) const { return ::access(path_of(directory_, generation).c_str(), F_OK) == 0; }

  void advance() {
    resign();
    ++generation_;
  }

  bool try_lock() {
    if (held_) {
      return true;
    }
    if (fd_ < 0) {
      fd_ = ::open(path_of(directory_, generation_).c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    }
    if (fd_ < 0 || ::flock(fd_, LOCK_EX | LOCK_NB) != 0) {
      return false;
    }
    char text[16];
    const int size = std::snprintf(text, sizeof text, "%-12d\n", rank_);
    held_ = ::pwrite(fd_, text, static_cast<std::size_t>(size), 0) == size;
    return held_;
  }

  bool holder_is_silent() const {
    char text[16] = "";
    if (fd_ < 0 || ::pread(fd_, text, sizeof text - 1, 0) <= 0) {
      return false; // it has just taken the lock
    }
    const int holder = std::atoi(text);
    blackbox::reader file;
    blackbox::identity who;
    blackbox::live_state live;
    if (file.open((directory_ + "/rank-" + std::to_string(holder) + ".dtbb").c_str()) != blackbox::read_error::none ||
        !file.copy(blackbox::section_kind::identity, 0, who) || !file.copy(blackbox::section_kind::live, 0, live)) {
      return false;
    }
    const std::uint64_t now = os::monotonic_ns();
    const std::uint64_t silence = now > live.heartbeat_mono_ns ? now - live.heartbeat_mono_ns : 0;
    if (silence < stopped_ns) {
      return false;
    }
    const char state = read_process_stat(who.pid).state;
    return silence >= frozen_ns || state == 'T' || state == 't';
  }
};

} // namespace watch
} // namespace DTDEBUG_ABI
} // namespace dtdebug
