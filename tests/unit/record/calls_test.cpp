// begin_call and end_call: what is recorded, counted, and kept when tables are full.
#include "recording_session.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace dtdebug;
using namespace dtdebug::testing;

namespace {

call_state state_of(const blackbox::record &call) { return static_cast<call_state>(call.state); }

blackbox::capacities with_ring(std::uint32_t records) {
  blackbox::capacities sizes;
  sizes.ring_records = records;
  return sizes;
}

} // namespace

TEST_CASE("every field of a call is on record") {
  const recording_session session;
  DT_STEP(41);
  DT_PHASE("backward");
  call_desc call = sum_of(12);
  call.op = op_kind::reduce;
  call.type = dtype::bf16;
  call.element_size = 2;
  call.reduce = redop::max;
  call.root = 3;
  call.tag = -7;
  call.flags = flag_nonblocking | flag_in_place;
  call.stream = 5;
  call.has_dims = true;
  call.dim_count = 3;
  call.dims[0] = 2;
  call.dims[1] = 3;
  call.dims[2] = 2;
  call.label_text = "layer3.weight";
  call.label = hash_string(call.label_text);
  record::this_thread_slot.batch = 9;
  const record::record_ref ref = record::begin_call(77, call, call_state::queued);
  REQUIRE(ref);
  const blackbox::record seen = records_of(session).at(0);
  CHECK(seen.ticket == 2);
  CHECK(seen.hard == hard_fingerprint(call));
  CHECK(seen.soft == record::detail::fold(soft_fingerprint(call)));
  CHECK(seen.count == 12);
  CHECK(seen.seq == 0);
  CHECK(std::vector<std::uint32_t>(seen.dims, seen.dims + 8) == std::vector<std::uint32_t>{2, 3, 2, 0, 0, 0, 0, 0});
  CHECK(seen.site == 77);
  CHECK(std::string(record::box().labels[seen.label - 1].text) == "layer3.weight");
  CHECK(seen.root == 3);
  CHECK(seen.tag == -7);
  CHECK(seen.step == 42);
  CHECK(seen.extra == 0);
  CHECK(seen.element_size == 2);
  CHECK(seen.group == world::world_group);
  CHECK(seen.stream == 5);
  CHECK(seen.batch == 9);
  CHECK(static_cast<op_kind>(seen.op) == op_kind::reduce);
  CHECK(static_cast<dtype>(seen.type) == dtype::bf16);
  CHECK(static_cast<redop>(seen.reduce) == redop::max);
  CHECK(state_of(seen) == call_state::queued);
  CHECK(seen.flags == (flag_nonblocking | flag_in_place));
  CHECK(seen.shape == (0x80 | 3));
  CHECK(std::string(record::box().labels[seen.phase - 1].text) == "backward");
  CHECK(seen.left == 0);
  CHECK(seen.entered >= session.live().step_ticks);
}

TEST_CASE("states follow one another, and only the end of a call has a time") {
  const recording_session session;
  const record::record_ref ref = record::begin_call(0, sum_of(1));
  for (const call_state state : {call_state::launched, call_state::started, call_state::captured}) {
    record::end_call(ref, state);
    CHECK(state_of(records_of(session)[0]) == state);
    CHECK(records_of(session)[0].left == 0);
  }
  for (const call_state state : {call_state::aborted, call_state::failed, call_state::done}) {
    record::end_call(ref, state);
    CHECK(state_of(records_of(session)[0]) == state);
    CHECK(records_of(session)[0].left >= records_of(session)[0].entered);
  }
}

TEST_CASE("a library's return code makes the call failed") {
  const recording_session session;
  record::end_call(record::begin_call(0, sum_of(1)), call_state::done, 0);
  record::end_call(record::begin_call(0, sum_of(1)), call_state::done, 17);
  const std::vector<blackbox::record> calls = records_of(session);
  CHECK(state_of(calls[0]) == call_state::done);
  CHECK(calls[0].result == 0);
  CHECK(state_of(calls[1]) == call_state::failed);
  CHECK(calls[1].result == 17);
}

