// Narrow floating-point formats: bits to double and back, rounding to nearest even.
#pragma once

#include <dtdebug/core/config.hpp>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace repro {

/// Bits of a binary format of at most 16 bits: sign, exponent, mantissa.
struct number_format {
  int exponent_bits;
  int mantissa_bits;
  bool has_infinity; ///< false (E4M3 of the OCP 8-bit specification): only all ones is NaN, larger values become NaN
};

inline constexpr number_format format_f16{5, 10, true};
inline constexpr number_format format_bf16{8, 7, true};
inline constexpr number_format format_f8e4m3{4, 3, false};
inline constexpr number_format format_f8e5m2{5, 2, true};

/// Exact: every value of the narrow formats is a double.
inline double decode(number_format format, std::uint32_t bits) noexcept {
  const std::uint32_t exponent_mask = (1U << format.exponent_bits) - 1;
  const std::uint32_t mantissa_mask = (1U << format.mantissa_bits) - 1;
  const std::uint32_t exponent = bits >> format.mantissa_bits & exponent_mask;
  const std::uint32_t mantissa = bits & mantissa_mask;
  const int bias = static_cast<int>(exponent_mask >> 1);
  const bool negative = (bits >> (format.exponent_bits + format.mantissa_bits) & 1U) != 0;
  double value = 0;
  if (exponent == exponent_mask && (format.has_infinity || mantissa == mantissa_mask)) {
    value = mantissa == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  } else if (exponent == 0) {
    value = std::ldexp(static_cast<double>(mantissa), 1 - bias - format.mantissa_bits);
  } else {
    value = std::ldexp(static_cast<double>(mantissa | (mantissa_mask + 1)),
                       static_cast<int>(exponent) - bias - format.mantissa_bits);
  }
  return negative ? -value : value;
}

/// Nearest value of the format, ties to even. What is too large becomes infinity, or NaN where there is none.
inline std::uint32_t encode(number_format format, double value) noexcept {
  const std::uint32_t exponent_mask = (1U << format.exponent_bits) - 1;
  const std::uint32_t mantissa_mask = (1U << format.mantissa_bits) - 1;
  const std::uint32_t sign = std::signbit(value) ? 1U << (format.exponent_bits + format.mantissa_bits) : 0U;
  const std::uint32_t nan = exponent_mask << format.mantissa_bits | mantissa_mask;
  const std::uint32_t too_large = format.has_infinity ? exponent_mask << format.mantissa_bits : nan;
  const int bias = static_cast<int>(exponent_mask >> 1);
  if (std::isnan(value)) {
    return sign | nan;
  }
  const double magnitude = std::fabs(value);
  if (std::isinf(magnitude)) {
    return sign | too_large;
  }
  int exponent = 0;
  std::frexp(magnitude, &exponent); // magnitude in [2^(exponent-1), 2^exponent)
  const int lowest = 1 - bias;
  const int power = magnitude == 0 || exponent - 1 < lowest ? lowest : exponent - 1;
  const double steps = std::nearbyint(std::ldexp(magnitude, format.mantissa_bits - power));
  // Rounding up to the next power carries from the mantissa into the exponent, which is right as it stands.
  const auto count = static_cast<std::uint64_t>(steps);
  const std::uint64_t bits =
      count <= mantissa_mask ? count : (static_cast<std::uint64_t>(power + bias - 1) << format.mantissa_bits) + count;
  const std::uint64_t limit = format.has_infinity ? too_large : nan;
  return sign | (bits >= limit ? too_large : static_cast<std::uint32_t>(bits));
}

} // namespace repro
} // namespace DTDEBUG_ABI
} // namespace dtdebug
