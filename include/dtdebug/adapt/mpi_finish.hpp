// The last calls of a program: MPI_Finalize and MPI_Abort.
#pragma once

#include <dtdebug/adapt/mpi_finalize.hpp>
#include <dtdebug/adapt/mpi_run.hpp>
#include <dtdebug/record/breadcrumbs.hpp>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace adapt::mpi {

/// Waits for all ranks, so it is recorded like any call that does.
inline int traced_MPI_Finalize(std::uint32_t site) {
  open_record recorded(site, detail::describe_finalize());
  const int result = PMPI_Finalize();
  requests.end_all();
  return recorded.end(result);
}

/// The note tells this rank, which gave up, from those that the launcher then kills.
inline int traced_MPI_Abort(std::uint32_t, MPI_Comm comm, int code) {
  swallowed_error("MPI_Abort called");
  return PMPI_Abort(comm, code);
}

} // namespace adapt::mpi
} // namespace DTDEBUG_ABI
} // namespace dtdebug
