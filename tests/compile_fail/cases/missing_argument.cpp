// library: mpi
// A missing argument is refused as in the plain call.
// expect: too few arguments|no matching function
#include <dtdebug/dtdebug.hpp>
#include <dtdebug/mpi.hpp>
int use(float *data) {
#if defined(CONTROL)
  return DT_COLLECTIVE(MPI_Bcast, data, 4, MPI_FLOAT, 0, MPI_COMM_WORLD);
#else
  return DT_COLLECTIVE(MPI_Bcast, data, 4, MPI_FLOAT, 0);
#endif
}
