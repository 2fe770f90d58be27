// Strings of the program on their way to a terminal: names may hold anything.
#pragma once

#include <dtdebug/core/config.hpp>

#include <cstdint>
#include <cstdio>
#include <string>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace report {

namespace detail {

/// Length of the valid UTF-8 sequence at `text[at]` (RFC 3629), 0 if there is none.
inline std::size_t utf8_length(const std::string &text, std::size_t at) {
  const auto byte = [&text](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const auto follows = [&byte](std::size_t i) { return (byte(i) & 0xc0U) == 0x80U; };
  const unsigned first = byte(at);
  if (first < 0x80) {
    return 1;
  }
  if (first >= 0xc2 && first < 0xe0 && follows(at + 1)) {
    return 2;
  }
  if (first >= 0xe0 && first < 0xf0 && follows(at + 1) && follows(at + 2)) {
    const bool overlong = first == 0xe0 && byte(at + 1) < 0xa0;
    const bool surrogate = first == 0xed && byte(at + 1) >= 0xa0;
    return overlong || surrogate ? 0 : 3;
  }
  if (first >= 0xf0 && first < 0xf5 && follows(at + 1) && follows(at + 2) && follows(at + 3)) {
    const bool overlong = first == 0xf0 && byte(at + 1) < 0x90;
    const bool too_high = first == 0xf4 && byte(at + 1) >= 0x90;
    return overlong || too_high ? 0 : 4;
  }
  return 0;
}

/// The code point at `text[at]`, whose valid sequence has `length` bytes, when it is one that acts instead of showing:
/// C0 and C1 controls, DEL, line separators, and the marks that turn the direction of text. 0 for all others, and for
/// NUL.
inline std::uint32_t control_at(const std::string &text, std::size_t at, std::size_t length) {
  const auto byte = [&text, at](std::size_t i) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(text[at + i]));
  };
  const std::uint32_t point = length == 1   ? byte(0)
                              : length == 2 ? (byte(0) & 0x1fU) << 6 | (byte(1) & 0x3fU)
                              : length == 3 ? (byte(0) & 0x0fU) << 12 | (byte(1) & 0x3fU) << 6 | (byte(2) & 0x3fU)
                                            : 0x10000U;
  const bool acts = point < 0x20 || (point >= 0x7f && point < 0xa0) || (point >= 0x2028 && point <= 0x202e) ||
                    (point >= 0x2066 && point <= 0x2069);
  return acts ? point : 0;
}

} // namespace detail

/// `text` on one line and without effect on a terminal: what acts becomes visible (\\x1b, \\u202e), and so do bytes
/// that are not UTF-8.
inline std::string printable(const std::string &text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = detail::utf8_length(text, at);
    const std::uint32_t control = length > 0 ? detail::control_at(text, at, length) : 0;
    if (length > 0 && control == 0 && text[at] != '\0') {
      out.append(text, at, length);
    } else {
      char escaped[16];
      const auto shown = length > 0 ? control : static_cast<std::uint32_t>(static_cast<unsigned char>(text[at]));
      std::snprintf(escaped, sizeof escaped, shown < 0x100 ? "\\x%02x" : "\\u%04x", static_cast<unsigned>(shown));
      out += escaped;
    }
    at += length > 0 ? length : 1;
  }
  return out;
}

} // namespace report
} // namespace DTDEBUG_ABI
} // namespace dtdebug
