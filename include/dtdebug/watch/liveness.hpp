// How the process of a rank stands: from its own last words and from /proc.
#pragma once

#include <dtdebug/blackbox/layout.hpp>
#include <dtdebug/model/snapshot.hpp>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>

#include <unistd.h>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace watch {

/// What /proc/<pid>/stat says; `found` false when there is no such process.
struct process_stat {
  bool found = false;
  char state = '?';
  bool exiting = false;    ///< field 9, PF_EXITING: killed, and not yet a zombie
  std::uint64_t start = 0; ///< field 22, clock ticks since boot
  int exit_code = -1;      ///< field 52, wait status of a zombie; -1 where it may not be read
};

/// Reads /proc/<pid>/stat; see proc(5) for the fields. The name in field 2 may hold anything, so fields are counted
/// from its last parenthesis.
inline process_stat read_process_stat(std::int64_t pid) {
  process_stat result;
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%lld/stat", static_cast<long long>(pid));
  std::FILE *file = std::fopen(path, "re");
  if (file == nullptr) {
    return result;
  }
  char line[4096];
  const std::size_t size = std::fread(line, 1, sizeof line - 1, file);
  std::fclose(file);
  line[size] = '\0';
  const char *at = std::strrchr(line, ')');
  if (at == nullptr || at[1] == '\0') {
    return result;
  }
  result.found = true;
  int field = 3;
  for (const char *token = at + 2; *token != '\0'; ++field) {
    if (field == 3) {
      result.state = *token;
    } else if (field == 9) {
      constexpr unsigned long pf_exiting = 4; // include/linux/sched.h of the kernel
      result.exiting = (std::strtoul(token, nullptr, 10) & pf_exiting) != 0;
    } else if (field == 22) {
      result.start = std::strtoull(token, nullptr, 10);
    } else if (field == 52) {
      result.exit_code = static_cast<int>(std::strtol(token, nullptr, 10));
    }
    token = std::strchr(token, ' ');
    if (token == nullptr) {
      break;
    }
    ++token;
  }
  return result;
}

/// Whether /proc is there at all; without it only signals tell whether a process lives.
inline bool proc_is_readable() noexcept { return ::access("/proc/self/stat", R_OK) == 0; }

/// True when the process that wrote a black box runs no more. `start` as in its identity; 0 where it could not tell.
inline bool is_gone(std::int64_t pid, std::uint64_t start) {
  const process_stat now = read_process_stat(pid);
  if (!now.found) {
    return proc_is_readable() || (::kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH);
  }
  const bool another = start != 0 && now.start != start;
  return another || now.exiting || now.state == 'Z' || now.state == 'X';
}

/// Sets life, exit code and signal. `probe`: the files are of this host and boot, so that /proc may be asked.
inline void set_liveness(model::rank_snapshot &rank, const blackbox::identity &who, const blackbox::live_state &live,
                         bool probe) {
  switch (static_cast<blackbox::end_state>(live.end)) {
  case blackbox::end_state::clean:
    rank.life = model::liveness::ended_cleanly;
    rank.exit_code = 0;
    return;
  case blackbox::end_state::exited:
    rank.life = model::liveness::exited;
    rank.exit_code = static_cast<int>(live.exit_code);
    return;
  case blackbox::end_state::crashed:
    rank.life = model::liveness::crashed;
    rank.signal = static_cast<int>(live.signal);
    return;
  case blackbox::end_state::terminated: // as it stood when it was told to end
    rank.life = model::liveness::unknown;
    return;
  case blackbox::end_state::running: break;
  }
  if (!probe) {
    rank.life = model::liveness::unknown;
    return;
  }
  const process_stat now = read_process_stat(who.pid);
  if (!now.found && !proc_is_readable()) {
    rank.life = is_gone(who.pid, who.process_start) ? model::liveness::vanished : model::liveness::alive;
    rank.missing_evidence.push_back("/proc is not readable: no stacks, and a stopped process looks like any other");
    return;
  }
  const bool another = who.process_start != 0 && now.start != who.process_start;
  const bool dying = now.exiting && now.state != 'Z' && now.state != 'X';
  if (!now.found || another || dying) {
    rank.life = model::liveness::vanished;
  } else if (now.state == 'T' || now.state == 't') {
    rank.life = model::liveness::stopped;
  } else if (now.state == 'Z' || now.state == 'X') {
    const int status = now.exit_code;
    if (status > 0 && (status & 0x7f) != 0) {
      rank.life = model::liveness::crashed;
      rank.signal = status & 0x7f;
    } else if (status >= 0) {
      rank.life = model::liveness::exited;
      rank.exit_code = status >> 8 & 0xff;
    } else {
      rank.life = model::liveness::vanished;
    }
  } else {
    rank.life = model::liveness::alive;
  }
}

} // namespace watch
} // namespace DTDEBUG_ABI
} // namespace dtdebug