TEST_CASE("the end of a call whose record was overwritten changes nothing") {
  const recording_session session(with_ring(64));
  const record::record_ref lost = record::begin_call(0, sum_of(1));
  for (int i = 0; i < 64; ++i) {
    record::begin_call(0, sum_of(2));
  }
  record::end_call(lost, call_state::done, 3);
  record::resolve_wildcard(lost, 2, 2);
  for (const blackbox::record &call : records_of(session)) {
    CHECK(state_of(call) == call_state::entered);
    CHECK(call.result == 0);
    CHECK(call.root == no_rank);
  }
}

TEST_CASE("a ring that goes round keeps the newest records and the count of all") {
  for (const std::uint32_t capacity : {64U, 128U}) {
    const recording_session session(with_ring(capacity));
    for (std::uint64_t i = 0; i < 1000; ++i) {
      record::end_call(record::begin_call(0, sum_of(i)));
    }
    CHECK(record::calls_so_far() == 1000);
    CHECK(session.group(world::world_group).next_seq == 1000);
    const std::vector<blackbox::record> calls = records_of(session);
    REQUIRE(calls.size() == capacity);
    CHECK(calls.front().seq == 1000 - capacity);
    CHECK(calls.back().seq == 999);
    CHECK(calls.back().count == 999);
  }
}

TEST_CASE("the rolling hash and the block of each 64 positions are sums over the calls") {
  const recording_session session;
  std::uint64_t rolling = 0;
  std::vector<std::uint64_t> blocks(1000);
  const blackbox::group_slot &group = session.group(world::world_group);
  const std::uint64_t calls = 64 * 900 + 17;
  for (std::uint64_t i = 0; i < calls; ++i) {
    const std::uint64_t count = i * 7 % 1000;
    rolling += mix(hard_fingerprint(sum_of(count)), i);
    blocks[i / 64] += mix(hard_fingerprint(sum_of(count)), i);
    record::end_call(record::begin_call(0, sum_of(count)));
    if (i == 64 * 5 + 10) { // before the first round of the blocks is over
      CHECK(group.blocks[4].filled == 64);
      CHECK(group.blocks[4].sum == blocks[4]);
      CHECK(group.blocks[5].filled == 11);
      CHECK(group.blocks[6].filled == 0);
    }
  }
  CHECK(group.rolling == rolling);
  std::uint64_t finished = 0;
  for (const blackbox::hash_block &block : group.blocks) {
    if (block.filled == 64) {
      ++finished;
      CHECK(block.block <= 900);
      CHECK(block.sum == blocks[block.block - 1]);
    }
  }
  CHECK(finished >= blackbox::blocks_per_group / 2 - 1); // at least the last 127 blocks, 8128 positions
}

TEST_CASE("a thread that was held up at the start of a block never spoils a later block") {
  const recording_session session;
  blackbox::group_slot &group = record::box().groups[world::world_group];
  for (std::uint64_t i = 0; i < 64 * 300; ++i) {
    record::begin_call(0, sum_of(i));
  }
  const blackbox::hash_block before = group.blocks[290 % blackbox::blocks_per_group];
  REQUIRE(before.filled == 64);
  record::detail::begin_block(group, 290); // what a thread with position 64 * 162 would do only now
  const blackbox::hash_block &after = group.blocks[290 % blackbox::blocks_per_group];
  CHECK(after.block == before.block);
  CHECK(after.filled == before.filled);
  CHECK(after.sum == before.sum);
}

