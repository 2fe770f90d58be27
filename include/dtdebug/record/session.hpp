// The recording state of this process: one struct, constant-initialised, reached by one accessor.
#pragma once

#include <dtdebug/blackbox/box.hpp>
#include <dtdebug/blackbox/names.hpp>
#include <dtdebug/blackbox/notes.hpp>
#include <dtdebug/blackbox/rings.hpp>
#include <dtdebug/world/groups.hpp>

namespace dtdebug {
inline namespace DTDEBUG_ABI {

/// How much dtdebug does (DTDEBUG_LEVEL). `off` costs a load and a branch per call.
enum class level : std::uint32_t {
  off = 0,
  record = 1, ///< black box only: for `dtdebug report` after the fact
  watch = 2,  ///< and the watchdog: the default
  verify = 3, ///< and checks that cost more: latent deadlocks, soft differences, data
};

namespace record {

/// Constant-initialised, never destroyed: guards in static destructors and in forked children may still look at it.
struct session_state {
  std::uint32_t level = 0; ///< atomic; dtdebug::level. Set last when a session starts, first when it ends
  std::uint32_t pid = 0;   ///< of the process that records; 0 in its forked children, which record nothing
  blackbox::box box;
};

#if defined(__GNUC__)
#define DT_DETAIL_VISIBLE __attribute__((visibility("default")))
#define DT_DETAIL_NOINLINE __attribute__((noinline))
#else
#define DT_DETAIL_VISIBLE
#define DT_DETAIL_NOINLINE
#endif

DT_DETAIL_VISIBLE inline session_state the_session{};

/// True while calls are recorded. One load; the hot path's only cost at level `off`.
inline bool recording() noexcept {
  return __builtin_expect(__atomic_load_n(&the_session.level, __ATOMIC_ACQUIRE) != 0, 1);
}

inline const blackbox::box &box() noexcept { return the_session.box; }
inline std::uint64_t now_ticks() noexcept { return os::ticks(the_session.box.steady_counter); }

/// What a thread keeps: its ring, and counters that only it writes.
struct thread_slot {
  blackbox::ring_header *ring = nullptr;
  std::uint32_t pid = 0;     ///< of the process that claimed the ring
  std::uint16_t batch = 0;   ///< number of the open batch of calls, 0 if none
  std::uint16_t batches = 0; ///< batches this thread has begun
  std::uint32_t batch_depth = 0;
  std::uint32_t quiet = 0; ///< > 0 inside an instrumented call: nested interposed calls are not recorded
  std::uint32_t wait = 0;  ///< calls to let pass before the thread asks for a ring again
  bool exhausted = false;  ///< the thread is ending
};

// Constant initialisation and a trivial destructor keep access free of the guard that dynamic thread_locals need.
inline thread_local thread_slot this_thread_slot{};

namespace detail {

inline constexpr std::uint32_t calls_between_claims = 64; ///< of a thread for which there was no ring

/// Gives the ring back when its thread ends. Touched once per thread, in the cold path alone.
struct ring_return {
  blackbox::ring_header *ring = nullptr;
  std::uint32_t pid = 0;
  ~ring_return() {
    if (ring != nullptr && pid == the_session.pid && recording()) {
      blackbox::release_ring(ring);
    }
    this_thread_slot.ring = nullptr;
    this_thread_slot.exhausted = true;
  }
};

DT_DETAIL_NOINLINE inline blackbox::ring_header *claim_for_thread() noexcept {
  thread_slot &mine = this_thread_slot;
  if (the_session.pid == 0) {
    return nullptr; // a forked child: the rings are its parent's
  }
  if (mine.exhausted || mine.wait > 0) {
    mine.wait -= mine.exhausted ? 0U : 1U;
    return nullptr;
  }
  thread_local ring_return giver;
  mine.ring = blackbox::claim_ring(box());
  mine.wait = mine.ring != nullptr ? 0U : calls_between_claims;
  mine.pid = the_session.pid;
  giver.ring = mine.ring;
  giver.pid = mine.pid;
  return mine.ring;
}

} // namespace detail

/// Ring of the calling thread; null when there is none to be had.
inline blackbox::ring_header *my_ring() noexcept {
  thread_slot &mine = this_thread_slot;
  return __builtin_expect(mine.ring != nullptr, 1) ? mine.ring : detail::claim_for_thread();
}

/// Calls that this rank has recorded so far, over all threads. Cold.
inline std::uint64_t calls_so_far() noexcept {
  const blackbox::box &to = box();
  std::uint64_t sum = 0;
  const std::uint64_t rings = __atomic_load_n(&to.live->ring_count, __ATOMIC_ACQUIRE);
  for (std::uint32_t i = 0; i < rings && i < to.sizes.rings; ++i) {
    if (__atomic_load_n(&to.ring(i)->used, __ATOMIC_RELAXED) != 0) {
      sum += __atomic_load_n(&to.ring(i)->head, __ATOMIC_ACQUIRE);
    }
  }
  return sum;
}

} // namespace record
} // namespace DTDEBUG_ABI
} // namespace dtdebug
