// What a process still writes into its black box when it ends: exit status, fatal signal.
#pragma once

#include <dtdebug/record/session.hpp>
#include <dtdebug/stacks/capture.hpp>

#include <algorithm>
#include <csignal>
#include <cstdlib>

#include <pthread.h>
#include <unistd.h>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace watch {
namespace detail {

inline constexpr int fatal_signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
inline constexpr int signal_slots = 65;

/// Waits until a report is out that may name this rank; set by the session. Async-signal-safe, with a deadline.
inline void (*wait_for_report)() noexcept = nullptr;

/// Handlers that were there before ours. Written before ours are installed.
inline struct sigaction previous_actions[signal_slots];

/// Async-signal-safe. Notes the signal, puts the previous handler back and returns: the fault happens again, or is
/// raised again, under the handler that the program or its libraries had installed.
inline void on_fatal_signal(int signal, siginfo_t *info, void *) noexcept {
  const record::session_state &session = record::the_session;
  if (session.pid == static_cast<std::uint32_t>(::getpid()) && session.box.live != nullptr) {
    blackbox::live_state &live = *session.box.live;
    const std::uint32_t stacks = stacks::capture_fault(session.box.stacks);
    __atomic_store_n(&live.stack_count, std::max<std::uint64_t>(live.stack_count, stacks), __ATOMIC_RELEASE);
    live.signal = static_cast<std::uint32_t>(signal);
    live.fault_address = info != nullptr ? reinterpret_cast<std::uintptr_t>(info->si_addr) : 0;
    live.end_ticks = os::ticks(session.box.steady_counter);
    __atomic_store_n(&live.end, static_cast<std::uint32_t>(blackbox::end_state::crashed), __ATOMIC_RELEASE);
    if (wait_for_report != nullptr) {
      wait_for_report();
    }
  }
  ::sigaction(signal, &previous_actions[signal], nullptr);
  if (info == nullptr || info->si_code <= 0) {
    ::raise(signal); // sent by kill or raise: it would not come again by itself
  }
}

} // namespace detail

/// Installs the handlers of fatal signals; the previous ones run after ours. Cold.
inline void catch_fatal_signals() noexcept {
  for (const int signal : detail::fatal_signals) {
    struct sigaction action {};
    action.sa_sigaction = detail::on_fatal_signal;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    ::sigaction(signal, &action, &detail::previous_actions[signal]);
  }
}

/// A forked child shares the mapping but is not the rank: it records nothing and says nothing when it ends.
inline void forget_in_children() noexcept {
  ::pthread_atfork(nullptr, nullptr, [] {
    __atomic_store_n(&record::the_session.level, 0U, __ATOMIC_RELEASE);
    record::the_session.pid = 0;
  });
}

} // namespace watch
} // namespace DTDEBUG_ABI
} // namespace dtdebug