TEST_CASE("hashes of two ranks are equal exactly while their calls are") {
  const auto hashes = [](std::uint64_t odd_one_out) {
    const recording_session session;
    for (std::uint64_t i = 0; i < 640; ++i) {
      record::begin_call(0, sum_of(i == odd_one_out ? 5 : 4));
    }
    std::vector<std::uint64_t> out;
    for (std::size_t b = 0; b < 10; ++b) {
      out.push_back(session.group(world::world_group).blocks[b].sum);
    }
    out.push_back(session.group(world::world_group).rolling);
    return out;
  };
  const std::vector<std::uint64_t> same = hashes(1000);
  const std::vector<std::uint64_t> other = hashes(200);
  CHECK(same == hashes(1000));
  for (std::size_t b = 0; b < 10; ++b) {
    CHECK((same[b] == other[b]) == (b != 200 / 64));
  }
  CHECK(same[10] != other[10]);
}

TEST_CASE("a call without a position reads the next one and does not take it") {
  const recording_session session;
  record::begin_call(0, sum_of(1));
  call_desc empty = sum_of(0);
  empty.flags = flag_no_position;
  record::begin_call(0, empty);
  record::begin_call(0, sum_of(1));
  const std::vector<blackbox::record> calls = records_of(session);
  CHECK(calls[1].seq == 1);
  CHECK(calls[2].seq == 1);
  CHECK(session.group(world::world_group).next_seq == 2);
}

TEST_CASE("messages count by group, peer, direction and tag, and take no position") {
  const recording_session session;
  const std::uint16_t other = world::add_group(record::box(), {2, "other", nullptr, 4, 0});
  const call_desc calls[] = {message(op_kind::send, 1, 0), message(op_kind::send, 2, 0), message(op_kind::recv, 1, 0),
                             message(op_kind::send, 1, 1), message(op_kind::send, 1, 0, other)};
  for (std::uint64_t round = 0; round < 3; ++round) {
    for (const call_desc &call : calls) {
      record::begin_call(0, call);
      CHECK(records_of(session).back().seq == round);
    }
  }
  CHECK(session.group(world::world_group).next_seq == 0);
  CHECK(session.group(world::world_group).rolling == 0);
}

TEST_CASE("a wildcard receive is counted when its sender is known") {
  const recording_session session;
  record::begin_call(0, message(op_kind::recv, 3, 8));
  const record::record_ref any = record::begin_call(0, message(op_kind::recv, any_rank, any_tag));
  CHECK(records_of(session)[1].root == any_rank);
  record::resolve_wildcard(any, 3, 8);
  CHECK(records_of(session)[1].root == 3);
  CHECK(records_of(session)[1].tag == 8);
  CHECK(records_of(session)[1].seq == 1);
  record::resolve_wildcard(any, -1, 8); // no sender: a cancelled receive
  CHECK(records_of(session)[1].root == 3);
}

TEST_CASE("a group that is not in the table is recorded as none") {
  const recording_session session;
  record::begin_call(0, sum_of(1, 60000));
  CHECK(records_of(session).at(0).group == world::no_group);
}

TEST_CASE("at level off nothing is written by any macro") {
  const recording_session session;
  record::the_session.level = 0;
  const std::vector<unsigned char> before(record::box().file.base,
                                          record::box().file.base + record::box().head->file_bytes);
  DT_STEP(1);
  DT_PHASE("p");
  DT_DECISION("d", 2);
  DT_GROUP("g", "g");
  DT_DIAGNOSE("r");
  { DT_SCOPE_COLLECTIVE(dtdebug::barrier("world")); }
  CHECK(std::memcmp(before.data(), record::box().file.base, before.size()) == 0);
  record::the_session.level = 2;
}

