// Reductions on host memory, in every element type that holds numbers.
#pragma once

#include <dtdebug/core/dtype.hpp>
#include <dtdebug/repro/number_formats.hpp>

#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace repro {

/// One member's elements; null stands for zeros.
using input_list = std::vector<const unsigned char *>;

/// Whether a reduction of these is defined here: arithmetic on numbers (no order on complex ones), logic on integers
/// and truth values, bits of integers. Pairs, types and operations of the program's own are not.
constexpr bool can_reduce(dtype type, redop operation) noexcept {
  const bool integer = type >= dtype::i8 && type <= dtype::u64;
  const bool real = integer || (type >= dtype::f16 && type <= dtype::f80);
  const bool complex = type == dtype::c64 || type == dtype::c128;
  switch (operation) {
  case redop::sum:
  case redop::prod:
  case redop::avg: return real || complex;
  case redop::min:
  case redop::max: return real;
  case redop::logical_and:
  case redop::logical_or:
  case redop::logical_xor: return integer || type == dtype::boolean;
  case redop::bit_and:
  case redop::bit_or:
  case redop::bit_xor: return integer;
  default: return false;
  }
}

namespace detail {

/// How elements of one type are read and written. Floating-point types are combined in at least double precision and
/// rounded once. `Wide` is what they are combined as.
template <typename Element, typename Wide = Element>
struct plain_element {
  using wide = Wide;
  static constexpr std::size_t size = sizeof(Element);
  static wide load(const unsigned char *from) noexcept {
    Element value{};
    std::memcpy(&value, from, sizeof value);
    return static_cast<wide>(value);
  }
  static void store(unsigned char *to, wide value) noexcept {
    const auto narrow = static_cast<Element>(value);
    std::memcpy(to, &narrow, sizeof narrow);
  }
};

template <const number_format &Format, typename Bits>
struct narrow_element {
  using wide = double;
  static constexpr std::size_t size = sizeof(Bits);
  static double load(const unsigned char *from) noexcept {
    Bits bits{};
    std::memcpy(&bits, from, sizeof bits);
    return decode(Format, bits);
  }
  static void store(unsigned char *to, double value) noexcept {
    const auto bits = static_cast<Bits>(encode(Format, value));
    std::memcpy(to, &bits, sizeof bits);
  }
};

template <typename Wide>
inline constexpr bool is_complex = std::is_same_v<Wide, std::complex<double>>;

/// Integers wrap around.
template <typename Wide>
Wide combine_integers(redop operation, Wide a, Wide b) noexcept {
  // 64 bits: a product of two short ones would overflow an int.
  const std::uint64_t x = static_cast<std::make_unsigned_t<Wide>>(a);
  const std::uint64_t y = static_cast<std::make_unsigned_t<Wide>>(b);
  switch (operation) {
  case redop::min: return b < a ? b : a;
  case redop::max: return a < b ? b : a;
  case redop::prod: return static_cast<Wide>(x * y);
  case redop::logical_and: return static_cast<Wide>(a != 0 && b != 0);
  case redop::logical_or: return static_cast<Wide>(a != 0 || b != 0);
  case redop::logical_xor: return static_cast<Wide>((a != 0) != (b != 0));
  case redop::bit_and: return static_cast<Wide>(x & y);
  case redop::bit_or: return static_cast<Wide>(x | y);
  case redop::bit_xor: return static_cast<Wide>(x ^ y);
  default: return static_cast<Wide>(x + y);
  }
}

/// A NaN on any side of a minimum or maximum stays.
template <typename Wide>
Wide combine_reals(redop operation, Wide a, Wide b) noexcept {
  if (std::isnan(a) || std::isnan(b)) {
    return std::numeric_limits<Wide>::quiet_NaN();
  }
  switch (operation) {
  case redop::min: return b < a ? b : a;
  case redop::max: return a < b ? b : a;
  case redop::prod: return a * b;
  default: return a + b;
  }
}

template <typename Wide>
Wide combine(redop operation, Wide a, Wide b) noexcept {
  if constexpr (std::is_integral_v<Wide>) {
    return combine_integers(operation, a, b);
  } else if constexpr (is_complex<Wide>) {
    return operation == redop::prod ? a * b : a + b;
  } else {
    return combine_reals(operation, a, b);
  }
}

/// Integers are averaged without overflow and rounded towards zero.
template <typename Access>
typename Access::wide average(const input_list &inputs, std::size_t offset) noexcept {
  using wide = typename Access::wide;
  __extension__ using sum_type = std::conditional_t<std::is_integral_v<wide>, __int128, wide>;
  sum_type sum{};
  for (const unsigned char *input : inputs) {
    sum += input != nullptr ? static_cast<sum_type>(Access::load(input + offset)) : sum_type{};
  }
  if constexpr (is_complex<wide>) {
    return sum / static_cast<double>(inputs.size());
  } else {
    return static_cast<wide>(sum / static_cast<sum_type>(inputs.size()));
  }
}

template <typename Access>
void reduce_as(redop operation, const input_list &inputs, unsigned char *out, std::uint64_t count) {
  using wide = typename Access::wide;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::size_t offset = i * Access::size;
    const auto value = [offset](const unsigned char *input) {
      return input != nullptr ? Access::load(input + offset) : wide{};
    };
    if (operation == redop::avg) {
      Access::store(out + offset, average<Access>(inputs, offset));
      continue;
    }
    wide result = value(inputs[0]);
    for (std::size_t member = 1; member < inputs.size(); ++member) {
      result = combine<wide>(operation, result, value(inputs[member]));
    }
    Access::store(out + offset, result);
  }
}

