// Time stamps for the hot path and the clocks of the host.
#pragma once

#include <dtdebug/core/config.hpp>

#include <cstdint>
#include <ctime>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace os {

/// CLOCK_MONOTONIC in nanoseconds: common to all processes of a host. Signal-safe. ~25 ns.
inline std::uint64_t monotonic_ns() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000ULL + static_cast<std::uint64_t>(now.tv_nsec);
}

/// CLOCK_REALTIME in nanoseconds since 1970.
inline std::uint64_t wall_ns() noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000ULL + static_cast<std::uint64_t>(now.tv_nsec);
}

#if defined(__x86_64__)
/// True where the time stamp counter runs at one rate in every power state (CPUID 0x80000007, EDX bit 8, "invariant
/// TSC" in the vendors' manuals). Asked once.
inline bool has_steady_counter() noexcept {
  static const bool steady = [] {
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;
    return __get_cpuid(0x80000007U, &a, &b, &c, &d) != 0 && (d & (1U << 8)) != 0;
  }();
  return steady;
}

/// Cheapest time stamp of the machine: the time stamp counter (~10 ns) or CLOCK_MONOTONIC. `steady` is
/// has_steady_counter(), handed in so that the hot path does not ask.
inline std::uint64_t ticks(bool steady) noexcept { return steady ? __builtin_ia32_rdtsc() : monotonic_ns(); }
#else
inline bool has_steady_counter() noexcept { return false; }
inline std::uint64_t ticks(bool) noexcept { return monotonic_ns(); }
#endif

} // namespace os
} // namespace DTDEBUG_ABI
} // namespace dtdebug
