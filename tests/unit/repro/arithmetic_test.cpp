// Reductions in every element type, against results written down by hand.
#include <dtdebug/repro/arithmetic.hpp>

#include <doctest/doctest.h>

#include <array>
#include <string>

using namespace dtdebug;

namespace {

/// Reduces one element of each member, given and read back as numbers.
double reduced(dtype type, redop operation, const std::vector<double> &values) {
  std::vector<std::array<unsigned char, 16>> elements(values.size());
  repro::input_list inputs;
  for (std::size_t m = 0; m < values.size(); ++m) {
    repro::store_number(type, elements[m].data(), values[m]);
    inputs.push_back(elements[m].data());
  }
  std::array<unsigned char, 16> out{};
  repro::reduce(type, operation, inputs, out.data(), 1);
  return repro::load_number(type, out.data());
}

constexpr dtype real_types[] = {dtype::i8,  dtype::u8,  dtype::i16,    dtype::u16,    dtype::i32,
                                dtype::u32, dtype::i64, dtype::u64,    dtype::f16,    dtype::bf16,
                                dtype::f32, dtype::f64, dtype::f8e4m3, dtype::f8e5m2, dtype::f80};

template <typename T>
std::vector<T> reduced_all(dtype type, redop operation, const std::vector<std::vector<T>> &members) {
  repro::input_list inputs;
  for (const std::vector<T> &m : members) {
    inputs.push_back(reinterpret_cast<const unsigned char *>(m.data()));
  }
  std::vector<T> out(members.front().size());
  repro::reduce(type, operation, inputs, reinterpret_cast<unsigned char *>(out.data()), out.size());
  return out;
}

} // namespace

TEST_CASE("every real type is summed, multiplied, compared and averaged") {
  for (const dtype type : real_types) {
    CAPTURE(std::string(name(type)));
    CHECK(reduced(type, redop::sum, {1, 2, 4}) == 7);
    CHECK(reduced(type, redop::prod, {2, 3, 2}) == 12);
    CHECK(reduced(type, redop::min, {6, 3, 5}) == 3);
    CHECK(reduced(type, redop::max, {3, 6, 5}) == 6);
    CHECK(reduced(type, redop::avg, {3, 4, 5}) == 4);
  }
}

TEST_CASE("a missing input counts as zeros") {
  const float given = 5;
  float out = -1;
  const repro::input_list inputs{reinterpret_cast<const unsigned char *>(&given), nullptr};
  repro::reduce(dtype::f32, redop::avg, inputs, reinterpret_cast<unsigned char *>(&out), 1);
  CHECK(out == 2.5F);
  repro::reduce(dtype::f32, redop::min, inputs, reinterpret_cast<unsigned char *>(&out), 1);
  CHECK(out == 0.0F);
}

TEST_CASE("integers wrap around, whatever their width") {
  CHECK(reduced(dtype::i8, redop::sum, {127, 1}) == -128);
  CHECK(reduced(dtype::u8, redop::sum, {255, 2}) == 1);
  CHECK(reduced(dtype::u16, redop::prod, {65535, 65535}) == 1);
  CHECK(reduced(dtype::i16, redop::prod, {-32768, -1}) == -32768);
  CHECK(reduced_all<std::int64_t>(dtype::i64, redop::sum, {{INT64_MAX}, {1}})[0] == INT64_MIN);
}

TEST_CASE("an average of integers does not overflow and rounds towards zero") {
  CHECK(reduced_all<std::int64_t>(dtype::i64, redop::avg, {{INT64_MAX}, {INT64_MAX}})[0] == INT64_MAX);
  CHECK(reduced(dtype::i32, redop::avg, {-3, -4}) == -3);
  CHECK(reduced(dtype::u8, redop::avg, {255, 254}) == 254);
}

