// JSON that any parser takes, whatever the strings and numbers are.
#include <dtdebug/report/json_writer.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#if __has_include(<nlohmann/json.hpp>)
#define HAVE_SECOND_PARSER() 1
#include <nlohmann/json.hpp>
#else
#define HAVE_SECOND_PARSER() 0
#endif

using namespace dtdebug;
using report::json_string;
using report::json_writer;

TEST_CASE("text is quoted and escaped") {
  CHECK(json_string("") == "\"\"");
  CHECK(json_string("plain äöü €") == "\"plain äöü €\"");
  CHECK(json_string("say \"hi\" \\ back") == R"("say \"hi\" \\ back")");
  CHECK(json_string("\n\t\x1b[31m\x7f") == R"("\u000a\u0009\u001b[31m\u007f")");
  CHECK(json_string(std::string("a\0b", 3)) == R"("a\u0000b")");
}

TEST_CASE("text that acts on a terminal is escaped beyond ASCII too") {
  CHECK(json_string("\xc2\x9b"
                    "31m") == R"("\u009b31m")");
  CHECK(json_string("\xe2\x80\xae") == R"("\u202e")");
  CHECK(json_string("\xe2\x81\xa6") == R"("\u2066")");
  CHECK(json_string("\xc2\xa0") == "\"\xc2\xa0\"");
}

TEST_CASE("bytes that are not UTF-8 become the replacement character") {
  CHECK(json_string("\xff") == R"("\ufffd")");
  CHECK(json_string("a\xc3") == R"("a\ufffd")");                             // cut off
  CHECK(json_string("\xc0\xaf") == R"("\ufffd\ufffd")");                     // overlong '/'
  CHECK(json_string("\xed\xa0\x80") == R"("\ufffd\ufffd\ufffd")");           // a surrogate
  CHECK(json_string("\xf4\x90\x80\x80") == R"("\ufffd\ufffd\ufffd\ufffd")"); // above U+10FFFF
  CHECK(json_string("\xf0\x9f\x98\x80") == "\"\xf0\x9f\x98\x80\"");          // four bytes, valid
  CHECK(json_string("\xe0\x80\x80") == R"("\ufffd\ufffd\ufffd")");
  CHECK(json_string("\x80\xbf") == R"("\ufffd\ufffd")");
}

TEST_CASE("numbers keep their value, and what JSON cannot say is null") {
  json_writer out;
  out.begin_array();
  out.value(std::numeric_limits<std::uint64_t>::max());
  out.value(std::numeric_limits<std::int64_t>::min());
  out.value(std::int32_t{-1});
  out.value(0.5);
  out.value(std::nan(""));
  out.value(std::numeric_limits<double>::infinity());
  out.value(-std::numeric_limits<double>::infinity());
  out.value(true);
  CHECK(out.end_array().finish() == "[\n  18446744073709551615,\n  -9223372036854775808,\n  -1,\n  0.5,\n  null,\n"
                                    "  null,\n  null,\n  true\n]\n");
}

TEST_CASE("objects and arrays nest, empty ones too") {
  json_writer out;
  out.begin_object().key("none").begin_array().end_array().key("empty").begin_object().end_object();
  out.key("list").begin_array();
  out.begin_object().member("a", "x").end_object();
  out.begin_object().end_object();
  out.end_array().list("numbers", std::vector<std::int32_t>{3, 1, 2});
  out.list("words", std::vector<std::string>{"a\"b", ""}).list("nothing", std::vector<std::string>{});
  CHECK(out.end_object().finish() == R"({
  "none": [],
  "empty": {},
  "list": [
    {
      "a": "x"
    },
    {}
  ],
  "numbers": [3, 1, 2],
  "words": ["a\"b", ""],
  "nothing": []
}
)");
}

TEST_CASE("a key is escaped as well") {
  json_writer out;
  CHECK(out.begin_object().member("a\"\n", 1.0).end_object().finish() == "{\n  \"a\\\"\\u000a\": 1\n}\n");
}

#if HAVE_SECOND_PARSER()
TEST_CASE("a second parser reads back every pair of bytes") {
  for (unsigned first = 0; first < 256; ++first) {
    json_writer out;
    out.begin_array();
    for (unsigned second = 0; second < 256; ++second) {
      out.value(std::string{'<', static_cast<char>(first), static_cast<char>(second), '>'});
    }
    const auto read = nlohmann::json::parse(out.end_array().finish(), nullptr, false);
    CAPTURE(first);
    REQUIRE(read.is_array());
    REQUIRE(read.size() == 256);
    for (unsigned second = 0; second < 128 && first < 128; ++second) {
      const std::string back = read[second];
      CHECK(back == std::string{'<', static_cast<char>(first), static_cast<char>(second), '>'});
    }
  }
}
#endif
