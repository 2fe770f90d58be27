// The public macros, off: nothing is left of them, yet their arguments are still type-checked.
#pragma once

#include <dtdebug/core/config.hpp>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace detail {
template <typename... Args>
void type_check(const Args &...); // declared, never defined, never called
} // namespace detail
} // namespace DTDEBUG_ABI
} // namespace dtdebug

/// Arguments are parsed and typed in a branch that is never taken: no evaluation, no symbol, no "unused" warning.
#define DT_DETAIL_NOTHING(...)                                                                                         \
  do {                                                                                                                 \
    if constexpr (false) {                                                                                             \
      ::dtdebug::detail::type_check(__VA_ARGS__);                                                                      \
    }                                                                                                                  \
  } while (false)

#define DT_START(...) DT_DETAIL_NOTHING()
#define DT_COLLECTIVE(function, ...) function(__VA_ARGS__)
#define DT_SHAPED(pointer, ...) (pointer)
#define DT_GROUP(communicator, ...) DT_DETAIL_NOTHING((communicator), __VA_ARGS__)
#define DT_STEP(number) DT_DETAIL_NOTHING(number)
#define DT_PHASE(name) DT_DETAIL_NOTHING(name)
#define DT_DECISION(name, value) DT_DETAIL_NOTHING((name), (value))
