// A job without a launcher: its environment, its output, and all the ways in which it can end.
#include "ranks.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <mutex>
#include <thread>

#include <poll.h>

using namespace dtdebug;
using namespace dtdebug::testing;

namespace {

struct job {
  local_result result;
  recorded_lines said;
  bool has(const std::string &line) const {
    return std::find(said.lines.begin(), said.lines.end(), line) != said.lines.end();
  }
};

template <typename Function>
job run(int count, Function &&function, local_options options = {}) {
  job out;
  options.on_line = out.said.sink();
  out.result = local_ranks(count, function, options);
  return out;
}

std::string variable(const char *name) {
  const char *value = std::getenv(name);
  return value != nullptr ? value : "(none)";
}

/// True once the process has ended; waits for it at most `limit`. Nobody has to be its parent.
bool ends_within(::pid_t pid, std::chrono::milliseconds limit) {
  const int handle = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  if (handle < 0) {
    return errno == ESRCH;
  }
  ::pollfd wanted{handle, POLLIN, 0};
  const int ready = ::poll(&wanted, 1, static_cast<int>(limit.count()));
  ::close(handle);
  return ready == 1;
}

} // namespace

TEST_CASE("ranks see who they are the way torchrun says it, and nothing of another launcher") {
  ::setenv("OMPI_COMM_WORLD_RANK", "17", 1);
  ::setenv("PMI_RANK", "18", 1);
  const job j = run(3, [](int rank, int size) {
    std::printf("%d/%d %s/%s %s %s %s\n", rank, size, variable("RANK").c_str(), variable("WORLD_SIZE").c_str(),
                variable("LOCAL_RANK").c_str(), variable("OMPI_COMM_WORLD_RANK").c_str(), variable("PMI_RANK").c_str());
  });
  ::unsetenv("OMPI_COMM_WORLD_RANK");
  ::unsetenv("PMI_RANK");
  CHECK(j.result.ok());
  CHECK(how_it_ended(j.result).empty());
  CHECK(j.has("rank 0: 0/3 0/3 0 (none) (none)"));
  CHECK(j.has("rank 2: 2/3 2/3 2 (none) (none)"));
}

TEST_CASE("each call is a job of its own, with one name for all its ranks") {
  const auto name_of_job = [](int, int) { std::puts(variable("TORCHELASTIC_RUN_ID").c_str()); };
  const job first = run(2, name_of_job);
  const job second = run(1, name_of_job);
  REQUIRE(first.said.lines.size() == 2);
  REQUIRE(second.said.lines.size() == 1);
  CHECK(first.said.lines[0].substr(8) == first.said.lines[1].substr(8));
  CHECK(first.said.lines[0].substr(8) != second.said.lines[0].substr(8));
}

TEST_CASE("exit codes, signals and exceptions are told apart") {
  const job j = run(6, [](int rank, int) -> int {
    switch (rank) {
    case 1: return 3;
    case 2: std::exit(4);
    case 3: throw std::runtime_error("no more data");
    case 4: ::raise(SIGKILL); break;
    case 5:
      ::signal(SIGSEGV, SIG_DFL);
      ::raise(SIGSEGV);
      break;
    default: break;
    }
    return 0;
  });
  CHECK_FALSE(j.result.ok());
  CHECK(j.result.ranks[0].exit_code == 0);
  CHECK(j.result.ranks[1].exit_code == 3);
  CHECK(j.result.ranks[2].exit_code == 4);
  CHECK(j.result.ranks[3].exit_code == exit_code_of_exception);
  CHECK(j.has("rank 3 error: exception: no more data"));
  CHECK(j.result.ranks[4].signal == SIGKILL);
  CHECK(j.result.ranks[4].exit_code == -1);
  CHECK_FALSE(j.result.ranks[4].killed);
  CHECK(j.result.ranks[5].signal == SIGSEGV);
  const std::string text = how_it_ended(j.result);
  CAPTURE(text);
  CHECK(text.find("rank 0") == std::string::npos);
  CHECK(text.find("rank 1 ") != std::string::npos);
  CHECK(text.find("rank 4 ") != std::string::npos);
}

