// Groups that have a name and no communicator.
#pragma once

#include <dtdebug/core/hash.hpp>
#include <dtdebug/record/description.hpp>
#include <dtdebug/record/session.hpp>

#include <sched.h>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace record {

/// Name → group, for the process. A name stays where it was put; one that finds no place near is searched for each
/// time.
struct name_table {
  static constexpr std::uint32_t size = 256;
  static constexpr std::uint32_t reach = 8;
  std::uint64_t keys[size] = {};   ///< atomic; 0: free
  std::uint64_t places[size] = {}; ///< atomic; place_of the group, 0: being entered
};
inline name_table group_names{};

namespace detail {

constexpr std::uint64_t name_key(const char *name) noexcept {
  const std::uint64_t hash = hash_string(name);
  return hash != 0 ? hash : 1;
}

/// A slot and which of the groups that it held: slots are used again. Never 0.
inline std::uint64_t place_of(std::uint16_t slot) noexcept {
  const std::uint32_t ordinal = __atomic_load_n(&box().groups[slot].ordinal, __ATOMIC_RELAXED);
  return (ordinal + 1ULL) << 16 | slot;
}

/// The slot, if it still holds that group.
inline std::uint16_t slot_at(std::uint64_t place) noexcept {
  const auto slot = static_cast<std::uint16_t>(place);
  const bool live = slot != world::no_group && place_of(slot) == place &&
                    __atomic_load_n(&box().groups[slot].state, __ATOMIC_ACQUIRE) ==
                        static_cast<std::uint32_t>(world::slot_state::live);
  return live ? slot : world::no_group;
}

/// Entry of a name in the table; `fresh` when the caller is to find or make its group. Null when there is no place
/// near.
inline std::uint64_t *entry_of(const char *name, bool &fresh) noexcept {
  const std::uint64_t key = name_key(name);
  fresh = false;
  for (std::uint32_t i = 0; i < name_table::reach; ++i) {
    const auto at = static_cast<std::uint32_t>((key + i) % name_table::size);
    std::uint64_t seen = __atomic_load_n(&group_names.keys[at], __ATOMIC_ACQUIRE);
    if (seen == 0) {
      fresh = __atomic_compare_exchange_n(&group_names.keys[at], &seen, key, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    }
    if (fresh || seen == key) {
      return &group_names.places[at];
    }
  }
  return nullptr;
}

/// The place that another thread is about to enter; 0 if it does not come within 100 ms.
inline std::uint64_t await_place(const std::uint64_t &place) noexcept {
  const std::uint64_t deadline = os::monotonic_ns() + 100'000'000;
  std::uint64_t seen = __atomic_load_n(&place, __ATOMIC_ACQUIRE);
  while (seen == 0 && os::monotonic_ns() < deadline) {
    ::sched_yield();
    seen = __atomic_load_n(&place, __ATOMIC_ACQUIRE);
  }
  return seen;
}

/// Live group that carries `name` in reports: given by a library's own means, or by DT_GROUP to a communicator.
inline std::uint16_t search_name(const char *name) noexcept {
  const blackbox::box &in = box();
  const std::uint64_t count = __atomic_load_n(&in.live->group_count, __ATOMIC_ACQUIRE);
  for (std::uint64_t i = world::world_group; i < count && i < in.sizes.groups; ++i) {
    const blackbox::group_slot &slot = in.groups[i];
    if (__atomic_load_n(&slot.state, __ATOMIC_ACQUIRE) == static_cast<std::uint32_t>(world::slot_state::live) &&
        world::has_name(slot, name)) {
      return static_cast<std::uint16_t>(i);
    }
  }
  return world::no_group;
}

inline std::uint16_t enter_name(const char *name, const char *label, const std::int32_t *members, std::uint32_t size,
                                std::int32_t my_index) noexcept {
  world::group_desc what;
  what.id = world::group_id(members, size, hash_string(name), 0);
  what.name = label;
  what.members = members;
  what.size = size;
  what.my_index = my_index;
  return world::add_group(box(), what);
}

/// Slot of the live group of this name. `enter` makes it where there is none, in one thread alone. `search`: a group
/// that carries the name as its label counts.
template <typename Enter>
std::uint16_t find_or_enter(const char *name, bool search, Enter enter) noexcept {
  bool fresh = false;
  std::uint64_t *place = entry_of(name, fresh);
  std::uint64_t known = 0;
  if (place != nullptr && !fresh) {
    known = __atomic_load_n(place, __ATOMIC_ACQUIRE);
    known = known != 0 ? known : await_place(*place);
  }
  std::uint16_t slot = slot_at(known);
  if (slot == world::no_group && search) {
    slot = search_name(name);
  }
  if (slot == world::no_group) {
    slot = enter();
  }
  if (place != nullptr) {
    const std::uint64_t now = place_of(slot);
    if (now != known) {
      __atomic_store_n(place, now, __ATOMIC_RELEASE);
    }
  }
  return slot;
}

} // namespace detail

/// Slot of a group. A name that nobody introduced becomes a group whose members are not known: the ranks that use it.
inline std::uint16_t slot_of(const group_ref &group) noexcept {
  if (group.name == nullptr) {
    return group.slot;
  }
  return detail::find_or_enter(group.name, true,
                               [&group] { return detail::enter_name(group.name, group.name, nullptr, 0, -1); });
}

} // namespace record

/// Introduces a group that has no communicator: `name` as descriptions use it, `label` as reports print it, its members
/// as world ranks in group order; without ranks, all ranks of the job. Every member introduces it, once; again does
/// nothing. Cold.
template <typename... Ranks>
void name_group(const char *name, const char *label, Ranks... ranks) noexcept {
  if (!record::recording() || name == nullptr || label == nullptr) {
    return;
  }
  const blackbox::identity &who = *record::box().who;
  const auto me = static_cast<std::int32_t>(who.rank);
  if constexpr (sizeof...(Ranks) == 0) {
    record::detail::find_or_enter(name, false,
                                  [&] { return record::detail::enter_name(name, label, nullptr, who.world_size, me); });
  } else {
    const std::int32_t members[] = {static_cast<std::int32_t>(natural(ranks).value)...};
    std::int32_t my_index = -1;
    for (std::size_t i = 0; i < sizeof...(Ranks); ++i) {
      my_index = members[i] == me ? static_cast<std::int32_t>(i) : my_index;
    }
    record::detail::find_or_enter(
        name, false, [&] { return record::detail::enter_name(name, label, members, sizeof...(Ranks), my_index); });
  }
}

} // namespace DTDEBUG_ABI
} // namespace dtdebug