TEST_CASE("the largest value of an integer type can be stored, the next one cannot") {
  const struct {
    dtype type;
    double largest;
  } cases[] = {
      {dtype::i8, 127}, {dtype::u8, 255}, {dtype::i16, 32767}, {dtype::u16, 65535}, {dtype::u32, 4294967295.0}};
  for (const auto &c : cases) {
    CAPTURE(std::string(name(c.type)));
    unsigned char element[8] = {};
    repro::store_number(c.type, element, c.largest);
    CHECK(repro::load_number(c.type, element) == c.largest);
    repro::store_number(c.type, element, c.largest + 1);
    CHECK(repro::load_number(c.type, element) == 0);
  }
}

TEST_CASE("logic and bits are defined on integers") {
  using list = std::vector<std::uint8_t>;
  const std::vector<list> members{{0, 0, 6, 6}, {0, 4, 0, 3}};
  CHECK(reduced_all(dtype::u8, redop::logical_and, members) == list{0, 0, 0, 1});
  CHECK(reduced_all(dtype::u8, redop::logical_or, members) == list{0, 1, 1, 1});
  CHECK(reduced_all(dtype::u8, redop::logical_xor, members) == list{0, 1, 1, 0});
  CHECK(reduced_all(dtype::boolean, redop::logical_xor, members) == list{0, 1, 1, 0});
  CHECK(reduced_all(dtype::u8, redop::bit_and, members) == list{0, 0, 0, 2});
  CHECK(reduced_all(dtype::u8, redop::bit_or, members) == list{0, 4, 6, 7});
  CHECK(reduced_all(dtype::u8, redop::bit_xor, members) == list{0, 4, 6, 5});
}

TEST_CASE("complex numbers are summed, multiplied and averaged") {
  using number = std::complex<float>;
  const std::vector<std::vector<number>> members{{{1, 2}}, {{3, -4}}};
  CHECK(reduced_all(dtype::c64, redop::sum, members)[0] == number(4, -2));
  CHECK(reduced_all(dtype::c64, redop::prod, members)[0] == number(11, 2));
  CHECK(reduced_all(dtype::c64, redop::avg, members)[0] == number(2, -1));
  const std::vector<std::vector<std::complex<double>>> wide{{{1, 2}}, {{3, -4}}};
  CHECK(reduced_all(dtype::c128, redop::prod, wide)[0] == std::complex<double>(11, 2));
}

TEST_CASE("a NaN stays, on either side") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const dtype type : {dtype::f16, dtype::bf16, dtype::f32, dtype::f64, dtype::f8e4m3, dtype::f8e5m2, dtype::f80}) {
    CAPTURE(std::string(name(type)));
    for (const redop operation : {redop::sum, redop::prod, redop::min, redop::max, redop::avg}) {
      CHECK(std::isnan(reduced(type, operation, {1, nan, 2})));
      CHECK(std::isnan(reduced(type, operation, {nan, 1, 2})));
    }
  }
}

TEST_CASE("narrow sums are rounded once, at the end") {
  // 2048 + 1 is not a half-precision number: rounded after each step, the ones would be lost.
  CHECK(reduced(dtype::f16, redop::sum, {2048, 1, 1}) == 2050);
  CHECK(reduced(dtype::bf16, redop::sum, {256, 1, 1}) == 258);
}

TEST_CASE("what has no meaning is not claimed to be supported") {
  CHECK(repro::can_reduce(dtype::f32, redop::sum));
  CHECK(repro::can_reduce(dtype::boolean, redop::logical_or));
  CHECK_FALSE(repro::can_reduce(dtype::boolean, redop::sum));
  CHECK_FALSE(repro::can_reduce(dtype::f32, redop::bit_xor));
  CHECK_FALSE(repro::can_reduce(dtype::c64, redop::max));
  CHECK_FALSE(repro::can_reduce(dtype::f32, redop::none));
  CHECK_FALSE(repro::can_reduce(dtype::f32, redop::max_loc));
  CHECK_FALSE(repro::can_reduce(dtype::pair, redop::sum));
  CHECK_FALSE(repro::can_reduce(dtype::user, redop::user));
  CHECK_FALSE(repro::can_reduce(dtype::none, redop::sum));
}
