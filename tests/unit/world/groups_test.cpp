// Groups in the black box: identity, members, names, reuse of slots.
#include "../record/recording_session.hpp"

#include <dtdebug/world/groups.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

using namespace dtdebug;
using namespace dtdebug::testing;

namespace {

using world::slot_state;

std::uint16_t add(std::uint64_t id, const std::vector<std::int32_t> &members = {0, 1}, const char *name = "g") {
  world::group_desc what;
  what.id = id;
  what.name = name;
  what.members = members.data();
  what.size = static_cast<std::uint32_t>(members.size());
  return world::add_group(record::box(), what);
}

void free_group(std::uint16_t slot) { world::set_state(record::box(), slot, slot_state::freed); }

blackbox::capacities few_groups(std::uint32_t groups) {
  blackbox::capacities sizes;
  sizes.groups = groups;
  return sizes;
}

} // namespace

TEST_CASE("identity is members, their order, name and ordinal, and nothing else") {
  const std::int32_t a[] = {0, 2, 4};
  const std::int32_t b[] = {0, 4, 2};
  const std::int32_t counting[] = {0, 1, 2};
  CHECK(world::group_id(a, 3, 1, 0) == world::group_id(a, 3, 1, 0));
  CHECK(world::group_id(nullptr, 3, 1, 0) == world::group_id(counting, 3, 1, 0));
  const std::set<std::uint64_t> distinct{world::group_id(a, 3, 1, 0), world::group_id(b, 3, 1, 0),
                                         world::group_id(a, 2, 1, 0), world::group_id(a, 3, 2, 0),
                                         world::group_id(a, 3, 1, 1)};
  CHECK(distinct.size() == 5);
  CHECK(distinct.count(0) == 0);
}

TEST_CASE("identities of a hundred thousand subsets are all different") {
  std::set<std::uint64_t> ids;
  for (std::int32_t first = 0; first < 100; ++first) {
    for (std::int32_t stride = 1; stride <= 10; ++stride) {
      for (std::int32_t size = 1; size <= 10; ++size) {
        std::vector<std::int32_t> members;
        for (std::int32_t i = 0; i < size; ++i) {
          members.push_back(first + i * stride);
        }
        for (std::uint64_t ordinal = 0; ordinal < 10 && (size > 1 || stride == 1); ++ordinal) {
          ids.insert(world::group_id(members.data(), static_cast<std::uint32_t>(size), 7, ordinal));
        }
      }
    }
  }
  CHECK(ids.size() == 100 * 10 * (10 * 9 + 1));
}

TEST_CASE("member lists come back as they were given") {
  const recording_session session;
  const std::vector<std::vector<std::int32_t>> lists = {
      {},        {5},    {0, 1, 2, 3}, {0, 2, 4, 6},      {3, 2, 1, 0}, {0, 1, 8, 9, 16, 17},
      {7, 7, 7}, {0, 9}, {1, 2, 4, 8}, {0, 1, 3, 4, 6, 7}};
  for (const auto &members : lists) {
    CHECK(members_of(record::box(), add(1, members)) == members);
  }
  std::mt19937 random(1);
  for (int round = 0; round < 50; ++round) {
    std::vector<std::int32_t> members(random() % 40);
    for (std::int32_t &m : members) {
      m = static_cast<std::int32_t>(random() % 100);
    }
    CHECK(members_of(record::box(), add(1, members)) == members);
  }
}

TEST_CASE("a group of sixteen thousand ranks in even strides takes one entry of the pool") {
  const recording_session session;
  std::vector<std::int32_t> members(16384);
  for (std::size_t i = 0; i < members.size(); ++i) {
    members[i] = static_cast<std::int32_t>(8 * i);
  }
  const std::uint64_t before = session.live().member_runs;
  CHECK(members_of(record::box(), add(1, members)) == members);
  CHECK(session.live().member_runs == before + 1);
}

TEST_CASE("a name is cut at 63 bytes and found by its full length all the same") {
  const recording_session session;
  const std::string name(200, 'x');
  const std::uint16_t slot = add(1, {0, 1}, name.c_str());
  CHECK(std::string(session.group(slot).name) == std::string(63, 'x'));
  CHECK(world::has_name(session.group(slot), name.c_str()));
  CHECK_FALSE(world::has_name(session.group(slot), "xx"));
  world::set_name(record::box().groups[slot], "short");
  CHECK(std::string(session.group(slot).name) == "short");
  CHECK_FALSE(world::has_name(session.group(slot), "shorter"));
  CHECK_FALSE(world::has_name(session.group(slot), "shor"));
  world::set_name(record::box().groups[slot], nullptr);
  CHECK(world::has_name(session.group(slot), ""));
}

TEST_CASE("slots of freed groups are used again once there is no fresh one, oldest group first") {
  const recording_session session(few_groups(5));
  CHECK(add(10) == 2);
  free_group(2);
  CHECK(add(11) == 3);
  CHECK(add(12) == 4);
  CHECK(add(13) == 2);
  free_group(4);
  free_group(3);
  CHECK(add(14) == 3); // created before the one in slot 4
  CHECK(add(15) == 4);
  CHECK(add(16) == world::no_group);
  CHECK(session.live().groups_unrecorded == 1);
  CHECK(session.live().group_count == 5);
}

