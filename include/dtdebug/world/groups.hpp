// Groups in the black box: which ranks are in what, under which name, created in which order.
#pragma once

#include <dtdebug/blackbox/notes.hpp>
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

namespace detail {

/// Makes room for `runs` entries of the pool: those that the slot had for an earlier group where they suffice, so that
/// programs which create and free groups for ever do not use the pool up; else fresh ones. Keeps `run_count`, the
/// number of entries that belong to the slot, a power of two where it grows.
inline bool make_room(const blackbox::box &in, blackbox::group_slot &slot, std::uint32_t runs) noexcept {
  if (runs <= slot.run_count) {
    return true;
  }
  std::uint64_t wanted = 1;
  while (wanted < runs) {
    wanted *= 2;
  }
  std::uint64_t at = __atomic_load_n(&in.live->member_runs, __ATOMIC_RELAXED);
  do {
    if (at + runs > in.sizes.member_runs) {
      return false;
    }
    wanted = at + wanted > in.sizes.member_runs ? in.sizes.member_runs - at : wanted;
  } while (
      !__atomic_compare_exchange_n(&in.live->member_runs, &at, at + wanted, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  slot.first_run = static_cast<std::uint32_t>(at);
  __atomic_store_n(&slot.run_count, static_cast<std::uint32_t>(wanted), __ATOMIC_RELEASE);
  return true;
}

/// Claims the slot of the freed group that was created first: the newest are what a report may still be about.
inline std::uint64_t claim_freed(const blackbox::box &in) noexcept {
  for (;;) {
    std::uint64_t oldest = 0;
    std::uint32_t first = 0;
    for (std::uint64_t i = world_group + 1U; i < in.sizes.groups; ++i) {
      const bool freed =
          __atomic_load_n(&in.groups[i].state, __ATOMIC_ACQUIRE) == static_cast<std::uint32_t>(slot_state::freed);
      const std::uint32_t ordinal = __atomic_load_n(&in.groups[i].ordinal, __ATOMIC_RELAXED);
      if (freed && (oldest == 0 || ordinal < first)) {
        oldest = i;
        first = ordinal;
      }
    }
    auto freed = static_cast<std::uint32_t>(slot_state::freed);
    if (oldest == 0 ||
        __atomic_compare_exchange_n(&in.groups[oldest].state, &freed, static_cast<std::uint32_t>(slot_state::unused),
                                    false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
      return oldest;
    }
  }
}

} // namespace detail

/// Writes the member list as runs of equal stride. Returns false when the pool is full: the group then has no members
/// on record (counted).
inline bool set_members(const blackbox::box &in, blackbox::group_slot &slot, const std::int32_t *members,
                        std::uint32_t size) noexcept {
  const auto member = [members](std::uint32_t i) {
    return members != nullptr ? members[i] : static_cast<std::int32_t>(i);
  };
  std::uint32_t runs = 0;
  for (int pass = 0; pass < 2; ++pass) { // counts the runs, then writes them
    if (pass == 1 && !detail::make_room(in, slot, runs)) {
      __atomic_fetch_add(&in.live->members_unrecorded, 1, __ATOMIC_RELAXED);
      runs = 0;
      size = 0;
    }
    std::uint32_t written = 0;
    for (std::uint32_t i = 0; i < size;) {
      const std::int32_t stride = i + 1 < size ? member(i + 1) - member(i) : 1;
      std::uint32_t count = 1;
      while (i + count < size && member(i + count) - member(i + count - 1) == stride) {
        ++count;
      }
      if (pass == 1) {
        in.members[slot.first_run + written] = {member(i), stride, count};
      }
      ++written;
      i += count;
    }
    runs = written;
  }
  for (std::uint32_t spare = runs; spare < slot.run_count; ++spare) {
    in.members[slot.first_run + spare] = {};
  }
  return size != 0;
}

/// Renames a group; cut at 63 bytes. Other threads may be comparing the name: they see the old one, the new one, or
/// a mixture that equals neither.
inline void set_name(blackbox::group_slot &slot, const char *name) noexcept {
  const std::size_t length = name != nullptr ? ::strnlen(name, sizeof slot.name - 1) : 0;
  for (std::size_t i = 0; i < sizeof slot.name; ++i) {
    __atomic_store_n(&slot.name[i], i < length ? name[i] : '\0', __ATOMIC_RELAXED);
  }
}

/// True for a group of this name, or of a longer one that was cut to it.
inline bool has_name(const blackbox::group_slot &slot, const char *name) noexcept {
  for (std::size_t i = 0; i + 1 < sizeof slot.name; ++i) {
    if (__atomic_load_n(&slot.name[i], __ATOMIC_RELAXED) != name[i]) {
      return false;
    }
    if (name[i] == '\0') {
      return true;
    }
  }
  return true;
}

/// Enters a group and returns its slot; no_group when the table is full (counted). Slots of freed groups are used again
/// once the table has no fresh one. Cold, thread-safe.
inline std::uint16_t add_group(const blackbox::box &in, const group_desc &what) noexcept {
  std::uint64_t index = __atomic_load_n(&in.live->group_count, __ATOMIC_ACQUIRE);
  while (index < in.sizes.groups && !__atomic_compare_exchange_n(&in.live->group_count, &index, index + 1, false,
                                                                 __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
  }
  if (index >= in.sizes.groups) {
    index = detail::claim_freed(in);
    if (index == 0) {
      __atomic_fetch_add(&in.live->groups_unrecorded, 1, __ATOMIC_RELAXED);
      return no_group;
    }
    blackbox::restart_ordinals(in, static_cast<std::uint16_t>(index));
  }
  blackbox::group_slot &slot = in.groups[index];
  // created_ticks guards the slot as a ticket does: 0 before anything is overwritten, its value after all is in place.
  __atomic_store_n(&slot.created_ticks, 0, __ATOMIC_RELAXED);
  __atomic_thread_fence(__ATOMIC_RELEASE);
  slot.id = 0;
  slot.next_seq = 0;
  slot.rolling = 0;
  slot.size = what.size;
  slot.my_index = what.my_index;
  slot.timeout_ns = 0;
  std::memset(slot.mesh, 0, sizeof slot.mesh);
  std::memset(slot.axis, 0, sizeof slot.axis);
  for (std::uint32_t block = 0; block < blackbox::blocks_per_group; ++block) {
    slot.blocks[block] = {block + 1, 0, 0};
  }
  set_name(slot, what.name);
  set_members(in, slot, what.members, what.size);
  __atomic_store_n(&slot.ordinal,
                   static_cast<std::uint32_t>(__atomic_fetch_add(&in.live->group_ordinal, 1, __ATOMIC_RELAXED)),
                   __ATOMIC_RELAXED);
  slot.id = what.id;
  __atomic_store_n(&slot.state, static_cast<std::uint32_t>(what.state), __ATOMIC_RELEASE);
  __atomic_store_n(&slot.created_ticks, os::ticks(in.steady_counter), __ATOMIC_RELEASE);
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
