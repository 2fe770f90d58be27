// Who of a dead job died first, who was stopped, and who was killed with the rest.
#include <dtdebug/watch/autopsy.hpp>

#include "unit/diagnose/job_builder.hpp"

#include <doctest/doctest.h>

using namespace dtdebug_test;
using model::liveness;
using model::note_kind;

namespace {

constexpr model::time_ns second = 1'000'000'000;

/// Four ranks that were all killed at `end`, the last call of each having begun at `moved`.
struct dead_job {
  job_builder b{4};
  model::time_ns end;

  dead_job(model::time_ns moved, model::time_ns killed) : end(killed) {
    call_line c;
    c.waits = false;
    b.call({0, 1, 2, 3}, c);
    c.waits = true;
    b.call({0, 1, 2}, c); // rank 3 does not come
    for (model::rank_snapshot &rank : b.job.ranks) {
      rank.life = liveness::vanished;
      rank.heartbeat = killed;
      rank.calls.front().entered = rank.calls.front().left = moved;
      rank.calls.back().entered = moved;
      watched(rank);
    }
  }

  static void watched(model::rank_snapshot &rank) {
    model::note n;
    n.kind = note_kind::neighbours_watched;
    n.value = 3;
    rank.notes.push_back(n);
  }
  void death(std::int32_t witness, std::int32_t victim, model::time_ns at) {
    model::note n;
    n.kind = note_kind::neighbour_died;
    n.value = static_cast<std::uint64_t>(victim);
    n.at = at;
    n.order = static_cast<std::uint64_t>(at);
    b.at(witness).notes.push_back(n);
  }
  void stop(std::int32_t witness, std::int32_t victim, model::time_ns at) {
    model::note n;
    n.kind = note_kind::neighbour_stopped;
    n.value = static_cast<std::uint64_t>(victim);
    n.at = at;
    b.at(witness).notes.push_back(n);
  }
  static model::note paused_at(model::time_ns at) {
    model::note n;
    n.kind = note_kind::paused;
    n.value = 2 * second;
    n.at = at;
    return n;
  }
  std::vector<model::verdict> judge() {
    diagnose::options options;
    options.settled = true;
    return watch::detail::judge_the_dead(b.job, options).verdicts;
  }
};

} // namespace

TEST_CASE("a job that hung when it was killed is judged as it stood") {
  dead_job job(1 * second, 20 * second);
  job.death(0, 1, 20 * second); // the order in which it was killed says nothing
  const auto v = job.judge();
  REQUIRE(v.size() == 1);
  CHECK(v[0].kind == "rank_stuck_host");
  CHECK(v[0].ranks == ranks{3});
}

TEST_CASE("in a job that moved, the rank that its neighbours saw die first is the cause") {
  dead_job job(10 * second, 10 * second + second / 20);
  job.death(0, 3, 10 * second + second / 40);
  job.death(1, 0, 10 * second + second / 30);
  const auto v = job.judge();
  REQUIRE(v.size() == 1);
  CHECK(v[0].kind == "rank_crashed");
  CHECK(v[0].ranks == ranks{3});
  CHECK(v[0].sure == model::confidence::proven);
}

TEST_CASE("in a job that moved and of which nobody noted a death, it was likely the awaited rank") {
  dead_job job(10 * second, 10 * second + second / 20);
  const auto v = job.judge();
  REQUIRE(v.size() == 1);
  CHECK(v[0].kind == "rank_crashed");
  CHECK(v[0].ranks == ranks{3});
  CHECK(v[0].sure == model::confidence::likely);
}

TEST_CASE("where ranks contradict each other, one that was on its way when all were killed is no finding") {
  dead_job job(10 * second, 10 * second + second / 20);
  job.death(0, 1, 10 * second + second / 20);
  job.b.at(2).calls.front().reduce = redop::max;
  job.b.at(2).calls.front().hard = 7;
  const auto v = job.judge();
  REQUIRE(v.size() == 1);
  CHECK(v[0].kind == "redop_mismatch");
  CHECK(v[0].ranks == ranks{2});
}

TEST_CASE("a rank whose watchdog fell silent while nobody saw it die was stopped") {
  dead_job job(1 * second, 20 * second);
  job.b.at(3).heartbeat = 2 * second;
  const auto v = job.judge();
  REQUIRE(v.size() == 1);
  CHECK(v[0].kind == "rank_stopped");
  CHECK(v[0].ranks == ranks{3});
}

