// Results of every call on real forked ranks that agree.
#include "ranks.hpp"

#include <cstdint>
#include <numeric>

using namespace dtdebug;
using namespace dtdebug::testing;

namespace {

/// Element i of what rank r passes: small, so that sums are exact in every type.
template <typename T>
T value(int r, std::uint64_t i) {
  return static_cast<T>(r + 1 + static_cast<int>(i % 3));
}

template <typename T>
std::vector<T> values_of(int r, std::uint64_t count) {
  std::vector<T> out;
  for (std::uint64_t i = 0; i < count; ++i) {
    out.push_back(value<T>(r, i));
  }
  return out;
}

template <typename T>
std::vector<T> sum_over(int members, std::uint64_t count) {
  std::vector<T> out(count);
  for (int r = 0; r < members; ++r) {
    for (std::uint64_t i = 0; i < count; ++i) {
      out[i] = static_cast<T>(out[i] + value<T>(r, i));
    }
  }
  return out;
}

std::size_t at(int i) { return static_cast<std::size_t>(i); }

/// Every call once, in one type, on one communicator of any size above 1.
template <typename T>
void make_every_call(host_comm &comm) {
  const int me = comm.rank();
  const int size = comm.size();
  const auto members = static_cast<std::uint64_t>(size);
  const std::uint64_t n = 6;
  std::vector<T> concatenation;
  for (int r = 0; r < size; ++r) {
    const std::vector<T> part = values_of<T>(r, n);
    concatenation.insert(concatenation.end(), part.begin(), part.end());
  }

  comm.barrier();

  std::vector<T> data = values_of<T>(me, n);
  comm.all_reduce(data.data(), n, redop::sum);
  require(data == sum_over<T>(size, n), "all_reduce");

  std::vector<T> largest = values_of<T>(me, n);
  comm.all_reduce(largest.data(), n, redop::max);
  require(largest == values_of<T>(size - 1, n), "all_reduce max");

  for (int root = 0; root < size; ++root) {
    data = values_of<T>(me, n);
    std::vector<T> out(n, T{99});
    comm.reduce(data.data(), out.data(), n, redop::sum, root);
    require(out == (me == root ? sum_over<T>(size, n) : std::vector<T>(n, T{99})), "reduce");

    data = values_of<T>(me, n);
    comm.broadcast(data.data(), n, root);
    require(data == values_of<T>(root, n), "broadcast");

    data = values_of<T>(me, n);
    std::vector<T> gathered(me == root ? n * members : 0);
    comm.gather(data.data(), n, gathered.data(), root);
    require(me != root || gathered == concatenation, "gather");

    std::vector<T> share(n);
    comm.scatter(me == root ? concatenation.data() : nullptr, n, share.data(), root);
    require(share == values_of<T>(me, n), "scatter");
  }

  data = values_of<T>(me, n);
  std::vector<T> gathered(n * members);
  comm.all_gather(data.data(), n, gathered.data());
  require(gathered == concatenation, "all_gather");

  const std::vector<T> whole = values_of<T>(me, n * members);
  std::vector<T> share(n);
  comm.reduce_scatter(whole.data(), n * members, share.data(), redop::sum);
  const std::vector<T> sum = sum_over<T>(size, n * members);
  require(std::equal(share.begin(), share.end(), sum.begin() + static_cast<std::ptrdiff_t>(n) * me), "reduce_scatter");

  // Member r passes 10r + t to member t.
  std::vector<T> to_all(members * 2);
  for (int t = 0; t < size; ++t) {
    to_all[at(2 * t)] = to_all[at(2 * t) + 1] = static_cast<T>(10 * me + t);
  }
  std::vector<T> from_all(members * 2);
  comm.all_to_all(to_all.data(), members * 2, from_all.data());
  for (int r = 0; r < size; ++r) {
    require(from_all[at(2 * r)] == static_cast<T>(10 * r + me) && from_all[at(2 * r) + 1] == from_all[at(2 * r)],
            "all_to_all");
  }

  data = values_of<T>(me, n);
  comm.scan(data.data(), n, redop::sum);
  require(data == sum_over<T>(me + 1, n), "scan");
  data = values_of<T>(me, n);
  comm.exscan(data.data(), n, redop::sum);
  require(data == sum_over<T>(me, n), "exscan");
}

/// Member r passes r + 1 elements.
template <typename T>
void make_every_uneven_call(host_comm &comm) {
  const int me = comm.rank();
  const int size = comm.size();
  std::vector<T> expected;
  for (int r = 0; r < size; ++r) {
    expected.insert(expected.end(), at(r + 1), static_cast<T>(r));
  }
  const std::vector<T> mine(at(me + 1), static_cast<T>(me));
  std::vector<T> out(expected.size());
  comm.all_gather_v(mine.data(), mine.size(), out.data(), out.size());
  require(out == expected, "all_gather_v");
  std::vector<T> at_root(me == 0 ? expected.size() : 0);
  comm.gather_v(mine.data(), mine.size(), at_root.data(), at_root.size(), 0);
  require(me != 0 || at_root == expected, "gather_v");

  // Member r passes r + t elements with the value 10r + t to member t: none from 0 to 0.
  std::vector<std::int64_t> sent;
  std::vector<std::int64_t> expected_counts;
  std::vector<T> data;
  std::vector<T> all;
  for (int other = 0; other < size; ++other) {
    sent.push_back(me + other);
    data.insert(data.end(), at(me + other), static_cast<T>(10 * me + other));
    expected_counts.push_back(other + me);
    all.insert(all.end(), at(other + me), static_cast<T>(10 * other + me));
  }
  std::vector<T> received(all.size());
  comm.all_to_all_v(data.data(), sent, received.data(), expected_counts);
  require(received == all, "all_to_all_v");
}

} // namespace

