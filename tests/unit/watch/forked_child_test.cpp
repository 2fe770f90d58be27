// A whole session of a rank that forks a data loader.
#include <dtdebug/dtdebug.hpp>

#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include <dirent.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

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
    for (const char *file : {"rank-0.dtbb", "end.lock", "report.txt", "report.json", "freeze", "verdict"}) {
      ::unlink((path + "/" + file).c_str());
    }
    watch::leadership::remove_files(path);
    ::rmdir(path.c_str());
  }
};

void one_call() { DT_SCOPE_COLLECTIVE(dtdebug::barrier("world")); }

/// Exit status of a rank that starts a session, runs `loader` in a forked child between two calls, and ends. Above 100:
/// the rank saw what it should not. `signal` is the one that ends the child, 0 for none.
template <typename Loader>
int rank_with(const std::string &directory, int signal, Loader loader) {
  std::fflush(stdout); // or the child writes it once more
  const pid_t rank = ::fork();
  REQUIRE(rank >= 0);
  if (rank == 0) {
    record::the_session = {};
    ::alarm(60); // a test that hangs ends
    std::freopen("/dev/null", "w", stdout);
    std::freopen("/dev/null", "w", stderr);
    ::signal(SIGABRT, SIG_DFL); // not the test framework's
    start_options options;
    options.rank = 0;
    options.world_size = 1;
    options.directory = directory.c_str();
    start(options);
    DT_GROUP("g", "g", 0, 1);
    one_call();
    const std::uint64_t before = record::calls_so_far();
    const pid_t child = ::fork();
    if (child == 0) {
      loader();
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    if (record::calls_so_far() != before || record::box().live->end != 0 || record::box().live->signal != 0) {
      ::_exit(101);
    }
    if (::access((directory + "/rank-0.dtbb").c_str(), F_OK) != 0) {
      ::_exit(102);
    }
    one_call();
    if (record::calls_so_far() != before + 1) {
      ::_exit(103);
    }
    if (signal == 0 ? !WIFEXITED(status) : !WIFSIGNALED(status) || WTERMSIG(status) != signal) {
      ::_exit(104);
    }
    std::exit(0);
  }
  int status = 0;
  REQUIRE(::waitpid(rank, &status, 0) == rank);
  REQUIRE(WIFEXITED(status));
  return WEXITSTATUS(status);
}

bool is_gone(const std::string &path) { return ::access(path.c_str(), F_OK) != 0; }

} // namespace

TEST_CASE("a child that calls and ends by exit takes nothing away, and the rank ends cleanly") {
  const folder run;
  CHECK(rank_with(run.path, 0, [] {
          one_call();
          DT_STEP(7);
          start();
          finish();
          std::exit(0);
        }) == 0);
  CHECK(is_gone(run.path + "/rank-0.dtbb")); // removed at the clean end of the rank
}

TEST_CASE("threads of a child are not taken for threads of the rank") {
  const folder run;
  CHECK(rank_with(run.path, 0, [] { std::thread(one_call).join(); }) == 0);
}

TEST_CASE("a child that is killed or crashes is not the end of the rank") {
  const folder run;
  CHECK(rank_with(run.path, SIGKILL, [] { ::raise(SIGKILL); }) == 0);
  CHECK(is_gone(run.path + "/rank-0.dtbb"));
  const folder second;
  CHECK(rank_with(second.path, SIGABRT, [] { ::raise(SIGABRT); }) == 0);
  CHECK(is_gone(second.path + "/rank-0.dtbb"));
}
