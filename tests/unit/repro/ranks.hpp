// Forked ranks with a communicator, and what the test process sees of them.
#pragma once

#include <dtdebug/repro/host_comm.hpp>
#include <dtdebug/repro/local_ranks.hpp>

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include <sys/mman.h>

namespace dtdebug::testing {

/// In a rank: doctest's macros would report to nobody there.
inline void require(bool condition, const std::string &what) {
  if (!condition) {
    throw std::runtime_error(what);
  }
}

/// All that ranks wrote, as "rank 0: text" or "rank 0 error: text".
struct recorded_lines {
  std::vector<std::string> lines;
  repro::line_sink sink() {
    return [this](int rank, bool error, std::string_view line) {
      lines.push_back("rank " + std::to_string(rank) + (error ? " error: " : ": ") + std::string(line));
    };
  }
  std::string text() const {
    std::string out;
    for (const std::string &line : lines) {
      out += line + "\n";
    }
    return out;
  }
};

inline host_comm world_of(repro::exchange &with, int rank, int size) {
  std::vector<std::int32_t> everybody;
  for (int r = 0; r < size; ++r) {
    everybody.push_back(r);
  }
  return host_comm(with, repro::host_group("world", everybody, rank));
}

/// Zeroed memory that forked ranks share.
template <typename T>
struct shared {
  T *value;
  shared() {
    void *at = ::mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(at != MAP_FAILED);
    value = new (at) T{};
  }
  ~shared() { ::munmap(value, sizeof(T)); }
  shared(const shared &) = delete;
  shared &operator=(const shared &) = delete;
};

/// Runs `body(world)` on `count` ranks.
template <typename Body>
local_result run_on(repro::arena &memory, int count, Body &&body, const local_options &options = {}) {
  return local_ranks(
      count,
      [&](int rank, int size) {
        repro::exchange with(memory);
        host_comm world = world_of(with, rank, size);
        body(world);
      },
      options);
}

/// The same, and every rank must end well; what they say otherwise is in the failure.
template <typename Body>
void all_pass(int count, Body &&body) {
  repro::arena memory;
  REQUIRE(memory.ready());
  recorded_lines said;
  local_options options;
  options.deadline = std::chrono::seconds(60);
  options.on_line = said.sink();
  const local_result result = run_on(memory, count, body, options);
  INFO(said.text());
  INFO(how_it_ended(result));
  CHECK(result.ok());
}

/// True when the main thread of the process sleeps in the kernel on this futex word (mapped at the same address there).
/// Where the kernel does not tell (no /proc/PID/syscall), true when it sleeps at all.
inline bool sleeps_on(::pid_t pid, const std::uint32_t *word) {
  const std::string proc = "/proc/" + std::to_string(pid);
  std::ifstream syscall(proc + "/syscall");
  long number = -1;
  std::string first;
  if (syscall >> number >> first) {
    return number == SYS_futex && std::stoull(first, nullptr, 16) == reinterpret_cast<std::uintptr_t>(word);
  }
  std::ifstream stat(proc + "/stat");
  const std::string text{std::istreambuf_iterator<char>(stat), {}};
  const std::size_t name_end = text.rfind(')');
  return !syscall.is_open() && name_end + 2 < text.size() && text[name_end + 2] == 'S';
}

/// Runs ranks until each of those in `blocked` has its call at the meeting point and sleeps there, and all others have
/// ended; then ends the job. Since whoever comes last decides under the lock whether a call is over, a call that is
/// still open when nobody runs any more stays open for ever. False if that state is not reached within the deadline.
template <typename Body>
bool blocks(int count, const std::vector<int> &blocked, Body &&body, std::string *said = nullptr) {
  repro::arena memory;
  REQUIRE(memory.ready());
  recorded_lines lines;
  local_options options;
  options.deadline = std::chrono::seconds(30);
  options.on_line = lines.sink();
  bool reached = false;
  options.poll = [&](const std::vector<rank_end> &ranks) {
    std::vector<bool> open(ranks.size());
    {
      const repro::robust_lock held(memory.lock());
      for (std::uint32_t i = 0; i < memory.calls_in_use(); ++i) {
        const repro::call_in_flight &c = memory.call(i);
        if (c.state == repro::flight::done) {
          return true; // somebody is about to go on
        }
        if (c.state == repro::flight::started) {
          open[static_cast<std::size_t>(c.rank)] = true;
        }
      }
    }
    std::vector<bool> expected(ranks.size());
    for (const int rank : blocked) {
      expected[static_cast<std::size_t>(rank)] = true;
    }
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      const bool there = expected[r] ? open[r] && !ranks[r].ended &&
                                           sleeps_on(ranks[r].pid, memory.wake_word(static_cast<std::int32_t>(r)))
                                     : ranks[r].ended;
      if (!there) {
        return true;
      }
    }
    reached = true;
    return false;
  };
  const local_result result = run_on(memory, count, body, options);
  if (said != nullptr) {
    *said = lines.text();
  }
  INFO(lines.text());
  for (const int rank : blocked) {
    CHECK(result.ranks[static_cast<std::size_t>(rank)].killed == reached);
  }
  return reached;
}

} // namespace dtdebug::testing