TEST_CASE("every collective gives the right result, in several types and group sizes") {
  for (const int size : {2, 3, 5}) {
    CAPTURE(size);
    all_pass(size, [](host_comm &world) {
      make_every_call<float>(world);
      make_every_call<double>(world);
      make_every_call<std::int8_t>(world);
      make_every_call<std::uint16_t>(world);
      make_every_call<std::int64_t>(world);
      make_every_uneven_call<float>(world);
      make_every_uneven_call<std::uint8_t>(world);
    });
  }
}

TEST_CASE("disjoint and overlapping communicators do not disturb each other") {
  all_pass(6, [](host_comm &world) {
    host_comm row = world.split("row", world.rank() / 3);
    host_comm column = world.split("column", world.rank() % 3);
    require(row.size() == 3 && row.rank() == world.rank() % 3, "row");
    require(column.size() == 2 && column.rank() == world.rank() / 3, "column");
    for (int turn = 0; turn < 20; ++turn) {
      make_every_call<float>(row);
      make_every_call<std::int32_t>(column);
    }
    make_every_call<double>(world);
  });
}

TEST_CASE("split orders by key, then by rank; a group has the order in which its members are given") {
  all_pass(4, [](host_comm &world) {
    host_comm reversed = world.split("reversed", 7, -world.rank());
    require(reversed.rank() == 3 - world.rank(), "key decides");
    int data = world.rank();
    reversed.broadcast(&data, 1, 0);
    require(data == 3, "root is a position in the communicator");
    if (world.rank() % 2 == 0) {
      host_comm two = world.group("two", {2, 0});
      require(two.rank() == (world.rank() == 2 ? 0 : 1), "order given");
    }
  });
}

TEST_CASE("communicators with the same name and members are different ones, also from copies of their parent") {
  all_pass(2, [](host_comm &world) {
    host_comm copy = world;
    host_comm first = world.group("pair", {0, 1});
    host_comm second = copy.group("pair", {0, 1});
    host_comm nested = first.group("pair", {0, 1});
    std::vector<host_comm> all{first, second, nested};
    if (world.rank() == 0) {
      // Sent in another order than received: each communicator has messages of its own.
      std::vector<int> data{10, 11, 12};
      nested.send(&data[2], 1, 1);
      first.send(&data[0], 1, 1);
      second.send(&data[1], 1, 1);
    } else {
      int got = 0;
      nested.recv(&got, 1, 0);
      require(got == 12, "nested");
      first.recv(&got, 1, 0);
      require(got == 10, "first");
      second.recv(&got, 1, 0);
      require(got == 11, "second");
    }
    for (host_comm &comm : all) {
      make_every_call<float>(comm);
    }
  });
}

