// The one include through which the files of the trainer see the macros of dtdebug.
//
// With -DTRAINER_WITHOUT_DTDEBUG the trainer knows nothing of dtdebug: this is the program of somebody who has not
// edited a line, and the build puts the hooks of <dtdebug/mpi_hooks.hpp> in from outside.
#pragma once

#if defined(TRAINER_WITHOUT_DTDEBUG)

#define DT_START(...) static_cast<void>(0)
#define DT_COLLECTIVE(function, ...) function(__VA_ARGS__)
#define DT_SHAPED(pointer, ...) (pointer)
#define DT_GROUP(...) static_cast<void>(0)
#define DT_STEP(step) static_cast<void>(0)
#define DT_PHASE(name) static_cast<void>(0)
#define DT_DECISION(...) static_cast<void>(0)

#else

#include <dtdebug/record.hpp>

#include <dtdebug/mpi.hpp>

#endif