TEST_CASE("at the deadline what still runs is killed, and only that") {
  local_options options;
  options.deadline = std::chrono::milliseconds(300);
  const auto start = std::chrono::steady_clock::now();
  const job j = run(
      3,
      [](int rank, int) {
        std::printf("rank %d is here\n", rank);
        while (rank == 1) {
          ::pause();
        }
        return rank == 2 ? 5 : 0;
      },
      options);
  const auto took = std::chrono::steady_clock::now() - start;
  CHECK(took >= options.deadline);
  CHECK(took < std::chrono::seconds(20));
  CHECK(j.result.deadline_passed);
  CHECK_FALSE(j.result.ok());
  CHECK(j.result.ranks[0].exit_code == 0);
  CHECK(j.result.ranks[1].killed);
  CHECK(j.result.ranks[1].signal == SIGKILL);
  CHECK(j.result.ranks[2].exit_code == 5);
  CHECK(j.has("rank 1: rank 1 is here"));
  CHECK(how_it_ended(j.result).find("deadline") != std::string::npos);
  CHECK(::waitpid(-1, nullptr, WNOHANG) == -1); // nothing is left, not even a zombie
}

TEST_CASE("the end of the job is the end of all its processes at once") {
  const shared<std::atomic<int>> grandchild;
  local_options options;
  options.poll = [&](const std::vector<rank_end> &) { return grandchild.value->load() == 0; };
  const job j = run(
      2,
      [&grandchild](int rank, int) {
        if (rank == 1) {
          const ::pid_t child = ::fork();
          if (child > 0) {
            grandchild.value->store(child);
          }
        }
        for (;;) {
          ::pause();
        }
      },
      options);
  CHECK(j.result.stopped);
  CHECK(ends_within(grandchild.value->load(), std::chrono::seconds(10)));
}

TEST_CASE("the deadline is for ranks that block all signals and for stopped ones, too") {
  local_options options;
  options.deadline = std::chrono::milliseconds(200);
  const job j = run(
      2,
      [](int rank, int) {
        ::sigset_t all;
        ::sigfillset(&all);
        ::sigprocmask(SIG_BLOCK, &all, nullptr);
        for (;;) {
          rank == 0 ? ::raise(SIGSTOP) : ::pause();
        }
      },
      options);
  CHECK(j.result.ranks[0].killed);
  CHECK(j.result.ranks[1].killed);
}

TEST_CASE("lines of different ranks are never mixed, however they are written") {
  constexpr int ranks = 8;
  constexpr int lines = 200;
  const job j = run(ranks, [](int rank, int) {
    for (int line = 0; line < lines; ++line) {
      const std::string text(static_cast<std::size_t>(100 + line), static_cast<char>('a' + rank));
      for (std::size_t i = 0; i < text.size(); i += 37) { // in pieces, past every buffer
        const std::string piece = text.substr(i, 37);
        require(::write(rank % 2 == 0 ? 1 : 2, piece.data(), piece.size()) > 0, "write");
      }
      require(::write(rank % 2 == 0 ? 1 : 2, "\n", 1) == 1, "write");
    }
  });
  CHECK(j.result.ok());
  REQUIRE(j.said.lines.size() == ranks * lines);
  std::vector<int> next(ranks);
  int wrong = 0;
  for (const std::string &said : j.said.lines) {
    const int rank = said[5] - '0';
    const int line = next[static_cast<std::size_t>(rank)]++;
    const std::string text(static_cast<std::size_t>(100 + line), static_cast<char>('a' + rank));
    wrong += said != "rank " + std::to_string(rank) + (rank % 2 == 0 ? ": " : " error: ") + text ? 1 : 0;
  }
  CHECK(wrong == 0);
}