TEST_CASE("a handle that is copied takes part in the calls of the original") {
  all_pass(2, [](host_comm &world) {
    host_comm copy = world;
    int data = world.rank();
    (world.rank() == 0 ? copy : world).broadcast(&data, 1, 1);
    (world.rank() == 0 ? world : copy).broadcast(&data, 1, 0);
    require(data == 1, "one communicator");
  });
}

TEST_CASE("messages meet by tag, in their order within a tag") {
  all_pass(2, [](host_comm &world) {
    std::vector<int> numbers(6);
    std::iota(numbers.begin(), numbers.end(), 0);
    if (world.rank() == 0) {
      world.together({world.sending(&numbers[0], 1, 1, 5), world.sending(&numbers[1], 1, 1, 6),
                      world.sending(&numbers[2], 1, 1, 5)});
    } else {
      std::vector<int> got(3, -1);
      world.together(
          {world.receiving(&got[0], 1, 0, 6), world.receiving(&got[1], 1, 0, 5), world.receiving(&got[2], 1, 0, 5)});
      require(got == std::vector<int>{1, 0, 2}, "by tag");
    }
  });
}

TEST_CASE("a ring of sends and receives that start together passes, also with itself") {
  for (const int size : {1, 2, 5}) {
    all_pass(size, [](host_comm &world) {
      const int next = (world.rank() + 1) % world.size();
      const int previous = (world.rank() + world.size() - 1) % world.size();
      for (int turn = 0; turn < 50; ++turn) {
        std::vector<std::int64_t> out(100, world.rank() * 1000 + turn);
        std::vector<std::int64_t> in(100, -1);
        world.together({world.sending(out.data(), 100, next), world.receiving(in.data(), 100, previous)});
        require(in == std::vector<std::int64_t>(100, previous * 1000 + turn), "ring");
      }
    });
  }
}

TEST_CASE("a wildcard receive takes any message that fits, once, and says whose it was") {
  all_pass(4, [](host_comm &world) {
    if (world.rank() != 0) {
      const int mine = 100 * world.rank();
      world.send(&mine, 1, 0, world.rank());
      world.send(&mine, 1, 0, 9);
      return;
    }
    std::vector<bool> seen(4);
    for (int i = 1; i < 4; ++i) {
      int got = -1;
      // Tags 1 to 3 come first from each rank; 9 only after that.
      const repro::received from = world.recv(&got, 1, any_rank, i);
      require(from.from == i && from.tag == i && got == 100 * i, "any rank, one tag");
    }
    for (int i = 1; i < 4; ++i) {
      int got = -1;
      const repro::received from = world.recv(&got, 1, any_rank, any_tag);
      require(from.tag == 9 && got == 100 * from.from && !seen[at(from.from)], "any rank, any tag");
      seen[at(from.from)] = true;
    }
  });
}

TEST_CASE("exact receives go on behind a wildcard receive") {
  all_pass(2, [](host_comm &world) {
    std::vector<int> numbers{0, 1, 2, 3};
    if (world.rank() == 0) {
      for (const int &number : numbers) {
        world.send(&number, 1, 1, 4);
      }
    } else {
      std::vector<int> got(4, -1);
      world.recv(&got[0], 1, 0, 4);
      world.recv(&got[1], 1, any_rank, 4);
      world.recv(&got[2], 1, 0, 4);
      world.recv(&got[3], 1, 0, any_tag);
      require(got == numbers, "in order");
    }
  });
  all_pass(2, [](host_comm &world) { // all four are waiting when the first send comes
    std::vector<int> numbers{0, 1, 2, 3};
    if (world.rank() == 0) {
      world.barrier();
      for (const int &number : numbers) {
        world.send(&number, 1, 1, 4);
      }
    } else {
      std::vector<int> got(4, -1);
      repro::host_call barrier;
      barrier.op = op_kind::barrier;
      world.together({world.receiving(&got[0], 1, any_rank, 4), world.receiving(&got[1], 1, 0, 4),
                      world.receiving(&got[2], 1, any_rank, any_tag), world.receiving(&got[3], 1, 0, 4), barrier});
      require(got == numbers, "in order of posting");
    }
  });
}

