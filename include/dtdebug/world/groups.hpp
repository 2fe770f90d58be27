// Groups in the black box: which ranks are in what, under which name, created in which order.
#pragma once

#include <dtdebug/blackbox/box.hpp>
#include <dtdebug/core/hash.hpp>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace world {

/// States of a group slot, as model::group_state.
enum class slot_state : std::uint32_t { unused = 0, creating = 1, live = 2, freed = 3 };

inline constexpr std::uint16_t no_group = 0;
inline constexpr std::uint16_t world_group = 1; ///< slot of the group of all ranks

/// What is known of a group when its creation begins.
struct group_desc {
  std::uint64_t id = 0;                  ///< content hash, equal on all members; see group_id. 0: not known yet
  const char *name = nullptr;            ///< cut at 63 bytes
  const std::int32_t *members = nullptr; ///< world ranks in group order; null for 0 … size-1
  std::uint32_t size = 0;
  std::int32_t my_index = -1;
  slot_state state = slot_state::live;
};

/// Identity of a group by its content: member list, name and the how-manieth group of just these members it is.
inline std::uint64_t group_id(const std::int32_t *members, std::uint32_t size, std::uint64_t name_hash,
                              std::uint64_t ordinal) noexcept {
  std::uint64_t state = mix(name_hash, ordinal + 1);
  for (std::uint32_t i = 0; i < size; ++i) {
    state =
        mix(state, static_cast<std::uint32_t>(members != nullptr ? members[i] : static_cast<std::int32_t>(i)) + 1ULL);
  }
  return state | 1; // never 0, which means "not known"
}

/// Writes the member list as runs of equal stride. Returns false when the pool is full: the group then has no members
/// on record. Thread-safe.
inline bool set_members(const blackbox::box &in, blackbox::group_slot &slot, const std::int32_t *members,
                        std::uint32_t size) noexcept {
  const auto member = [members](std::uint32_t i) {
    return members != nullptr ? members[i] : static_cast<std::int32_t>(i);
  };
  // Two passes: count the runs, then reserve that many entries at once, so that they lie side by side.
  std::uint32_t runs = 0;
  for (int pass = 0; pass < 2; ++pass) {
    std::uint64_t at = 0;
    if (pass == 1) {
      at = __atomic_fetch_add(&in.live->member_runs, runs, __ATOMIC_RELAXED);
      if (at + runs > in.sizes.member_runs) {
        return false;
      }
      slot.first_run = static_cast<std::uint32_t>(at);
    }
    std::uint32_t written = 0;
    for (std::uint32_t i = 0; i < size;) {
      const std::int32_t stride = i + 1 < size ? member(i + 1) - member(i) : 1;
      std::uint32_t count = 1;
      while (i + count < size && member(i + count) - member(i + count - 1) == stride) {
        ++count;
      }
      if (pass == 1) {
        in.members[at + written] = {member(i), stride, count};
      }
      ++written;
      i += count;
    }
    runs = written;
  }
  __atomic_store_n(&slot.run_count, runs, __ATOMIC_RELEASE);
  return true;
}

inline void set_name(blackbox::group_slot &slot, const char *name) noexcept {
  std::memset(slot.name, 0, sizeof slot.name);
  if (name != nullptr) {
    std::memcpy(slot.name, name, ::strnlen(name, sizeof slot.name - 1));
  }
}

/// Enters a group and returns its slot; no_group when the table is full (counted). Slots of freed groups are used again
/// once the table has no fresh one. Cold, thread-safe.
inline std::uint16_t add_group(const blackbox::box &in, const group_desc &what) noexcept {
  std::uint64_t index = __atomic_load_n(&in.live->group_count, __ATOMIC_ACQUIRE);
  while (index < in.sizes.groups && !__atomic_compare_exchange_n(&in.live->group_count, &index, index + 1, false,
                                                                 __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
  }
  if (index >= in.sizes.groups) {
    for (index = world_group + 1; index < in.sizes.groups; ++index) {
      auto freed = static_cast<std::uint32_t>(slot_state::freed);
      if (__atomic_compare_exchange_n(&in.groups[index].state, &freed, static_cast<std::uint32_t>(slot_state::unused),
                                      false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
        __atomic_store_n(&in.groups[index].id, 0, __ATOMIC_RELEASE);
        std::memset(in.groups[index].blocks, 0, sizeof in.groups[index].blocks);
        break;
      }
    }
    if (index >= in.sizes.groups) {
      __atomic_fetch_add(&in.live->groups_unrecorded, 1, __ATOMIC_RELAXED);
      return no_group;
    }
  }
  blackbox::group_slot &slot = in.groups[index];
  slot.next_seq = 0;
  slot.rolling = 0;
  slot.created_ticks = os::ticks(in.steady_counter);
  slot.ordinal = static_cast<std::uint32_t>(__atomic_fetch_add(&in.live->group_ordinal, 1, __ATOMIC_RELAXED));
  slot.size = what.size;
  slot.my_index = what.my_index;
  slot.run_count = 0;
  slot.timeout_ns = 0;
  set_name(slot, what.name);
  set_members(in, slot, what.members, what.size);
  __atomic_store_n(&slot.state, static_cast<std::uint32_t>(what.state), __ATOMIC_RELAXED);
  __atomic_store_n(&slot.id, what.id, __ATOMIC_RELEASE);
  return static_cast<std::uint16_t>(index);
}

/// Changes the state of a group: creating → live → freed.
inline void set_state(const blackbox::box &in, std::uint16_t group, slot_state state) noexcept {
  if (group != no_group && group < in.sizes.groups) {
    __atomic_store_n(&in.groups[group].state, static_cast<std::uint32_t>(state), __ATOMIC_RELEASE);
  }
}

} // namespace world
} // namespace DTDEBUG_ABI
} // namespace dtdebug
