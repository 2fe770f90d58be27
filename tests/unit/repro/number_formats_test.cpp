// Narrow floating-point formats: all their values, and rounding against an exhaustive search.
#include <dtdebug/repro/number_formats.hpp>

#include <doctest/doctest.h>

#include <vector>

using namespace dtdebug::repro;

namespace {

struct named_format {
  const char *name;
  number_format format;
  std::uint32_t patterns;
};
constexpr named_format formats[] = {{"f16", format_f16, 1U << 16U},
                                    {"bf16", format_bf16, 1U << 16U},
                                    {"f8e4m3", format_f8e4m3, 1U << 8U},
                                    {"f8e5m2", format_f8e5m2, 1U << 8U}};

} // namespace

TEST_CASE("every bit pattern that is no NaN survives decoding and encoding") {
  for (const named_format &f : formats) {
    CAPTURE(f.name);
    std::uint32_t wrong = 0;
    for (std::uint32_t bits = 0; bits < f.patterns; ++bits) {
      const double value = decode(f.format, bits);
      const std::uint32_t back = encode(f.format, value);
      wrong += std::isnan(value) ? (std::isnan(decode(f.format, back)) ? 0U : 1U) : (back == bits ? 0U : 1U);
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("well-known values have well-known bits") {
  CHECK(encode(format_f16, 1.0) == 0x3c00);
  CHECK(encode(format_f16, -2.0) == 0xc000);
  CHECK(encode(format_f16, 65504.0) == 0x7bff);
  CHECK(encode(format_f16, 65520.0) == 0x7c00); // halfway to the next power: even, which is infinity
  CHECK(encode(format_f16, 0x1p-24) == 0x0001);
  CHECK(encode(format_f16, 0x1p-25) == 0x0000); // halfway to the smallest subnormal: even, which is zero
  CHECK(encode(format_bf16, 3.140625) == 0x4049);
  CHECK(encode(format_f8e4m3, 448.0) == 0x7e);
  CHECK(encode(format_f8e4m3, 1e9) == 0x7f); // no infinity there
  CHECK(encode(format_f8e5m2, 57344.0) == 0x7b);
  CHECK(encode(format_f8e5m2, 1e9) == 0x7c);
  CHECK(encode(format_f16, -0.0) == 0x8000);
}

TEST_CASE("a value between two neighbours goes to the nearer one, in the middle to the even one") {
  for (const named_format &f : formats) {
    CAPTURE(f.name);
    const std::uint32_t sign = f.patterns / 2;
    std::uint32_t wrong = 0;
    for (std::uint32_t bits = 0; bits + 1 < sign; ++bits) {
      const double low = decode(f.format, bits);
      const double high = decode(f.format, bits + 1);
      if (!std::isfinite(low) || !std::isfinite(high)) {
        continue;
      }
      const double middle = low + (high - low) / 2;
      const std::uint32_t even = bits % 2 == 0 ? bits : bits + 1;
      wrong += encode(f.format, middle) != even ? 1U : 0U;
      wrong += encode(f.format, std::nextafter(middle, low)) != bits ? 1U : 0U;
      wrong += encode(f.format, std::nextafter(middle, high)) != bits + 1 ? 1U : 0U;
      wrong += encode(f.format, -middle) != (sign | even) ? 1U : 0U;
    }
    CHECK(wrong == 0);
  }
}
