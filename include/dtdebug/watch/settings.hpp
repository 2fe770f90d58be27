// The DTDEBUG_* environment and the identity that launchers give a process.
#pragma once

#include <dtdebug/core/start_options.hpp>
#include <dtdebug/record/session.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include <unistd.h>

namespace dtdebug {
inline namespace DTDEBUG_ABI {

enum class on_hang : std::uint8_t {
  report = 0, ///< say it and keep watching
  abort = 1,  ///< say it and end every rank with the exit status of the verdict's class
  hold = 2,   ///< say it, keep the processes, print how to attach a debugger
};

namespace watch {

struct settings {
  int rank = 0;
  int world_size = 1;
  int local_rank = 0;
  std::string job;
  std::string directory;
  level how_much = level::watch;
  on_hang action = on_hang::report;
  std::uint64_t timeout_ns = 60'000'000'000ULL;
  std::uint32_t ring_records = 4096;
  bool keep = false;
  bool quiet = false;                             ///< no line at the start of a run
  std::vector<std::string> warnings;              ///< one line each
  std::map<std::string, std::string> environment; ///< the DTDEBUG_* that were set
};

namespace detail {

/// Levenshtein distance, for "did you mean".
inline std::size_t edit_distance(const std::string &a, const std::string &b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) {
    row[j] = j;
  }
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0U : 1U)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

inline const std::string &nearest(const std::string &word, const std::vector<std::string> &valid) {
  return *std::min_element(valid.begin(), valid.end(), [&word](const std::string &a, const std::string &b) {
    return edit_distance(word, a) < edit_distance(word, b);
  });
}

inline int int_of(std::initializer_list<const char *> names, int otherwise) {
  for (const char *name : names) {
    const char *text = std::getenv(name);
    char *end = nullptr;
    const long value = text != nullptr ? std::strtol(text, &end, 10) : -1;
    if (text != nullptr && end != text && *end == '\0' && value >= 0 && value <= 1 << 24) {
      return static_cast<int>(value);
    }
  }
  return otherwise;
}

} // namespace detail

/// "30s", "500ms", "2min" → nanoseconds; 0 when it is not a positive duration below 365 days.
inline std::uint64_t parse_duration(const std::string &text) {
  char *end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  const std::string unit = end;
  const double scale = unit == "ms"                  ? 1e6
                       : unit == "s" || unit.empty() ? 1e9
                       : unit == "min"               ? 60e9
                       : unit == "h"                 ? 3600e9
                                                     : 0;
  const double ns = value * scale;
  return end == text.c_str() || !(ns >= 1e6 && ns < 3.2e16) ? 0 : static_cast<std::uint64_t>(ns);
}

/// Reads the environment. A wrong value or an unknown DTDEBUG_* name becomes a warning that names the nearest valid
/// one; the built-in value then stands.
inline settings read_settings(const start_options &options) {
  settings out;
  const std::vector<std::string> names = {"DTDEBUG_DIR",   "DTDEBUG_TIMEOUT", "DTDEBUG_ON_HANG", "DTDEBUG_KEEP",
                                          "DTDEBUG_LEVEL", "DTDEBUG_RING",    "DTDEBUG_LOG"};
  for (char **entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::string name = text.substr(0, text.find('='));
    if (name.rfind("DTDEBUG_", 0) == 0) {
      if (std::find(names.begin(), names.end(), name) == names.end()) {
        out.warnings.push_back(name + " is not a setting of dtdebug; did you mean " + detail::nearest(name, names) +
                               "?");
      } else {
        out.environment[name] = text.substr(std::min(text.size(), name.size() + 1));
      }
    }
  }
  const auto choice = [&out](const char *name, const std::vector<std::string> &valid, int otherwise) {
    const auto set = out.environment.find(name);
    if (set == out.environment.end()) {
      return otherwise;
    }
    const auto found = std::find(valid.begin(), valid.end(), set->second);
    if (found == valid.end()) {
      out.warnings.push_back(set->first + "=" + set->second + " is not valid; did you mean " +
                             detail::nearest(set->second, valid) + "? Using " +
                             valid[static_cast<std::size_t>(otherwise)]);
      return otherwise;
    }
    return static_cast<int>(found - valid.begin());
  };
  out.how_much = static_cast<level>(choice("DTDEBUG_LEVEL", {"off", "record", "watch", "verify"}, 2));
  out.action = static_cast<on_hang>(choice("DTDEBUG_ON_HANG", {"report", "abort", "hold"}, 0));
  out.keep = choice("DTDEBUG_KEEP", {"0", "1"}, 0) == 1;
  out.quiet = choice("DTDEBUG_LOG", {"info", "quiet"}, 0) == 1;
  if (options.timeout_ms > 0) {
    out.timeout_ns = static_cast<std::uint64_t>(options.timeout_ms) * 1'000'000ULL;
  } else if (out.environment.count("DTDEBUG_TIMEOUT") != 0) {
    if (const std::uint64_t ns = parse_duration(out.environment["DTDEBUG_TIMEOUT"])) {
      out.timeout_ns = ns;
    } else {
      out.warnings.push_back("DTDEBUG_TIMEOUT=" + out.environment["DTDEBUG_TIMEOUT"] +
                             " is not a duration such as 500ms, 30s or 2min; using 60s");
    }
  }
  if (out.environment.count("DTDEBUG_RING") != 0) {
    const std::string &text = out.environment["DTDEBUG_RING"];
    char *end = nullptr;
    const unsigned long records = std::strtoul(text.c_str(), &end, 10);
    if (*end == '\0' && records >= 64 && records <= 1UL << 20) {
      out.ring_records = 64;
      while (out.ring_records < records) {
        out.ring_records *= 2;
      }
    } else {
      out.warnings.push_back("DTDEBUG_RING=" + out.environment["DTDEBUG_RING"] +
                             " is not a number of records from 64 to 1048576; using 4096");
    }
  }
  out.rank = options.rank >= 0 ? options.rank
                               : detail::int_of({"OMPI_COMM_WORLD_RANK", "PMI_RANK", "RANK", "SLURM_PROCID"}, 0);
  out.world_size = options.world_size > 0
                       ? options.world_size
                       : detail::int_of({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "WORLD_SIZE", "SLURM_NTASKS"}, 1);
  out.local_rank =
      options.local_rank >= 0
          ? options.local_rank
          : detail::int_of({"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "LOCAL_RANK", "SLURM_LOCALID"}, out.rank);
  for (const char *name :
       {"OMPI_MCA_ess_base_jobid", "PMIX_NAMESPACE", "PMI_JOBID", "SLURM_JOB_ID", "TORCHELASTIC_RUN_ID"}) {
    if (out.job.empty() && std::getenv(name) != nullptr) {
      out.job = std::getenv(name);
    }
  }
  if (out.job.empty()) {
    out.job = "ppid" + std::to_string(::getppid()); // ranks of one launcher on one host share their parent
  }
  for (char &c : out.job) {
    c = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '.' ? c : '_';
  }
  out.directory =
      options.directory != nullptr && *options.directory != '\0' ? options.directory : out.environment["DTDEBUG_DIR"];
  if (out.environment["DTDEBUG_DIR"].empty()) {
    out.environment.erase("DTDEBUG_DIR");
  }
  if (out.directory.empty()) {
    const char *root = ::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    out.directory = std::string(root) + "/dtdebug-" + std::to_string(::geteuid()) + "-" + out.job;
  }
  return out;
}

} // namespace watch
} // namespace DTDEBUG_ABI
} // namespace dtdebug
