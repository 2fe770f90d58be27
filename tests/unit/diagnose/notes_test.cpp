// What ranks agree on before their calls, and what they write down themselves.
#include "job_builder.hpp"

#include <doctest/doctest.h>

using namespace dtdebug_test;
using model::note_kind;

namespace {

call_line grad(bool waits = false) {
  call_line c{op_kind::all_reduce, "world", 4096, "grad", "train.cpp:88"};
  c.waits = waits;
  return c;
}

} // namespace

TEST_CASE("another world size is told before what follows from it") {
  job_builder b(4);
  b.call({0, 1, 2, 3}, grad(true));
  b.at(1).world_size = 2;
  const auto v = b.verdicts();
  REQUIRE(v.size() == 1);
  CHECK(v[0].kind == "world_mismatch");
  CHECK(v[0].ranks == ranks{1});
}

TEST_CASE("meshes: seen differently, of a wrong size, not followed by a communicator") {
  job_builder differs(4);
  differs.note({0, 1, 2}, note_kind::mesh, "m", "dp=2 tp=2", 4).note({3}, note_kind::mesh, "m", "dp=1 tp=4", 4);
  auto v = differs.verdicts();
  REQUIRE(v.size() == 1);
  CHECK(v[0].kind == "mesh_mismatch");
  CHECK(v[0].ranks == ranks{3});
  CHECK(v[0].name == "m");
  job_builder size(4);
  size.note({0, 1, 2, 3}, note_kind::mesh, "m", "dp=4 tp=2", 8);
  v = size.verdicts();
  REQUIRE(v.size() == 1);
  CHECK(v[0].kind == "mesh_mismatch");
  job_builder check(2);
  check.note({0, 1}, note_kind::mesh_check, "m", "tp", 0);
  v = check.verdicts();
  REQUIRE(v.size() == 1);
  CHECK(v[0].kind == "mesh_mismatch");
  CHECK(v[0].group == "world");
}

TEST_CASE("groups whose members disagree, and groups created in opposite orders") {
  const auto create = [](job_builder &b, std::int32_t r, const char *name, const ranks &members) {
    model::group g;
    g.name = name;
    g.members = members;
    g.id = hash_bytes(name, 1, static_cast<std::uint64_t>(members.size()));
    b.at(r).groups.push_back(g);
    call_line c{op_kind::group_create, name, 0, "", "init.cpp:3"};
    c.waits = true;
    b.call({r}, c);
  };
  job_builder members(4);
  for (const std::int32_t r : {0, 1, 3}) {
    create(members, r, "d", {0, 1, 2, 3});
  }
  create(members, 2, "d", {0, 1, 2});
  auto v = members.verdicts();
  REQUIRE_FALSE(v.empty());
  CHECK(v[0].kind == "membership_mismatch");
  CHECK(v[0].ranks == ranks{2});
  CHECK(v[0].with == ranks{0, 1, 3});
  job_builder order(2);
  create(order, 0, "a", {0, 1});
  create(order, 1, "b", {0, 1});
  v = order.verdicts();
  REQUIRE_FALSE(v.empty());
  CHECK(v[0].kind == "group_order_mismatch");
  CHECK(v[0].tie);
}

TEST_CASE("errors that the library reports are the cause on the rank that hangs, a consequence after a crash") {
  job_builder cause(3);
  cause.call({0, 1, 2}, grad()).note({2}, note_kind::comm_error, "", "link down").call({0, 1}, grad(true));
  auto v = cause.verdicts();
  REQUIRE(v.size() == 1);
  CHECK(v[0].kind == "comm_error");
  CHECK(v[0].ranks == ranks{2});
  CHECK(find(v, "rank_stuck_host") != nullptr);
  job_builder consequence(3);
  consequence.call({0, 1, 2}, grad()).note({0, 1}, note_kind::comm_error, "", "peer closed").call({0, 1}, grad(true));
  consequence.ends({2}, model::liveness::crashed, 6);
  v = consequence.verdicts();
  REQUIRE(v.size() == 1);
  CHECK(v[0].kind == "rank_crashed");
  CHECK(find(v, "comm_error") != nullptr);
}

