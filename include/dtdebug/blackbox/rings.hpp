// Rings of call records: one per recording thread, each written by its thread alone.
#pragma once

#include <dtdebug/blackbox/box.hpp>

#include <ctime>

#include <sys/prctl.h>
#include <sys/syscall.h>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace blackbox {

namespace detail {

constexpr std::uint32_t word_of(ring_use use) noexcept { return static_cast<std::uint32_t>(use); }

/// Takes the first ring that is in state `from`; null when there is none.
inline ring_header *take_ring(const box &in, ring_use from, std::uint32_t &index) noexcept {
  for (index = 0; index < in.sizes.rings; ++index) {
    ring_header *candidate = in.ring(index);
    std::uint32_t now = word_of(from);
    if (__atomic_load_n(&candidate->used, __ATOMIC_RELAXED) == now &&
        __atomic_compare_exchange_n(&candidate->used, &now, word_of(ring_use::taking), false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_RELAXED)) {
      return candidate;
    }
  }
  return nullptr;
}

} // namespace detail

/// Gives the calling thread a ring: one that no thread used before, else one whose thread has ended. Null when all are
/// taken or the disk is full. Cold: once per thread, reserves and touches the ring's pages.
inline ring_header *claim_ring(const box &from) noexcept {
  std::uint32_t index = 0;
  ring_header *mine = detail::take_ring(from, ring_use::never, index);
  if (mine != nullptr) {
    const auto offset = static_cast<std::size_t>(reinterpret_cast<unsigned char *>(mine) - from.file.base);
    if (os::reserve(from.file, offset, from.ring_bytes) == 0) {
      mine->capacity = from.sizes.ring_records;
      mine->extra_words = from.sizes.ring_extra_words;
      std::uint64_t known = __atomic_load_n(&from.live->ring_count, __ATOMIC_RELAXED);
      while (known < index + 1ULL && !__atomic_compare_exchange_n(&from.live->ring_count, &known, index + 1ULL, false,
                                                                  __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
      }
    } else {
      __atomic_store_n(&mine->used, detail::word_of(ring_use::never), __ATOMIC_RELEASE);
      mine = nullptr;
    }
  }
  if (mine == nullptr) {
    mine = detail::take_ring(from, ring_use::left, index);
  }
  if (mine == nullptr) {
    return nullptr;
  }
  mine->tid = static_cast<std::uint32_t>(::syscall(SYS_gettid));
  ::prctl(PR_GET_NAME, mine->thread_name);
  __atomic_store_n(&mine->used, detail::word_of(ring_use::owned), __ATOMIC_RELEASE);
  return mine;
}

/// Leaves the ring to a later thread. Its records stay readable until they are overwritten.
inline void release_ring(ring_header *ring) noexcept {
  __atomic_store_n(&ring->used, detail::word_of(ring_use::left), __ATOMIC_RELEASE);
}

/// A record that was begun. Plain data, 16 bytes; may be kept beside a request and ended by another thread.
struct record_ref {
  record *slot = nullptr;
  std::uint64_t ticket = 0;
  explicit operator bool() const noexcept { return slot != nullptr; }
};

namespace detail {

inline void store_words(record *to, const record &from) noexcept {
  // Relaxed atomic words compile to plain stores; they make the concurrent reader of the seqlock well defined.
  const auto *source = reinterpret_cast<const std::uint64_t *>(&from);
  auto *target = reinterpret_cast<std::uint64_t *>(to);
  for (std::size_t i = 1; i < sizeof(record) / 8; ++i) {
    std::uint64_t word = 0;
    std::memcpy(&word, source + i, 8);
    __atomic_store_n(target + i, word, __ATOMIC_RELAXED);
  }
}

} // namespace detail

/// Publishes one record in the calling thread's ring. No lock, allocation or system call.
inline record_ref append(ring_header *ring, const record &filled) noexcept {
  const std::uint64_t index = ring->head; // written by this thread alone
  record *slot = records_of(ring) + (index & (ring->capacity - 1));
  const std::uint64_t ticket = 2 * (index + 1);
  __atomic_store_n(&slot->ticket, ticket - 1, __ATOMIC_RELAXED);
  __atomic_thread_fence(__ATOMIC_RELEASE);
  detail::store_words(slot, filled);
  __atomic_store_n(&slot->ticket, ticket, __ATOMIC_RELEASE);
  __atomic_store_n(&ring->head, index + 1, __ATOMIC_RELEASE);
  return {slot, ticket};
}

/// Writes the splits of a `_v` call beside the record that will be appended next. Returns the value for
/// `record::extra`, 0 when they do not fit (more than half of the extra area). Two arrays of `count` numbers; either
/// may be null.
inline std::uint32_t append_splits(ring_header *ring, const std::int64_t *sent, const std::int64_t *received,
                                   std::uint32_t count) noexcept {
  const std::uint64_t words =
      extra_header_words + (sent != nullptr ? count : 0ULL) + (received != nullptr ? count : 0ULL);
  if ((sent == nullptr && received == nullptr) || words * 2 > ring->extra_words) {
    return 0;
  }
  std::uint64_t at = ring->extra_head;
  const std::uint64_t offset = at & (ring->extra_words - 1);
  if (offset + words > ring->extra_words) {
    at += ring->extra_words - offset; // never split over the end
  }
  std::uint64_t *out = extras_of(ring) + (at & (ring->extra_words - 1));
  // In the order of the addresses, each a release: the owner word of older splits goes before their counts do.
  const auto put = [&out](std::uint64_t word) { __atomic_store_n(out++, word, __ATOMIC_RELEASE); };
  put(extra_owner(2 * (ring->head + 1))); // tells a reader when the words were overwritten
  put((sent != nullptr ? count : 0ULL) | static_cast<std::uint64_t>(received != nullptr ? count : 0U) << 32);
  for (std::uint32_t i = 0; sent != nullptr && i < count; ++i) {
    put(static_cast<std::uint64_t>(sent[i]));
  }
  for (std::uint32_t i = 0; received != nullptr && i < count; ++i) {
    put(static_cast<std::uint64_t>(received[i]));
  }
  const std::uint32_t position = static_cast<std::uint32_t>(at & (ring->extra_words - 1)) + 1;
  __atomic_store_n(&ring->extra_head, at + words, __ATOMIC_RELEASE);
  return position;
}

/// Changes the state of a record, if it has not been overwritten since. Any thread.
inline void set_state(const record_ref &call, call_state state, std::uint64_t left_ticks) noexcept {
  if (call.slot == nullptr || __atomic_load_n(&call.slot->ticket, __ATOMIC_RELAXED) != call.ticket) {
    return;
  }
  if (left_ticks != 0) {
    __atomic_store_n(&call.slot->left, left_ticks, __ATOMIC_RELAXED);
  }
  __atomic_store_n(&call.slot->state, static_cast<std::uint8_t>(state), __ATOMIC_RELEASE);
}

} // namespace blackbox
} // namespace DTDEBUG_ABI
} // namespace dtdebug
