// The hot path: writes one record for a call that begins, and its state when it ends.
#pragma once

#include <dtdebug/core/call_site.hpp>
#include <dtdebug/core/fingerprint.hpp>
#include <dtdebug/record/session.hpp>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace record {

using blackbox::record_ref;

namespace detail {

/// Makes the slot of a block ready that is half a round of blocks (8192 positions) ahead, where no thread adds yet. A
/// thread that was held up for so long that this is no longer true leaves the slot alone; its sum is then never used.
inline void begin_block(blackbox::group_slot &group, std::uint64_t block) noexcept {
  if (__atomic_load_n(&group.next_seq, __ATOMIC_RELAXED) / blackbox::block_positions + 1 < block) {
    blackbox::hash_block &ahead = group.blocks[block % blackbox::blocks_per_group];
    __atomic_store_n(&ahead.sum, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&ahead.filled, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&ahead.block, block + 1, __ATOMIC_RELEASE);
  }
}

/// Takes the next position of the group and adds the fingerprint to its hashes. Positions are unique over threads; sums
/// do not depend on their order.
inline std::uint64_t take_position(blackbox::group_slot &group, std::uint64_t hard) noexcept {
  const std::uint64_t seq = __atomic_fetch_add(&group.next_seq, 1, __ATOMIC_RELAXED);
  const std::uint64_t contribution = mix(hard, seq);
  const std::uint64_t block = seq / blackbox::block_positions;
  if (seq % blackbox::block_positions == 0 && block >= blackbox::blocks_per_group / 2) {
    begin_block(group, block + blackbox::blocks_per_group / 2);
  }
  blackbox::hash_block &now = group.blocks[block % blackbox::blocks_per_group];
  // A thread that was held up while the others went round the blocks adds to none: that block stays unfinished.
  if (__atomic_load_n(&now.block, __ATOMIC_ACQUIRE) == block + 1) {
    __atomic_fetch_add(&now.sum, contribution, __ATOMIC_RELAXED);
    __atomic_fetch_add(&now.filled, 1, __ATOMIC_RELEASE);
  }
  __atomic_fetch_add(&group.rolling, contribution, __ATOMIC_RELEASE);
  return seq;
}

constexpr std::uint64_t message_key(std::int32_t peer, op_kind op, std::int32_t tag) noexcept {
  return mix(static_cast<std::uint32_t>(peer),
             static_cast<std::uint64_t>(static_cast<std::uint32_t>(tag)) << 8 | static_cast<std::uint64_t>(op));
}

/// False in a forked child: the record is its parent's.
inline bool is_ours(const record_ref &call) noexcept { return call && the_session.pid != 0; }

constexpr std::uint32_t fold(std::uint64_t word) noexcept { return static_cast<std::uint32_t>(word ^ word >> 32); }

} // namespace detail

