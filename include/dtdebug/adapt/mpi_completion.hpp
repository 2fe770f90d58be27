// Completion of requests: the Wait and Test families, MPI_Start, MPI_Cancel, MPI_Request_free.
//
// A wait is recorded as a call of its own while something is outstanding, so that a rank that hangs in MPI_Wait is seen
// there. A test returns at once and is not recorded; it ends the calls that it finds complete.
#pragma once

#include <dtdebug/adapt/mpi_communicators.hpp>
#include <dtdebug/adapt/mpi_messages.hpp>

#include <new>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace adapt::mpi {

namespace detail {

/// The call of a request is over. `status` may be null where nobody needs it.
inline void finish_request(std::uint64_t key, const tracked &what, const MPI_Status *status, int result) noexcept {
  if (!what.call) {
    return;
  }
  int cancelled = 0;
  if (what.cancelled && status != nullptr) {
    PMPI_Test_cancelled(status, &cancelled);
  }
  if (what.wildcard && status != nullptr && cancelled == 0 && result == MPI_SUCCESS) {
    resolve(what.call, *status, what.peer_offset);
  }
  if (what.created != nullptr && result == MPI_SUCCESS) {
    adopt_by_group(*what.created, what.group);
  }
  record::end_call(what.call, cancelled != 0 ? call_state::aborted : call_state::done, result);
  requests.forget(key, what.call);
}

inline bool needs_status(const tracked &what) noexcept { return what.wildcard || what.cancelled; }

/// `count` objects on the stack, on the heap where there are many; null without memory.
template <typename Object>
class row_of {
public:
  explicit row_of(int count) noexcept {
    const auto size = static_cast<std::size_t>(count > 0 ? count : 0);
    all_ = size <= near_size ? near_ : new (std::nothrow) Object[size];
  }
  ~row_of() {
    if (all_ != near_) {
      delete[] all_;
    }
  }
  row_of(const row_of &) = delete;
  row_of &operator=(const row_of &) = delete;
  Object *get() noexcept { return all_; }

private:
  static constexpr std::size_t near_size = 16;
  Object near_[near_size];
  Object *all_;
};

} // namespace detail

/// What is known of several requests before a call that completes some of them and overwrites their handles.
class request_batch {
public:
  request_batch(int count, const MPI_Request *handles) noexcept : count_(count), keys_(count), entries_(count) {
    if (count <= 0 || keys_.get() == nullptr || entries_.get() == nullptr) {
      count_ = 0;
      return;
    }
    outstanding_ = requests.find_all(handles, count, entries_.get());
    for (int i = 0; i < count_ && outstanding_ != 0; ++i) {
      keys_.get()[i] = key_of(handles[i]);
      if (entries_.get()[i].call) {
        group_ = group_ != 0 ? group_ : entries_.get()[i].group;
        needs_status_ = needs_status_ || detail::needs_status(entries_.get()[i]);
      }
    }
  }

  bool outstanding() const noexcept { return outstanding_ != 0; }
  bool needs_status() const noexcept { return needs_status_; }

  void finish(int index, const MPI_Status *status, int result) noexcept {
    if (index >= 0 && index < count_) {
      detail::finish_request(keys_.get()[index], entries_.get()[index], status, result);
    }
  }

  /// All are over, or with MPI_ERR_IN_STATUS those of which the status says so. Without statuses a handle that is null
  /// now tells that its call is over.
  void finish_all(const MPI_Request *now, const MPI_Status *statuses, int result) noexcept {
    for (int i = 0; i < count_; ++i) {
      int own = MPI_SUCCESS;
      if (result == MPI_ERR_IN_STATUS && statuses != nullptr) {
        own = statuses[i].MPI_ERROR;
      } else if (result != MPI_SUCCESS) {
        own = now[i] == MPI_REQUEST_NULL ? MPI_SUCCESS : MPI_ERR_PENDING;
      }
      if (own != MPI_ERR_PENDING) {
        finish(i, statuses != nullptr ? statuses + i : nullptr, own);
      }
    }
  }

