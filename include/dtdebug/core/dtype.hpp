// Element types and reduction operations.
#pragma once

#include <dtdebug/core/config.hpp>

#include <cstdint>

namespace dtdebug {
inline namespace DTDEBUG_ABI {

/// Element type. The numbers are part of the black-box format: append only.
enum class dtype : std::uint8_t {
  none = 0, ///< a call without data
  i8 = 1,
  u8 = 2, ///< raw bytes: agrees with any type
  i16 = 3,
  u16 = 4,
  i32 = 5,
  u32 = 6,
  i64 = 7,
  u64 = 8,
  f16 = 9,
  bf16 = 10,
  f32 = 11,
  f64 = 12,
  f8e4m3 = 13,
  f8e5m2 = 14,
  f80 = 15, ///< long double
  boolean = 16,
  c64 = 17,
  c128 = 18,
  pair = 19, ///< value and index (MPI_FLOAT_INT and its kin); the size is in the record
  user = 20, ///< a type built by the program; the size is in the record
};

inline constexpr int dtype_count = 21;

constexpr const char *name(dtype type) noexcept {
  constexpr const char *names[dtype_count] = {"none",   "i8",  "u8",   "i16",  "u16",  "i32",  "u32",
                                              "i64",    "u64", "f16",  "bf16", "f32",  "f64",  "f8e4m3",
                                              "f8e5m2", "f80", "bool", "c64",  "c128", "pair", "user"};
  const auto index = static_cast<unsigned>(type);
  return index < dtype_count ? names[index] : "unknown";
}

/// Bytes of one element; 0 where only the record knows (`pair`, `user`) or there is no data.
constexpr std::uint32_t size_of(dtype type) noexcept {
  constexpr std::uint8_t sizes[dtype_count] = {0, 1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4, 8, 1, 1, 16, 1, 8, 16, 0, 0};
  const auto index = static_cast<unsigned>(type);
  return index < dtype_count ? sizes[index] : 0;
}

/// Reduction operation. The numbers are part of the black-box format: append only.
enum class redop : std::uint8_t {
  none = 0,
  sum = 1,
  prod = 2,
  min = 3,
  max = 4,
  avg = 5,
  logical_and = 6,
  logical_or = 7,
  logical_xor = 8,
  bit_and = 9,
  bit_or = 10,
  bit_xor = 11,
  min_loc = 12,
  max_loc = 13,
  replace = 14,
  user = 15,
};

inline constexpr int redop_count = 16;

constexpr const char *name(redop operation) noexcept {
  constexpr const char *names[redop_count] = {"none", "sum",  "prod", "min",  "max",    "avg",    "land",    "lor",
                                              "lxor", "band", "bor",  "bxor", "minloc", "maxloc", "replace", "user"};
  const auto index = static_cast<unsigned>(operation);
  return index < redop_count ? names[index] : "unknown";
}

} // namespace DTDEBUG_ABI
} // namespace dtdebug
