// Sleeping on a word of shared memory; see futex(2).
#pragma once

#include <dtdebug/core/config.hpp>

#include <climits>
#include <cstdint>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace repro {

/// Sleeps while `word` holds `expected`; may return early. Between processes, without a time limit.
inline void futex_wait(const std::uint32_t *word, std::uint32_t expected) noexcept {
  ::syscall(SYS_futex, word, FUTEX_WAIT, expected, nullptr, nullptr, 0);
}

/// Wakes all that sleep on `word`.
inline void futex_wake(const std::uint32_t *word) noexcept {
  ::syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

} // namespace repro
} // namespace DTDEBUG_ABI
} // namespace dtdebug
