// The collectives of MPI: blocking, non-blocking and persistent, all from one table.
#pragma once

#include <dtdebug/adapt/mpi_run.hpp>

// X(name, name in MPI_I…, parameters, arguments): MPI_<name>. The communicator is called `comm` throughout.
#define DT_DETAIL_MPI_COLLECTIVES(X)                                                                                   \
  X(Barrier, barrier, (MPI_Comm comm), (comm))                                                                         \
  X(Bcast, bcast, (void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm),                               \
    (buffer, count, type, root, comm))                                                                                 \
  X(Gather, gather,                                                                                                    \
    (const void *send, int send_count, MPI_Datatype send_type, void *recv, int recv_count, MPI_Datatype recv_type,     \
     int root, MPI_Comm comm),                                                                                         \
    (send, send_count, send_type, recv, recv_count, recv_type, root, comm))                                            \
  X(Gatherv, gatherv,                                                                                                  \
    (const void *send, int send_count, MPI_Datatype send_type, void *recv, const int *recv_counts, const int *offsets, \
     MPI_Datatype recv_type, int root, MPI_Comm comm),                                                                 \
    (send, send_count, send_type, recv, recv_counts, offsets, recv_type, root, comm))                                  \
  X(Scatter, scatter,                                                                                                  \
    (const void *send, int send_count, MPI_Datatype send_type, void *recv, int recv_count, MPI_Datatype recv_type,     \
     int root, MPI_Comm comm),                                                                                         \
    (send, send_count, send_type, recv, recv_count, recv_type, root, comm))                                            \
  X(Scatterv, scatterv,                                                                                                \
    (const void *send, const int *send_counts, const int *offsets, MPI_Datatype send_type, void *recv, int recv_count, \
     MPI_Datatype recv_type, int root, MPI_Comm comm),                                                                 \
    (send, send_counts, offsets, send_type, recv, recv_count, recv_type, root, comm))                                  \
  X(Allgather, allgather,                                                                                              \
    (const void *send, int send_count, MPI_Datatype send_type, void *recv, int recv_count, MPI_Datatype recv_type,     \
     MPI_Comm comm),                                                                                                   \
    (send, send_count, send_type, recv, recv_count, recv_type, comm))                                                  \
  X(Allgatherv, allgatherv,                                                                                            \
    (const void *send, int send_count, MPI_Datatype send_type, void *recv, const int *recv_counts, const int *offsets, \
     MPI_Datatype recv_type, MPI_Comm comm),                                                                           \
    (send, send_count, send_type, recv, recv_counts, offsets, recv_type, comm))                                        \
  X(Alltoall, alltoall,                                                                                                \
    (const void *send, int send_count, MPI_Datatype send_type, void *recv, int recv_count, MPI_Datatype recv_type,     \
     MPI_Comm comm),                                                                                                   \
    (send, send_count, send_type, recv, recv_count, recv_type, comm))                                                  \
  X(Alltoallv, alltoallv,                                                                                              \
    (const void *send, const int *send_counts, const int *send_offsets, MPI_Datatype send_type, void *recv,            \
     const int *recv_counts, const int *recv_offsets, MPI_Datatype recv_type, MPI_Comm comm),                          \
    (send, send_counts, send_offsets, send_type, recv, recv_counts, recv_offsets, recv_type, comm))                    \
  X(Alltoallw, alltoallw,                                                                                              \
    (const void *send, const int *send_counts, const int *send_offsets, const MPI_Datatype *send_types, void *recv,    \
     const int *recv_counts, const int *recv_offsets, const MPI_Datatype *recv_types, MPI_Comm comm),                  \
    (send, send_counts, send_offsets, send_types, recv, recv_counts, recv_offsets, recv_types, comm))                  \
  X(Reduce, reduce, (const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm),  \
    (send, recv, count, type, op, root, comm))                                                                         \
  X(Allreduce, allreduce, (const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),      \
    (send, recv, count, type, op, comm))                                                                               \
  X(Scan, scan, (const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),                \
    (send, recv, count, type, op, comm))                                                                               \
  X(Exscan, exscan, (const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),            \
    (send, recv, count, type, op, comm))                                                                               \
  X(Reduce_scatter_block, reduce_scatter_block,                                                                        \
    (const void *send, void *recv, int recv_count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),                       \
    (send, recv, recv_count, type, op, comm))                                                                          \
  X(Reduce_scatter, reduce_scatter,                                                                                    \
    (const void *send, void *recv, const int *recv_counts, MPI_Datatype type, MPI_Op op, MPI_Comm comm),               \
    (send, recv, recv_counts, type, op, comm))                                                                         \
  X(Neighbor_allgather, neighbor_allgather,                                                                            \
    (const void *send, int send_count, MPI_Datatype send_type, void *recv, int recv_count, MPI_Datatype recv_type,     \
     MPI_Comm comm),                                                                                                   \
    (send, send_count, send_type, recv, recv_count, recv_type, comm))                                                  \
  X(Neighbor_allgatherv, neighbor_allgatherv,                                                                          \
    (const void *send, int send_count, MPI_Datatype send_type, void *recv, const int *recv_counts, const int *offsets, \
     MPI_Datatype recv_type, MPI_Comm comm),                                                                           \
    (send, send_count, send_type, recv, recv_counts, offsets, recv_type, comm))                                        \
  X(Neighbor_alltoall, neighbor_alltoall,                                                                              \
    (const void *send, int send_count, MPI_Datatype send_type, void *recv, int recv_count, MPI_Datatype recv_type,     \
     MPI_Comm comm),                                                                                                   \
    (send, send_count, send_type, recv, recv_count, recv_type, comm))                                                  \
  X(Neighbor_alltoallv, neighbor_alltoallv,                                                                            \
    (const void *send, const int *send_counts, const int *send_offsets, MPI_Datatype send_type, void *recv,            \
     const int *recv_counts, const int *recv_offsets, MPI_Datatype recv_type, MPI_Comm comm),                          \
    (send, send_counts, send_offsets, send_type, recv, recv_counts, recv_offsets, recv_type, comm))                    \
  X(Neighbor_alltoallw, neighbor_alltoallw,                                                                            \
    (const void *send, const int *send_counts, const MPI_Aint *send_offsets, const MPI_Datatype *send_types,           \
     void *recv, const int *recv_counts, const MPI_Aint *recv_offsets, const MPI_Datatype *recv_types, MPI_Comm comm), \
    (send, send_counts, send_offsets, send_types, recv, recv_counts, recv_offsets, recv_types, comm))

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace adapt::mpi {

#define DT_DETAIL_MPI_TRACE(name, small, parameters, arguments)                                                        \
  inline int traced_MPI_##name(std::uint32_t site, DT_DETAIL_MPI_LIST parameters) {                                    \
    collective what(comm);                                                                                             \
    if (!what.recorded()) {                                                                                            \
      return PMPI_##name arguments;                                                                                    \
    }                                                                                                                  \
    fill_##name(what, DT_DETAIL_MPI_LIST arguments);                                                                   \
    return run_blocking(site, what.call, [&] { return PMPI_##name arguments; });                                       \
  }                                                                                                                    \
  inline int traced_MPI_I##small(std::uint32_t site, DT_DETAIL_MPI_LIST parameters, MPI_Request *request) {            \
    collective what(comm);                                                                                             \
    if (!what.recorded()) {                                                                                            \
      return PMPI_I##small(DT_DETAIL_MPI_LIST arguments, request);                                                     \
    }                                                                                                                  \
    what.flag(flag_nonblocking);                                                                                       \
    fill_##name(what, DT_DETAIL_MPI_LIST arguments);                                                                   \
    return run_nonblocking(site, what, request, false,                                                                 \
                           [&] { return PMPI_I##small(DT_DETAIL_MPI_LIST arguments, request); });                      \
  }
DT_DETAIL_MPI_COLLECTIVES(DT_DETAIL_MPI_TRACE)
#undef DT_DETAIL_MPI_TRACE

#if DT_DETAIL_MPI_PERSISTENT_COLLECTIVES()
#define DT_DETAIL_MPI_TRACE(name, small, parameters, arguments)                                                        \
  inline int traced_MPI_##name##_init(std::uint32_t, DT_DETAIL_MPI_LIST parameters, MPI_Info info,                     \
                                      MPI_Request *request) {                                                          \
    collective what(comm);                                                                                             \
    if (!what.recorded()) {                                                                                            \
      return PMPI_##name##_init(DT_DETAIL_MPI_LIST arguments, info, request);                                          \
    }                                                                                                                  \
    fill_##name(what, DT_DETAIL_MPI_LIST arguments);                                                                   \
    return run_persistent(what, request, false,                                                                        \
                          [&] { return PMPI_##name##_init(DT_DETAIL_MPI_LIST arguments, info, request); });            \
  }
DT_DETAIL_MPI_COLLECTIVES(DT_DETAIL_MPI_TRACE)
#undef DT_DETAIL_MPI_TRACE
#endif

} // namespace adapt::mpi
} // namespace DTDEBUG_ABI
} // namespace dtdebug
