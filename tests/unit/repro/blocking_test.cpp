// Ranks that disagree really block: each sleeps in the kernel on its wake-up word, and nothing can wake it.
#include "ranks.hpp"

#include <atomic>
#include <csignal>
#include <functional>

using namespace dtdebug;
using namespace dtdebug::testing;

namespace {

using body = std::function<void(host_comm &)>;

/// Rank 0 makes the first call, all others the second.
body differing(const body &rank_0, const body &others) {
  return [rank_0, others](host_comm &world) { (world.rank() == 0 ? rank_0 : others)(world); };
}

float data[64];

void sum(host_comm &c, std::uint64_t count, redop op = redop::sum) { c.all_reduce(data, count, op); }

} // namespace

TEST_CASE("a member that does not come leaves the others waiting") {
  CHECK(blocks(3, {0, 1}, [](host_comm &world) {
    if (world.rank() != 2) {
      sum(world, 4);
    }
  }));
}

TEST_CASE("members that differ in what must agree all wait") {
  const struct {
    const char *what;
    body rank_0, others;
  } cases[] = {
      {"op", [](host_comm &c) { sum(c, 4); }, [](host_comm &c) { c.broadcast(data, 4, 0); }},
      {"op without data", [](host_comm &c) { c.barrier(); }, [](host_comm &c) { sum(c, 4); }},
      {"count of a reduction", [](host_comm &c) { sum(c, 4); }, [](host_comm &c) { sum(c, 5); }},
      {"reduce op", [](host_comm &c) { sum(c, 4); }, [](host_comm &c) { sum(c, 4, redop::max); }},
      {"type of a reduction", [](host_comm &c) { sum(c, 4); },
       [](host_comm &c) {
         std::int32_t same_size[4] = {};
         c.all_reduce(same_size, 4, redop::sum);
       }},
      {"type of a reduction at equal bytes", [](host_comm &c) { sum(c, 4); },
       [](host_comm &c) {
         double same_bytes[2] = {};
         c.all_reduce(same_bytes, 2, redop::sum);
       }},
      {"root", [](host_comm &c) { c.broadcast(data, 4, 0); }, [](host_comm &c) { c.broadcast(data, 4, 1); }},
      {"bytes of a broadcast", [](host_comm &c) { c.broadcast(data, 4, 0); },
       [](host_comm &c) { c.broadcast(data, 5, 0); }},
      {"bytes of an all_gather", [](host_comm &c) { c.all_gather(data, 4, data + 32); },
       [](host_comm &c) { c.all_gather(data, 2, data + 32); }},
      {"elements where others pass none", [](host_comm &c) { sum(c, 4); }, [](host_comm &c) { sum(c, 0); }},
  };
  for (const auto &c : cases) {
    CAPTURE(std::string(c.what));
    const bool others_wait = std::string(c.what) != "elements where others pass none";
    CHECK(blocks(3, others_wait ? std::vector<int>{0, 1, 2} : std::vector<int>{0}, differing(c.rank_0, c.others)));
  }
}

TEST_CASE("one pair that disagrees holds the whole all_to_all_v") {
  CHECK(blocks(3, {0, 1, 2}, [](host_comm &world) {
    std::vector<std::int64_t> sent{1, 1, 1};
    const std::vector<std::int64_t> expected{1, 1, 1};
    sent[2] = world.rank() == 0 ? 2 : 1; // rank 2 expects one from rank 0
    world.all_to_all_v(data, sent, data + 32, expected);
  }));
}

TEST_CASE("a send waits for its receive, a receive for its send") {
  CHECK(blocks(2, {0}, [](host_comm &world) {
    if (world.rank() == 0) {
      world.send(data, 1, 1); // one element: not buffered either
    }
  }));
  CHECK(blocks(2, {0}, [](host_comm &world) {
    if (world.rank() == 0) {
      world.recv(data, 1, 1);
    }
  }));
  CHECK(blocks(2, {0}, [](host_comm &world) {
    if (world.rank() == 0) {
      world.recv(data, 1, any_rank, any_tag);
    }
  }));
}

TEST_CASE("two ranks that send first wait for each other") {
  CHECK(blocks(2, {0, 1}, [](host_comm &world) {
    world.send(data, 4, 1 - world.rank());
    world.recv(data, 4, 1 - world.rank());
  }));
}

