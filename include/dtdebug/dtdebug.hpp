// The one include: record, watch, diagnose and report on one host. Off: the macros alone.
#pragma once

#include <dtdebug/record.hpp>

#if defined(DTDEBUG)
#include <dtdebug/watch/session.hpp>
#else
#include <dtdebug/watch/session_off.hpp>
#endif
