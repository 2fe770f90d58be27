// A lock between processes that outlives the death of its holder.
#pragma once

#include <dtdebug/core/config.hpp>

#include <cerrno>

#include <pthread.h>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace repro {

/// Lives in shared memory; made once by `create`. What it guards must be consistent after every single store, because
/// a holder may be killed between any two.
struct robust_mutex {
  ::pthread_mutex_t native;

  bool create() noexcept {
    ::pthread_mutexattr_t how;
    if (::pthread_mutexattr_init(&how) != 0) {
      return false;
    }
    const bool made = ::pthread_mutexattr_setpshared(&how, PTHREAD_PROCESS_SHARED) == 0 &&
                      ::pthread_mutexattr_setrobust(&how, PTHREAD_MUTEX_ROBUST) == 0 &&
                      ::pthread_mutex_init(&native, &how) == 0;
    ::pthread_mutexattr_destroy(&how);
    return made;
  }

  void lock() noexcept {
    if (::pthread_mutex_lock(&native) == EOWNERDEAD) {
      ::pthread_mutex_consistent(&native);
    }
  }
  void unlock() noexcept { ::pthread_mutex_unlock(&native); }
};

/// Holds a robust_mutex to the end of the scope.
class robust_lock {
public:
  explicit robust_lock(robust_mutex &mutex) noexcept : mutex_(mutex) { mutex_.lock(); }
  ~robust_lock() { mutex_.unlock(); }
  robust_lock(const robust_lock &) = delete;
  robust_lock &operator=(const robust_lock &) = delete;

private:
  robust_mutex &mutex_;
};

} // namespace repro
} // namespace DTDEBUG_ABI
} // namespace dtdebug
