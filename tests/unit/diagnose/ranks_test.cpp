// Ranks that do not come, come late, or wait for each other.
#include "job_builder.hpp"

#include <doctest/doctest.h>

using namespace dtdebug_test;
using model::liveness;

namespace {

call_line grad(bool waits = false) {
  call_line c{op_kind::all_reduce, "world", 4096, "grad", "train.cpp:88"};
  c.waits = waits;
  return c;
}

call_line on(const char *group, op_kind op, bool waits, const char *site) {
  call_line c{op, group, 64, "", site};
  c.waits = waits;
  return c;
}

call_line message(op_kind op, std::int32_t peer, bool waits, std::uint64_t count = 64, std::int32_t tag = 0) {
  call_line c{op, "world", count, "", op == op_kind::send ? "p.cpp:1" : "p.cpp:2"};
  c.root = peer;
  c.tag = tag;
  c.waits = waits;
  return c;
}

} // namespace

TEST_CASE("a rank that is gone, stopped or in host code is told with the call that waits for it") {
  struct row {
    const char *kind;
    liveness life;
    int code;
  };
  for (const row &r : {row{"rank_crashed", liveness::crashed, 11}, row{"rank_exited", liveness::exited, 1},
                       row{"rank_stopped", liveness::stopped, 0}, row{"rank_stuck_host", liveness::alive, 0},
                       row{"rank_crashed", liveness::vanished, 0}}) {
    CAPTURE(r.kind);
    job_builder b(4);
    b.call({0, 1, 2, 3}, grad()).call({0, 1, 3}, grad(true)).ends({2}, r.life, r.code);
    const auto v = b.verdicts();
    REQUIRE(v.size() == 1);
    CHECK(v[0].kind == r.kind);
    CHECK(v[0].ranks == ranks{2});
    CHECK(v[0].group == "world");
    CHECK(v[0].seq.value() == 1);
    CHECK(v[0].other_site == "train.cpp:88");
    CHECK(v[0].chain.back() == 2);
  }
}

TEST_CASE("most ranks in host code are the culprits, not the one that waits") {
  job_builder b(4);
  b.call({0, 1, 2, 3}, grad()).call({0}, grad(true));
  const auto v = b.verdicts();
  REQUIRE(v.size() == 1);
  CHECK(v[0].kind == "rank_stuck_host");
  CHECK(v[0].ranks == ranks{1, 2, 3});
}

TEST_CASE("a rank that died inside a call is absent from it") {
  job_builder b(3);
  b.call({0, 1, 2}, grad(true)).ends({1}, liveness::crashed, 9);
  const auto v = b.verdicts();
  REQUIRE(v.size() == 1);
  CHECK(v[0].kind == "rank_crashed");
  CHECK(v[0].ranks == ranks{1});
}

TEST_CASE("live: who is merely not there yet is no finding, who died is one") {
  job_builder b(3);
  b.job.settled = false;
  b.job.now = 1'000'000;
  b.call({0, 1, 2}, grad()).call({0, 1}, grad(true));
  CHECK(b.verdicts().empty());
  b.ends({2}, liveness::vanished);
  const auto dead = b.verdicts();
  REQUIRE(dead.size() == 1);
  CHECK(dead[0].kind == "rank_crashed");
  b.ends({2}, liveness::alive);
  b.job.now = 60'000'000'000; // far beyond the timeout
  const auto late = b.verdicts();
  REQUIRE(late.size() == 1);
  CHECK(late[0].kind == "rank_stuck_host");
}

TEST_CASE("clean ends tell a missing call from an extra one by numbers") {
  job_builder missing(4);
  missing.call({0, 1, 2, 3}, grad()).call({0, 1, 2}, grad(true)).ends({3});
  auto v = missing.verdicts();
  REQUIRE(v.size() == 1);
  CHECK(v[0].kind == "missing_call");
  CHECK(v[0].ranks == ranks{3});
  job_builder extra(4);
  extra.call({0, 1, 2, 3}, grad()).call({3}, grad(true)).ends({0, 1, 2});
  v = extra.verdicts();
  REQUIRE(v.size() == 1);
  CHECK(v[0].kind == "extra_call");
  CHECK(v[0].ranks == ranks{3});
}

TEST_CASE("at the clean end of all ranks, sequences of different length are found although nobody waits") {
  job_builder b(3);
  b.call({0, 1, 2}, grad()).call({0, 2}, grad()).ends({0, 1, 2});
  const auto v = b.verdicts();
  REQUIRE(v.size() == 1);
  CHECK(v[0].kind == "missing_call");
  CHECK(v[0].ranks == ranks{1});
  CHECK(v[0].seq.value() == 1);
}

