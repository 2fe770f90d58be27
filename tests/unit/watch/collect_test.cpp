// Black boxes into snapshots: to which group a record belongs, and what happens with damaged files.
#include "../record/recording_session.hpp"

#include <dtdebug/watch/collect.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>

using namespace dtdebug;
using namespace dtdebug::testing;

namespace {

model::rank_snapshot look(const std::string &folder) {
  watch::job_collector collector(folder);
  REQUIRE(collector.discover() == 1);
  model::job_snapshot job = collector.collect(false);
  REQUIRE(!job.ranks.empty());
  return job.ranks[0];
}

std::uint16_t add(std::uint64_t id, const char *name) {
  static const std::int32_t members[] = {0, 1};
  return world::add_group(record::box(), {id, name, members, 2, 0});
}

blackbox::capacities three_groups() {
  blackbox::capacities sizes;
  sizes.groups = 3;
  return sizes;
}

} // namespace

TEST_CASE("records of a freed group are not taken for calls of the group that has its slot now") {
  const recording_session session(three_groups());
  const std::uint16_t slot = add(10, "old");
  for (int i = 0; i < 5; ++i) {
    record::end_call(record::begin_call(0, sum_of(1, slot)));
    record::note(note_type::comm_error, "old", "old", 0, 0, slot);
  }
  world::set_state(record::box(), slot, world::slot_state::freed);
  {
    const model::rank_snapshot before = look(session.file.folder());
    REQUIRE(before.calls.size() == 5); // freed, and still known
    CHECK(before.groups[before.calls[4].group].name == "old");
  }
  REQUIRE(add(11, "new") == slot);
  record::end_call(record::begin_call(0, sum_of(2)));
  record::end_call(record::begin_call(0, sum_of(3, slot)));
  record::note(note_type::comm_error, "new", "new", 0, 0, slot);
  const model::rank_snapshot rank = look(session.file.folder());
  REQUIRE(rank.groups.size() == 2);
  REQUIRE(rank.calls.size() == 2);
  CHECK(rank.groups[rank.calls[0].group].name == "world");
  CHECK(rank.groups[rank.calls[1].group].name == "new");
  CHECK(rank.calls[1].seq == 0);
  CHECK(rank.calls_lost == 0);
  REQUIRE(rank.notes.size() == 1);
  CHECK(rank.notes[0].name == "new");
}

TEST_CASE("records of a group that cannot be read are lost, not calls of the world") {
  const recording_session session;
  const std::uint16_t slot = add(10, "g");
  record::end_call(record::begin_call(0, sum_of(1, slot)));
  record::end_call(record::begin_call(0, sum_of(1)));
  record::box().groups[slot].created_ticks = 0; // as while the slot is being given away
  const model::rank_snapshot rank = look(session.file.folder());
  CHECK(rank.groups.size() == 1);
  REQUIRE(rank.calls.size() == 1);
  CHECK(rank.groups[rank.calls[0].group].name == "world");
  CHECK(rank.calls_lost == 1);
}

TEST_CASE("without any readable group there are no calls, and they are counted") {
  const recording_session session;
  call_desc wait;
  wait.op = op_kind::wait; // belongs to no group
  record::begin_call(0, wait);
  CHECK(look(session.file.folder()).calls.size() == 1);
  record::box().groups[world::world_group].created_ticks = 0;
  const model::rank_snapshot rank = look(session.file.folder());
  CHECK(rank.calls.empty());
  CHECK(rank.calls_lost == 1);
}

TEST_CASE("members come in group order, spare entries of the pool are none") {
  const recording_session session(three_groups());
  const std::int32_t many[] = {0, 3, 4, 9, 11};
  const std::int32_t few[] = {5, 2};
  const std::uint16_t slot = world::add_group(record::box(), {10, "many", many, 5, 0});
  CHECK(look(session.file.folder()).groups[1].members == std::vector<std::int32_t>(many, many + 5));
  world::set_state(record::box(), slot, world::slot_state::freed);
  world::add_group(record::box(), {11, "few", few, 2, 0});
  CHECK(look(session.file.folder()).groups[1].members == std::vector<std::int32_t>(few, few + 2));
}

TEST_CASE("a group of more members than ranks there can be has none on record") {
  const recording_session session;
  const std::uint16_t slot = add(10, "g");
  for (const std::uint32_t count : {1U << 24, 5000U, UINT32_MAX, 0x80000000U}) {
    record::box().members[record::box().groups[slot].first_run].count = count;
    CHECK(look(session.file.folder()).groups[1].members.empty());
  }
}

