// Raw stacks of all threads of this process, taken by a signal to each.
#pragma once

#include <dtdebug/blackbox/layout.hpp>
#include <dtdebug/os/clock.hpp>

#include <boost/stacktrace/safe_dump_to.hpp>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include <dirent.h>
#include <semaphore.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace stacks {

namespace detail {

/// Shared between the capturing thread and the handlers. Handlers touch it with atomics and sem_post alone.
struct capture_state {
  blackbox::stack_slot *slots = nullptr;
  std::uint32_t generation = 0;  ///< changes when a capture ends: a late answer then writes nothing
  int signal = 0;                ///< 0: not installed
  std::uint32_t prepared = 0;    ///< slots below this are ready for an answer
  std::uint32_t crashed_tid = 0; ///< a thread whose stack at its fault stands in slot 0, to be kept
  sem_t answered;
};

inline capture_state the_capture{};

/// The calling thread's return addresses. Async-signal-safe once the unwinder is warm.
struct raw_stack {
  const void *frames[blackbox::max_frames + 4] = {};
  std::size_t count = 0;

  void capture() noexcept { count = boost::stacktrace::safe_dump_to(0, frames, sizeof frames); }
  void store(blackbox::stack_slot &slot) const noexcept {
    std::uint32_t stored = 0;
    for (std::size_t i = 0; i < count && stored < blackbox::max_frames && frames[i] != nullptr; ++i) {
      slot.frames[stored++] = reinterpret_cast<std::uintptr_t>(frames[i]);
    }
    slot.frame_count = stored;
    __atomic_store_n(&slot.answered, 1U, __ATOMIC_RELEASE);
  }
};

/// Runs in the thread that is asked. Async-signal-safe: unwinds into its own frame, then copies into the slot that the
/// signal's value names, if that capture still waits.
inline void on_capture_signal(int, siginfo_t *info, void *) noexcept {
  if (info == nullptr || info->si_code != SI_QUEUE || info->si_pid != ::getpid()) {
    return;
  }
  const int saved = errno;
  const auto value = reinterpret_cast<std::uintptr_t>(info->si_value.sival_ptr);
  const auto index = static_cast<std::uint32_t>(value & 0xffffU);
  const auto generation = static_cast<std::uint32_t>(value >> 16);
  raw_stack stack;
  stack.capture();
  capture_state &state = the_capture;
  if (__atomic_load_n(&state.prepared, __ATOMIC_ACQUIRE) > index &&
      __atomic_load_n(&state.generation, __ATOMIC_ACQUIRE) == generation) {
    stack.store(state.slots[index]);
    ::sem_post(&state.answered);
  }
  errno = saved;
}

/// First line of a file under /proc/self/task/<tid>/, without its newline; "" when it cannot be read.
inline void read_task_file(std::uint32_t tid, const char *name, char *out, std::size_t size) noexcept {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/self/task/%u/%s", tid, name);
  out[0] = '\0';
  if (std::FILE *file = std::fopen(path, "re")) {
    if (std::fgets(out, static_cast<int>(size), file) != nullptr) {
      out[std::strcspn(out, "\n")] = '\0';
    }
    std::fclose(file);
  }
}

inline void describe_thread(std::uint32_t tid, blackbox::stack_slot &slot) noexcept {
  char text[512];
  slot.tid = tid;
  read_task_file(tid, "comm", text, sizeof text);
  std::memcpy(slot.name, text, ::strnlen(text, sizeof slot.name - 1));
  read_task_file(tid, "stat", text, sizeof text);
  const char *after_name = std::strrchr(text, ')');
  slot.state = after_name != nullptr && after_name[1] != '\0' ? after_name[2] : '?';
  read_task_file(tid, "wchan", text, sizeof text);
  if (std::strcmp(text, "0") != 0) {
    std::memcpy(slot.wait, text, ::strnlen(text, sizeof slot.wait - 1));
  }
}

} // namespace detail

/// Installs the handler on a free real-time signal and warms the unwinder up: its first run allocates. Once, at start.
/// False when every real-time signal is taken.
inline bool install() noexcept {
  detail::capture_state &state = detail::the_capture;
  const void *warm[4];
  boost::stacktrace::safe_dump_to(0, warm, sizeof warm);
  for (int signal = SIGRTMAX - 3; signal > SIGRTMIN && state.signal == 0; --signal) {
    struct sigaction now {};
    if (::sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_DFL) {
      now = {};
      now.sa_sigaction = detail::on_capture_signal;
      now.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
      sigfillset(&now.sa_mask);
      ::sem_init(&state.answered, 0, 0);
      if (::sigaction(signal, &now, nullptr) == 0) {
        state.signal = signal;
      }
    }
  }
  return state.signal != 0;
}

