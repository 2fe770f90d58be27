// Files mapped into memory, and clocks.
#include <dtdebug/os/clock.hpp>
#include <dtdebug/os/mapped_file.hpp>

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>

#include <sys/wait.h>

using namespace dtdebug;

namespace {

struct folder {
  std::string path;
  folder() {
    char name[] = "/tmp/dtdebug-test-XXXXXX";
    REQUIRE(::mkdtemp(name) != nullptr);
    path = name;
  }
  ~folder() {
    ::unlink((path + "/f").c_str());
    ::rmdir(path.c_str());
  }
};

} // namespace

TEST_CASE("what is written into a mapping is in the file, for another mapping too") {
  const folder in;
  const std::string path = in.path + "/f";
  os::mapping made = os::create_mapped(path.c_str(), 3 * 4096, 4096);
  REQUIRE(made.base != nullptr);
  CHECK(made.bytes == 3 * 4096);
  made.base[5] = 42;
  made.base[2 * 4096] = 43;
  os::mapping seen = os::open_mapped(path.c_str());
  REQUIRE(seen.base != nullptr);
  CHECK(seen.bytes == 3 * 4096);
  CHECK(seen.base[5] == 42);
  CHECK(seen.base[2 * 4096] == 43);
  made.base[6] = 44;
  CHECK(seen.base[6] == 44);
  os::unmap(seen);
  os::unmap(made);
  CHECK(made.base == nullptr);
  os::unmap(made); // again does nothing
}

TEST_CASE("reserved bytes are backed by storage, the rest is a hole until it is reserved") {
  const folder in;
  const std::string path = in.path + "/f";
  os::mapping made = os::create_mapped(path.c_str(), 64 * 4096, 4096);
  REQUIRE(made.base != nullptr);
  struct stat info {};
  REQUIRE(::stat(path.c_str(), &info) == 0);
  CHECK(info.st_blocks * 512 >= 4096);
  CHECK(info.st_blocks * 512 < 32 * 4096);
  CHECK(os::reserve(made, 32 * 4096, 16 * 4096) == 0);
  REQUIRE(::stat(path.c_str(), &info) == 0);
  CHECK(info.st_blocks * 512 >= 17 * 4096);
  os::unmap(made);
}

TEST_CASE("a folder that is not there or is a file is an error, and nothing is made") {
  for (const char *path : {"/nowhere/at/all/f", "/dev/null/f", ""}) {
    const os::mapping made = os::create_mapped(path, 4096, 4096);
    CHECK(made.base == nullptr);
    CHECK(made.error != 0);
    const os::mapping seen = os::open_mapped(path);
    CHECK(seen.base == nullptr);
    CHECK(seen.error != 0);
  }
}

TEST_CASE("a full disk is an error, and nothing is left") {
  const folder in;
  const std::string path = in.path + "/f";
  const os::mapping made = os::create_mapped(path.c_str(), std::size_t{1} << 62, std::size_t{1} << 62);
  CHECK(made.base == nullptr);
  CHECK(made.error != 0);
  CHECK(::access(path.c_str(), F_OK) != 0);
}

TEST_CASE("a mapping outlives the descriptor and the name of its file") {
  const folder in;
  const std::string path = in.path + "/f";
  os::mapping made = os::create_mapped(path.c_str(), 2 * 4096, 4096);
  REQUIRE(made.base != nullptr);
  ::unlink(path.c_str());
  ::close(made.descriptor);
  made.base[0] = 1;
  CHECK(os::reserve(made, 4096, 4096) == EBADF);
  made.descriptor = -1;
  CHECK(os::reserve(made, 4096, 4096) == EBADF);
  os::unmap(made);
}

TEST_CASE("clocks go forward") {
  const bool steady = os::has_steady_counter();
  std::uint64_t ticks = os::ticks(steady);
  std::uint64_t ns = os::monotonic_ns();
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t now_ticks = os::ticks(steady);
    const std::uint64_t now_ns = os::monotonic_ns();
    CHECK(now_ticks >= ticks);
    CHECK(now_ns >= ns);
    ticks = now_ticks;
    ns = now_ns;
  }
  CHECK(os::ticks(false) - os::monotonic_ns() + 1'000'000'000 < 2'000'000'000); // nanoseconds without a counter
  CHECK(os::wall_ns() > 1'700'000'000'000'000'000ULL);
}
