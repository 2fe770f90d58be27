// Zero-edit integration: put into one source of a program, it records every MPI call of the whole program, from
// MPI_Init to MPI_Finalize. Also from outside: mpicxx -include dtdebug/mpi_hooks.hpp -DDTDEBUG …  Off: nothing.
// Brings no DT_ macro with it, so that it cannot disturb a source that knows nothing of dtdebug.
#pragma once

#if defined(DTDEBUG)
#include <dtdebug/adapt/mpi_interpose.hpp>
#endif
