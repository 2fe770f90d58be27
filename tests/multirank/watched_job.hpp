// A job of real ranks that dtdebug watches, and what it reported.
#pragma once

#include <dtdebug/record.hpp>
#include <dtdebug/repro/host_comm.hpp>
#include <dtdebug/repro/local_ranks.hpp>

#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <vector>

namespace dtdebug::testing {

/// Of report.json. What a key does not say is empty or negative.
struct reported_verdict {
  std::string kind, group, op, other, site, other_site, confidence;
  std::vector<int> ranks, with, chain;
  std::vector<std::string> fields;
  int seq = -1, peer = -1, step = -1;
  bool tie = false;
};

struct outcome {
  std::vector<reported_verdict> verdicts;
  std::vector<rank_end> ends;
  bool deadline_passed = false;
  std::string output;                 ///< of all ranks, each line with its rank in front
  std::vector<std::string> left_over; ///< names in the run directory after the end
  std::string first_kind() const { return verdicts.empty() ? "(no report)" : verdicts.front().kind; }
};

struct job_options {
  const char *timeout = "1s"; ///< DTDEBUG_TIMEOUT
  bool until_report = true;   ///< ends the job as soon as report.json holds a verdict; else the ranks end it
};

/// Runs `body(world)` on `count` ranks under dtdebug in a run directory of its own, which is removed.
outcome watch_job(int count, const std::function<void(host_comm &)> &body, const job_options &options = {});

/// `site` as a report spells it. On the line of the call: `const int line = __LINE__; world.barrier();`
inline std::string site_of(const char *file, int line) { return std::string(file) + ":" + std::to_string(line); }

} // namespace dtdebug::testing

/// The first verdict of the outcome `job`. Fails the test when there is none.
#define REQUIRE_REPORT(job)                                                                                            \
  INFO((job).output);                                                                                                  \
  REQUIRE_FALSE((job).verdicts.empty())
