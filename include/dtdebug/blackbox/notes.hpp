// Breadcrumbs: what a rank says of itself between its calls. Cold compared with a call record, still without a lock.
#pragma once

#include <dtdebug/blackbox/box.hpp>
#include <dtdebug/core/hash.hpp>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace blackbox {

/// What to write down; kinds are those of model::note_kind. Texts are cut at 63 and 127 bytes.
struct note_desc {
  std::uint32_t kind = 0;
  std::uint32_t group = 0;
  const char *name = nullptr;
  const char *text = nullptr;
  std::uint64_t value = 0;
  std::uint64_t value2 = 0;
  std::uint64_t ordinal = 0;
  std::uint64_t order = 0;
};

inline constexpr std::uint64_t note_busy = 1ULL << 63; ///< bit of a ticket: the slot is being written

/// Appends a note. Thread-safe, ~100 ns. Where a thread was held up in writing the same slot a lap of the ring ago,
/// this note is given up; readers see a gap.
inline void append_note(const box &to, const note_desc &what) noexcept {
  const std::uint64_t index = __atomic_fetch_add(&to.live->note_head, 1, __ATOMIC_RELAXED);
  note_slot &slot = to.notes[index % to.sizes.notes];
  std::uint64_t before = __atomic_load_n(&slot.ticket, __ATOMIC_RELAXED);
  if (before > index || // a later note, or note_busy
      !__atomic_compare_exchange_n(&slot.ticket, &before, note_busy, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
    return;
  }
  __atomic_thread_fence(__ATOMIC_RELEASE);
  note_slot filled{};
  filled.ticks = os::ticks(to.steady_counter);
  filled.value = what.value;
  filled.value2 = what.value2;
  filled.ordinal = what.ordinal;
  filled.order = what.order;
  filled.step = __atomic_load_n(&to.live->step, __ATOMIC_RELAXED);
  filled.kind = what.kind;
  filled.group = what.group;
  if (what.name != nullptr) {
    std::strncpy(filled.name, what.name, sizeof filled.name - 1);
  }
  if (what.text != nullptr) {
    std::strncpy(filled.text, what.text, sizeof filled.text - 1);
  }
  const auto *source = reinterpret_cast<const std::uint64_t *>(&filled);
  auto *target = reinterpret_cast<std::uint64_t *>(&slot);
  for (std::size_t i = 1; i < sizeof(note_slot) / 8; ++i) {
    __atomic_store_n(target + i, source[i], __ATOMIC_RELAXED);
  }
  __atomic_store_n(&slot.ticket, index + 1, __ATOMIC_RELEASE);
}

/// Ordinal of the next event with this key, counted from 0: messages per (group, peer, direction, tag), notes per
/// (kind, name). UINT64_MAX when the table has no room near (counted). `group` is the slot of the group that the event
/// belongs to: a new group in that slot counts from 0 again. Thread-safe, ~6 ns.
inline std::uint64_t next_ordinal(const box &to, std::uint64_t hash, std::uint16_t group = 0) noexcept {
  std::uint64_t key = (hash & ~0xffffULL) | group;
  key = key == 0 ? 0x10000 : key;
  for (std::uint32_t i = 0; i < 64; ++i) {
    message_slot &slot = to.messages[(mix(key, 0) + i) % to.sizes.messages];
    std::uint64_t seen = __atomic_load_n(&slot.key, __ATOMIC_RELAXED);
    if (seen == 0) {
      __atomic_compare_exchange_n(&slot.key, &seen, key, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
      seen = __atomic_load_n(&slot.key, __ATOMIC_RELAXED);
    }
    if (seen == key) {
      return __atomic_fetch_add(&slot.count, 1, __ATOMIC_RELAXED);
    }
  }
  __atomic_fetch_add(&to.live->messages_untracked, 1, __ATOMIC_RELAXED);
  return UINT64_MAX;
}

/// Starts all counters of a group slot anew. The entries stay: the next group in the slot is likely to use the same
/// peers and tags. Cold.
inline void restart_ordinals(const box &to, std::uint16_t group) noexcept {
  for (std::uint32_t i = 0; i < to.sizes.messages; ++i) {
    message_slot &slot = to.messages[i];
    if ((__atomic_load_n(&slot.key, __ATOMIC_RELAXED) & 0xffff) == group) {
      __atomic_store_n(&slot.count, 0, __ATOMIC_RELAXED);
    }
  }
}

} // namespace blackbox
} // namespace DTDEBUG_ABI
} // namespace dtdebug