TEST_CASE("a call that returned after the timeout names who came late") {
  job_builder b(3);
  b.call({0, 1, 2}, grad()).ends({0, 1, 2});
  b.at(1).calls[0].entered = 5'000'000'000;
  for (auto &rank : b.job.ranks) {
    rank.calls[0].left = 5'000'000'100;
  }
  const auto v = b.verdicts();
  REQUIRE(v.size() == 1);
  CHECK(v[0].kind == "rank_slow");
  CHECK(v[0].ranks == ranks{1});
}

TEST_CASE("the wait chain leads through other groups to the rank that holds everything up") {
  job_builder b(4);
  b.group("tp", {0, 1}).group("tp", {2, 3}).group("dp", {0, 2}).group("dp", {1, 3});
  b.call({1}, on("tp", op_kind::all_reduce, true, "l.cpp:1"))
      .call({2, 3}, on("tp", op_kind::all_reduce, false, "l.cpp:1"));
  b.call({2, 3}, on("dp", op_kind::all_reduce, true, "l.cpp:2"));
  const auto v = b.verdicts();
  REQUIRE(v.size() == 1);
  CHECK(v[0].kind == "rank_stuck_host");
  CHECK(v[0].ranks == ranks{0});
  CHECK(v[0].chain == ranks{3, 1, 0});
  CHECK(v[0].chain_text.size() == 2);
}

TEST_CASE("opposite orders of two groups are a deadlock in which nobody is blamed") {
  job_builder b(4);
  b.group("dp", {0, 1, 2, 3}).group("tp", {0, 1}).group("tp", {2, 3});
  b.call({0}, on("tp", op_kind::all_gather, true, "f.cpp:1"))
      .call({2, 3}, on("tp", op_kind::all_gather, false, "f.cpp:1"));
  b.call({1, 2, 3}, on("dp", op_kind::all_reduce, true, "f.cpp:2"));
  const auto v = b.verdicts();
  REQUIRE(v.size() == 1);
  CHECK(v[0].kind == "cross_group_deadlock");
  CHECK(v[0].ranks == ranks{0, 1});
  CHECK(v[0].chain == ranks{0, 1, 0});
}

TEST_CASE("the same call on another group is told as the wrong group") {
  job_builder b(4);
  b.group("a", {0, 1, 2, 3}).group("b", {0, 1, 2, 3});
  b.call({0, 2, 3}, on("a", op_kind::all_reduce, true, "g.cpp:5"))
      .call({1}, on("b", op_kind::all_reduce, true, "g.cpp:5"));
  const auto v = b.verdicts();
  REQUIRE(v.size() == 1);
  CHECK(v[0].kind == "wrong_group");
  CHECK(v[0].group == "a");
  CHECK(v[0].ranks == ranks{1});
  CHECK(v[0].with == ranks{0, 2, 3});
}

TEST_CASE("messages: a circle, a partner that ended, another tag, another size") {
  SUBCASE("both send first") {
    job_builder b(2);
    b.call({0}, message(op_kind::send, 1, true)).call({1}, message(op_kind::send, 0, true));
    const auto v = b.verdicts();
    REQUIRE(v.size() == 1);
    CHECK(v[0].kind == "p2p_cycle");
    CHECK(v[0].chain == ranks{0, 1, 0});
  }
  SUBCASE("nobody sends any more") {
    job_builder b(2);
    b.call({0}, message(op_kind::recv, 1, true)).ends({1});
    const auto v = b.verdicts();
    REQUIRE(v.size() == 1);
    CHECK(v[0].kind == "p2p_unmatched");
    CHECK(v[0].ranks == ranks{0});
    CHECK(v[0].peer.value() == 1);
    CHECK(v[0].op == "recv");
  }
  SUBCASE("tags do not meet") {
    job_builder b(2);
    b.call({0}, message(op_kind::send, 1, true, 64, 7)).call({1}, message(op_kind::recv, 0, true, 64, 8));
    const auto v = b.verdicts();
    REQUIRE_FALSE(v.empty());
    CHECK(v[0].kind == "p2p_unmatched");
    CHECK(find(v, "p2p_cycle") == nullptr);
  }
  SUBCASE("sizes differ") {
    job_builder b(2);
    b.call({0}, message(op_kind::send, 1, true, 64)).call({1}, message(op_kind::recv, 0, true, 32));
    const auto v = b.verdicts();
    REQUIRE(v.size() == 1);
    CHECK(v[0].kind == "p2p_size_mismatch");
    CHECK(v[0].ranks == ranks{0});
    CHECK(v[0].peer.value() == 1);
    CHECK(v[0].fields.front() == "count");
  }
  SUBCASE("a short message into a large buffer is legal once it is complete") {
    job_builder b(2);
    b.call({0}, message(op_kind::send, 1, false, 32)).call({1}, message(op_kind::recv, 0, false, 64)).ends({0, 1});
    CHECK(b.verdicts().empty());
  }
}

