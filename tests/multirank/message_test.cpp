// Sends and receives that do not find each other.
#include "watched_job.hpp"

using namespace dtdebug;
using namespace dtdebug::testing;

namespace {

float data[64];

} // namespace

TEST_CASE("two ranks that send first wait in a circle") {
  int line = 0;
  const auto body = [](host_comm &world) {
    world.send(data, 8, 1 - world.rank());
    world.recv(data, 8, 1 - world.rank());
  };
  line = __LINE__ - 3;
  const outcome job = watch_job(2, body, {"10min"});
  REQUIRE_REPORT(job);
  CHECK(job.first_kind() == "p2p_cycle");
  CHECK(job.verdicts.front().ranks == std::vector<int>{0, 1});
  CHECK(job.verdicts.front().chain == std::vector<int>{0, 1, 0});
  CHECK(job.output.find(site_of(__FILE__, line)) != std::string::npos);
}

TEST_CASE("a receive shorter than its send") {
  const outcome job = watch_job(3,
                                [](host_comm &world) {
                                  if (world.rank() == 1) {
                                    world.send(data, 64, 2, 7);
                                  } else if (world.rank() == 2) {
                                    world.recv(data, 32, 1, 7);
                                  }
                                },
                                {"10min"});
  REQUIRE_REPORT(job);
  CHECK(job.first_kind() == "p2p_size_mismatch");
  CHECK(job.verdicts.front().ranks == std::vector<int>{1});
  CHECK(job.verdicts.front().peer == 2);
}

TEST_CASE("a receive from a rank that has ended without sending") {
  const outcome job = watch_job(2, [](host_comm &world) {
    if (world.rank() == 0) {
      world.recv(data, 8, 1);
    }
  });
  REQUIRE_REPORT(job);
  CHECK(job.first_kind() == "p2p_unmatched");
  CHECK(job.verdicts.front().ranks == std::vector<int>{0});
  CHECK(job.verdicts.front().peer == 1);
  CHECK(job.verdicts.front().op == "recv");
}

TEST_CASE("tags that do not meet") {
  const outcome job = watch_job(2, [](host_comm &world) {
    world.rank() == 0 ? world.send(data, 8, 1, 1) : static_cast<void>(world.recv(data, 8, 0, 2));
  });
  REQUIRE_REPORT(job);
  CHECK(job.first_kind() == "p2p_unmatched");
}

TEST_CASE("a batch of which one half never gets its partner") {
  // A ring: rank 3 sends on but forgets to receive, and ends.
  const outcome job = watch_job(4, [](host_comm &world) {
    const int next = (world.rank() + 1) % 4;
    const int previous = (world.rank() + 3) % 4;
    if (world.rank() != 3) {
      world.together({world.sending(data, 8, next), world.receiving(data, 8, previous)});
    } else {
      world.together({world.sending(data, 8, next)});
    }
  });
  REQUIRE_REPORT(job);
  CHECK(job.first_kind() == "p2p_unmatched");
  CHECK(job.verdicts.front().ranks == std::vector<int>{2});
  CHECK(job.verdicts.front().peer == 3);
  CHECK(job.verdicts.front().op == "send");
}