TEST_CASE("the world and live groups are never given away") {
  const recording_session session(few_groups(4));
  add(10);
  add(11);
  world::set_state(record::box(), 3, slot_state::creating);
  for (int i = 0; i < 10; ++i) {
    CHECK(add(20) == world::no_group);
  }
  CHECK(session.group(1).id == 1);
  CHECK(session.group(2).id == 10);
  CHECK(session.group(3).id == 11);
}

TEST_CASE("a group in a used slot starts from nothing") {
  const recording_session session(few_groups(3));
  const std::uint16_t slot = add(10, {0, 1, 5, 9}, "first");
  for (int i = 0; i < 200; ++i) {
    record::end_call(record::begin_call(0, sum_of(1, slot)));
    record::end_call(record::begin_call(0, message(op_kind::send, 1, 4, slot)));
  }
  record::box().groups[slot].timeout_ns = 5;
  const std::uint64_t created = session.group(slot).created_ticks;
  free_group(slot);
  REQUIRE(add(11, {2, 3}, "x") == slot);
  const blackbox::group_slot &again = session.group(slot);
  CHECK(again.id == 11);
  CHECK(again.next_seq == 0);
  CHECK(again.rolling == 0);
  CHECK(again.timeout_ns == 0);
  CHECK(again.created_ticks > created);
  CHECK(std::string(again.name) == "x");
  CHECK(std::all_of(again.blocks, again.blocks + blackbox::blocks_per_group,
                    [](const blackbox::hash_block &b) { return b.sum == 0 && b.filled == 0; }));
  CHECK(members_of(record::box(), slot) == std::vector<std::int32_t>{2, 3});
  record::begin_call(0, message(op_kind::send, 1, 4, slot));
  record::begin_call(0, message(op_kind::send, 1, 4, world::world_group));
  const std::vector<blackbox::record> calls = records_of(session);
  CHECK(calls[399].seq == 199);
  CHECK(calls[400].seq == 0); // the first message of the new group
  CHECK(calls[401].seq == 0);
}

TEST_CASE("counters of other groups and of notes are not disturbed by a slot that is used again") {
  const recording_session session(few_groups(4));
  const std::uint16_t slot = add(10);
  const std::uint16_t other = add(11);
  for (int i = 0; i < 3; ++i) {
    record::begin_call(0, message(op_kind::recv, 1, 4, other));
    record::begin_call(0, message(op_kind::recv, 1, 4));
    record::note(note_type::decision, "d", "t");
    record::note(note_type::replica, "w", "t", 0, 0, slot);
    record::note(note_type::replica, "w", "t", 0, 0, other);
  }
  free_group(slot);
  REQUIRE(add(12) == slot);
  record::begin_call(0, message(op_kind::recv, 1, 4, other));
  record::begin_call(0, message(op_kind::recv, 1, 4));
  const std::vector<blackbox::record> calls = records_of(session);
  CHECK(calls[6].seq == 3);
  CHECK(calls[7].seq == 3);
  const auto ordinal = [](note_type kind, const char *name, std::uint16_t group) {
    record::note(kind, name, "t", 0, 0, group);
    return record::box().notes[record::box().live->note_head - 1].ordinal;
  };
  CHECK(ordinal(note_type::decision, "d", 0) == 3);
  CHECK(ordinal(note_type::replica, "w", slot) == 0);
  CHECK(ordinal(note_type::replica, "w", other) == 3);
}

TEST_CASE("creating and freeing groups for ever uses neither the table nor the pools up") {
  blackbox::capacities sizes = few_groups(8);
  sizes.member_runs = 256;
  const recording_session session(sizes);
  std::mt19937 random(2);
  for (std::uint64_t i = 0; i < 100'000; ++i) {
    std::vector<std::int32_t> members(1 + random() % 12);
    for (std::int32_t &m : members) {
      m = static_cast<std::int32_t>(random() % 64);
    }
    const std::uint16_t slot = add(i + 100, members);
    REQUIRE(slot != world::no_group);
    REQUIRE(members_of(record::box(), slot) == members);
    record::begin_call(0, message(op_kind::send, 1, 4, slot));
    free_group(slot);
  }
  CHECK(session.live().groups_unrecorded == 0);
  CHECK(session.live().members_unrecorded == 0);
  CHECK(session.live().messages_untracked == 0);
  CHECK(session.live().member_runs <= 6 * 32 + 1);
}

TEST_CASE("a pool without room for a member list is said, and a shorter list still finds room") {
  blackbox::capacities sizes;
  sizes.member_runs = 8;
  const recording_session session(sizes);
  const std::vector<std::int32_t> irregular{0, 1, 3, 6, 10, 15, 21, 28, 36, 45, 55, 66, 78, 91, 105, 120, 136, 153};
  const std::uint16_t none = add(10, irregular);
  REQUIRE(none != world::no_group);
  CHECK(members_of(record::box(), none).empty());
  CHECK(session.group(none).size == irregular.size());
  CHECK(session.live().members_unrecorded == 1);
  CHECK(members_of(record::box(), add(11, {4, 5, 6})) == std::vector<std::int32_t>{4, 5, 6});
  free_group(none);
  CHECK(session.live().members_unrecorded == 1);
}
