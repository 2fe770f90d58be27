// Start and end of the session, off: the same signatures, and nothing else.
#pragma once

#if !defined(DTDEBUG)

#include <dtdebug/core/start_options.hpp>

namespace dtdebug {
inline namespace DTDEBUG_ABI {

inline void start(const start_options & = {}) noexcept {}
inline void finish() noexcept {}

} // namespace DTDEBUG_ABI
} // namespace dtdebug

#endif
