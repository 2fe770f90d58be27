// Words of one line, and the values that a word may stand for. Nothing here depends on the locale.
#pragma once

#include <dtdebug/core/call_desc.hpp>
#include <dtdebug/core/dtype.hpp>
#include <dtdebug/model/snapshot.hpp>
#include <dtdebug/schedule/words.hpp>

#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace schedule {

/// A word, or a text in quotes (without them).
struct token {
  std::string_view text;
  bool quoted = false;
};

/// Text for a message: in backquotes, cut short, unprintable bytes as `?`.
inline std::string shown(std::string_view text) {
  constexpr std::size_t most = 60;
  std::string out = "`";
  for (const char c : text.substr(0, most)) {
    out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  }
  return out + (text.size() > most ? "…`" : "`");
}

inline std::string shown(const token &t) { return t.quoted ? shown("\"" + std::string(t.text) + "\"") : shown(t.text); }

inline bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r'; }
inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
inline bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

/// [A-Za-z_][A-Za-z0-9_.-]*
inline bool is_name(std::string_view text) {
  if (text.empty() || !is_letter(text[0])) {
    return false;
  }
  for (const char c : text) {
    if (!is_letter(c) && !is_digit(c) && c != '.' && c != '-') {
      return false;
    }
  }
  return true;
}

/// Byte position of the first control character or malformed UTF-8 sequence (RFC 3629); nothing if all is text.
inline std::optional<std::size_t> first_bad_byte(std::string_view line) {
  for (std::size_t i = 0; i < line.size();) {
    const auto c = static_cast<unsigned char>(line[i]);
    if (c < 0x80) {
      if ((c < 0x20 && !is_space(line[i])) || c == 0x7f) {
        return i;
      }
      ++i;
      continue;
    }
    const std::size_t length = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
    if (c < 0xc2 || c > 0xf4 || i + length > line.size()) {
      return i;
    }
    std::uint32_t point = c & (0x7fU >> length);
    for (std::size_t k = 1; k < length; ++k) {
      const auto next = static_cast<unsigned char>(line[i + k]);
      if ((next & 0xc0U) != 0x80) {
        return i;
      }
      point = point << 6U | (next & 0x3fU);
    }
    const bool overlong = (length == 3 && point < 0x800) || (length == 4 && point < 0x10000);
    if (overlong || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff)) {
      return i;
    }
    i += length;
  }
  return std::nullopt;
}

/// Splits a line; a `#` outside quotes ends it. On failure `problem` says what cannot be read.
inline bool split_line(std::string_view line, std::vector<token> &out, std::string &problem) {
  std::size_t i = 0;
  for (;;) {
    while (i < line.size() && is_space(line[i])) {
      ++i;
    }
    if (i == line.size() || line[i] == '#') {
      return true;
    }
    const std::size_t begin = i;
    const bool quoted = line[i] == '"';
    if (quoted) {
      const std::size_t close = line.find('"', i + 1);
      if (close == std::string_view::npos) {
        problem = "the quote before " + shown(line.substr(begin + 1)) + " is not closed";
        return false;
      }
      i = close + 1;
      out.push_back({line.substr(begin + 1, close - begin - 1), true});
    } else {
      while (i < line.size() && !is_space(line[i]) && line[i] != '#' && line[i] != '"') {
        ++i;
      }
      out.push_back({line.substr(begin, i - begin), false});
    }
    if (i < line.size() && !is_space(line[i]) && line[i] != '#') {
      problem = shown(line.substr(begin, i - begin + 1)) + " runs into the next word";
      return false;
    }
  }
}

/// Digits only; nothing on any other character or above `most`.
inline std::optional<std::uint64_t> read_number(std::string_view text,
                                                std::uint64_t most = std::numeric_limits<std::int64_t>::max()) {
  std::uint64_t value = 0;
  const char *end = text.data() + text.size();
  if (text.empty() || !is_digit(text[0])) {
    return std::nullopt;
  }
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end && value <= most ? std::optional(value) : std::nullopt;
}

/// `12` or `12.5`, without a sign, times `unit` and rounded; nothing above 2^62.
inline std::optional<std::uint64_t> read_scaled(std::string_view text, std::uint64_t unit) {
  const std::size_t dot = text.find('.');
  const std::string_view fraction = dot == std::string_view::npos ? "0" : text.substr(dot + 1);
  const auto whole = read_number(text.substr(0, dot));
  constexpr std::uint64_t most = std::uint64_t{1} << 62U;
  if (!whole || *whole > most / unit - 1 || fraction.empty()) {
    return std::nullopt;
  }
  long double part = 0, weight = 1;
  for (const char c : fraction) {
    if (!is_digit(c)) {
      return std::nullopt;
    }
    part = part * 10 + (weight < 1e18L ? c - '0' : 0);
    weight *= 10;
    if (weight >= 1e18L) {
      part /= 10;
      weight /= 10;
    }
  }
  return *whole * unit + static_cast<std::uint64_t>(std::llround(part / weight * static_cast<long double>(unit)));
}

