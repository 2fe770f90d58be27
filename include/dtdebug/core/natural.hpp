// A count, from any integer type of the caller.
#pragma once

#include <dtdebug/core/config.hpp>

#include <cstdint>

namespace dtdebug {
inline namespace DTDEBUG_ABI {

/// Takes every integer type without a conversion warning in the caller's code, and nothing else: a double or a string
/// does not compile. A negative number counts as 0.
struct natural {
  std::uint64_t value;
  constexpr natural(int n) noexcept : value(n > 0 ? static_cast<std::uint64_t>(n) : 0) {}
  constexpr natural(long n) noexcept : value(n > 0 ? static_cast<std::uint64_t>(n) : 0) {}
  constexpr natural(long long n) noexcept : value(n > 0 ? static_cast<std::uint64_t>(n) : 0) {}
  constexpr natural(unsigned n) noexcept : value(n) {}
  constexpr natural(unsigned long n) noexcept : value(n) {}
  constexpr natural(unsigned long long n) noexcept : value(n) {}
  natural(double) = delete;       // says so, instead of "ambiguous"
  natural(const char *) = delete; // likewise
};

} // namespace DTDEBUG_ABI
} // namespace dtdebug