TEST_CASE("what a real library does not check completes with wrong data") {
  all_pass(2, [](host_comm &world) {
    // Equal bytes, another type: the receiver reads the bits of a float as an integer.
    if (world.rank() == 0) {
      float data = 1.0F;
      world.broadcast(&data, 1, 0);
    } else {
      std::int32_t data = 0;
      world.broadcast(&data, 1, 0);
      require(data == 0x3f800000, "bits of 1.0f");
    }
    // Two tensors swapped on one rank: equal sizes reduce into each other.
    float a = 1.0F;
    float b = 10.0F;
    world.all_reduce(world.rank() == 0 ? &a : &b, 1, redop::sum, world.rank() == 0 ? "a" : "b");
    world.all_reduce(world.rank() == 0 ? &b : &a, 1, redop::sum, world.rank() == 0 ? "b" : "a");
    require(a == 11.0F && b == 11.0F, "mixed up");
  });
}

TEST_CASE("a call on nothing and a group of one return at once") {
  all_pass(2, [](host_comm &world) {
    if (world.rank() == 0) {
      float nothing = 3;
      world.all_reduce(&nothing, 0, redop::sum); // alone: it takes no position
      host_comm alone = world.group("alone", {0});
      int data = 5;
      alone.barrier();
      alone.all_reduce(&data, 1, redop::avg);
      require(data == 5, "own value");
    }
    world.barrier();
  });
}

TEST_CASE("calls that mean nothing are refused on the spot, and the communicator stays usable") {
  all_pass(2, [](host_comm &world) {
    const auto refused = [&world](const repro::host_call &call) {
      try {
        world.call(call);
      } catch (const std::invalid_argument &) {
        return true;
      }
      return false;
    };
    float data[3] = {};
    repro::host_call call;
    call.op = op_kind::all_reduce;
    call.type = dtype::f32;
    call.count = 3;
    call.in = call.out = data;
    call.out_size = sizeof data;
    call.reduce = redop::bit_and;
    require(refused(call), "bits of floats");
    call.op = op_kind::broadcast;
    call.root = 2;
    require(refused(call), "root that does not exist");
    call.op = op_kind::all_to_all;
    require(refused(call), "3 elements among 2");
    call.op = op_kind::reduce_scatter_v;
    require(refused(call), "op that is not offered");
    call.op = op_kind::all_to_all_v;
    call.splits = call.recv_splits = {1, 1};
    require(refused(call), "table that does not add up");
    call.op = op_kind::send;
    call.root = any_rank;
    require(refused(call), "send to anybody");
    call.op = op_kind::all_gather;
    call.type = dtype::user;
    require(refused(call), "unknown size");
    world.all_reduce(data, 3, redop::sum);
  });
}

TEST_CASE("large data and many calls go through, and memory is used again") {
  all_pass(3, [](host_comm &world) {
    const std::uint64_t n = 1U << 18U;
    std::vector<double> data(n);
    for (int turn = 0; turn < 30; ++turn) {
      std::fill(data.begin(), data.end(), world.rank() + turn);
      world.all_reduce(data.data(), n, redop::avg);
      require(data.front() == 1 + turn && data.back() == 1 + turn, "average");
    }
    for (int turn = 0; turn < 2000; ++turn) {
      int one = 1;
      world.all_reduce(&one, 1, redop::sum);
      require(one == 3, "sum");
    }
  });
}

TEST_CASE("256 ranks make calls together") {
  all_pass(256, [](host_comm &world) {
    std::int64_t sum = world.rank();
    world.all_reduce(&sum, 1, redop::sum);
    require(sum == 255 * 256 / 2, "sum");
    host_comm row = world.split("row", world.rank() / 16);
    int first = world.rank();
    row.broadcast(&first, 1, 0);
    require(first == world.rank() / 16 * 16, "row");
  });
}
