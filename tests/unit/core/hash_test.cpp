// The mixing function and the hash of names.
#include <dtdebug/core/hash.hpp>

#include <doctest/doctest.h>

#include <cstring>
#include <random>
#include <set>
#include <string>

using namespace dtdebug;

namespace {

int bits_of(std::uint64_t word) { return __builtin_popcountll(word); }

} // namespace

TEST_CASE("values are those of the file format") {
  CHECK(mix(0, 0) == 0xd6cb8892a926a943ULL);
  CHECK(mix(1, 2) == 0xc8b7f534790f4c6eULL);
  CHECK(hash_string("layer3.weight") == 0x97a0595086de2414ULL);
}

TEST_CASE("a changed bit of either word changes about half of the bits") {
  std::mt19937_64 random(1);
  for (int word = 0; word < 2; ++word) {
    for (int bit = 0; bit < 64; ++bit) {
      int changed = 0;
      constexpr int trials = 400;
      for (int i = 0; i < trials; ++i) {
        const std::uint64_t a = random();
        const std::uint64_t b = random();
        const std::uint64_t flip = 1ULL << bit;
        changed += bits_of(mix(a, b) ^ (word == 0 ? mix(a ^ flip, b) : mix(a, b ^ flip)));
      }
      CAPTURE(word);
      CAPTURE(bit);
      CHECK(changed > trials * 27);
      CHECK(changed < trials * 37);
    }
  }
}

TEST_CASE("small numbers, as counts and ranks are, do not collide") {
  std::set<std::uint64_t> seen;
  for (std::uint64_t a = 0; a < 1000; ++a) {
    for (std::uint64_t b = 0; b < 1000; ++b) {
      seen.insert(mix(a, b));
    }
  }
  CHECK(seen.size() == 1'000'000);
}

TEST_CASE("the order of the words matters") {
  std::mt19937_64 random(2);
  for (int i = 0; i < 10'000; ++i) {
    const std::uint64_t a = random() % 5000;
    const std::uint64_t b = random() % 5000;
    CHECK((mix(a, b) == mix(b, a)) == (a == b));
  }
}

TEST_CASE("names that differ in one character, in length or in order have different hashes") {
  std::set<std::uint64_t> seen;
  std::size_t made = 0;
  for (int layer = 0; layer < 2000; ++layer) {
    for (const char *part : {"weight", "bias", "weight.grad", "bias.grad"}) {
      seen.insert(hash_string(("layer" + std::to_string(layer) + "." + part).c_str()));
      ++made;
    }
  }
  CHECK(seen.size() == made);
  CHECK(hash_string("ab") != hash_string("ba"));
  CHECK(hash_string("") != hash_string("a"));
  CHECK(hash_bytes("\0", 1) != hash_bytes("\0\0", 2));
}

TEST_CASE("bytes above 127 and seeds count, and no name has the hash of no name") {
  CHECK(hash_string("\xc3\xa4") != hash_string("\xc3\xa5"));
  CHECK(hash_string("a", 1) != hash_string("a", 2));
  CHECK(hash_string(nullptr) == 0);
  CHECK(hash_string("") != 0);
  const std::string text = "some name";
  CHECK(hash_string(text.c_str()) == hash_bytes(text.data(), text.size()));
  static_assert(hash_string("known at compile time") != 0);
}