TEST_CASE("what found no room is said") {
  blackbox::capacities sizes = three_groups();
  sizes.rings = 0;
  sizes.member_runs = 1;
  sizes.sites = 1;
  sizes.labels = 1;
  sizes.string_bytes = 8;
  sizes.messages = 1;
  const recording_session session(sizes);
  const std::int32_t members[] = {0, 1, 5};
  world::add_group(record::box(), {2, "no members", members, 3, 0});
  add(3, "no slot");
  record::begin_call(0, sum_of(1));
  blackbox::label_id(record::box(), "a", 5);
  blackbox::label_id(record::box(), "b", 6);
  blackbox::site_id(record::box(), "long file name", 1, "f", "t");
  blackbox::site_id(record::box(), "long file name", 2, "f", "t");
  blackbox::next_ordinal(record::box(), 0x10000);
  blackbox::next_ordinal(record::box(), 0x20000);
  const model::rank_snapshot rank = look(session.file.folder());
  const auto says = [&rank](const char *what) {
    return std::any_of(rank.missing_evidence.begin(), rank.missing_evidence.end(),
                       [what](const std::string &line) { return line.find(what) != std::string::npos; });
  };
  CHECK(says("1 calls were made by threads for which there was no ring"));
  CHECK(says("1 groups found no room"));
  CHECK(says("1 groups have no member list"));
  CHECK(says("1 labels found no room"));
  CHECK(says("1 calls have no source line"));
  CHECK(says("texts"));
  CHECK(says("1 messages could not be counted"));
  CHECK(rank.groups_lost == 1);
}

TEST_CASE("file names with impossible ranks are left alone") {
  const recording_session session;
  for (const char *name : {"rank-4294967295.dtbb", "rank-4000000000.dtbb", "rank-1048576.dtbb", "rank-99999999999.dtbb",
                           "rank--1.dtbb", "rank-1.dtbb.bak", "rank-.dtbb"}) {
    REQUIRE(::link(session.file.c_str(), (session.file.folder() + "/" + name).c_str()) == 0);
  }
  watch::job_collector collector(session.file.folder());
  CHECK(collector.discover() == 1);
  CHECK(collector.collect(false).ranks.size() == 4);
  for (const char *name : {"rank-4294967295.dtbb", "rank-4000000000.dtbb", "rank-1048576.dtbb", "rank-99999999999.dtbb",
                           "rank--1.dtbb", "rank-1.dtbb.bak", "rank-.dtbb"}) {
    ::unlink((session.file.folder() + "/" + name).c_str());
  }
}

TEST_CASE("no damage of a file makes the collector fail or ask for memory without bound") {
  blackbox::capacities sizes;
  sizes.ring_records = 64;
  sizes.ring_extra_words = 64;
  sizes.rings = 2;
  sizes.groups = 3;
  sizes.member_runs = 16;
  sizes.sites = 8;
  sizes.labels = 8;
  sizes.string_bytes = 256;
  sizes.notes = 8;
  sizes.messages = 8;
  sizes.modules = 1; // no module: nothing to resolve in files of this machine
  sizes.stacks = 1;
  const recording_session session(sizes);
  const std::uint16_t group = add(10, "g");
  for (int i = 0; i < 40; ++i) {
    record::end_call(record::begin_call(0, sum_of(1, i % 2 == 0 ? group : world::world_group)));
    DT_DECISION("d", i);
  }
  blackbox::box &box = record::the_session.box;
  const std::vector<unsigned char> bytes(box.file.base, box.file.base + box.head->file_bytes);
  std::vector<std::size_t> used;
  for (std::size_t i = 0; i < bytes.size(); i += 4) {
    if (std::any_of(&bytes[i], &bytes[i] + 4, [](unsigned char byte) { return byte != 0; })) {
      used.push_back(i);
    }
  }
  std::mt19937_64 random(8);
  const std::uint32_t interesting[] = {0, 1, 2, 0x7fffffff, 0x80000000, 0xffffffff, 1U << 24, 1U << 20, 4096};
  for (int round = 0; round < 6000; ++round) {
    for (std::uint64_t i = 0; i <= random() % 4; ++i) {
      const std::uint32_t word =
          random() % 3 == 0 ? static_cast<std::uint32_t>(random()) : interesting[random() % std::size(interesting)];
      std::memcpy(box.file.base + used[random() % used.size()], &word, sizeof word);
    }
    watch::job_collector collector(session.file.folder());
    collector.discover();
    const model::job_snapshot job = collector.collect(false);
    std::size_t members = 0;
    for (const model::rank_snapshot &rank : job.ranks) {
      for (const model::group &each : rank.groups) {
        members += each.members.size();
      }
      for (const model::call &call : rank.calls) {
        REQUIRE(call.group < rank.groups.size());
        REQUIRE(call.site < rank.sites.size());
        REQUIRE(call.phase < rank.phases.size());
        REQUIRE(call.thread < rank.threads.size());
      }
    }
    CHECK(members <= 3U * (1U << 20));
    std::memcpy(box.file.base, bytes.data(), bytes.size());
  }
}
