// Teaches DT_COLLECTIVE the calls of MPI, and DT_GROUP its communicators. Off: nothing.
#pragma once

#if defined(DTDEBUG)
#include <dtdebug/adapt/mpi_adapters.hpp>
#endif
