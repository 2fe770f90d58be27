// A helper process that is talked to through a socket and that the host program cannot notice.
#pragma once

#include <dtdebug/core/config.hpp>

#include <cerrno>
#include <csignal>

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace os {

/// This side of a helper. It ends by itself when the socket is closed, as filters do at the end of their input.
struct helper_process {
  int socket = -1; ///< its standard input and output; non-blocking. Write with send and MSG_NOSIGNAL.
  bool running() const noexcept { return socket >= 0; }
};

namespace detail {

inline constexpr std::size_t helper_stack_bytes = 65536;

struct helper_plan {
  const char *const *arguments;
  const char *const *environment;
  int socket;
  char *stack; ///< two stacks of helper_stack_bytes
};

/// In the helper: all that is left open is its input and its output; all signals are as in a fresh process. The host's
/// handlers must not run here, since the memory is still the host's.
inline int become_helper(void *argument) {
  const auto *plan = static_cast<const helper_plan *>(argument);
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal) {
    ::sigaction(signal, &standard, nullptr);
  }
  const int null = ::open("/dev/null", O_WRONLY);
  if (::dup2(plan->socket, 0) == 0 && ::dup2(plan->socket, 1) == 1 && ::dup2(null, 2) == 2) {
#if defined(SYS_close_range)
    ::syscall(SYS_close_range, 3U, ~0U, 0U);
#endif
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::execvpe(plan->arguments[0], const_cast<char *const *>(plan->arguments),
              const_cast<char *const *>(plan->environment));
  }
  ::_exit(127);
}

/// Between the host and the helper stands a process that ends at once: the helper is then a child of init, and its end
/// concerns nobody.
inline int disown_helper(void *argument) {
  const auto *plan = static_cast<const helper_plan *>(argument);
  const int pid =
      ::clone(become_helper, plan->stack + 2 * helper_stack_bytes, CLONE_VM | CLONE_VFORK | SIGCHLD, argument);
  ::_exit(pid > 0 ? 0 : 1);
}

} // namespace detail

/// Starts `arguments[0]` (found in PATH; the list ends with a null pointer). The host gets no SIGCHLD and wait(-1) does
/// not find the helper: trainers count their own children. No fork handler runs and no page table is copied. Returns a
/// helper that is not running when the system refuses; a program that does not exist shows as end of file.
/// Thread-safe, not signal-safe; ~0.5 ms.
inline helper_process start_helper(const char *const *arguments, const char *const *environment) noexcept {
  helper_process helper;
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return helper;
  }
  void *stack = ::mmap(nullptr, 2 * detail::helper_stack_bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  bool started = false;
  if (stack != MAP_FAILED) {
    detail::helper_plan plan{arguments, environment, ends[1], static_cast<char *>(stack)};
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    // Exit signal 0: its end is told to nobody, and only a wait for clones sees it.
    const int pid =
        ::clone(detail::disown_helper, plan.stack + detail::helper_stack_bytes, CLONE_VM | CLONE_VFORK, &plan);
    int status = 1;
    while (pid > 0 && ::waitpid(pid, &status, static_cast<int>(__WCLONE)) < 0 && errno == EINTR) {
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    started = pid > 0 && status == 0;
    ::munmap(stack, 2 * detail::helper_stack_bytes);
  }
  ::close(ends[1]);
  if (started) {
    ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
    helper.socket = ends[0];
  } else {
    ::close(ends[0]);
  }
  return helper;
}

/// Closes the socket, on which the helper ends.
inline void end_helper(helper_process &helper) noexcept {
  if (helper.running()) {
    ::close(helper.socket);
    helper.socket = -1;
  }
}

} // namespace os
} // namespace DTDEBUG_ABI
} // namespace dtdebug
