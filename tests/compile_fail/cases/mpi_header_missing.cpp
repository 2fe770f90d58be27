// library: mpi
// MPI without its adapters: the message names the header.
// expect: Include <dtdebug/mpi\.hpp>
#include <dtdebug/dtdebug.hpp>
#if defined(CONTROL)
#include <dtdebug/mpi.hpp>
#endif
#include <mpi.h>
int use() { return DT_COLLECTIVE(MPI_Barrier, MPI_COMM_WORLD); }