TEST_CASE("a group of calls that was never closed is found behind those who wait") {
  job_builder b(2);
  b.call({0}, message(op_kind::recv, 1, true)).call({1}, message(op_kind::send, 0, false)).ends({1});
  b.at(1).calls[0].state = call_state::queued;
  b.at(1).calls[0].batch = 1;
  const auto v = b.verdicts();
  REQUIRE(v.size() == 1);
  CHECK(v[0].kind == "group_left_open");
  CHECK(v[0].ranks == ranks{1});
}

TEST_CASE("a run that only streams let pass is a latent deadlock") {
  job_builder b(2);
  b.group("x", {0, 1}).group("y", {0, 1});
  call_line x{op_kind::all_reduce, "x", 64, "", "s.cpp:1"}, y{op_kind::all_reduce, "y", 32, "", "s.cpp:2"};
  x.stream = 1;
  y.stream = 2;
  b.call({0}, x).call({0}, y).call({1}, y).call({1}, x).ends({0, 1});
  const auto v = b.verdicts();
  REQUIRE(v.size() == 1);
  CHECK(v[0].kind == "latent_deadlock");
  diagnose::options quiet;
  quiet.verify = false;
  CHECK(b.verdicts(quiet).empty());
}

TEST_CASE("all members in one call that does not return: the program is not to blame") {
  job_builder b(3);
  b.call({0, 1, 2}, grad(true));
  const auto v = b.verdicts();
  REQUIRE(v.size() == 1);
  CHECK(v[0].kind == "transport_stall");
  CHECK(v[0].sure == model::confidence::suspected);
}

TEST_CASE("overwritten records and missing ranks are named as unknown") {
  job_builder b(3);
  b.call({0, 1, 2}, grad()).call({0, 1}, grad(true));
  b.at(2).calls_lost = 1000;
  auto v = b.verdicts();
  REQUIRE(v.size() == 1);
  CHECK_FALSE(v[0].unknowns.empty());
  b.at(2) = {};
  b.at(2).rank = 2;
  b.at(2).life = liveness::never_started;
  v = b.verdicts();
  REQUIRE_FALSE(v.empty());
  CHECK(v[0].ranks == ranks{2});
  CHECK_FALSE(v[0].unknowns.empty());
}

TEST_CASE("a rank that is on its way out counts as ended") {
  job_builder b(4);
  b.call({0, 1, 2, 3}, grad()).call({0, 1, 2}, grad(true));
  call_line finalize{op_kind::finalize, "world", 0, "", "main.cpp:9"};
  finalize.waits = true;
  b.call({3}, finalize);
  const auto v = b.verdicts();
  REQUIRE(v.size() == 1);
  CHECK(v[0].kind == "missing_call");
  CHECK(v[0].ranks == ranks{3});
}

TEST_CASE("a rank that was stopped inside a call which the others have left is what they wait for in a later one") {
  job_builder b(4);
  b.call({1}, grad(true)).call({0, 2, 3}, grad()).call({0, 2, 3}, grad(true)).ends({1}, liveness::stopped);
  const auto v = b.verdicts();
  REQUIRE(v.size() == 1);
  CHECK(v[0].kind == "rank_stopped");
  CHECK(v[0].ranks == ranks{1});
  CHECK(v[0].with == ranks{0, 2, 3});
}

TEST_CASE("ranks that gave up after a call failed on them follow from the difference in that call") {
  for (const liveness life : {liveness::unknown, liveness::crashed, liveness::exited}) {
    CAPTURE(static_cast<int>(life));
    job_builder b(4);
    call_line longer = grad();
    longer.count = 5000;
    b.call({0, 1, 2}, grad()).call({3}, longer).call({1, 3}, on("world", op_kind::barrier, true, "b.cpp:7"));
    for (const std::int32_t r : {0, 2}) {
      b.at(r).calls.back().state = call_state::failed;
    }
    b.ends({0, 2}, life, life == liveness::crashed ? 6 : 1);
    const auto v = b.verdicts();
    REQUIRE(v.size() == 1);
    CHECK(v[0].kind == "count_mismatch");
    CHECK(v[0].ranks == ranks{3});
    CHECK(v[0].consequences.size() == 1);
  }
}
