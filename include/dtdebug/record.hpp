// The macros alone, light: for the source files of a trainer that do not start the session.
#pragma once

#if defined(DTDEBUG)
#include <dtdebug/record/macros.hpp>
#else
#include <dtdebug/off.hpp>
#endif