TEST_CASE("so was one that ran again just before its end") {
  dead_job job(1 * second, 20 * second);
  job.stop(0, 3, 2 * second);
  job.b.at(3).notes.push_back(dead_job::paused_at(20 * second));
  const auto v = job.judge();
  REQUIRE(v.size() == 1);
  CHECK(v[0].kind == "rank_stopped");
}

TEST_CASE("a rank that was seen stopped and did not run again was stopped, however short the silence") {
  dead_job job(1 * second, 3 * second);
  job.b.at(3).heartbeat = 2 * second;
  job.stop(0, 3, 2 * second + second / 10);
  const auto v = job.judge();
  REQUIRE(v.size() == 1);
  CHECK(v[0].kind == "rank_stopped");
  CHECK(v[0].ranks == ranks{3});
}

TEST_CASE("a rank that was stopped for a while and then went on is judged as it stood") {
  dead_job job(1 * second, 20 * second);
  job.stop(0, 3, 5 * second);
  job.b.at(3).notes.push_back(dead_job::paused_at(10 * second));
  const auto v = job.judge();
  REQUIRE(v.size() == 1);
  CHECK(v[0].kind == "rank_stuck_host");
}

TEST_CASE("watchdogs that got no processor before all were killed make no rank stopped or crashed") {
  for (const std::int32_t starved : {0, 3}) {
    dead_job job(1 * second, 20 * second);
    job.b.at(starved).heartbeat = 18 * second;
    job.b.at(starved).notes.push_back(dead_job::paused_at(18 * second));
    const auto v = job.judge();
    REQUIRE(v.size() == 1);
    CHECK(v[0].kind == "rank_stuck_host");
    CHECK(v[0].ranks == ranks{3});
  }
}

TEST_CASE("a rank that died long before the others were killed is the cause") {
  dead_job job(1 * second, 20 * second);
  job.b.at(3).heartbeat = 2 * second;
  job.death(0, 3, 2 * second);
  const auto v = job.judge();
  REQUIRE(v.size() == 1);
  CHECK(v[0].kind == "rank_crashed");
  CHECK(v[0].ranks == ranks{3});
}

TEST_CASE("ranks that a launcher killed after another had crashed are not accused") {
  dead_job job(10 * second, 10 * second + second / 10);
  job.b.at(3).life = liveness::crashed;
  job.b.at(3).signal = 11;
  job.b.at(3).ended = 10 * second + second / 20;
  job.b.at(0).life = liveness::crashed; // a zombie: its signal is known, its own word there is not
  job.b.at(0).signal = 9;
  const auto v = job.judge();
  REQUIRE(v.size() == 1);
  CHECK(v[0].kind == "rank_crashed");
  CHECK(v[0].ranks == ranks{3});
}

TEST_CASE("a rank that vanished while others came to their clean end did so alone") {
  dead_job job(1 * second, 20 * second);
  for (const std::int32_t r : {0, 1, 2}) {
    job.b.at(r).life = liveness::ended_cleanly;
    job.b.at(r).calls.back().state = call_state::done;
  }
  const auto v = job.judge();
  REQUIRE(!v.empty());
  CHECK(v[0].kind == "rank_crashed");
  CHECK(v[0].ranks == ranks{3});
}

TEST_CASE("ranks killed after another had come to its clean end are judged as they stood") {
  for (const model::time_ns ended : {2 * second, 20 * second, 20 * second + second / 100}) {
    dead_job job(1 * second, 20 * second);
    job.b.at(3).life = liveness::ended_cleanly;
    job.b.at(3).ended = ended;
    const auto v = job.judge();
    REQUIRE(!v.empty());
    CHECK(v[0].kind == "missing_call");
    CHECK(v[0].ranks == ranks{3});
  }
}

TEST_CASE("a rank killed in its own code just before the clean end of the others is the finding") {
  dead_job job(20 * second, 20 * second);
  for (const std::int32_t r : {0, 1, 2}) {
    job.b.at(r).life = liveness::ended_cleanly;
    job.b.at(r).ended = 20 * second + second / 5;
    job.b.at(r).calls.pop_back();
  }
  const auto v = job.judge();
  REQUIRE(v.size() == 1);
  CHECK(v[0].kind == "rank_crashed");
  CHECK(v[0].ranks == ranks{3});
}

TEST_CASE("a rank that vanished while others still live did so alone") {
  dead_job job(1 * second, 20 * second);
  for (const std::int32_t r : {0, 1, 2}) {
    job.b.at(r).life = liveness::alive;
  }
  const auto v = job.judge();
  REQUIRE(!v.empty());
  CHECK(v[0].kind == "rank_crashed");
  CHECK(v[0].ranks == ranks{3});
}
