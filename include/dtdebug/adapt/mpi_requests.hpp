// Which record belongs to which MPI_Request: outstanding non-blocking calls, prepared persistent calls, and messages
// that a matched probe has set aside.
#pragma once

#include <dtdebug/adapt/mpi_include.hpp>
#include <dtdebug/record/begin_call.hpp>

#include <cstdint>
#include <cstdlib>
#include <type_traits>

#include <pthread.h>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace adapt::mpi {

using record::record_ref;

/// What is known of a request (or of a message set aside by a matched probe).
struct tracked {
  record_ref call;               ///< empty while a persistent request is inactive
  call_desc *prepared = nullptr; ///< persistent requests: what each MPI_Start records; owned by the table
  MPI_Comm *created = nullptr;   ///< MPI_Comm_idup: where the new communicator is
  std::int32_t peer = no_rank;   ///< messages set aside: sender, as position in the group
  std::int32_t tag = 0;
  std::int32_t peer_offset = 0; ///< added to a status' source to get a position in the group
  std::uint16_t group = 0;
  bool wildcard = false;  ///< sender or tag are known when the receive completes
  bool cancelled = false; ///< MPI_Cancel was called
};

/// Key of a handle. A message and a request of one numeric value are two things, hence the low bit.
template <typename Handle>
std::uint64_t key_of(Handle handle, bool is_message = false) noexcept {
  std::uint64_t bits = 0;
  if constexpr (std::is_pointer_v<Handle>) {
    bits = reinterpret_cast<std::uintptr_t>(handle);
  } else {
    bits = static_cast<std::uint32_t>(handle);
  }
  return (bits << 1 | (is_message ? 1U : 0U)) + 2; // never 0, which marks an empty place
}

/// Open addressing with linear probing. The lock is held for a few loads and stores, never over an MPI call.
/// Constant-initialised, never destroyed: static destructors of the program may still complete requests.
class request_table {
public:
  constexpr request_table() noexcept = default;

  /// Adds or replaces. A request that is there already was completed by a call that dtdebug did not see. Without memory
  /// the call counts as done, so that nobody is told to wait for it.
  void put(std::uint64_t key, const tracked &what) noexcept {
    tracked old;
    const lock held(mutex_);
    if (!make_room()) {
      record::end_call(what.call);
      std::free(what.prepared);
      return;
    }
    place &at = places_[find_place(key)];
    if (at.key == key) {
      old = at.what;
    } else {
      ++used_;
    }
    at = {key, what};
    record::end_call(old.call);
    std::free(old.prepared);
  }

  bool find(std::uint64_t key, tracked &out) noexcept {
    const lock held(mutex_);
    return find_locked(key, out);
  }

  /// Looks `count` requests up at once; unknown ones get an empty entry. Returns how many are outstanding.
  int find_all(const MPI_Request *requests, int count, tracked *out) noexcept {
    int outstanding = 0;
    const lock held(mutex_);
    for (int i = 0; i < count; ++i) {
      out[i] = tracked{};
      outstanding += find_locked(key_of(requests[i]), out[i]) && out[i].call ? 1 : 0;
    }
    return outstanding;
  }

  /// Forgets a call that has ended: the whole entry, or the call of a persistent request. Nothing happens when another
  /// thread has been given the same handle for a later call.
  void forget(std::uint64_t key, const record_ref &call) noexcept {
    const lock held(mutex_);
    if (used_ == 0) {
      return;
    }
    place &at = places_[find_place(key)];
    if (at.key != key || at.what.call.slot != call.slot || at.what.call.ticket != call.ticket) {
      return;
    }
    if (at.what.prepared != nullptr) {
      at.what.call = record_ref{};
      at.what.cancelled = false;
    } else {
      erase(static_cast<std::size_t>(&at - places_));
    }
  }

  /// Takes an entry out, persistent or not.
  bool take(std::uint64_t key, tracked &out) noexcept {
    const lock held(mutex_);
    if (!find_locked(key, out)) {
      return false;
    }
    erase(find_place(key));
    return true;
  }

  /// Replaces the call of a known request: MPI_Start, MPI_Cancel.
  void update(std::uint64_t key, const tracked &what) noexcept {
    const lock held(mutex_);
    if (used_ != 0 && places_[find_place(key)].key == key) {
      places_[find_place(key)].what = what;
    }
  }

  /// MPI has ended: whatever is left cannot complete any more.
  void end_all() noexcept {
    const lock held(mutex_);
    for (std::size_t i = 0; i < capacity_; ++i) {
      if (places_[i].key != 0) {
        record::end_call(places_[i].what.call);
      }
    }
  }

private:
  struct place {
    std::uint64_t key = 0;
    tracked what;
  };

  struct lock {
    explicit lock(pthread_mutex_t &mutex) noexcept : mutex_(mutex) { pthread_mutex_lock(&mutex_); }
    ~lock() { pthread_mutex_unlock(&mutex_); }
    lock(const lock &) = delete;
    lock &operator=(const lock &) = delete;

  private:
    pthread_mutex_t &mutex_;
  };

  std::size_t home(std::uint64_t key) const noexcept { return mix(key, 0x4d50) & (capacity_ - 1); }

  /// Place of the key, or the free one where it belongs. There is always a free one.
  std::size_t find_place(std::uint64_t key) const noexcept {
    std::size_t at = home(key);
    while (places_[at].key != 0 && places_[at].key != key) {
      at = (at + 1) & (capacity_ - 1);
    }
    return at;
  }

  bool find_locked(std::uint64_t key, tracked &out) const noexcept {
    if (used_ == 0) {
      return false;
    }
    const place &at = places_[find_place(key)];
    if (at.key != key) {
      return false;
    }
    out = at.what;
    return true;
  }

  /// Grows at half load. Memory is asked for 10 times at most until there are a million requests.
  bool make_room() noexcept {
    if (2 * (used_ + 1) <= capacity_) {
      return true;
    }
    const std::size_t old_capacity = capacity_;
    place *const old = places_;
    const std::size_t capacity = old_capacity == 0 ? 1024 : 2 * old_capacity;
    auto *grown = static_cast<place *>(std::calloc(capacity, sizeof(place)));
    if (grown == nullptr) {
      return used_ + 1 < capacity_;
    }
    places_ = grown;
    capacity_ = capacity;
    for (std::size_t i = 0; i < old_capacity; ++i) {
      if (old[i].key != 0) {
        places_[find_place(old[i].key)] = old[i];
      }
    }
    std::free(old);
    return true;
  }

  /// Knuth, The Art of Computer Programming, vol. 3, §6.4, algorithm R: closes the gap so that probing needs no marks.
  void erase(std::size_t gap) noexcept {
    --used_;
    for (std::size_t at = (gap + 1) & (capacity_ - 1); places_[at].key != 0; at = (at + 1) & (capacity_ - 1)) {
      const std::size_t distance_home = (at - home(places_[at].key)) & (capacity_ - 1);
      const std::size_t distance_gap = (at - gap) & (capacity_ - 1);
      if (distance_home >= distance_gap) {
        places_[gap] = places_[at];
        gap = at;
      }
    }
    places_[gap] = place{};
  }

  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  place *places_ = nullptr;
  std::size_t capacity_ = 0;
  std::size_t used_ = 0;
};

inline request_table requests;

} // namespace adapt::mpi
} // namespace DTDEBUG_ABI
} // namespace dtdebug
