// The simulator's snapshots: where ranks end, and what they have recorded on the way.
#include <dtdebug/schedule/simulate.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

using namespace dtdebug;
using schedule::instruction;
using schedule::verb;

namespace {

/// A program of `world` ranks in one group "dp", written rank by rank.
class program_builder {
public:
  explicit program_builder(std::int32_t world) {
    std::vector<std::int32_t> members;
    for (std::int32_t r = 0; r < world; ++r) {
      members.push_back(r);
    }
    program.ranks.resize(static_cast<std::size_t>(world));
    for (auto &rank : program.ranks) {
      rank.world_size = world;
      rank.groups.emplace_back("dp", members);
    }
  }

  void add(const std::vector<std::size_t> &rows, instruction i) {
    i.file = "a.cpp";
    i.line = static_cast<std::uint32_t>(program.instructions.size());
    for (const std::size_t r : rows) {
      program.ranks[r].body.push_back(static_cast<std::uint32_t>(program.instructions.size()));
    }
    program.instructions.push_back(std::move(i));
  }

  void call(const std::vector<std::size_t> &rows, op_kind op, std::uint64_t count, const std::string &stream = "",
            std::int32_t peer = no_rank) {
    instruction i;
    i.op = op;
    i.type = dtype::f32;
    i.reduce = is_reduction(op) ? redop::sum : redop::none;
    i.dims = {count};
    i.has_data = true;
    i.group = "dp";
    i.stream = stream;
    i.root = peer;
    add(rows, std::move(i));
  }

  void act(const std::vector<std::size_t> &rows, verb what, const std::string &name = "", std::int64_t number = -1) {
    instruction i;
    i.what = what;
    i.name = name;
    i.stream = name;
    i.number = number;
    add(rows, std::move(i));
  }

  schedule::program program;
};

} // namespace

TEST_CASE("ranks that agree end cleanly, and their calls are complete") {
  program_builder b(3);
  b.call({0, 1, 2}, op_kind::all_reduce, 16);
  b.call({0, 1, 2}, op_kind::all_gather, 4);
  const model::job_snapshot job = schedule::simulate(b.program);
  CHECK(job.settled);
  for (const auto &rank : job.ranks) {
    CHECK(rank.life == model::liveness::ended_cleanly);
    REQUIRE(rank.calls.size() == 3);
    CHECK(rank.calls[0].op == op_kind::group_create);
    CHECK(rank.calls[2].seq == 1);
    CHECK(rank.calls[2].state == call_state::done);
    CHECK(rank.groups[1].next_seq == 2);
  }
}

TEST_CASE("a call that differs never returns; one on zero elements returns at once and takes no position") {
  program_builder b(2);
  b.call({0, 1}, op_kind::all_reduce, 0);
  b.call({0}, op_kind::all_reduce, 8);
  b.call({1}, op_kind::all_reduce, 9);
  const model::job_snapshot job = schedule::simulate(b.program);
  for (const auto &rank : job.ranks) {
    CHECK(rank.life == model::liveness::alive);
    REQUIRE(rank.calls.size() == 3);
    CHECK((rank.calls[1].flags & flag_no_position) != 0);
    CHECK(rank.calls[1].state == call_state::done);
    CHECK(rank.calls[2].seq == 0);
    CHECK(rank.calls[2].state == call_state::entered);
  }
}

TEST_CASE("streams run in order beside the host, and a rank waits for them at its end") {
  program_builder b(2);
  for (int i = 0; i < 20'000; ++i) {
    b.call({0, 1}, op_kind::all_reduce, 8, "s");
  }
  b.call({0}, op_kind::all_reduce, 8, "s");
  const model::job_snapshot job = schedule::simulate(b.program);
  CHECK(job.ranks[1].life == model::liveness::ended_cleanly);
  CHECK(job.ranks[0].life == model::liveness::alive);
  CHECK(job.ranks[0].calls.back().op == op_kind::finalize);
  CHECK(job.ranks[0].calls[job.ranks[0].calls.size() - 2].state == call_state::launched);
}

TEST_CASE("calls of a batch start together; one that is never closed stays queued") {
  program_builder b(2);
  b.act({0, 1}, verb::group_start);
  b.call({0}, op_kind::send, 4, "", 1);
  b.call({0}, op_kind::recv, 4, "", 1);
  b.call({1}, op_kind::send, 4, "", 0);
  b.call({1}, op_kind::recv, 4, "", 0);
  b.act({0}, verb::group_end);
  SUBCASE("closed on both") {
    b.act({1}, verb::group_end);
    const model::job_snapshot job = schedule::simulate(b.program);
    CHECK(job.ranks[0].life == model::liveness::ended_cleanly);
    CHECK(job.ranks[0].calls[1].batch == job.ranks[0].calls[2].batch);
    CHECK(job.ranks[0].calls[1].batch > 0);
  }
  SUBCASE("left open on one") {
    const model::job_snapshot job = schedule::simulate(b.program);
    CHECK(job.ranks[1].life == model::liveness::ended_cleanly);
    CHECK(job.ranks[1].calls[1].state == call_state::queued);
    CHECK(job.ranks[0].life == model::liveness::alive);
    CHECK(job.ranks[0].calls[1].state == call_state::entered);
  }
}

TEST_CASE("time passes while ranks sleep, and a rank that dies takes its pending calls with it") {
  program_builder b(2);
  b.act({1}, verb::sleep, "", 3'000'000'000);
  b.call({0, 1}, op_kind::all_reduce, 8);
  b.call({0}, op_kind::all_reduce, 8, "s");
  b.act({0}, verb::kill, "", 9);
  b.act({1}, verb::sleep, "", 1'000'000);
  b.call({1}, op_kind::all_reduce, 8);
  const model::job_snapshot job = schedule::simulate(b.program);
  CHECK(job.ranks[0].calls[1].left - job.ranks[0].calls[1].entered == 3'000'000'000);
  CHECK(job.ranks[0].life == model::liveness::crashed);
  CHECK(job.ranks[0].signal == 9);
  CHECK(job.ranks[1].calls.back().state == call_state::entered);
}
