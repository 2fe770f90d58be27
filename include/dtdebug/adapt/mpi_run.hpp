// Recording around one MPI call: blocking, returning a request, or preparing one.
#pragma once

#include <dtdebug/adapt/mpi_describe.hpp>
#include <dtdebug/adapt/mpi_requests.hpp>

#include <new>

/// A parenthesised list without its parentheses.
#define DT_DETAIL_MPI_LIST(...) __VA_ARGS__

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace adapt::mpi {

/// A record that is open while MPI works. An error handler of the program may leave MPI by an exception: the call then
/// counts as aborted.
class open_record {
public:
  open_record(std::uint32_t site, const call_desc &what, call_state state = call_state::entered) noexcept
      : call_(record::begin_call(site, what, state)) {}
  ~open_record() {
    if (!ended_) {
      record::end_call(call_, call_state::aborted);
    }
  }
  open_record(const open_record &) = delete;
  open_record &operator=(const open_record &) = delete;

  /// Returns `result`, which makes the call `failed` if it is an error.
  int end(int result, call_state state = call_state::done) noexcept {
    static_assert(MPI_SUCCESS == 0, "the recorder takes 0 for success");
    ended_ = true;
    record::end_call(call_, state, result);
    return result;
  }
  const record_ref &reference() const noexcept { return call_; }

private:
  record_ref call_;
  bool ended_ = false;
};

/// Runs a call that returns when it is over.
template <typename Call>
int run_blocking(std::uint32_t site, const call_desc &what, Call call) {
  open_record recorded(site, what);
  return recorded.end(call());
}

/// Runs a call that returns a request.
template <typename Call>
int run_nonblocking(std::uint32_t site, const description &what, MPI_Request *request, bool wildcard, Call call) {
  open_record recorded(site, what.call);
  const int result = recorded.end(call(), call_state::launched);
  tracked entry;
  entry.call = recorded.reference();
  if (result == MPI_SUCCESS && *request != MPI_REQUEST_NULL) {
    entry.group = what.call.group;
    entry.peer_offset = what.where.peer_offset;
    entry.wildcard = wildcard;
    requests.put(key_of(*request), entry);
  } else if (result == MPI_SUCCESS) {
    record::end_call(entry.call);
  }
  return result;
}

/// Runs a call that prepares a request: recorded when the request is started.
template <typename Call>
int run_persistent(description &what, MPI_Request *request, bool wildcard, Call call) {
  const int result = call();
  auto *kept = static_cast<call_desc *>(std::malloc(sizeof(call_desc)));
  if (result != MPI_SUCCESS || *request == MPI_REQUEST_NULL || kept == nullptr) {
    std::free(kept);
    return result;
  }
  what.flag(flag_nonblocking);
  what.flag(flag_persistent);
  new (kept) call_desc(what.call);
  kept->splits = kept->recv_splits = nullptr; // the arrays are read once only, by the call that is being prepared
  kept->split_count = 0;
  if (kept->label_text !=
      nullptr) { // the text need not live as long as the request: from now on its hash stands for it
    blackbox::label_id(record::box(), kept->label_text, kept->label);
    kept->label_text = "?";
  }
  tracked entry;
  entry.prepared = kept;
  entry.group = what.call.group;
  entry.peer_offset = what.where.peer_offset;
  entry.wildcard = wildcard;
  requests.put(key_of(*request), entry);
  return result;
}

} // namespace adapt::mpi
} // namespace DTDEBUG_ABI
} // namespace dtdebug
