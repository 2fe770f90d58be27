// Point-to-point calls: sends, receives, probes.
#pragma once

#include <dtdebug/adapt/mpi_run.hpp>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace adapt::mpi {

/// One end of a message. A peer of MPI_PROC_NULL is not recorded: nothing is sent and nobody is waited for.
struct message : description {
  bool wildcard = false;
  bool to_nobody;

  message(op_kind op, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm, unsigned flags = 0) noexcept
      : description(comm, op), to_nobody(peer == MPI_PROC_NULL) {
    if (op != op_kind::probe) {
      detail::set_data(call, count, type);
    }
    call.flags = static_cast<std::uint8_t>(call.flags | flags);
    const bool receives = op != op_kind::send;
    const bool any_source = receives && peer == MPI_ANY_SOURCE;
    const bool any_message = receives && tag == MPI_ANY_TAG;
    wildcard = op == op_kind::recv && (any_source || any_message);
    call.root = any_source ? any_rank : peer + where.peer_offset;
    call.tag = any_message ? any_tag : tag;
  }
  bool recorded() const noexcept { return description::recorded() && !to_nobody; }
};

/// The caller's status, or one of our own where the caller wants none and a wildcard has to be resolved.
class status_of_one {
public:
  explicit status_of_one(MPI_Status *given, bool needed) noexcept
      : used_(given == MPI_STATUS_IGNORE && needed ? &own_ : given) {}
  status_of_one(const status_of_one &) = delete;
  status_of_one &operator=(const status_of_one &) = delete;
  MPI_Status *get() noexcept { return used_; }

private:
  MPI_Status own_{};
  MPI_Status *used_;
};

/// Fills in the sender and tag that a wildcard receive has found.
inline void resolve(const record_ref &call, const MPI_Status &status, int peer_offset) noexcept {
  if (status.MPI_SOURCE >= 0) { // neither MPI_PROC_NULL nor an empty status
    record::resolve_wildcard(call, status.MPI_SOURCE + peer_offset, status.MPI_TAG);
  }
}

