// Reductions on host memory, in every element type of the schedule language.
#pragma once

#include <dtdebug/core/dtype.hpp>
#include <dtdebug/repro/number_formats.hpp>

#include <cmath>
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

/// True for the types and operations on which a reduction is defined here.
constexpr bool is_reducible(dtype type) noexcept { return (type >= dtype::i8 && type <= dtype::f8e5m2); }
constexpr bool is_supported(redop operation) noexcept { return operation >= redop::sum && operation <= redop::avg; }

namespace detail {

/// How elements of one type are read and written. Floating-point types are combined as doubles and rounded once.
template <typename Element>
struct plain_element {
  using wide = std::conditional_t<std::is_floating_point_v<Element>, double, Element>;
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

/// Integers wrap around; a NaN on any side of a minimum or maximum stays.
template <typename Wide>
Wide combine(redop operation, Wide a, Wide b) noexcept {
  if constexpr (std::is_floating_point_v<Wide>) {
    if (std::isnan(a) || std::isnan(b)) {
      return std::numeric_limits<Wide>::quiet_NaN();
    }
  }
  switch (operation) {
  case redop::min: return b < a ? b : a;
  case redop::max: return a < b ? b : a;
  default: break;
  }
  if constexpr (std::is_floating_point_v<Wide>) {
    return operation == redop::prod ? a * b : a + b;
  } else {
    const auto x = static_cast<std::make_unsigned_t<Wide>>(a);
    const auto y = static_cast<std::make_unsigned_t<Wide>>(b);
    return static_cast<Wide>(operation == redop::prod ? x * y : x + y);
  }
}

/// Integers are averaged without overflow and rounded towards zero.
template <typename Access>
typename Access::wide average(const input_list &inputs, std::size_t offset) noexcept {
  using wide = typename Access::wide;
  __extension__ using sum_type = std::conditional_t<std::is_floating_point_v<wide>, double, __int128>;
  sum_type sum = 0;
  for (const unsigned char *input : inputs) {
    sum += input != nullptr ? static_cast<sum_type>(Access::load(input + offset)) : sum_type{0};
  }
  return static_cast<wide>(sum / static_cast<sum_type>(inputs.size()));
}

template <typename Access>
void reduce_as(redop operation, const input_list &inputs, unsigned char *out, std::uint64_t count) {
  using wide = typename Access::wide;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::size_t offset = i * Access::size;
    const auto value = [offset](const unsigned char *input) {
      return input != nullptr ? Access::load(input + offset) : wide{0};
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
  case dtype::f32: return work(plain_element<float>()), true;
  case dtype::f64: return work(plain_element<double>()), true;
  case dtype::f8e4m3: return work(narrow_element<format_f8e4m3, std::uint8_t>()), true;
  case dtype::f8e5m2: return work(narrow_element<format_f8e5m2, std::uint8_t>()), true;
  default: return false;
  }
}

} // namespace detail

/// out[i] = inputs[0][i] op inputs[1][i] op …, in this order, so that equal inputs give equal bits on every rank. `out`
/// may not overlap an input. Linear in count × inputs.
inline void reduce(dtype type, redop operation, const input_list &inputs, unsigned char *out, std::uint64_t count) {
  detail::with_element(type, [&](auto access) { detail::reduce_as<decltype(access)>(operation, inputs, out, count); });
}

/// Stores a number as an element of the type, rounded as the type rounds; what an integer cannot hold becomes 0.
inline void store_number(dtype type, unsigned char *to, double value) {
  detail::with_element(type, [to, value](auto access) {
    using wide = typename decltype(access)::wide;
    if constexpr (std::is_floating_point_v<wide>) {
      access.store(to, static_cast<wide>(value));
    } else {
      const bool fits = value >= static_cast<double>(std::numeric_limits<wide>::lowest()) &&
                        value < static_cast<double>(std::numeric_limits<wide>::max());
      access.store(to, fits ? static_cast<wide>(value) : wide{0});
    }
  });
}

inline double load_number(dtype type, const unsigned char *from) {
  double value = 0;
  detail::with_element(type, [from, &value](auto access) { value = static_cast<double>(access.load(from)); });
  return value;
}

} // namespace repro
} // namespace DTDEBUG_ABI
} // namespace dtdebug
