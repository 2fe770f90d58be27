// Many threads of one rank that record at once.
#include "recording_session.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <set>
#include <thread>
#include <vector>

using namespace dtdebug;
using namespace dtdebug::testing;

namespace {

/// Runs `work(i)` in `count` threads that begin together.
template <typename Work>
void in_threads(int count, Work work) {
  std::atomic<int> here{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&here, &work, count, i] {
      ++here;
      while (here.load() < count) {
        std::this_thread::yield();
      }
      work(i);
    });
  }
  for (std::thread &thread : threads) {
    thread.join();
  }
}

void record_one(std::uint64_t count, std::uint16_t group = world::world_group) {
  record::end_call(record::begin_call(0, sum_of(count, group)));
}

/// Positions of the records of a group, each of which must be there once; the hashes must be theirs.
void check_group(const recording_session &session, std::uint16_t group, std::uint64_t expected) {
  std::set<std::uint64_t> positions;
  std::uint64_t duplicates = 0;
  std::uint64_t rolling = 0;
  std::vector<std::uint64_t> blocks(expected / 64 + 1);
  for (const blackbox::record &call : records_of(session)) {
    if (call.group == group) {
      duplicates += positions.insert(call.seq).second ? 0U : 1U;
      rolling += mix(call.hard, call.seq);
      REQUIRE(call.seq < expected);
      blocks[call.seq / 64] += mix(call.hard, call.seq);
    }
  }
  CHECK(duplicates == 0);
  CHECK(positions.size() == expected);
  CHECK(session.group(group).next_seq == expected);
  CHECK(session.group(group).rolling == rolling);
  for (std::uint64_t b = 0; b < expected / 64; ++b) {
    const blackbox::hash_block &block = session.group(group).blocks[b % blackbox::blocks_per_group];
    if (block.block == b + 1 && block.filled == 64) {
      CHECK(block.sum == blocks[b]);
    }
  }
}

} // namespace

TEST_CASE("24 threads that record at once lose no record and duplicate none") {
  constexpr int threads = 24;
  constexpr std::uint64_t calls = 2000;
  const recording_session session;
  const std::uint16_t second = world::add_group(record::box(), {2, "second", nullptr, 4, 0});
  in_threads(threads, [second](int thread) {
    for (std::uint64_t i = 0; i < calls; ++i) {
      record_one(i, thread % 2 == 0 ? world::world_group : second);
      record_one(i, world::world_group);
    }
  });
  CHECK(record::calls_so_far() == 2 * threads * calls);
  CHECK(session.live().calls_unrecorded == 0);
  CHECK(records_of(session).size() == 2 * threads * calls);
  check_group(session, world::world_group, threads * calls * 3 / 2);
  check_group(session, second, threads * calls / 2);
  for (const blackbox::record &call : records_of(session)) {
    REQUIRE(static_cast<call_state>(call.state) == call_state::done);
    REQUIRE(call.left >= call.entered);
  }
}

TEST_CASE("messages of many threads on one channel get each ordinal once") {
  constexpr int threads = 8;
  constexpr std::uint64_t calls = 500;
  const recording_session session;
  in_threads(threads, [](int) {
    for (std::uint64_t i = 0; i < calls; ++i) {
      record::end_call(record::begin_call(0, message(op_kind::send, 1, 7)));
    }
  });
  std::set<std::uint64_t> ordinals;
  for (const blackbox::record &call : records_of(session)) {
    ordinals.insert(call.seq);
  }
  CHECK(ordinals.size() == threads * calls);
  CHECK(*ordinals.rbegin() == threads * calls - 1);
}

TEST_CASE("rings are used again after their threads have ended") {
  blackbox::capacities sizes;
  sizes.rings = 2;
  const recording_session session(sizes);
  for (std::uint64_t i = 0; i < 20; ++i) {
    std::thread([i] { record_one(i); }).join();
  }
  CHECK(session.live().calls_unrecorded == 0);
  CHECK(session.live().ring_count == 2);
  CHECK(record::calls_so_far() == 20);
  check_group(session, world::world_group, 20);
}

TEST_CASE("a fresh ring goes before one that a thread has left, so that its records stay longer") {
  blackbox::capacities sizes;
  sizes.rings = 3;
  const recording_session session(sizes);
  std::thread([] { record_one(1); }).join();
  std::thread([] { record_one(2); }).join();
  CHECK(record::box().ring(0)->head == 1);
  CHECK(record::box().ring(1)->head == 1);
}

TEST_CASE("calls of more threads than rings are counted where they are not recorded") {
  constexpr int threads = 12;
  constexpr std::uint64_t calls = 300;
  blackbox::capacities sizes;
  sizes.rings = 4;
  const recording_session session(sizes);
  std::atomic<int> finished{0};
  in_threads(threads, [&finished](int) {
    for (std::uint64_t i = 0; i < calls; ++i) {
      record_one(i);
    }
    ++finished;
    while (finished.load() < threads) { // all rings stay taken until the last thread has made its calls
      std::this_thread::yield();
    }
  });
  CHECK(session.live().calls_unrecorded == (threads - 4) * calls);
  CHECK(record::calls_so_far() == 4 * calls);
  CHECK(records_of(session).size() == 4 * calls);
  CHECK(session.group(world::world_group).next_seq == 4 * calls);
}

