// 64-bit mixing for fingerprints. Not cryptographic: it guards against accidents, not against an adversary.
#pragma once

#include <dtdebug/core/config.hpp>

#include <cstddef>
#include <cstdint>

namespace dtdebug {
inline namespace DTDEBUG_ABI {

/// Folds two words into one: high and low half of their 128-bit product. One multiplication.
constexpr std::uint64_t mix(std::uint64_t a, std::uint64_t b) noexcept {
  __extension__ using wide = unsigned __int128;
  const wide product = static_cast<wide>(a ^ 0x9e3779b97f4a7c15ULL) * (b ^ 0xd1b54a32d192ed03ULL);
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

/// Hash of a byte string; equal on every host (bytes are taken one by one). ~1 ns a byte: for names, not for data.
constexpr std::uint64_t hash_bytes(const char *bytes, std::size_t size, std::uint64_t seed = 0) noexcept {
  std::uint64_t state = 0xcbf29ce484222325ULL ^ seed; // FNV-1a, offset basis and prime as published
  for (std::size_t i = 0; i < size; ++i) {
    state = (state ^ static_cast<unsigned char>(bytes[i])) * 0x100000001b3ULL;
  }
  return mix(state, size);
}

/// Hash of a zero-terminated string; a null pointer hashes to 0, which no string does in practice.
constexpr std::uint64_t hash_string(const char *text, std::uint64_t seed = 0) noexcept {
  if (text == nullptr) {
    return 0;
  }
  std::size_t size = 0;
  while (text[size] != '\0') {
    ++size;
  }
  return hash_bytes(text, size, seed);
}

} // namespace DTDEBUG_ABI
} // namespace dtdebug
