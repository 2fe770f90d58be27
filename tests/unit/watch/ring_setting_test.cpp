// DTDEBUG_RING: how many records each thread keeps.
#include <dtdebug/watch/settings.hpp>

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>

using namespace dtdebug;

namespace {

watch::settings with_ring(const char *value) {
  ::setenv("DTDEBUG_RING", value, 1);
  watch::settings out = watch::read_settings({});
  ::unsetenv("DTDEBUG_RING");
  return out;
}

} // namespace

TEST_CASE("a number of records is rounded up to a power of two") {
  for (const auto &[text, records] : {std::pair{"64", 64U},
                                      {"65", 128U},
                                      {"4096", 4096U},
                                      {"5000", 8192U},
                                      {"1048575", 1U << 20},
                                      {"1048576", 1U << 20}}) {
    const watch::settings set = with_ring(text);
    CHECK(set.ring_records == records);
    CHECK(set.warnings.empty());
  }
}

TEST_CASE("what is no number of records is a warning, and the built-in number stands") {
  for (const char *text : {"", "63", "0", "-1", "-4096", "1048577", "99999999999999999999999", "many", "1e6", "4096x",
                           "64 records", "0x1000"}) {
    const watch::settings set = with_ring(text);
    CHECK(set.ring_records == 4096);
    REQUIRE(set.warnings.size() == 1);
    CHECK(set.warnings[0].find("DTDEBUG_RING=" + std::string(text)) == 0);
    CHECK(set.warnings[0].find("64 to 1048576") != std::string::npos);
  }
}