  void finish_some(int count, const int *indices, const MPI_Status *statuses, int result) noexcept {
    for (int i = 0; i < count; ++i) { // MPI_UNDEFINED is negative
      const bool failed = result == MPI_ERR_IN_STATUS && statuses != nullptr;
      finish(indices[i], statuses != nullptr ? statuses + i : nullptr, failed ? statuses[i].MPI_ERROR : MPI_SUCCESS);
    }
  }

  call_desc describe_wait() const noexcept {
    call_desc call;
    call.op = op_kind::wait;
    call.group = group_;
    call.count = static_cast<std::uint64_t>(outstanding_);
    return call;
  }

private:
  int count_;
  int outstanding_ = 0;
  std::uint16_t group_ = 0;
  bool needs_status_ = false;
  detail::row_of<std::uint64_t> keys_;
  detail::row_of<tracked> entries_;
};

/// The caller's statuses, or our own where the caller wants none and a wildcard has to be resolved.
class status_of_many {
public:
  status_of_many(MPI_Status *given, int count, bool needed) noexcept : own_(needed ? count : 0), given_(given) {
    if (given == MPI_STATUSES_IGNORE && needed && own_.get() != nullptr) {
      used_ = own_.get();
    } else if (given != MPI_STATUSES_IGNORE) {
      used_ = given;
    }
  }
  MPI_Status *pass() noexcept { return used_ != nullptr ? used_ : given_; } ///< for MPI
  const MPI_Status *read() const noexcept { return used_; }                 ///< null when there are none

private:
  detail::row_of<MPI_Status> own_;
  MPI_Status *given_;
  MPI_Status *used_ = nullptr;
};

inline int traced_MPI_Wait(std::uint32_t site, MPI_Request *request, MPI_Status *status) {
  request_batch batch(1, request);
  if (!batch.outstanding()) {
    return PMPI_Wait(request, status);
  }
  status_of_one found(status, batch.needs_status());
  open_record recorded(site, batch.describe_wait());
  const int result = PMPI_Wait(request, found.get());
  batch.finish(0, found.get() != MPI_STATUS_IGNORE ? found.get() : nullptr, result);
  return recorded.end(result);
}

inline int traced_MPI_Waitall(std::uint32_t site, int count, MPI_Request *handles, MPI_Status *statuses) {
  request_batch batch(count, handles);
  if (!batch.outstanding()) {
    return PMPI_Waitall(count, handles, statuses);
  }
  status_of_many found(statuses, count, batch.needs_status());
  open_record recorded(site, batch.describe_wait());
  const int result = PMPI_Waitall(count, handles, found.pass());
  batch.finish_all(handles, found.read(), result);
  return recorded.end(result);
}

inline int traced_MPI_Waitany(std::uint32_t site, int count, MPI_Request *handles, int *index, MPI_Status *status) {
  request_batch batch(count, handles);
  if (!batch.outstanding()) {
    return PMPI_Waitany(count, handles, index, status);
  }
  status_of_one found(status, batch.needs_status());
  open_record recorded(site, batch.describe_wait());
  const int result = PMPI_Waitany(count, handles, index, found.get());
  batch.finish(*index, found.get() != MPI_STATUS_IGNORE ? found.get() : nullptr, result);
  return recorded.end(result);
}

inline int traced_MPI_Waitsome(std::uint32_t site, int count, MPI_Request *handles, int *done, int *indices,
                               MPI_Status *statuses) {
  request_batch batch(count, handles);
  if (!batch.outstanding()) {
    return PMPI_Waitsome(count, handles, done, indices, statuses);
  }
  status_of_many found(statuses, count, batch.needs_status());
  open_record recorded(site, batch.describe_wait());
  const int result = PMPI_Waitsome(count, handles, done, indices, found.pass());
  if (result == MPI_SUCCESS || result == MPI_ERR_IN_STATUS) {
    batch.finish_some(*done, indices, found.read(), result);
  }
  return recorded.end(result);
}

