// Interning of labels, call sites and strings in the black box. Lock-free; a table that is full is counted, not fatal.
#pragma once

#include <dtdebug/blackbox/box.hpp>
#include <dtdebug/core/hash.hpp>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace blackbox {

namespace detail {

inline constexpr std::uint64_t busy_key = 1; ///< the slot is being written
inline constexpr std::uint32_t probe_limit = 64;

constexpr std::uint64_t usable_key(std::uint64_t hash) noexcept { return hash < 2 ? hash + 2 : hash; }

/// Finds the slot of `key` or claims a free one and lets `fill` write it before the key becomes visible. Returns
/// index + 1, 0 when no slot was found near. Two threads that add one key at a time may make two slots of it: readers
/// compare the content, not the id. Never waits.
template <typename Slot, typename Fill>
std::uint32_t intern(Slot *slots, std::uint32_t capacity, std::uint64_t hash, Fill fill) noexcept {
  const std::uint64_t key = usable_key(hash);
  for (std::uint32_t i = 0; i < probe_limit; ++i) {
    const auto index = static_cast<std::uint32_t>((key + i) % capacity);
    std::uint64_t seen = __atomic_load_n(&slots[index].key, __ATOMIC_ACQUIRE);
    if (seen == key) {
      return index + 1;
    }
    if (seen == 0 &&
        __atomic_compare_exchange_n(&slots[index].key, &seen, busy_key, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
      fill(slots[index]);
      __atomic_store_n(&slots[index].key, key, __ATOMIC_RELEASE);
      return index + 1;
    }
    if (seen == key) {
      return index + 1;
    }
  }
  return 0;
}

} // namespace detail

inline constexpr std::size_t longest_string = 1023; ///< bytes of a pooled string without its terminator

/// Copies `text`, cut at 1023 bytes, into the pool and returns its offset; 0 for null, empty, or no room (counted). Not
/// deduplicated.
inline std::uint32_t add_string(const box &to, const char *text) noexcept {
  if (text == nullptr || *text == '\0') {
    return 0;
  }
  const std::size_t length = ::strnlen(text, longest_string);
  std::uint64_t at = __atomic_load_n(&to.live->string_bytes, __ATOMIC_RELAXED);
  do { // what does not fit takes nothing: a shorter string may still find room
    if (at + length + 1 > to.sizes.string_bytes) {
      __atomic_fetch_add(&to.live->strings_cut, 1, __ATOMIC_RELAXED);
      return 0;
    }
  } while (!__atomic_compare_exchange_n(&to.live->string_bytes, &at, at + length + 1, true, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED));
  std::memcpy(to.strings + at, text, length); // the pool is zeroed: the terminator is there
  return static_cast<std::uint32_t>(at);
}

/// Id of a label; 0 for none. `hash` is hash_string(text). ~3 ns when it is known already.
inline std::uint32_t label_id(const box &to, const char *text, std::uint64_t hash) noexcept {
  if (text == nullptr) {
    return 0;
  }
  const std::uint32_t id = detail::intern(to.labels, to.sizes.labels, hash, [text](label_slot &slot) {
    std::strncpy(slot.text, text, sizeof slot.text - 1);
  });
  if (id == 0) {
    __atomic_fetch_add(&to.live->labels_unrecorded, 1, __ATOMIC_RELAXED);
  }
  return id;
}

/// Id of a source line. Cold: once per site.
inline std::uint32_t site_id(const box &to, const char *file, std::uint32_t line, const char *function,
                             const char *text) noexcept {
  const std::uint64_t hash = hash_string(text, hash_string(function, hash_string(file, line)));
  const std::uint32_t id = detail::intern(to.sites, to.sizes.sites, hash, [&](site_slot &slot) {
    slot.line = line;
    slot.file = add_string(to, file);
    slot.function = add_string(to, function);
    slot.text = add_string(to, text);
  });
  if (id == 0) {
    __atomic_fetch_add(&to.live->sites_unrecorded, 1, __ATOMIC_RELAXED);
  }
  return id;
}

/// Id of a return address; `text` is the name of the interposed call. ~3 ns when it is known already.
inline std::uint32_t site_id(const box &to, const void *return_address, const char *text) noexcept {
  const auto pc = reinterpret_cast<std::uintptr_t>(return_address);
  const std::uint32_t id = detail::intern(to.sites, to.sizes.sites, mix(pc, 0x5173), [&](site_slot &slot) {
    slot.pc = pc;
    slot.text = add_string(to, text);
  });
  if (id == 0) {
    __atomic_fetch_add(&to.live->sites_unrecorded, 1, __ATOMIC_RELAXED);
  }
  return id;
}

} // namespace blackbox
} // namespace DTDEBUG_ABI
} // namespace dtdebug