/// Records that the calling thread enters `call` from site `site` (an id of this black box, 0 if unknown).
/// Lock-free, no allocation, no system call after the thread's first record. Never fails: an empty reference means that
/// nothing was recorded.
DT_DETAIL_NOINLINE inline record_ref begin_call(std::uint32_t site, const call_desc &call,
                                                call_state state = call_state::entered) noexcept {
  const blackbox::box &to = box();
  blackbox::ring_header *ring = my_ring();
  if (__builtin_expect(ring == nullptr || this_thread_slot.pid != the_session.pid, 0)) {
    if (ring == nullptr && the_session.pid != 0) {
      __atomic_fetch_add(&to.live->calls_unrecorded, 1, __ATOMIC_RELAXED);
    }
    return {};
  }
  blackbox::record out;
  out.ticket = 0;
  out.hard = hard_fingerprint(call);
  out.soft = detail::fold(soft_fingerprint(call));
  out.left = 0;
  out.count = call.count;
  out.seq = 0;
  const std::uint16_t group = call.group < to.sizes.groups ? call.group : world::no_group;
  if (is_collective(call.op)) {
    out.seq = (call.flags & flag_no_position) == 0 ? detail::take_position(to.groups[group], out.hard)
                                                   : __atomic_load_n(&to.groups[group].next_seq, __ATOMIC_RELAXED);
  } else if (is_point_to_point(call.op) && call.root >= 0 && call.tag != any_tag) {
    out.seq = blackbox::next_ordinal(to, detail::message_key(call.root, call.op, call.tag), group);
  }
  std::memcpy(out.dims, call.dims, sizeof out.dims);
  out.site = site;
  out.label = call.label != 0 ? blackbox::label_id(to, call.label_text, call.label) : 0;
  out.root = call.root;
  out.tag = call.tag;
  out.step = static_cast<std::uint32_t>(__atomic_load_n(&to.live->step, __ATOMIC_RELAXED));
  out.extra =
      call.split_count != 0 ? blackbox::append_splits(ring, call.splits, call.recv_splits, call.split_count) : 0;
  out.element_size = call.element_size;
  out.group = group;
  out.stream = static_cast<std::uint16_t>(call.stream);
  out.batch = this_thread_slot.batch;
  out.op = static_cast<std::uint8_t>(call.op);
  out.type = static_cast<std::uint8_t>(call.type);
  out.reduce = static_cast<std::uint8_t>(call.reduce);
  out.state = static_cast<std::uint8_t>(state);
  out.flags = call.flags;
  out.shape = static_cast<std::uint8_t>(call.dim_count | (call.has_dims ? 0x80U : 0U));
  out.phase = static_cast<std::uint16_t>(__atomic_load_n(&to.live->phase, __ATOMIC_RELAXED));
  out.result = 0;
  out.entered = now_ticks();
  return blackbox::append(ring, out);
}

/// Records how the call stands now. `done`, `failed` and `aborted` note the time as well. Any thread, never fails.
inline void end_call(const record_ref &call, call_state state = call_state::done) noexcept {
  if (detail::is_ours(call)) {
    blackbox::set_state(call, state, has_ended(state) ? now_ticks() : 0);
  }
}

/// Notes a library's return code; `failed` follows from a code that is not 0.
inline void end_call(const record_ref &call, call_state state, int result) noexcept {
  if (detail::is_ours(call) && result != 0 && __atomic_load_n(&call.slot->ticket, __ATOMIC_RELAXED) == call.ticket) {
    __atomic_store_n(&call.slot->result, static_cast<std::uint16_t>(result), __ATOMIC_RELAXED);
  }
  end_call(call, result != 0 ? call_state::failed : state);
}

/// Fills in what a wildcard receive found out when it completed: the sender and tag it matched.
inline void resolve_wildcard(const record_ref &call, std::int32_t sender, std::int32_t tag) noexcept {
  if (!detail::is_ours(call) || __atomic_load_n(&call.slot->ticket, __ATOMIC_RELAXED) != call.ticket || sender < 0) {
    return;
  }
  const std::uint64_t ordinal =
      blackbox::next_ordinal(box(), detail::message_key(sender, op_kind::recv, tag), call.slot->group);
  __atomic_store_n(&call.slot->seq, ordinal, __ATOMIC_RELAXED);
  __atomic_store_n(&call.slot->tag, tag, __ATOMIC_RELAXED);
  __atomic_store_n(&call.slot->root, sender, __ATOMIC_RELEASE);
}

namespace detail {

DT_DETAIL_NOINLINE inline std::uint32_t register_site(call_site &site, const char *function) noexcept {
  const std::uint32_t id = blackbox::site_id(box(), site.file, site.line, function, site.text);
  site.id.store(id, std::memory_order_relaxed);
  return id;
}

} // namespace detail

/// Id of a macro's site in the black box. One load after the first use.
inline std::uint32_t id_of(call_site &site, const char *function) noexcept {
  const std::uint32_t id = site.id.load(std::memory_order_relaxed);
  return __builtin_expect(id != 0, 1) ? id : detail::register_site(site, function);
}

} // namespace record
} // namespace DTDEBUG_ABI
} // namespace dtdebug