/// Calls `work` with the access of the type; false for a type that holds no numbers.
template <typename Work>
bool with_element(dtype type, const Work &work) {
  switch (type) {
  case dtype::i8: return work(plain_element<std::int8_t>()), true;
  case dtype::u8: return work(plain_element<std::uint8_t>()), true;
  case dtype::i16: return work(plain_element<std::int16_t>()), true;
  case dtype::u16: return work(plain_element<std::uint16_t>()), true;
  case dtype::i32: return work(plain_element<std::int32_t>()), true;
  case dtype::u32: return work(plain_element<std::uint32_t>()), true;
  case dtype::i64: return work(plain_element<std::int64_t>()), true;
  case dtype::u64: return work(plain_element<std::uint64_t>()), true;
  case dtype::f16: return work(narrow_element<format_f16, std::uint16_t>()), true;
  case dtype::bf16: return work(narrow_element<format_bf16, std::uint16_t>()), true;
  case dtype::f32: return work(plain_element<float, double>()), true;
  case dtype::f64: return work(plain_element<double>()), true;
  case dtype::f8e4m3: return work(narrow_element<format_f8e4m3, std::uint8_t>()), true;
  case dtype::f8e5m2: return work(narrow_element<format_f8e5m2, std::uint8_t>()), true;
  case dtype::f80: return work(plain_element<long double>()), true;
  case dtype::boolean: return work(plain_element<std::uint8_t>()), true;
  case dtype::c64: return work(plain_element<std::complex<float>, std::complex<double>>()), true;
  case dtype::c128: return work(plain_element<std::complex<double>>()), true;
  default: return false;
  }
}

} // namespace detail

/// out[i] = inputs[0][i] op inputs[1][i] op …, in this order, so that equal inputs give equal bits on every rank.
/// `can_reduce` must hold. `out` may not overlap an input. Linear in count × inputs.
inline void reduce(dtype type, redop operation, const input_list &inputs, unsigned char *out, std::uint64_t count) {
  detail::with_element(type, [&](auto access) { detail::reduce_as<decltype(access)>(operation, inputs, out, count); });
}

/// Stores a number as an element of the type, rounded as the type rounds; what an integer cannot hold becomes 0.
inline void store_number(dtype type, unsigned char *to, double value) {
  detail::with_element(type, [to, value](auto access) {
    using wide = typename decltype(access)::wide;
    if constexpr (std::is_integral_v<wide>) {
      const bool fits = value >= static_cast<double>(std::numeric_limits<wide>::lowest()) &&
                        value < static_cast<double>(std::numeric_limits<wide>::max()) + 1.0;
      access.store(to, fits ? static_cast<wide>(value) : wide{0});
    } else {
      access.store(to, static_cast<wide>(value));
    }
  });
}

/// The real part of a complex element.
inline double load_number(dtype type, const unsigned char *from) {
  double value = 0;
  detail::with_element(type, [from, &value](auto access) {
    using wide = typename decltype(access)::wide;
    if constexpr (detail::is_complex<wide>) {
      value = access.load(from).real();
    } else {
      value = static_cast<double>(access.load(from));
    }
  });
  return value;
}

} // namespace repro
} // namespace DTDEBUG_ABI
} // namespace dtdebug
