// Teaches DT_COLLECTIVE the calls of MPI, and DT_GROUP its communicators. Off: their types alone.
#pragma once

#if defined(DTDEBUG)
#include <dtdebug/adapt/mpi_adapters.hpp>
#else
#include <dtdebug/adapt/mpi_off.hpp>
#endif
