// One rank of a job without a communication library: ranks meet once a step at a barrier in a shared file, where they
// really block. The driver starts as many processes as it likes and then hurts them.
//
// usage: ranks FILE STEPS [hang-rank=R] [hang-step=S] [block-signals] [fork-children] [ask-step=S] [exit-rank=R]
// [return-rank=R]
#include <dtdebug/dtdebug.hpp>

#include <atomic>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

constexpr int most_steps = 1000;

struct meeting_place {
  std::atomic<int> arrived[most_steps];
};

int option(int count, char **arguments, const char *name) {
  for (int i = 3; i < count; ++i) {
    const std::size_t length = std::strlen(name);
    if (std::strncmp(arguments[i], name, length) == 0 && arguments[i][length] == '=') {
      return std::atoi(arguments[i] + length + 1);
    }
    if (std::strcmp(arguments[i], name) == 0) {
      return 1;
    }
  }
  return -1;
}

void meet(std::atomic<int> &arrived, int world) {
  int now = arrived.fetch_add(1) + 1;
  if (now == world) {
    ::syscall(SYS_futex, &arrived, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
  }
  while ((now = arrived.load()) < world) {
    ::syscall(SYS_futex, &arrived, FUTEX_WAIT, now, nullptr, nullptr, 0);
  }
}

/// What a data loader does: a child that uses the program's code and ends by exit().
void fork_a_loader() {
  const pid_t child = ::fork();
  if (child == 0) {
    DT_PHASE("in the child");
    { DT_SCOPE_COLLECTIVE(dtdebug::barrier("world")); }
    std::exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
}

[[gnu::noinline]] void sit_in_the_loader() {
  for (;;) {
    ::pause();
  }
}

} // namespace

int main(int count, char **arguments) {
  const int rank = std::atoi(std::getenv("RANK"));
  const int world = std::atoi(std::getenv("WORLD_SIZE"));
  const int steps = std::atoi(arguments[2]);
  if (option(count, arguments, "block-signals") == 1) {
    sigset_t all;
    sigfillset(&all);
    ::sigprocmask(SIG_SETMASK, &all, nullptr);
  }
  DT_START();
  const int file = ::open(arguments[1], O_RDWR);
  void *at = ::mmap(nullptr, sizeof(meeting_place), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (at == MAP_FAILED) {
    std::perror(arguments[1]);
    return 2;
  }
  auto *place = static_cast<meeting_place *>(at);
  for (int step = 0; step < steps && step < most_steps; ++step) {
    DT_STEP(step);
    DT_PHASE("data");
    if (option(count, arguments, "fork-children") == 1 && step % 4 == 0) {
      fork_a_loader();
    }
    if (rank == option(count, arguments, "exit-rank") && step == option(count, arguments, "hang-step")) {
      std::exit(3);
    }
    if (rank == option(count, arguments, "return-rank") && step == option(count, arguments, "hang-step")) {
      return 0;
    }
    if (rank == option(count, arguments, "hang-rank") && step == option(count, arguments, "hang-step")) {
      sit_in_the_loader();
    }
    if (step == option(count, arguments, "ask-step")) {
      DT_DIAGNOSE("the driver wants to see it");
    }
    DT_PHASE("meet");
    {
      DT_SCOPE_COLLECTIVE(dtdebug::barrier("world"));
      meet(place->arrived[step], world);
    }
    std::printf("rank %d step %d\n", rank, step);
    std::fflush(stdout);
  }
  return 0;
}