TEST_CASE("messages of other tags, groups or sizes do not meet") {
  CHECK(blocks(2, {0, 1},
               differing([](host_comm &c) { c.send(data, 4, 1, 1); }, [](host_comm &c) { c.recv(data, 4, 0, 2); })));
  CHECK(
      blocks(2, {0, 1}, differing([](host_comm &c) { c.send(data, 4, 1); }, [](host_comm &c) { c.recv(data, 3, 0); })));
  CHECK(blocks(2, {0, 1}, [](host_comm &world) {
    host_comm other = world.group("other", {0, 1});
    world.rank() == 0 ? world.send(data, 4, 1) : static_cast<void>(other.recv(data, 4, 0));
  }));
}

TEST_CASE("ends of unequal size that have met do not look for others") {
  CHECK(blocks(2, {0, 1}, [](host_comm &world) {
    if (world.rank() == 0) {
      world.together({world.sending(data, 4, 1), world.sending(data, 3, 1)});
    } else {
      world.together({world.receiving(data, 3, 0), world.receiving(data, 4, 0)});
    }
  }));
}

TEST_CASE("a wildcard receive that met a send of another size waits with it") {
  CHECK(blocks(2, {0, 1},
               differing([](host_comm &c) { c.send(data, 4, 1); }, [](host_comm &c) { c.recv(data, 3, any_rank); })));
}

TEST_CASE("a circle through two communicators holds") {
  CHECK(blocks(2, {0, 1}, [](host_comm &world) {
    host_comm first = world.group("first", {0, 1});
    host_comm second = world.group("second", {0, 1});
    sum(world.rank() == 0 ? first : second, 4);
    sum(world.rank() == 0 ? second : first, 4);
  }));
}

TEST_CASE("a group that members see differently is never created") {
  CHECK(blocks(3, {0, 1}, [](host_comm &world) {
    if (world.rank() < 2) {
      world.group("dp", world.rank() == 0 ? std::vector<int>{0, 1} : std::vector<int>{1, 0});
    }
  }));
}

TEST_CASE("ranks outside of the disagreement go on") {
  std::string said;
  CHECK(blocks(
      4, {0, 1},
      [](host_comm &world) {
        host_comm half = world.split("half", world.rank() / 2);
        if (world.rank() < 2) {
          sum(half, world.rank() == 0 ? 4 : 5);
        }
        float mine[1] = {1};
        half.all_reduce(mine, 1, redop::sum);
        std::puts(mine[0] == 2 ? "right" : "wrong");
      },
      &said));
  CHECK(said.find("rank 2: right\n") != std::string::npos);
  CHECK(said.find("rank 3: right\n") != std::string::npos);
}

TEST_CASE("the state that these tests wait for is not reached by ranks that agree") {
  CHECK_FALSE(blocks(2, {0, 1}, [](host_comm &world) { sum(world, 4); }));
}

TEST_CASE("ranks that are killed at any moment leave the shared memory in order for the others") {
  // Two pairs that use the same lock and heap; the second is killed while it is busy, the first must never notice.
  for (int turn = 0; turn < 20; ++turn) {
    repro::arena memory;
    REQUIRE(memory.ready());
    const shared<std::atomic<int>> rounds; // of the pair that is killed
    recorded_lines said;
    local_options options;
    options.on_line = said.sink();
    bool killed = false;
    options.poll = [&](const std::vector<rank_end> &ranks) {
      if (!killed && rounds.value->load() > 10 + turn) {
        ::kill(ranks[2].pid, SIGKILL);
        ::kill(ranks[3].pid, SIGKILL);
        killed = true;
      }
      return true;
    };
    const local_result result = run_on(
        memory, 4,
        [&](host_comm &world) {
          host_comm pair = world.split("pair", world.rank() / 2);
          std::vector<std::int32_t> values(300);
          for (int i = 0; world.rank() >= 2 || i < 3000; ++i) {
            std::fill(values.begin(), values.end(), pair.rank() + i);
            pair.all_reduce(values.data(), values.size(), redop::sum);
            if (world.rank() < 2) {
              require(values.front() == 2 * i + 1 && values.back() == 2 * i + 1, "wrong sum");
            } else {
              rounds.value->fetch_add(1);
            }
          }
        },
        options);
    INFO(said.text());
    INFO(how_it_ended(result));
    CHECK(killed);
    CHECK(result.ranks[0].exit_code == 0);
    CHECK(result.ranks[1].exit_code == 0);
    CHECK(result.ranks[2].signal == SIGKILL);
    CHECK(result.ranks[3].signal == SIGKILL);
    CHECK_FALSE(result.deadline_passed);
  }
}

TEST_CASE("a rank that dies inside a call leaves its partners waiting, not wrong") {
  CHECK(blocks(3, {0, 1}, [](host_comm &world) {
    if (world.rank() == 2) {
      ::raise(SIGKILL);
    }
    sum(world, 4);
  }));
}