TEST_CASE("a thread that found no ring gets one when another thread ends") {
  blackbox::capacities sizes;
  sizes.rings = 1;
  const recording_session session(sizes);
  std::atomic<int> turn{0};
  std::thread owner([&turn] {
    record_one(0);
    turn = 1;
    while (turn.load() < 2) {
      std::this_thread::yield();
    }
  });
  std::thread second([&turn, &owner] {
    while (turn.load() < 1) {
      std::this_thread::yield();
    }
    record_one(1);
    turn = 2;
    owner.join();
    for (std::uint64_t i = 0; i < record::detail::calls_between_claims + 1; ++i) {
      record_one(2);
    }
  });
  second.join();
  CHECK(record::calls_so_far() >= 2);
  CHECK(record::calls_so_far() + session.live().calls_unrecorded == record::detail::calls_between_claims + 3);
}

TEST_CASE("threads that use a name for the first time at once get one group") {
  for (int round = 0; round < 20; ++round) {
    const recording_session session;
    std::vector<std::uint16_t> slots(24);
    in_threads(24, [&slots](int thread) { slots[static_cast<std::size_t>(thread)] = record::slot_of("dp"); });
    CHECK(std::set<std::uint16_t>(slots.begin(), slots.end()).size() == 1);
    REQUIRE(session.live().group_count == 3);
  }
}

TEST_CASE("threads that create and free groups at once never share a slot") {
  blackbox::capacities sizes;
  sizes.groups = 12;
  const recording_session session(sizes);
  std::atomic<std::uint64_t> owner[12] = {};
  std::atomic<std::uint64_t> refused{0};
  std::atomic<std::uint64_t> shared{0};
  std::atomic<std::uint64_t> wrong_members{0};
  in_threads(16, [&](int thread) {
    for (std::uint64_t i = 1; i <= 500; ++i) {
      const std::int32_t members[] = {0, static_cast<std::int32_t>(thread) + 1, 100, 7};
      const std::uint64_t id = i << 8 | static_cast<std::uint64_t>(thread);
      const std::uint16_t slot = world::add_group(record::box(), {id, "loop", members, 4, 0});
      if (slot == world::no_group) {
        ++refused;
        continue;
      }
      shared += owner[slot].exchange(id) != 0 ? 1U : 0U;
      wrong_members += members_of(record::box(), slot) == std::vector<std::int32_t>(members, members + 4) ? 0U : 1U;
      shared += owner[slot].exchange(0) != id ? 1U : 0U;
      world::set_state(record::box(), slot, world::slot_state::freed);
    }
  });
  CHECK(shared == 0);
  CHECK(wrong_members == 0);
  CHECK(session.live().groups_unrecorded == refused);
  CHECK(session.live().members_unrecorded == 0);
  CHECK(session.live().group_ordinal == 1 + 16 * 500 - refused);
  CHECK(session.live().member_runs <= 12 * 4 + 1);
}

TEST_CASE("threads that intern the same labels and lines at once all get their text") {
  blackbox::capacities sizes;
  sizes.labels = 512;
  const recording_session session(sizes);
  std::atomic<std::uint64_t> wrong{0};
  in_threads(12, [&wrong](int) {
    for (int i = 0; i < 100; ++i) {
      const std::string text = "layer " + std::to_string(i);
      const std::uint32_t id = blackbox::label_id(record::box(), text.c_str(), hash_string(text.c_str()));
      wrong += id == 0 || text != record::box().labels[id - 1].text ? 1U : 0U;
      const std::uint32_t site = blackbox::site_id(record::box(), text.c_str(), 7, "f", "g");
      wrong += site == 0 || text != record::box().strings + record::box().sites[site - 1].file ? 1U : 0U;
    }
  });
  CHECK(wrong == 0);
}

TEST_CASE("notes of many threads are whole, and each has an ordinal of its own") {
  blackbox::capacities sizes;
  sizes.notes = 4096;
  const recording_session session(sizes);
  in_threads(8, [](int thread) {
    for (int i = 0; i < 100; ++i) {
      record::note(note_type::decision, "shared", std::to_string(thread * 1000 + i).c_str(),
                   static_cast<std::uint64_t>(thread * 1000 + i));
    }
  });
  blackbox::reader file;
  REQUIRE(file.open(session.file.c_str()) == blackbox::read_error::none);
  std::set<std::uint64_t> values;
  std::set<std::uint64_t> ordinals;
  for (std::uint64_t n = 0; n < session.live().note_head; ++n) {
    blackbox::note_slot note;
    REQUIRE(file.note_at(n, note));
    CHECK(std::to_string(note.value) == note.text);
    values.insert(note.value);
    ordinals.insert(note.ordinal);
  }
  CHECK(values.size() == 800);
  CHECK(ordinals.size() == 800);
}