TEST_CASE("a swallowed error without effect is no finding") {
  job_builder b(3);
  b.call({0, 1, 2}, grad()).note({1}, note_kind::error, "", "retrying").call({0, 1, 2}, grad()).ends({0, 1, 2});
  CHECK(b.verdicts().empty());
}

TEST_CASE("out of memory comes before the call that was left out because of it") {
  job_builder b(4);
  b.call({0, 1, 2, 3}, grad()).note({3}, note_kind::out_of_memory, "", "2.4 GiB").call({0, 1, 2}, grad(true)).ends({3});
  const auto v = b.verdicts();
  REQUIRE(v.size() == 1);
  CHECK(v[0].kind == "out_of_memory");
  CHECK(find(v, "missing_call") != nullptr);
}

TEST_CASE("a decision is told if calls differ after it, and not otherwise") {
  job_builder b(4);
  b.call({0, 1, 2, 3}, grad())
      .note({0, 2, 3}, note_kind::decision, "stop", "no")
      .note({1}, note_kind::decision, "stop", "yes");
  b.call({0, 2, 3}, grad(true)).ends({1});
  const auto v = b.verdicts();
  REQUIRE(v.size() == 1);
  CHECK(v[0].kind == "decision_divergence");
  CHECK(v[0].ranks == ranks{1});
  CHECK(find(v, "missing_call") != nullptr);
  job_builder harmless(2);
  harmless.note({0}, note_kind::decision, "save", "yes")
      .note({1}, note_kind::decision, "save", "no")
      .call({0, 1}, grad())
      .ends({0, 1});
  CHECK(harmless.verdicts().empty());
}

TEST_CASE("facts that should agree, and one device for two ranks of a host") {
  job_builder b(4);
  b.note({0, 1, 2}, note_kind::fact, "NCCL_PROTO", "Simple").note({3}, note_kind::fact, "NCCL_PROTO", "LL");
  b.note({0, 1, 2, 3}, note_kind::fact, "host", "n0")
      .note({0, 1}, note_kind::fact, "device", "0")
      .note({2}, note_kind::fact, "device", "1")
      .note({3}, note_kind::fact, "device", "2");
  b.ends({0, 1, 2, 3});
  const auto v = b.verdicts();
  REQUIRE(v.size() == 2);
  CHECK(v[0].name == "NCCL_PROTO");
  CHECK(v[0].ranks == ranks{3});
  CHECK(v[1].name == "device");
  CHECK(v[1].ranks == ranks{0, 1});
}

TEST_CASE("replicas, NaN and memory are compared across ranks") {
  job_builder replica(3);
  replica.note({0, 1, 2}, note_kind::replica, "w0", "", 1, 1)
      .note({0, 2}, note_kind::replica, "w1", "", 5, 5)
      .note({1}, note_kind::replica, "w1", "", 6, 5);
  auto v = replica.verdicts();
  REQUIRE(v.size() == 1);
  CHECK(v[0].kind == "replica_divergence");
  CHECK(v[0].name == "w1");
  CHECK(v[0].ranks == ranks{1});
  job_builder nan(3);
  nan.step(0).note({0, 1, 2}, note_kind::finite_ok, "g");
  nan.step(1).note({0, 1}, note_kind::finite_ok, "g").note({2}, note_kind::non_finite, "g", "", 3, 1);
  nan.step(2).note({0, 1, 2}, note_kind::non_finite, "g", "", 3, 1);
  v = nan.verdicts();
  REQUIRE(v.size() == 1);
  CHECK(v[0].kind == "non_finite");
  CHECK(v[0].ranks == ranks{2});
  CHECK(v[0].step.value() == 1);
  job_builder memory(4);
  memory.note({0, 1, 2}, note_kind::memory, "", "", 40, 80).note({3}, note_kind::memory, "", "", 77, 80);
  v = memory.verdicts();
  REQUIRE(v.size() == 1);
  CHECK(v[0].kind == "memory_imbalance");
  CHECK(v[0].ranks == ranks{3});
}