/// Keeps the stack of the calling thread, which has just faulted, in slot 0. Returns the number of slots filled: 1, or
/// 0 when another thread faulted before. Async-signal-safe.
inline std::uint32_t capture_fault(blackbox::stack_slot *slots) noexcept {
  detail::capture_state &state = detail::the_capture;
  std::uint32_t nobody = 0;
  const auto self = static_cast<std::uint32_t>(::syscall(SYS_gettid));
  if (!__atomic_compare_exchange_n(&state.crashed_tid, &nobody, self, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
    return 0;
  }
  detail::raw_stack stack;
  stack.capture();
  slots[0] = blackbox::stack_slot{};
  slots[0].tid = self;
  slots[0].state = 'R';
  ::prctl(PR_GET_NAME, slots[0].name);
  stack.store(slots[0]);
  return 1;
}

/// Captures the stacks of all threads but the calling one into `slots` and returns how many threads it found (at most
/// `capacity`). Waits at most `deadline_ns`; a thread that has not answered by then (signal blocked, uninterruptible
/// sleep) keeps `answered` 0 and what /proc says of it. One capture at a time per process; not signal-safe itself.
/// A system call that the signal interrupts is restarted where the kernel can (SA_RESTART); poll, epoll_wait, nanosleep
/// and their kin return EINTR, which is why this is done only once something is suspected.
inline std::uint32_t capture_all(blackbox::stack_slot *slots, std::uint32_t capacity,
                                 std::uint64_t deadline_ns) noexcept {
  detail::capture_state &state = detail::the_capture;
  DIR *tasks = state.signal != 0 ? ::opendir("/proc/self/task") : nullptr;
  if (tasks == nullptr) {
    return 0;
  }
  const auto self = static_cast<std::uint32_t>(::syscall(SYS_gettid));
  const std::uint32_t generation = (__atomic_add_fetch(&state.generation, 1, __ATOMIC_ACQ_REL)) & 0xffffffffU;
  __atomic_store_n(&state.prepared, 0, __ATOMIC_RELAXED);
  state.slots = slots;
  const std::uint32_t crashed = __atomic_load_n(&state.crashed_tid, __ATOMIC_ACQUIRE);
  std::uint32_t found = crashed != 0 ? 1 : 0;
  std::uint32_t asked = 0;
  while (const dirent *entry = ::readdir(tasks)) {
    const auto tid = static_cast<std::uint32_t>(std::strtoul(entry->d_name, nullptr, 10));
    if (tid == 0 || tid == self || tid == crashed || found == capacity) {
      continue;
    }
    slots[found] = blackbox::stack_slot{};
    detail::describe_thread(tid, slots[found]);
    __atomic_store_n(&state.prepared, found + 1, __ATOMIC_RELEASE);
    siginfo_t info{};
    info.si_signo = state.signal;
    info.si_code = SI_QUEUE;
    info.si_pid = ::getpid();
    info.si_uid = ::getuid();
    info.si_value.sival_ptr = reinterpret_cast<void *>(static_cast<std::uintptr_t>(generation) << 16 | found);
    asked += ::syscall(SYS_rt_tgsigqueueinfo, ::getpid(), tid, state.signal, &info) == 0 ? 1U : 0U;
    ++found;
  }
  ::closedir(tasks);
  timespec until{};
  ::clock_gettime(CLOCK_REALTIME, &until);
  const std::uint64_t end = static_cast<std::uint64_t>(until.tv_nsec) + deadline_ns;
  until.tv_sec += static_cast<time_t>(end / 1'000'000'000);
  until.tv_nsec = static_cast<long>(end % 1'000'000'000);
  for (std::uint32_t answers = 0; answers < asked;) {
    if (::sem_timedwait(&state.answered, &until) == 0) {
      ++answers;
    } else if (errno == ETIMEDOUT) {
      break;
    }
  }
  __atomic_add_fetch(&state.generation, 1, __ATOMIC_ACQ_REL);
  while (::sem_trywait(&state.answered) == 0) { // answers that came between the deadline and the new generation
  }
  return found;
}

} // namespace stacks
} // namespace DTDEBUG_ABI
} // namespace dtdebug