inline int traced_MPI_Test(std::uint32_t, MPI_Request *request, int *flag, MPI_Status *status) {
  request_batch batch(1, request);
  status_of_one found(status, batch.needs_status());
  const int result = PMPI_Test(request, flag, found.get());
  if (result != MPI_SUCCESS || *flag != 0) {
    batch.finish(0, found.get() != MPI_STATUS_IGNORE ? found.get() : nullptr, result);
  }
  return result;
}

inline int traced_MPI_Testall(std::uint32_t, int count, MPI_Request *handles, int *flag, MPI_Status *statuses) {
  request_batch batch(count, handles);
  status_of_many found(statuses, count, batch.needs_status());
  const int result = PMPI_Testall(count, handles, flag, found.pass());
  if (result != MPI_SUCCESS || *flag != 0) {
    batch.finish_all(handles, found.read(), result);
  }
  return result;
}

inline int traced_MPI_Testany(std::uint32_t, int count, MPI_Request *handles, int *index, int *flag,
                              MPI_Status *status) {
  request_batch batch(count, handles);
  status_of_one found(status, batch.needs_status());
  const int result = PMPI_Testany(count, handles, index, flag, found.get());
  if (result != MPI_SUCCESS || *flag != 0) {
    batch.finish(*index, found.get() != MPI_STATUS_IGNORE ? found.get() : nullptr, result);
  }
  return result;
}

inline int traced_MPI_Testsome(std::uint32_t, int count, MPI_Request *handles, int *done, int *indices,
                               MPI_Status *statuses) {
  request_batch batch(count, handles);
  status_of_many found(statuses, count, batch.needs_status());
  const int result = PMPI_Testsome(count, handles, done, indices, found.pass());
  if (result == MPI_SUCCESS || result == MPI_ERR_IN_STATUS) {
    batch.finish_some(*done, indices, found.read(), result);
  }
  return result;
}

namespace detail {

/// Records that a prepared call is issued; its state after MPI_Start follows in `end_start`.
inline bool begin_start(std::uint32_t site, MPI_Request request, tracked &entry) noexcept {
  if (!requests.find(key_of(request), entry) || entry.prepared == nullptr) {
    return false;
  }
  entry.call = record::begin_call(site, *entry.prepared);
  entry.cancelled = false;
  return true;
}

inline void end_start(MPI_Request request, tracked &entry, int result) noexcept {
  record::end_call(entry.call, call_state::launched, result);
  if (result != MPI_SUCCESS) {
    entry.call = record_ref{};
  }
  requests.update(key_of(request), entry);
}

} // namespace detail

inline int traced_MPI_Start(std::uint32_t site, MPI_Request *request) {
  tracked entry;
  const bool known = detail::begin_start(site, *request, entry);
  const int result = PMPI_Start(request);
  if (known) {
    detail::end_start(*request, entry, result);
  }
  return result;
}

inline int traced_MPI_Startall(std::uint32_t site, int count, MPI_Request *handles) {
  detail::row_of<tracked> entries(count);
  for (int i = 0; i < count && entries.get() != nullptr; ++i) {
    if (!detail::begin_start(site, handles[i], entries.get()[i])) {
      entries.get()[i] = tracked{};
    }
  }
  const int result = PMPI_Startall(count, handles);
  for (int i = 0; i < count && entries.get() != nullptr; ++i) {
    if (entries.get()[i].prepared != nullptr) {
      detail::end_start(handles[i], entries.get()[i], result);
    }
  }
  return result;
}

inline int traced_MPI_Cancel(std::uint32_t, MPI_Request *request) {
  tracked entry;
  if (requests.find(key_of(*request), entry)) {
    entry.cancelled = true;
    requests.update(key_of(*request), entry);
  }
  return PMPI_Cancel(request);
}

/// The call goes on, but nobody can learn of its end any more: it counts as done.
inline int traced_MPI_Request_free(std::uint32_t, MPI_Request *request) {
  tracked entry;
  const bool known = requests.take(key_of(*request), entry);
  const int result = PMPI_Request_free(request);
  if (known) {
    record::end_call(entry.call);
    std::free(entry.prepared);
  }
  return result;
}

} // namespace adapt::mpi
} // namespace DTDEBUG_ABI
} // namespace dtdebug