/// `500ms`, `2s`, `1.5min` in nanoseconds.
inline std::optional<model::time_ns> read_duration(std::string_view text) {
  struct unit {
    std::string_view suffix;
    std::uint64_t ns;
  };
  for (const unit &u : {unit{"ms", 1'000'000}, unit{"min", 60'000'000'000}, unit{"s", 1'000'000'000}}) {
    if (text.size() > u.suffix.size() && text.substr(text.size() - u.suffix.size()) == u.suffix) {
      const auto ns = read_scaled(text.substr(0, text.size() - u.suffix.size()), u.ns);
      return ns ? std::optional(static_cast<model::time_ns>(*ns)) : std::nullopt;
    }
  }
  return std::nullopt;
}

/// `70GiB`, `0.5MiB`, `64KiB` in bytes.
inline std::optional<std::uint64_t> read_bytes(std::string_view text) {
  if (text.size() < 4 || text.substr(text.size() - 2) != "iB") {
    return std::nullopt;
  }
  const char prefix = text[text.size() - 3];
  const unsigned shift = prefix == 'K' ? 10 : prefix == 'M' ? 20 : prefix == 'G' ? 30 : 0;
  return shift == 0 ? std::nullopt : read_scaled(text.substr(0, text.size() - 3), std::uint64_t{1} << shift);
}

/// `1.5`, `-2`, `nan`, `inf`, `-inf`.
inline std::optional<double> read_value(std::string_view text) {
  const bool negative = !text.empty() && text[0] == '-';
  const std::string_view digits = negative ? text.substr(1) : text;
  if (digits == "inf") {
    return negative ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
  }
  if (text == "nan") {
    return std::numeric_limits<double>::quiet_NaN();
  }
  const std::size_t dot = digits.find('.');
  const auto all_digits = [](std::string_view part) {
    for (const char c : part) {
      if (!is_digit(c)) {
        return false;
      }
    }
    return !part.empty();
  };
  if (!all_digits(digits.substr(0, dot)) || (dot != std::string_view::npos && !all_digits(digits.substr(dot + 1)))) {
    return std::nullopt;
  }
  double value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && stop == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

/// [A-Za-z0-9_./+-]+:[0-9]+ as file and line.
inline std::optional<std::pair<std::string_view, std::uint32_t>> read_site(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) {
    return std::nullopt;
  }
  for (const char c : text.substr(0, colon)) {
    if (!is_letter(c) && !is_digit(c) && std::string_view("./+-").find(c) == std::string_view::npos) {
      return std::nullopt;
    }
  }
  const auto line = read_number(text.substr(colon + 1), std::numeric_limits<std::uint32_t>::max());
  return line ? std::optional(std::pair(text.substr(0, colon), static_cast<std::uint32_t>(*line))) : std::nullopt;
}

/// `3,0,2`: numbers up to `most`.
inline std::optional<std::vector<std::uint64_t>> read_numbers(std::string_view text, std::uint64_t most) {
  std::vector<std::uint64_t> out;
  for (;;) {
    const std::size_t comma = text.find(',');
    const auto number = read_number(text.substr(0, comma), most);
    if (!number) {
      return std::nullopt;
    }
    out.push_back(*number);
    if (comma == std::string_view::npos) {
      return out;
    }
    text.remove_prefix(comma + 1);
  }
}

/// Data that a call or a tensor declaration names.
struct shape {
  dtype type = dtype::none;
  std::vector<std::uint64_t> dims;

  /// Below 2^58, so that bytes can be counted.
  std::uint64_t count() const {
    std::uint64_t n = 1;
    for (const std::uint64_t d : dims) {
      n *= d;
    }
    return n;
  }
  friend bool operator==(const shape &a, const shape &b) { return a.type == b.type && a.dims == b.dims; }
};

/// `f32[1024,4096]`, `i64[]`; at most 8 dims and 2^58 elements.
inline std::optional<shape> read_shape(std::string_view text) {
  const std::size_t open = text.find('[');
  if (open == std::string_view::npos || text.back() != ']') {
    return std::nullopt;
  }
  shape out;
  for (const dtype t : schedule_dtypes) {
    if (text.substr(0, open) == name(t)) {
      out.type = t;
    }
  }
  if (out.type == dtype::none) {
    return std::nullopt;
  }
  constexpr std::uint64_t most = std::uint64_t{1} << 58U;
  const std::string_view inside = text.substr(open + 1, text.size() - open - 2);
  if (!inside.empty()) {
    auto dims = read_numbers(inside, most);
    if (!dims || dims->size() > static_cast<std::size_t>(max_dims)) {
      return std::nullopt;
    }
    std::uint64_t product = 1; // of all dims that are not zero, so that every order of multiplication is safe
    for (const std::uint64_t d : *dims) {
      if (d != 0 && product > most / d) {
        return std::nullopt;
      }
      product *= d == 0 ? 1 : d;
    }
    out.dims = std::move(*dims);
  }
  return out;
}

} // namespace schedule
} // namespace DTDEBUG_ABI
} // namespace dtdebug
