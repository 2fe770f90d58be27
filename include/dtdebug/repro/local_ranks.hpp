// A job on this machine without a launcher: N ranks by fork, with their output, their ends and a hard deadline.
#pragma once

#include <dtdebug/repro/line_relay.hpp>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <dirent.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>

namespace dtdebug {
inline namespace DTDEBUG_ABI {

/// Exit code of a rank that an exception left.
inline constexpr int exit_code_of_exception = 70; // EX_SOFTWARE of <sysexits.h>

/// How one rank ended.
struct rank_end {
  ::pid_t pid = -1;
  bool ended = false;
  int exit_code = -1;  ///< -1: not by exit
  int signal = 0;      ///< 0: not by a signal
  bool killed = false; ///< by local_ranks: the deadline had passed, or the caller wanted the end
};

/// How the job ended.
struct local_result {
  std::vector<rank_end> ranks;
  bool deadline_passed = false; ///< ranks were still running then
  bool stopped = false;         ///< the poll hook wanted the end
  int interrupted = 0;          ///< SIGINT or SIGTERM that came in meanwhile and was forwarded
  std::string error;            ///< why nothing was started; empty otherwise

  /// Every rank returned 0.
  bool ok() const noexcept {
    for (const rank_end &rank : ranks) {
      if (rank.exit_code != 0) {
        return false;
      }
    }
    return error.empty();
  }
};

struct local_options {
  std::chrono::milliseconds deadline{60'000}; ///< then every rank that still runs is killed
  repro::line_sink on_line = repro::print_line;
  /// Called in the parent every few milliseconds, with the ends so far, and once more when all have ended, while they
  /// are zombies. Returns false to kill what still runs.
  std::function<bool(const std::vector<rank_end> &)> poll;
};

namespace repro {
namespace detail {

/// Other threads of this process: they would not exist in the children, but their locks would.
inline int other_threads() noexcept {
  DIR *tasks = ::opendir("/proc/self/task");
  if (tasks == nullptr) {
    return 0;
  }
  int count = -1;
  while (const dirent *entry = ::readdir(tasks)) {
    count += entry->d_name[0] != '.' ? 1 : 0;
  }
  ::closedir(tasks);
#if defined(__SANITIZE_THREAD__)
  --count; // the sanitizer's own thread, which it restarts in children
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
  --count;
#endif
#endif
  return count;
}

inline volatile std::sig_atomic_t pending_signal = 0;
inline void remember_signal(int signal) noexcept { pending_signal = signal; }

/// Takes SIGINT and SIGTERM for a while.
class signal_catcher {
public:
  signal_catcher() noexcept {
    pending_signal = 0;
    struct sigaction action {};
    action.sa_handler = remember_signal;
    ::sigaction(SIGINT, &action, &interrupt_);
    ::sigaction(SIGTERM, &action, &terminate_);
  }
  ~signal_catcher() { restore(); }
  signal_catcher(const signal_catcher &) = delete;
  signal_catcher &operator=(const signal_catcher &) = delete;

  void restore() const noexcept {
    ::sigaction(SIGINT, &interrupt_, nullptr);
    ::sigaction(SIGTERM, &terminate_, nullptr);
  }

private:
  struct sigaction interrupt_ {};
  struct sigaction terminate_ {};
};

/// Says to the child which rank of which job it is, in the words of torchrun. What another launcher said about this
/// process is forgotten: its children are ranks of another job.
inline void set_environment(int rank, int size, const std::string &job) {
  for (const char *name :
       {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_MCA_ess_base_jobid",
        "PMIX_NAMESPACE", "PMIX_RANK", "PMI_RANK", "PMI_SIZE", "PMI_JOBID", "MPI_LOCALRANKID", "SLURM_PROCID",
        "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_JOB_ID"}) {
    ::unsetenv(name);
  }
  ::setenv("RANK", std::to_string(rank).c_str(), 1);
  ::setenv("LOCAL_RANK", std::to_string(rank).c_str(), 1);
  ::setenv("WORLD_SIZE", std::to_string(size).c_str(), 1);
  ::setenv("LOCAL_WORLD_SIZE", std::to_string(size).c_str(), 1);
  ::setenv("TORCHELASTIC_RUN_ID", job.c_str(), 1);
}

/// Body of a child. Leaves by ::exit, so that exit handlers run; never returns.
template <typename Function>
[[noreturn]] void run_rank(int rank, int size, Function &function) {
  int code = 0;
  try {
    if constexpr (std::is_void_v<std::invoke_result_t<Function &, int, int>>) {
      function(rank, size);
    } else {
      code = static_cast<int>(function(rank, size));
    }
  } catch (const std::exception &error) {
    std::fprintf(stderr, "exception: %s\n", error.what());
    code = exit_code_of_exception;
  } catch (...) {
    std::fputs("exception that is not a std::exception\n", stderr);
    code = exit_code_of_exception;
  }
  std::exit(code);
}

/// The parent's side of the job.
class local_job {
public:
  explicit local_job(const local_options &options) : options_(options) {}

  template <typename Function>
  local_result run(int count, Function &function) {
    const int threads = other_threads();
    if (count < 1 || threads > 0) {
      result_.error = count < 1 ? "local_ranks: at least one rank is needed"
                                : "local_ranks: this process has " + std::to_string(threads) +
                                      " other thread(s); ranks must be forked before any thread is started";
      std::fprintf(stderr, "%s\n", result_.error.c_str());
      return std::move(result_);
    }
    std::fflush(nullptr); // or each child would write what is still buffered once more
    const signal_catcher catcher;
    for (int rank = 0; rank < count && result_.error.empty(); ++rank) {
      start(rank, count, function, catcher);
    }
    if (!result_.error.empty()) {
      std::fprintf(stderr, "%s\n", result_.error.c_str());
      kill_all();
    }
    watch();
    // Only now: until then a zombie keeps its exit status readable for its siblings in /proc.
    for (const rank_end &rank : result_.ranks) {
      int status = 0;
      while (::waitpid(rank.pid, &status, 0) < 0 && errno == EINTR) {
      }
    }
    return std::move(result_);
  }

private:
  using clock = std::chrono::steady_clock;
  static constexpr int tick_ms = 10;

  template <typename Function>
  void start(int rank, int count, Function &function, const signal_catcher &catcher) {
    int out[2] = {-1, -1};
    int err[2] = {-1, -1};
    if (::pipe2(out, O_CLOEXEC) != 0 || ::pipe2(err, O_CLOEXEC) != 0) {
      fail("pipe", out, err);
      return;
    }
    const ::pid_t parent = ::getpid();
    const ::pid_t group = result_.ranks.empty() ? 0 : result_.ranks.front().pid; // 0: the child's own
    const ::pid_t child = ::fork();
    if (child < 0) {
      fail("fork", out, err);
      return;
    }
    ::setpgid(child, group); // here and there: nobody knows who comes first
    if (child == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != parent) {
        ::_exit(1); // the parent had died before the line above
      }
      catcher.restore();
      ::dup2(out[1], STDOUT_FILENO);
      ::dup2(err[1], STDERR_FILENO);
      ::close(out[0]);
      ::close(out[1]);
      ::close(err[0]);
      ::close(err[1]);
      for (const line_relay &other : relays_) {
        ::close(other.descriptor());
      }
      // By lines, so that a rank that is killed has said its last one. With a buffer of its own: without one, a stream
      // that the parent had written to keeps room in which ends of lines wait.
      static char lines[BUFSIZ];
      ::setvbuf(stdout, lines, _IOLBF, sizeof lines);
      set_environment(rank, count, job_);
      run_rank(rank, count, function);
    }
    ::close(out[1]);
    ::close(err[1]);
    relays_.emplace_back(rank, false, out[0]);
    relays_.emplace_back(rank, true, err[0]);
    result_.ranks.emplace_back();
    result_.ranks.back().pid = child;
  }

  void fail(const char *what, const int (&out)[2], const int (&err)[2]) {
    result_.error = std::string("local_ranks: ") + what + ": " + std::strerror(errno);
    for (const int descriptor : {out[0], out[1], err[0], err[1]}) {
      if (descriptor >= 0) {
        ::close(descriptor);
      }
    }
  }

  void watch() {
    const clock::time_point deadline = clock::now() + options_.deadline;
    while (!all_ended()) {
      forward_signal();
      if (clock::now() >= deadline && !result_.deadline_passed) {
        result_.deadline_passed = true;
        kill_all();
      } else if (options_.poll && !result_.stopped && !result_.deadline_passed && !options_.poll(result_.ranks)) {
        result_.stopped = true;
        kill_all();
      }
      relay(tick_ms);
      note_ends();
    }
    if (options_.poll && !result_.stopped) {
      options_.poll(result_.ranks);
    }
    // A grandchild may hold the pipes open: what the ranks themselves wrote is there already.
    relay(0);
    for (line_relay &stream : relays_) {
      stream.finish(options_.on_line);
    }
  }

  bool all_ended() const noexcept {
    for (const rank_end &rank : result_.ranks) {
      if (!rank.ended) {
        return false;
      }
    }
    return true;
  }

  void note_ends() noexcept {
    for (rank_end &rank : result_.ranks) {
      ::siginfo_t info{};
      if (rank.ended || ::waitid(P_PID, static_cast<::id_t>(rank.pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
          info.si_pid != rank.pid) {
        continue;
      }
      rank.ended = true;
      rank.exit_code = info.si_code == CLD_EXITED ? info.si_status : -1;
      rank.signal = info.si_code == CLD_EXITED ? 0 : info.si_status;
      rank.killed = rank.killed && rank.signal == SIGKILL;
    }
  }

  void forward_signal() noexcept {
    const int signal = static_cast<int>(pending_signal);
    if (signal != 0) {
      pending_signal = 0;
      result_.interrupted = signal;
      for (const rank_end &rank : result_.ranks) {
        if (!rank.ended) {
          ::kill(rank.pid, signal);
        }
      }
    }
  }

  /// At one blow, by the process group: a rank that saw another one die first would report that as the cause.
  void kill_all() noexcept {
    note_ends();
    if (!result_.ranks.empty()) {
      ::kill(-result_.ranks.front().pid, SIGKILL);
    }
    for (rank_end &rank : result_.ranks) {
      if (!rank.ended) {
        rank.killed = true;
        ::kill(rank.pid, SIGKILL);
      }
    }
  }

  void relay(int timeout_ms) {
    std::vector<::pollfd> wanted;
    for (const line_relay &stream : relays_) {
      if (stream.descriptor() >= 0) {
        wanted.push_back({stream.descriptor(), POLLIN, 0});
      }
    }
    ::poll(wanted.data(), wanted.size(), timeout_ms);
    for (line_relay &stream : relays_) {
      stream.pump(options_.on_line);
    }
  }

  /// Another one for each job of this process, so that their files never mix.
  static std::string new_job() {
    static int jobs = 0;
    return "local-" + std::to_string(::getpid()) + "-" + std::to_string(++jobs);
  }

  const local_options &options_;
  const std::string job_ = new_job();
  local_result result_;
  std::vector<line_relay> relays_;
};

} // namespace detail
} // namespace repro

/// Forks `count` ranks, runs `function(rank, size)` in each and waits for all of them. The function returns the exit
/// code or nothing; the rank then leaves by ::exit. An exception that escapes is printed, the exit code is 70. RANK,
/// LOCAL_RANK, WORLD_SIZE and the like are set, with another job name for each call; output comes line by line with the
/// rank in front. Ranks are a process group of their own and die with this process; SIGINT and SIGTERM are passed on.
/// Refuses, with `error` set, in a process that has other threads. Blocks up to the deadline.
template <typename Function>
local_result local_ranks(int count, Function &&function, const local_options &options = {}) {
  return repro::detail::local_job(options).run(count, function);
}

/// How ranks ended that did not end well, a line each; "" when all did. Does not repeat `error`.
inline std::string how_it_ended(const local_result &result) {
  std::string out;
  for (std::size_t rank = 0; rank < result.ranks.size(); ++rank) {
    const rank_end &end = result.ranks[rank];
    const std::string who = "rank " + std::to_string(rank);
    if (end.killed) {
      out += who + (result.deadline_passed ? " was still running at the deadline and was killed\n" : " was killed\n");
    } else if (end.signal != 0) {
      const char *name = ::strsignal(end.signal);
      out += who + " died by signal " + std::to_string(end.signal) +
             (name != nullptr ? std::string(" (") + name + ")" : "") + "\n";
    } else if (end.exit_code != 0) {
      out += who + " exited with status " + std::to_string(end.exit_code) + "\n";
    }
  }
  return out;
}

} // namespace DTDEBUG_ABI
} // namespace dtdebug
