// library: mpi
// So is one too many, also where the function takes none.
// expect: too many arguments|no matching function
#include <dtdebug/dtdebug.hpp>
#include <dtdebug/mpi.hpp>
int use() {
#if defined(CONTROL)
  return DT_COLLECTIVE(MPI_Finalize);
#else
  return DT_COLLECTIVE(MPI_Finalize, 0);
#endif
}
