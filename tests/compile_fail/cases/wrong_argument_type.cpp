// library: mpi
// A wrong argument is refused as in the plain call.
// expect: (cannot convert|invalid conversion|no known conversion|cannot initialize).*(double|const char)
#include <dtdebug/dtdebug.hpp>
#include <dtdebug/mpi.hpp>
int use(float *data) {
#if defined(CONTROL)
  return DT_COLLECTIVE(MPI_Allreduce, MPI_IN_PLACE, data, 4, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
#else
  return DT_COLLECTIVE(MPI_Allreduce, MPI_IN_PLACE, data, "4", MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
#endif
}
