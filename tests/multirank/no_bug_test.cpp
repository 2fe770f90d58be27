// Jobs in which nothing is wrong: nothing is reported, nothing is left.
#include "watched_job.hpp"

using namespace dtdebug;
using namespace dtdebug::testing;

namespace {

void nothing_to_report(const outcome &job) {
  INFO(job.output);
  CHECK(job.first_kind() == "(no report)");
  CHECK(job.left_over.empty());
  for (const rank_end &end : job.ends) {
    CHECK(end.exit_code == 0);
  }
}

} // namespace

TEST_CASE("every kind of call, on several communicators") {
  const outcome job = watch_job(4, [](host_comm &world) {
    host_comm row = world.split(world.rank() < 2 ? "first" : "second", world.rank() / 2);
    float data[64] = {};
    float all[256] = {};
    for (int step = 0; step < 5; ++step) {
      DT_STEP(step);
      row.all_reduce(data, 16, redop::sum, "activations");
      world.all_reduce(data, 64, redop::avg, "gradient");
      world.broadcast(data, 64, step % 4, "parameters");
      world.all_gather(data, 64, all);
      world.reduce_scatter(all, 256, data, redop::max);
      world.all_to_all(all, 64, data);
      world.gather(data, 16, all, 1);
      world.scatter(all, 16, data, 1);
      world.reduce(data, all, 64, redop::min, 2);
      const int next = (world.rank() + 1) % 4;
      const int previous = (world.rank() + 3) % 4;
      world.together({world.sending(data, 8, next), world.receiving(all, 8, previous)});
      world.barrier();
    }
    if (world.rank() == 0) {
      for (int i = 0; i < 3; ++i) {
        world.recv(data, 8, any_rank, any_tag);
      }
    } else {
      world.send(data, 8, 0, world.rank());
    }
  });
  nothing_to_report(job);
}

TEST_CASE("the same call from two lines, labels on some ranks only, members with other amounts in uneven calls") {
  const outcome job = watch_job(3, [](host_comm &world) {
    float data[16] = {};
    float all[16] = {};
    if (world.rank() == 0) {
      world.all_reduce(data, 16, redop::sum);
    } else {
      world.all_reduce(data, 16, redop::sum, "gradient");
    }
    world.all_gather_v(data, static_cast<std::uint64_t>(world.rank()), all, 3);
  });
  nothing_to_report(job);
}

TEST_CASE("a run directory is gone after a clean end") {
  const outcome job = watch_job(16, [](host_comm &world) { world.barrier(); });
  nothing_to_report(job);
}
