// Members of a group that call different things at one position: found without a timeout.
#include "watched_job.hpp"

using namespace dtdebug;
using namespace dtdebug::testing;

namespace {

float gradient[256];
float gathered[256 * 4];

/// Long: these are contradictions, the report must not wait for it.
constexpr job_options no_timeout{"10min"};

} // namespace

TEST_CASE("a rank that gathers where the others reduce") {
  int culprit = 0;
  int others = 0;
  const auto body = [&](host_comm &world) {
    world.barrier();
    if (world.rank() == 3) {
      world.all_gather(gradient, 256, gathered, "gradient"); // culprit
    }
    world.all_reduce(gradient, 256, redop::sum, "gradient"); // others
  };
  culprit = __LINE__ - 4;
  others = __LINE__ - 3;
  const outcome job = watch_job(4, body, no_timeout);
  REQUIRE_REPORT(job);
  const reported_verdict &first = job.verdicts.front();
  CHECK(first.kind == "op_mismatch");
  CHECK(first.group == "world");
  CHECK(first.seq == 1);
  CHECK(first.ranks == std::vector<int>{3});
  CHECK(first.with == std::vector<int>{0, 1, 2});
  CHECK(first.op == "all_gather");
  CHECK(first.other == "all_reduce");
  CHECK(first.site == site_of(__FILE__, culprit));
  CHECK(first.other_site == site_of(__FILE__, others));
  CHECK_FALSE(job.deadline_passed);
}

TEST_CASE("a rank with another count, reduce op, type or root") {
  const struct {
    const char *kind;
    std::function<void(host_comm &, bool)> call;
  } cases[] = {
      {"count_mismatch", [](host_comm &c, bool odd) { c.all_reduce(gradient, odd ? 255 : 256, redop::sum); }},
      {"redop_mismatch", [](host_comm &c, bool odd) { c.all_reduce(gradient, 256, odd ? redop::avg : redop::sum); }},
      {"root_mismatch", [](host_comm &c, bool odd) { c.broadcast(gradient, 256, odd ? 1 : 0); }},
      {"dtype_mismatch",
       [](host_comm &c, bool odd) {
         std::int32_t flags[256] = {};
         odd ? c.all_reduce(flags, 256, redop::sum) : c.all_reduce(gradient, 256, redop::sum);
       }},
  };
  for (const auto &c : cases) {
    CAPTURE(std::string(c.kind));
    const outcome job = watch_job(
        4, [&c](host_comm &world) { c.call(world, world.rank() == 2); }, no_timeout);
    REQUIRE_REPORT(job);
    CHECK(job.first_kind() == c.kind);
    CHECK(job.verdicts.front().ranks == std::vector<int>{2});
    CHECK(job.verdicts.front().with == std::vector<int>{0, 1, 3});
  }
}

TEST_CASE("a difference in one of several communicators names that one and its ranks") {
  const outcome job = watch_job(
      6,
      [](host_comm &world) {
        host_comm row = world.split(world.rank() < 3 ? "low" : "high", world.rank() / 3);
        for (int step = 0; step < 3; ++step) {
          row.all_reduce(gradient, 256, redop::sum);
        }
        row.all_reduce(gradient, world.rank() == 4 ? 128 : 256, redop::sum);
      },
      no_timeout);
  REQUIRE_REPORT(job);
  const reported_verdict &first = job.verdicts.front();
  CHECK(first.kind == "count_mismatch");
  CHECK(first.group == "high");
  CHECK(first.seq == 3);
  CHECK(first.ranks == std::vector<int>{4});
  CHECK(first.with == std::vector<int>{3, 5});
}

TEST_CASE("two tensors in swapped order complete, and are reported all the same") {
  job_options to_the_end = no_timeout;
  to_the_end.until_report = false;
  const outcome job = watch_job(
      4,
      [](host_comm &world) {
        float weight[16] = {};
        float bias[16] = {};
        const bool swapped = world.rank() == 1;
        world.all_reduce(swapped ? bias : weight, 16, redop::sum, swapped ? "bias" : "weight");
        world.all_reduce(swapped ? weight : bias, 16, redop::sum, swapped ? "weight" : "bias");
      },
      to_the_end);
  REQUIRE_REPORT(job);
  for (const rank_end &end : job.ends) {
    CHECK(end.exit_code == 0);
  }
  CHECK(job.first_kind() == "order_mismatch");
  CHECK(job.verdicts.front().ranks == std::vector<int>{1});
}
