// The end of MPI, as it is seen with the macros alone: MPI_Finalize is a plain call there.
#pragma once

#include <dtdebug/adapt/mpi_requests.hpp>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace adapt::mpi {
namespace detail {

inline call_desc describe_finalize() noexcept {
  call_desc call;
  call.op = op_kind::finalize;
  call.group = world::world_group;
  return call;
}

/// Delete callback of an attribute of MPI_COMM_SELF, which runs at the beginning of MPI_Finalize (MPI 3.1 §8.7.1). The
/// record stays open: the rank is on its way out and makes no more calls, and nothing tells when MPI_Finalize returns.
/// A rank whose MPI_Finalize is recorded by itself is left alone.
inline int note_finalize(MPI_Comm, int, void *, void *) noexcept {
  if (record::recording() && record::this_thread_slot.quiet == 0) {
    requests.end_all();
    record::begin_call(0, describe_finalize());
  }
  return MPI_SUCCESS;
}

} // namespace detail
} // namespace adapt::mpi
} // namespace DTDEBUG_ABI
} // namespace dtdebug