TEST_CASE("the last words of a rank are there: without a line end, in a buffer, before SIGKILL") {
  const job j = run(3, [](int rank, int) {
    if (rank == 0) {
      std::fputs("no line end", stdout);
    } else if (rank == 1) {
      std::puts("about to die");
      ::raise(SIGKILL);
    } else {
      std::printf("%s", std::string(100'000, 'x').c_str());
    }
  });
  CHECK(j.has("rank 0: no line end"));
  CHECK(j.has("rank 1: about to die"));
  CHECK(j.has("rank 2: " + std::string(100'000, 'x')));
}

TEST_CASE("what the parent had not written yet is not written by the ranks") {
  const job outer = run(1, [](int, int) {
    ::setvbuf(stdout, nullptr, _IOFBF, 4096);
    std::fputs("once\n", stdout);
    local_ranks(3, [](int, int) {});
  });
  CHECK(outer.said.lines == std::vector<std::string>{"rank 0: once"});
}

TEST_CASE("by default each line comes with its rank in front, on the stream it was written to") {
  const job outer = run(1, [](int, int) {
    local_ranks(2, [](int rank, int) { rank == 0 ? std::puts("to stdout") : std::fputs("to stderr\n", stderr); });
  });
  CHECK(outer.has("rank 0: [0] to stdout"));
  CHECK(outer.has("rank 0 error: [1] to stderr"));
}

TEST_CASE("ranks do not outlive the process that started them") {
  const shared<std::atomic<int>> pids[2];
  const job outer = run(1, [&pids](int, int) {
    local_options options;
    options.poll = [&pids](const std::vector<rank_end> &) {
      if (pids[0].value->load() != 0 && pids[1].value->load() != 0) {
        ::raise(SIGKILL);
      }
      return true;
    };
    local_ranks(
        2,
        [&pids](int rank, int) {
          pids[rank].value->store(::getpid());
          for (;;) {
            ::pause();
          }
        },
        options);
  });
  CHECK(outer.result.ranks[0].signal == SIGKILL);
  for (const auto &pid : pids) {
    REQUIRE(pid.value->load() != 0);
    CHECK(ends_within(pid.value->load(), std::chrono::seconds(10)));
  }
}

TEST_CASE("a grandchild that keeps the output open does not keep the job") {
  const shared<std::atomic<int>> grandchild;
  const job j = run(1, [&grandchild](int, int) {
    std::puts("before");
    const ::pid_t child = ::fork();
    while (child == 0) {
      ::pause();
    }
    grandchild.value->store(child);
  });
  CHECK(j.result.ok());
  CHECK_FALSE(j.result.deadline_passed);
  CHECK(j.has("rank 0: before"));
  REQUIRE(grandchild.value->load() > 0);
  ::kill(grandchild.value->load(), SIGKILL);
}

TEST_CASE("SIGINT and SIGTERM reach the ranks; afterwards the process has its own handlers again") {
  for (const int signal : {SIGINT, SIGTERM}) {
    CAPTURE(signal);
    struct sigaction before {};
    ::sigaction(signal, nullptr, &before);
    const shared<std::atomic<int>> waiting;
    bool sent = false;
    local_options options;
    options.poll = [&](const std::vector<rank_end> &) {
      if (waiting.value->load() == 2 && !sent) {
        sent = true;
        ::raise(signal);
      }
      return true;
    };
    const job j = run(
        2,
        [&](int, int) {
          waiting.value->fetch_add(1);
          for (;;) {
            ::pause();
          }
        },
        options);
    CHECK(j.result.interrupted == signal);
    CHECK(j.result.ranks[0].signal == signal);
    CHECK(j.result.ranks[1].signal == signal);
    CHECK_FALSE(j.result.deadline_passed);
    struct sigaction after {};
    ::sigaction(signal, nullptr, &after);
    const bool restored = after.sa_handler == before.sa_handler;
    CHECK(restored);
  }
}

TEST_CASE("the poll hook sees who has ended, and can end the rest") {
  local_options options;
  options.poll = [](const std::vector<rank_end> &ranks) { return !(ranks[0].ended && ranks[0].exit_code == 7); };
  const job j = run(
      2,
      [](int rank, int) {
        while (rank == 1) {
          ::pause();
        }
        return 7;
      },
      options);
  CHECK(j.result.stopped);
  CHECK_FALSE(j.result.deadline_passed);
  CHECK(j.result.ranks[0].exit_code == 7);
  CHECK(j.result.ranks[1].killed);
}

TEST_CASE("a process with threads of its own is refused, nothing is forked") {
  std::mutex mutex;
  std::condition_variable changed;
  bool over = false;
  std::thread other([&] {
    std::unique_lock<std::mutex> held(mutex);
    changed.wait(held, [&] { return over; });
  });
  const shared<std::atomic<int>> ran;
  const job j = run(2, [&ran](int, int) { ran.value->fetch_add(1); });
  {
    const std::lock_guard<std::mutex> held(mutex);
    over = true;
  }
  changed.notify_all();
  other.join();
  CHECK_FALSE(j.result.ok());
  CHECK(j.result.error.find("thread") != std::string::npos);
  CHECK(j.result.ranks.empty());
  CHECK(ran.value->load() == 0);
  CHECK_FALSE(run(0, [](int, int) {}).result.error.empty());
}