#define DT_DETAIL_MPI_DEFINE_SENDS(blocking, nonblocking, mode)                                                        \
  inline int traced_MPI_##blocking(std::uint32_t site, const void *data, int count, MPI_Datatype type, int to,         \
                                   int tag, MPI_Comm comm) {                                                           \
    const message what(op_kind::send, count, type, to, tag, comm, mode);                                               \
    const auto run = [&] { return PMPI_##blocking(data, count, type, to, tag, comm); };                                \
    return what.recorded() ? run_blocking(site, what.call, run) : run();                                               \
  }                                                                                                                    \
  inline int traced_MPI_##nonblocking(std::uint32_t site, const void *data, int count, MPI_Datatype type, int to,      \
                                      int tag, MPI_Comm comm, MPI_Request *request) {                                  \
    const message what(op_kind::send, count, type, to, tag, comm, mode | flag_nonblocking);                            \
    const auto run = [&] { return PMPI_##nonblocking(data, count, type, to, tag, comm, request); };                    \
    return what.recorded() ? run_nonblocking(site, what, request, false, run) : run();                                 \
  }                                                                                                                    \
  inline int traced_MPI_##blocking##_init(std::uint32_t, const void *data, int count, MPI_Datatype type, int to,       \
                                          int tag, MPI_Comm comm, MPI_Request *request) {                              \
    message what(op_kind::send, count, type, to, tag, comm, mode);                                                     \
    const auto run = [&] { return PMPI_##blocking##_init(data, count, type, to, tag, comm, request); };                \
    return what.recorded() ? run_persistent(what, request, false, run) : run();                                        \
  }
DT_DETAIL_MPI_DEFINE_SENDS(Send, Isend, 0U)
DT_DETAIL_MPI_DEFINE_SENDS(Ssend, Issend, flag_synchronous)
DT_DETAIL_MPI_DEFINE_SENDS(Bsend, Ibsend, flag_buffered)
DT_DETAIL_MPI_DEFINE_SENDS(Rsend, Irsend, 0U)
#undef DT_DETAIL_MPI_DEFINE_SENDS

inline int traced_MPI_Recv(std::uint32_t site, void *data, int count, MPI_Datatype type, int from, int tag,
                           MPI_Comm comm, MPI_Status *status) {
  const message what(op_kind::recv, count, type, from, tag, comm);
  if (!what.recorded()) {
    return PMPI_Recv(data, count, type, from, tag, comm, status);
  }
  status_of_one found(status, what.wildcard);
  open_record recorded(site, what.call);
  const int result = PMPI_Recv(data, count, type, from, tag, comm, found.get());
  if (what.wildcard && result == MPI_SUCCESS) {
    resolve(recorded.reference(), *found.get(), what.where.peer_offset);
  }
  return recorded.end(result);
}

inline int traced_MPI_Irecv(std::uint32_t site, void *data, int count, MPI_Datatype type, int from, int tag,
                            MPI_Comm comm, MPI_Request *request) {
  const message what(op_kind::recv, count, type, from, tag, comm, flag_nonblocking);
  const auto run = [&] { return PMPI_Irecv(data, count, type, from, tag, comm, request); };
  return what.recorded() ? run_nonblocking(site, what, request, what.wildcard, run) : run();
}

inline int traced_MPI_Recv_init(std::uint32_t, void *data, int count, MPI_Datatype type, int from, int tag,
                                MPI_Comm comm, MPI_Request *request) {
  message what(op_kind::recv, count, type, from, tag, comm);
  const auto run = [&] { return PMPI_Recv_init(data, count, type, from, tag, comm, request); };
  return what.recorded() ? run_persistent(what, request, what.wildcard, run) : run();
}

/// The two halves of MPI_Sendrecv and MPI_Sendrecv_replace: a send that does not wait by itself, and a receive.
template <typename Call>
int run_exchange(std::uint32_t site, const message &sent, const message &received, MPI_Status *status, Call call) {
  status_of_one found(status, received.wildcard);
  const bool sends = sent.recorded();
  const bool receives = received.recorded();
  if (!sends && !receives) {
    return call(status);
  }
  if (!sends || !receives) {
    open_record only(site, sends ? sent.call : received.call);
    const int result = call(found.get());
    if (receives && received.wildcard && result == MPI_SUCCESS) {
      resolve(only.reference(), *found.get(), received.where.peer_offset);
    }
    return only.end(result);
  }
  open_record out(site, sent.call, call_state::launched);
  open_record in(site, received.call);
  const int result = call(found.get());
  if (received.wildcard && result == MPI_SUCCESS) {
    resolve(in.reference(), *found.get(), received.where.peer_offset);
  }
  out.end(result);
  return in.end(result);
}

inline int traced_MPI_Sendrecv(std::uint32_t site, const void *send, int send_count, MPI_Datatype send_type, int to,
                               int send_tag, void *recv, int recv_count, MPI_Datatype recv_type, int from, int recv_tag,
                               MPI_Comm comm, MPI_Status *status) {
  const message sent(op_kind::send, send_count, send_type, to, send_tag, comm, flag_nonblocking);
  const message received(op_kind::recv, recv_count, recv_type, from, recv_tag, comm);
  return run_exchange(site, sent, received, status, [&](MPI_Status *found) {
    return PMPI_Sendrecv(send, send_count, send_type, to, send_tag, recv, recv_count, recv_type, from, recv_tag, comm,
                         found);
  });
}

inline int traced_MPI_Sendrecv_replace(std::uint32_t site, void *data, int count, MPI_Datatype type, int to,
                                       int send_tag, int from, int recv_tag, MPI_Comm comm, MPI_Status *status) {
  const message sent(op_kind::send, count, type, to, send_tag, comm, flag_nonblocking);
  const message received(op_kind::recv, count, type, from, recv_tag, comm);
  return run_exchange(site, sent, received, status, [&](MPI_Status *found) {
    return PMPI_Sendrecv_replace(data, count, type, to, send_tag, from, recv_tag, comm, found);
  });
}

inline int traced_MPI_Probe(std::uint32_t site, int from, int tag, MPI_Comm comm, MPI_Status *status) {
  const message what(op_kind::probe, 0, MPI_DATATYPE_NULL, from, tag, comm);
  const auto run = [&] { return PMPI_Probe(from, tag, comm, status); };
  return what.recorded() ? run_blocking(site, what.call, run) : run();
}

/// Does not wait, so there is nothing to record.
inline int traced_MPI_Iprobe(std::uint32_t, int from, int tag, MPI_Comm comm, int *flag, MPI_Status *status) {
  return PMPI_Iprobe(from, tag, comm, flag, status);
}

namespace detail {

/// A matched probe has set a message aside: keeps whose it is for the receive that will name the message alone.
inline void keep_message(MPI_Message handle, const message &what, const MPI_Status &status) noexcept {
  if (handle == MPI_MESSAGE_NULL || handle == MPI_MESSAGE_NO_PROC || status.MPI_SOURCE < 0) {
    return;
  }
  tracked entry;
  entry.group = what.where.slot;
  entry.peer = status.MPI_SOURCE + what.where.peer_offset;
  entry.tag = status.MPI_TAG;
  requests.put(key_of(handle, true), entry);
}

} // namespace detail

inline int traced_MPI_Mprobe(std::uint32_t site, int from, int tag, MPI_Comm comm, MPI_Message *handle,
                             MPI_Status *status) {
  const message what(op_kind::probe, 0, MPI_DATATYPE_NULL, from, tag, comm);
  if (!what.recorded()) {
    return PMPI_Mprobe(from, tag, comm, handle, status);
  }
  status_of_one found(status, true);
  open_record recorded(site, what.call);
  const int result = recorded.end(PMPI_Mprobe(from, tag, comm, handle, found.get()));
  if (result == MPI_SUCCESS) {
    detail::keep_message(*handle, what, *found.get());
  }
  return result;
}

inline int traced_MPI_Improbe(std::uint32_t, int from, int tag, MPI_Comm comm, int *flag, MPI_Message *handle,
                              MPI_Status *status) {
  const message what(op_kind::probe, 0, MPI_DATATYPE_NULL, from, tag, comm);
  status_of_one found(status, what.recorded());
  const int result = PMPI_Improbe(from, tag, comm, flag, handle, found.get());
  if (what.recorded() && result == MPI_SUCCESS && *flag != 0) {
    detail::keep_message(*handle, what, *found.get());
  }
  return result;
}

namespace detail {

/// Describes the receive of a message that a probe has set aside. False for one that dtdebug knows nothing of.
inline bool describe_matched(MPI_Message handle, int count, MPI_Datatype type, call_desc &call) noexcept {
  record::take_annotation(call);
  tracked known;
  if (!requests.take(key_of(handle, true), known)) {
    return false;
  }
  call.op = op_kind::recv;
  call.group = known.group;
  call.root = known.peer;
  call.tag = known.tag;
  set_data(call, count, type);
  return true;
}

} // namespace detail

inline int traced_MPI_Mrecv(std::uint32_t site, void *data, int count, MPI_Datatype type, MPI_Message *handle,
                            MPI_Status *status) {
  call_desc what;
  const bool known = detail::describe_matched(*handle, count, type, what);
  const auto run = [&] { return PMPI_Mrecv(data, count, type, handle, status); };
  return known ? run_blocking(site, what, run) : run();
}

inline int traced_MPI_Imrecv(std::uint32_t site, void *data, int count, MPI_Datatype type, MPI_Message *handle,
                             MPI_Request *request) {
  description what(MPI_COMM_NULL, op_kind::recv);
  const bool known = detail::describe_matched(*handle, count, type, what.call);
  what.flag(flag_nonblocking);
  const auto run = [&] { return PMPI_Imrecv(data, count, type, handle, request); };
  return known ? run_nonblocking(site, what, request, false, run) : run();
}

} // namespace adapt::mpi
} // namespace DTDEBUG_ABI
} // namespace dtdebug
