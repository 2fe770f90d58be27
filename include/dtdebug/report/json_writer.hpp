// A writer of JSON (RFC 8259): commas and indentation by itself, any bytes made into valid UTF-8.
#pragma once

#include <dtdebug/report/utf8.hpp>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace report {

/// `text` as a JSON string with its quotes. Control characters are escaped, also those that turn the
/// direction of text; a byte that is not UTF-8 becomes U+FFFD.
inline std::string json_string(const std::string &text) {
  std::string out = "\"";
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = detail::utf8_length(text, at);
    const auto byte = static_cast<unsigned char>(text[at]);
    if (length == 0) {
      out += "\\ufffd";
      ++at;
      continue;
    }
    if (byte == '"' || byte == '\\') {
      out += '\\';
      out += text[at];
    } else if (const std::uint32_t control = detail::control_at(text, at, length); control != 0 || byte == 0) {
      char escaped[16];
      std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(control));
      out += escaped;
    } else {
      out.append(text, at, length);
    }
    at += length;
  }
  return out + "\"";
}

/// Writes values in the order of the calls. The caller opens and closes objects and arrays in pairs.
class json_writer {
public:
  json_writer &begin_object() { return open('{'); }
  json_writer &begin_array() { return open('['); }
  json_writer &end_object() { return close('}'); }
  json_writer &end_array() { return close(']'); }

  json_writer &key(const std::string &name) {
    separate();
    text_ += json_string(name) + ": ";
    after_key_ = true;
    return *this;
  }
  json_writer &value(const std::string &text) { return raw(json_string(text)); }
  json_writer &value(const char *text) { return raw(json_string(text)); }
  json_writer &value(bool flag) { return raw(flag ? "true" : "false"); }
  json_writer &value(std::int64_t number) { return raw(std::to_string(number)); }
  json_writer &value(std::uint64_t number) { return raw(std::to_string(number)); }
  json_writer &value(std::int32_t number) { return raw(std::to_string(number)); }
  json_writer &value(double number) {
    char digits[40];
    std::snprintf(digits, sizeof digits, "%.6g", number);
    return raw(std::isfinite(number) ? digits : "null"); // JSON has no NaN
  }
  template <typename Value>
  json_writer &member(const std::string &name, const Value &what) {
    return key(name).value(what);
  }
  template <typename Value>
  json_writer &list(const std::string &name, const std::vector<Value> &values) {
    key(name);
    separate();
    text_ += "[";
    for (std::size_t i = 0; i < values.size(); ++i) {
      text_ += i > 0 ? ", " : "";
      if constexpr (std::is_same_v<Value, std::string>) {
        text_ += json_string(values[i]);
      } else {
        text_ += std::to_string(values[i]);
      }
    }
    text_ += "]";
    return *this;
  }
  std::string finish() { return std::move(text_) + "\n"; }

private:
  std::string text_;
  std::vector<bool> filled_; ///< per open object or array: something stands in it already
  bool after_key_ = false;

  void separate() {
    if (after_key_) {
      after_key_ = false;
      return;
    }
    if (!filled_.empty()) {
      text_ += filled_.back() ? ",\n" : "\n";
      filled_.back() = true;
      text_.append(2 * filled_.size(), ' ');
    }
  }
  json_writer &raw(const std::string &written) {
    separate();
    text_ += written;
    return *this;
  }
  json_writer &open(char bracket) {
    separate();
    text_ += bracket;
    filled_.push_back(false);
    return *this;
  }
  json_writer &close(char bracket) {
    const bool was_filled = filled_.back();
    filled_.pop_back();
    if (was_filled) {
      text_ += "\n";
      text_.append(2 * filled_.size(), ' ');
    }
    text_ += bracket;
    return *this;
  }
};

} // namespace report
} // namespace DTDEBUG_ABI
} // namespace dtdebug
