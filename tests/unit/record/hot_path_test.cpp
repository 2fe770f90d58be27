// What a call costs is memory accesses: no allocation and no system call after a thread's first record.
#include "recording_session.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <vector>

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

using namespace dtdebug;
using namespace dtdebug::testing;

// Sanitizers have an allocator, and make system calls, of their own.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define PLAIN_PROGRAM 0
#endif
#endif
#if !defined(PLAIN_PROGRAM) && (defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__))
#define PLAIN_PROGRAM 0
#endif
#if !defined(PLAIN_PROGRAM)
#define PLAIN_PROGRAM 1
#endif

#if PLAIN_PROGRAM
namespace {
thread_local std::uint64_t allocations = 0;
}
extern "C" {
void *__libc_malloc(std::size_t);
void *__libc_calloc(std::size_t, std::size_t);
void *__libc_realloc(void *, std::size_t);
void *malloc(std::size_t bytes) {
  ++allocations;
  return __libc_malloc(bytes);
}
void *calloc(std::size_t count, std::size_t bytes) {
  ++allocations;
  return __libc_calloc(count, bytes);
}
void *realloc(void *block, std::size_t bytes) {
  ++allocations;
  return __libc_realloc(block, bytes);
}
}

namespace {

/// Calls of every kind that a training step makes, with everything that can be said of them.
void training_step(int n) {
  static call_site site{"train.cpp", 10, "all_reduce"};
  static const std::int64_t splits[] = {1, 2, 3, 4};
  call_desc gradient = sum_of(static_cast<std::uint64_t>(n));
  gradient.label_text = "layer3.weight";
  gradient.label = hash_string(gradient.label_text);
  gradient.has_dims = true;
  gradient.dim_count = 2;
  gradient.dims[0] = 3;
  record::end_call(record::begin_call(record::id_of(site, "step"), gradient));
  call_desc exchange = sum_of(10);
  exchange.op = op_kind::all_to_all_v;
  exchange.splits = splits;
  exchange.recv_splits = splits;
  exchange.split_count = 4;
  record::end_call(record::begin_call(0, exchange), call_state::done, n % 2);
  record::end_call(record::begin_call(0, message(op_kind::send, 1, 3)), call_state::launched);
  record::resolve_wildcard(record::begin_call(0, message(op_kind::recv, any_rank, any_tag)), 1, 3);
  float data[4] = {};
  { DT_SCOPE_COLLECTIVE(dtdebug::all_reduce("dp", DT_SHAPED(&data[0], "x", 2, 2), 4, dtdebug::sum)); }
  DT_STEP(n);
  DT_PHASE("forward");
  DT_DECISION("more", n);
}

#if defined(__x86_64__)
/// From now on the calling process is killed by any system call but the one that ends it.
void forbid_system_calls() {
  sock_filter rules[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
  };
  const sock_fprog program{sizeof rules / sizeof rules[0], rules};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    ::_exit(9);
  }
}

/// Status of a child that records after its system calls were forbidden.
template <typename Work>
int without_system_calls(Work work) {
  const recording_session session; // of the parent, which removes the file
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    record::the_session.pid = static_cast<std::uint32_t>(::getpid());
    record::the_session.level = 2;
    for (int i = 0; i < 3; ++i) {
      training_step(i);
    }
    forbid_system_calls();
    work();
    ::_exit(0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return status;
}
#endif

} // namespace

TEST_CASE("recording allocates nothing after a thread's first record") {
  const recording_session session;
  training_step(0);
  const std::uint64_t before = allocations;
  for (int i = 0; i < 20'000; ++i) {
    training_step(i);
  }
  CHECK(allocations == before);
  std::vector<int> control(100);
  CHECK(allocations > before);
}

#if defined(__x86_64__)
TEST_CASE("recording makes no system call after a thread's first record") {
  const int status = without_system_calls([] {
    for (int i = 0; i < 20'000; ++i) {
      training_step(i);
    }
  });
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  const int control = without_system_calls([] { ::getppid(); });
  CHECK(WIFSIGNALED(control));
}
#endif
#endif
