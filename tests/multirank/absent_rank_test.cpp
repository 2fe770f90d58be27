// A call that others wait for and one rank does not make: because it skipped it, died, left, stopped, or is busy.
#include "watched_job.hpp"

#include <atomic>
#include <csignal>

#include <unistd.h>

using namespace dtdebug;
using namespace dtdebug::testing;

namespace {

float data[64];

/// All ranks make three steps; rank 2 does something else in step 1, before its call.
outcome with_rank_2(const std::function<void()> &instead, int &line, const char *timeout = "1s") {
  job_options options;
  options.timeout = timeout;
  line = __LINE__ + 8;
  return watch_job(
      4,
      [&instead](host_comm &world) {
        for (int step = 0; step < 3; ++step) {
          DT_STEP(step);
          DT_PHASE("backward");
          (world.rank() == 2 && step == 1 ? instead() : static_cast<void>(0));
          world.all_reduce(data, 64, redop::avg, "gradient");
        }
      },
      options);
}

/// The others wait in the call of step 1.
void check_first(const outcome &job, const char *kind, int line) {
  REQUIRE_REPORT(job);
  const reported_verdict &first = job.verdicts.front();
  CHECK(first.kind == kind);
  CHECK(first.ranks == std::vector<int>{2});
  CHECK(first.group == "world");
  CHECK(first.seq == 1);
  CHECK(first.other_site == site_of(__FILE__, line));
  CHECK_FALSE(job.deadline_passed);
}

} // namespace

TEST_CASE("a rank killed by SIGKILL") {
  int line = 0;
  const outcome job = with_rank_2([] { ::raise(SIGKILL); }, line, "10min");
  check_first(job, "rank_crashed", line);
  CHECK(job.ends[2].signal == SIGKILL);
}

TEST_CASE("a rank that dies by SIGSEGV") {
  int line = 0;
  const outcome job = with_rank_2([] { ::raise(SIGSEGV); }, line, "10min");
  check_first(job, "rank_crashed", line);
}

TEST_CASE("a rank that exits") {
  int line = 0;
  const outcome job = with_rank_2([] { std::exit(3); }, line, "10min");
  check_first(job, "rank_exited", line);
}

TEST_CASE("a rank that is stopped") {
  int line = 0;
  const outcome job = with_rank_2([] { ::raise(SIGSTOP); }, line);
  check_first(job, "rank_stopped", line);
}

TEST_CASE("a rank that spins in its own code") {
  int line = 0;
  const outcome job = with_rank_2(
      [] {
        static std::atomic<unsigned> turns;
        for (;;) {
          turns.fetch_add(1, std::memory_order_relaxed);
        }
      },
      line);
  check_first(job, "rank_stuck_host", line);
  CHECK(job.verdicts.front().step == 1);
}

TEST_CASE("a rank that skips a call") {
  int skipped = 0;
  int other = 0;
  const auto body = [](host_comm &world) {
    for (int step = 0; step < 3; ++step) {
      DT_STEP(step);
      if (!(world.rank() == 1 && step == 1)) {
        world.all_reduce(data, 64, redop::avg, "gradient");
      }
      world.all_reduce(data, 1, redop::sum, "loss");
    }
  };
  skipped = __LINE__ - 5;
  other = __LINE__ - 4;
  const outcome job = watch_job(4, body, {"10min"});
  REQUIRE_REPORT(job);
  const reported_verdict &first = job.verdicts.front();
  CHECK(first.kind == "missing_call");
  CHECK(first.ranks == std::vector<int>{1});
  CHECK(first.with == std::vector<int>{0, 2, 3});
  CHECK(first.seq == 2);
  CHECK(first.other == "all_reduce");
  CHECK(first.site == site_of(__FILE__, other));
  CHECK(first.other_site == site_of(__FILE__, skipped));
}

TEST_CASE("a rank whose data end early") {
  const outcome job = watch_job(4, [](host_comm &world) {
    for (int step = 0; step < (world.rank() == 0 ? 2 : 3); ++step) {
      world.all_reduce(data, 64, redop::avg, "gradient");
    }
  });
  REQUIRE_REPORT(job);
  CHECK(job.first_kind() == "missing_call");
  CHECK(job.verdicts.front().ranks == std::vector<int>{0});
  CHECK(job.verdicts.front().seq == 2);
}
