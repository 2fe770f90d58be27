// mpi.h without its C++ bindings, and what this MPI has.
#pragma once

// The bindings were removed from MPI 3.0; their headers add templates to every source and break under strict warnings.
#if !defined(OMPI_SKIP_MPICXX)
#define OMPI_SKIP_MPICXX 1
#endif
#if !defined(MPICH_SKIP_MPICXX)
#define MPICH_SKIP_MPICXX 1
#endif

#include <mpi.h>

// Open MPI 5 has the persistent collectives of MPI 4, yet says that it implements MPI 3.1.
#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
#define DT_DETAIL_MPI_PERSISTENT_COLLECTIVES() 1
#else
#define DT_DETAIL_MPI_PERSISTENT_COLLECTIVES() 0
#endif
