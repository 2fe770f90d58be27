// Communicators of MPI, off: DT_GROUP and descriptions still take them, and nothing else.
//
// mpi.h is included as the program itself would: no setting of it is touched here.
#pragma once

#if !defined(DTDEBUG)

#include <dtdebug/record/description.hpp>

#include <mpi.h>

namespace dtdebug {
inline namespace DTDEBUG_ABI {

inline void name_group(MPI_Comm, const char *) noexcept {}

template <>
struct group_handle<MPI_Comm> {
  static std::uint16_t slot_of(MPI_Comm) noexcept { return 0; }
};

} // namespace DTDEBUG_ABI
} // namespace dtdebug

#endif
