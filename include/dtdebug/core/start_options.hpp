// What a program may say to DT_START.
#pragma once

#include <dtdebug/core/config.hpp>

#include <cstdint>

namespace dtdebug {
inline namespace DTDEBUG_ABI {

/// Options of `dtdebug::start`. What is left at its default comes from the environment, then from the built-in value.
struct start_options {
  int rank = -1;
  int world_size = -1;
  int local_rank = -1;
  const char *directory = nullptr; ///< DTDEBUG_DIR; read before `start` returns
  std::int64_t timeout_ms = -1;    ///< DTDEBUG_TIMEOUT
};

} // namespace DTDEBUG_ABI
} // namespace dtdebug
