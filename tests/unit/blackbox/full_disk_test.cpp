// A file system that is full, from the start or from some moment on: a small tmpfs of the test's own.
#include "../record/recording_session.hpp"
#include "read_everything.hpp"

#include <doctest/doctest.h>

#include <cerrno>
#include <cstdio>
#include <string>

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>

using namespace dtdebug;

namespace {

constexpr int not_allowed = 77; ///< exit status: this machine lets the test mount nothing

blackbox::capacities small() {
  blackbox::capacities sizes;
  sizes.rings = 4;
  sizes.groups = 4;
  return sizes;
}

/// Runs `work(path of a box)` in a process with a tmpfs of that many bytes. Its exit status.
template <typename Work>
int on_disk_of(std::size_t bytes, Work work) {
  char folder[] = "/tmp/dtdebug-test-XXXXXX";
  REQUIRE(::mkdtemp(folder) != nullptr);
  std::fflush(stdout);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const bool own = ::unshare(CLONE_NEWNS) == 0 || ::unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0;
    if (!own || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("tmpfs", folder, "tmpfs", 0, ("size=" + std::to_string(bytes)).c_str()) != 0) {
      ::_exit(not_allowed);
    }
    ::_exit(work(std::string(folder) + "/rank-0.dtbb"));
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  ::rmdir(folder);
  REQUIRE(WIFEXITED(status)); // a SIGBUS is what this is about
  return WEXITSTATUS(status);
}

bool fill(const std::string &path) {
  const int fd = ::open(path.c_str(), O_CREAT | O_WRONLY, 0600);
  const char page[4096] = {};
  while (::write(fd, page, sizeof page) == static_cast<ssize_t>(sizeof page)) {
  }
  ::close(fd);
  return errno == ENOSPC;
}

} // namespace

TEST_CASE("a full disk at the start is an error, and no file is left") {
  const int status = on_disk_of(64 * 1024, [](const std::string &path) {
    const blackbox::box made = blackbox::create(path.c_str(), small());
    return made.file.base == nullptr && made.file.error == ENOSPC && ::access(path.c_str(), F_OK) != 0 ? 0 : 1;
  });
  CHECK((status == 0 || status == not_allowed));
}

TEST_CASE("a disk that is full when a thread claims a ring costs its records and no more") {
  const int status = on_disk_of(16U << 20, [](const std::string &path) {
    const blackbox::box made = blackbox::create(path.c_str(), small());
    if (made.file.base == nullptr) {
      return 1;
    }
    blackbox::publish(made);
    blackbox::ring_header *first = blackbox::claim_ring(made);
    if (first == nullptr || !fill(path + ".filler")) {
      return 2;
    }
    if (blackbox::claim_ring(made) != nullptr || blackbox::claim_ring(made) != nullptr) {
      return 3;
    }
    blackbox::append(first, blackbox::record{});
    {
      blackbox::reader file; // looks at the header of every ring
      if (file.open(path.c_str()) != blackbox::read_error::none || testing::read_everything(file).records != 1) {
        return 4;
      }
    }
    ::unlink((path + ".filler").c_str());
    return blackbox::claim_ring(made) != nullptr && made.live->ring_count == 2 ? 0 : 5; // there is room again
  });
  CHECK((status == 0 || status == not_allowed));
}
