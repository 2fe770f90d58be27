// Definitions of MPI_X for the whole program: each records its call and goes on to PMPI_X.
//
// They are weak, so that this header may stand in several sources (`mpicxx -include … a.cpp b.cpp`), and still come
// before the MPI library's own: a definition in the program precedes those of its shared libraries, weak or not.
#pragma once

#include <dtdebug/adapt/mpi_calls.hpp>
#include <dtdebug/record/invoke.hpp>
#include <dtdebug/watch/session.hpp>

#define DT_DETAIL_MPI_HOOK extern "C" __attribute__((weak, noinline, visibility("default"))) int

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace adapt::mpi {

/// False inside a call that is recorded already: by DT_COLLECTIVE, or because MPI calls itself.
inline bool hook_records() noexcept { return record::recording() && record::this_thread_slot.quiet == 0; }

inline std::uint32_t hook_site(const void *return_address, const char *name) noexcept {
  return blackbox::site_id(record::box(), return_address, name);
}

/// MPI is up: ranks are known for certain, whatever the launcher's environment says.
inline void start_after_init() noexcept {
  if (record::recording()) {
    return;
  }
  start_options options;
  PMPI_Comm_rank(MPI_COMM_WORLD, &options.rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &options.world_size);
  start(options);
}

} // namespace adapt::mpi
} // namespace DTDEBUG_ABI
} // namespace dtdebug

#define DT_DETAIL_MPI_ONE(name, parameters, arguments)                                                                 \
  DT_DETAIL_MPI_HOOK MPI_##name parameters {                                                                           \
    if (!::dtdebug::adapt::mpi::hook_records()) {                                                                      \
      return PMPI_##name arguments;                                                                                    \
    }                                                                                                                  \
    const ::dtdebug::record::detail::quiet_scope quiet;                                                                \
    return ::dtdebug::adapt::mpi::traced_MPI_##name(                                                                   \
        ::dtdebug::adapt::mpi::hook_site(__builtin_return_address(0), "MPI_" #name), DT_DETAIL_MPI_LIST arguments);    \
  }
DT_DETAIL_MPI_ALL_CALLS
#undef DT_DETAIL_MPI_ONE

DT_DETAIL_MPI_HOOK MPI_Init(int *argc, char ***argv) {
  const int result = PMPI_Init(argc, argv);
  if (result == MPI_SUCCESS) {
    ::dtdebug::adapt::mpi::start_after_init();
  }
  return result;
}

DT_DETAIL_MPI_HOOK MPI_Init_thread(int *argc, char ***argv, int required, int *provided) {
  const int result = PMPI_Init_thread(argc, argv, required, provided);
  if (result == MPI_SUCCESS) {
    ::dtdebug::adapt::mpi::start_after_init();
  }
  return result;
}

DT_DETAIL_MPI_HOOK MPI_Finalize() {
  if (!::dtdebug::adapt::mpi::hook_records()) {
    return PMPI_Finalize();
  }
  int result = MPI_SUCCESS;
  {
    const ::dtdebug::record::detail::quiet_scope quiet;
    result = ::dtdebug::adapt::mpi::traced_MPI_Finalize(
        ::dtdebug::adapt::mpi::hook_site(__builtin_return_address(0), "MPI_Finalize"));
  }
  ::dtdebug::finish();
  return result;
}

#undef DT_DETAIL_MPI_HOOK
