// DT_COLLECTIVE(MPI_X, …): an adapter for each MPI call that is recorded.
#pragma once

#include <dtdebug/adapt/mpi_calls.hpp>
#include <dtdebug/record/invoke.hpp>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace record {

#define DT_DETAIL_MPI_ONE(name, parameters, arguments)                                                                 \
  template <>                                                                                                          \
  struct adapter<&::MPI_##name> {                                                                                      \
    static int call(std::uint32_t site, DT_DETAIL_MPI_LIST parameters) {                                               \
      return adapt::mpi::traced_MPI_##name(site, DT_DETAIL_MPI_LIST arguments);                                        \
    }                                                                                                                  \
  };
DT_DETAIL_MPI_ALL_CALLS
#undef DT_DETAIL_MPI_ONE

template <>
struct adapter<&::MPI_Finalize> {
  static int call(std::uint32_t site) { return adapt::mpi::traced_MPI_Finalize(site); }
};

} // namespace record
} // namespace DTDEBUG_ABI
} // namespace dtdebug
