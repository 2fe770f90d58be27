// Deaths and stops among the ranks of this host, written down by those who saw them.
#pragma once

#include <dtdebug/blackbox/reader.hpp>
#include <dtdebug/record/session.hpp>
#include <dtdebug/watch/liveness.hpp>

#include <algorithm>
#include <cerrno>
#include <map>
#include <string>
#include <vector>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace watch {

/// Waits for whichever comes first: a wake-up, the death of a neighbour, the end of a tick. Launchers kill the other
/// ranks within milliseconds of the first death, so the survivors write down at once who was first. A neighbour is
/// known by a process descriptor (pidfd_open(2), Linux 5.3), which no later process of the same number can take over;
/// on older kernels deaths are found by the next look. Costs one descriptor per neighbour, at most `most` and an eighth
/// of what the process may open: the rest is the program's.
class neighbours {
public:
  static constexpr std::size_t most = 256;

  neighbours() : wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  neighbours(const neighbours &) = delete;
  neighbours &operator=(const neighbours &) = delete;
  ~neighbours() {
    for (const auto &[rank, fd] : descriptors_) {
      if (fd >= 0) {
        ::close(fd);
      }
    }
    if (wake_ >= 0) {
      ::close(wake_);
    }
  }

  /// Async-signal-safe.
  void wake() noexcept {
    const int saved = errno;
    const std::uint64_t one = 1;
    const ssize_t written = ::write(wake_, &one, sizeof one); // full means that a wake-up is pending already
    static_cast<void>(written);
    errno = saved;
  }

  /// Opens descriptors of ranks that were not there before. Cheap once all are known.
  void discover(const std::string &directory, int world_size, int self) {
    if (complete_) {
      return;
    }
    complete_ = true;
    rlimit files{};
    const std::size_t allowed =
        ::getrlimit(RLIMIT_NOFILE, &files) == 0 ? static_cast<std::size_t>(files.rlim_cur / 8) : 0;
    for (int rank = 0; rank < world_size && static_cast<std::size_t>(rank) < std::min(most, allowed); ++rank) {
      if (rank != self && descriptors_.find(rank) == descriptors_.end() && !open_one(directory, rank)) {
        complete_ = false;
      }
    }
    if (complete_) {
      blackbox::note_desc note; // from now on it means something that no death was noted
      note.kind = static_cast<std::uint32_t>(model::note_kind::neighbours_watched);
      for (const auto &[rank, fd] : descriptors_) {
        note.value += fd >= 0 ? 1 : 0;
      }
      if (note.value > 0) {
        blackbox::append_note(record::box(), note);
      }
    }
  }

  /// Waits at most `ns`. True when a neighbour has died; it has been written down by then.
  bool wait(std::uint64_t ns) {
    std::vector<pollfd> wait{{wake_, POLLIN, 0}};
    std::vector<int> who{-1};
    for (const auto &[rank, fd] : descriptors_) {
      if (fd >= 0) {
        wait.push_back({fd, POLLIN, 0});
        who.push_back(rank);
      }
    }
    const timespec tick{static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
    if (::ppoll(wait.data(), wait.size(), &tick, nullptr) <= 0) {
      return false;
    }
    bool died = false;
    for (std::size_t i = 0; i < wait.size(); ++i) {
      if (wait[i].revents == 0) {
        continue;
      }
      if (i == 0) {
        std::uint64_t count = 0;
        const ssize_t size = ::read(wake_, &count, sizeof count);
        static_cast<void>(size);
        continue;
      }
      blackbox::note_desc note;
      note.kind = static_cast<std::uint32_t>(model::note_kind::neighbour_died);
      note.value = static_cast<std::uint64_t>(who[i]);
      note.order = os::monotonic_ns();
      blackbox::append_note(record::box(), note);
      ::close(descriptors_[who[i]]);
      descriptors_[who[i]] = -1;
      died = true;
    }
    return died;
  }

  /// Writes down which ranks are stopped, once a stop: their files alone look the same as those of a rank that gets no
  /// processor.
  void note_stopped(const model::job_snapshot &job) {
    for (const model::rank_snapshot &rank : job.ranks) {
      const auto [known, fresh] = stopped_since_.emplace(rank.rank, model::never);
      if (rank.life == model::liveness::stopped && (fresh || known->second != rank.heartbeat)) {
        known->second = rank.heartbeat;
        blackbox::note_desc note;
        note.kind = static_cast<std::uint32_t>(model::note_kind::neighbour_stopped);
        note.value = static_cast<std::uint64_t>(rank.rank);
        blackbox::append_note(record::box(), note);
      }
    }
  }

private:
  int wake_;
  bool complete_ = false;
  std::map<int, int> descriptors_;                       ///< rank → process descriptor; -1: died, or not to be had
  std::map<std::int32_t, model::time_ns> stopped_since_; ///< last heartbeat of those noted as stopped

  /// False while the rank has not started.
  bool open_one(const std::string &directory, int rank) {
    blackbox::reader file;
    blackbox::identity who;
    if (file.open((directory + "/rank-" + std::to_string(rank) + ".dtbb").c_str()) != blackbox::read_error::none ||
        !file.copy(blackbox::section_kind::identity, 0, who) || who.pid == 0) {
      return false;
    }
    int fd = -1;
#if defined(SYS_pidfd_open)
    fd = static_cast<int>(::syscall(SYS_pidfd_open, who.pid, 0)); // close-on-exec by definition
    const process_stat now = read_process_stat(who.pid);
    if (fd >= 0 && now.found && now.start != who.process_start) {
      ::close(fd); // the number was taken by another process
      fd = -1;
    }
#endif
    descriptors_.emplace(rank, fd);
    return true;
  }
};

} // namespace watch
} // namespace DTDEBUG_ABI
} // namespace dtdebug