TEST_CASE("tables of names that are full are counted, and calls are recorded without the name") {
  blackbox::capacities sizes;
  sizes.labels = 4;
  sizes.sites = 4;
  sizes.string_bytes = 64;
  sizes.messages = 4;
  const recording_session session(sizes);
  for (int i = 0; i < 10; ++i) {
    const std::string label = "label " + std::to_string(i);
    call_desc call = message(op_kind::send, 1, i);
    call.label_text = label.c_str();
    call.label = hash_string(label.c_str());
    call_site site{label.c_str(), 1, "a text of more than the pool can hold for all of them"};
    record::begin_call(record::id_of(site, "f"), call);
  }
  const std::vector<blackbox::record> calls = records_of(session);
  REQUIRE(calls.size() == 10);
  CHECK(calls[3].label != 0);
  CHECK(calls[4].label == 0);
  CHECK(calls[3].site != 0);
  CHECK(calls[4].site == 0);
  CHECK(calls[9].seq == UINT64_MAX);
  CHECK(session.live().labels_unrecorded == 6);
  CHECK(session.live().sites_unrecorded == 6);
  CHECK(session.live().messages_untracked == 6);
  CHECK(session.live().strings_cut > 0);
  CHECK(session.live().string_bytes <= 64);
}

TEST_CASE("very long names are cut, never overrun") {
  const recording_session session;
  const std::string text(100'000, 'n');
  call_desc call = sum_of(1);
  call.label_text = text.c_str();
  call.label = hash_string(text.c_str());
  call_site site{text.c_str(), 1, text.c_str()};
  record::begin_call(record::id_of(site, text.c_str()), call);
  DT_PHASE(text.c_str());
  record::note(note_type::error, text.c_str(), text.c_str());
  const blackbox::record seen = records_of(session).at(0);
  CHECK(std::string(record::box().labels[seen.label - 1].text) == std::string(55, 'n'));
  CHECK(std::strlen(record::box().strings + record::box().sites[seen.site - 1].file) == blackbox::longest_string);
  CHECK(std::string(record::box().notes[0].name) == std::string(63, 'n'));
  CHECK(std::string(record::box().notes[0].text) == std::string(127, 'n'));
  CHECK(session.live().strings_cut == 0);
}

TEST_CASE("a group known by a label is not confused with the next group in its slot") {
  blackbox::capacities sizes;
  sizes.groups = 4;
  const recording_session session(sizes);
  const std::uint16_t first = world::add_group(record::box(), {2, "dp", nullptr, 4, 0});
  CHECK(record::slot_of("dp") == first);
  world::set_state(record::box(), first, world::slot_state::freed);
  const std::uint16_t last_fresh = world::add_group(record::box(), {3, "fills the table", nullptr, 4, 0});
  REQUIRE(last_fresh == 3);
  const std::uint16_t second = world::add_group(record::box(), {4, "tp", nullptr, 4, 0});
  REQUIRE(second == first);
  CHECK(record::slot_of("tp") == second);
  CHECK(record::slot_of("dp") == world::no_group); // it is gone, and the table has no room for a new one
  world::set_state(record::box(), last_fresh, world::slot_state::freed);
  const std::uint16_t again = world::add_group(record::box(), {5, "dp", nullptr, 4, 0});
  CHECK(record::slot_of("dp") == again);
}

TEST_CASE("breadcrumbs carry step, position between the calls, and the count of their name") {
  const recording_session session;
  record::begin_call(0, sum_of(1));
  DT_STEP(4);
  DT_DECISION("more", 1);
  record::begin_call(0, sum_of(1));
  DT_DECISION("more", 0);
  DT_DECISION("other", 3);
  swallowed_error("disk full");
  const blackbox::note_slot *notes = record::box().notes;
  REQUIRE(session.live().note_head == 4);
  CHECK(notes[0].ticket == 1);
  CHECK(notes[0].ordinal == 0);
  CHECK(notes[1].ordinal == 1);
  CHECK(notes[2].ordinal == 0);
  CHECK(notes[0].order == 1);
  CHECK(notes[1].order == 2);
  CHECK(notes[0].step == 5);
  CHECK(notes[2].value == 3);
  CHECK(std::string(notes[3].text) == "disk full");
  CHECK(notes[3].kind == static_cast<std::uint32_t>(note_type::error));
}
