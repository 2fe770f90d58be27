// Freeze: every rank of the host writes the stacks of its threads into its black box, before the leader reads them.
#pragma once

#include <dtdebug/record/session.hpp>
#include <dtdebug/stacks/capture.hpp>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace watch {

inline constexpr std::uint64_t capture_deadline_ns = 200'000'000;

/// Captures this process's threads for diagnosis number `epoch`. Takes at most about capture_deadline_ns.
inline void freeze(std::uint64_t epoch) noexcept {
  const blackbox::box &to = record::box();
  const bool faulted = __atomic_load_n(&stacks::detail::the_capture.crashed_tid, __ATOMIC_ACQUIRE) != 0;
  __atomic_store_n(&to.live->stack_count, faulted ? 1 : 0, __ATOMIC_RELEASE); // the stack of a fault stays
  const std::uint32_t threads = stacks::capture_all(to.stacks, to.sizes.stacks, capture_deadline_ns);
  __atomic_store_n(&to.live->stack_count, threads, __ATOMIC_RELEASE);
  __atomic_store_n(&to.live->frozen_epoch, epoch, __ATOMIC_RELEASE);
}

} // namespace watch
} // namespace DTDEBUG_ABI
} // namespace dtdebug
