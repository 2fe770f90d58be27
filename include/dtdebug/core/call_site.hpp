// The place in the source from which a call is made.
#pragma once

#include <dtdebug/core/config.hpp>

#include <atomic>
#include <cstdint>

namespace dtdebug {
inline namespace DTDEBUG_ABI {

/// One per macro use, with static storage. `id` is this site's index + 1 in the black box of the running process,
/// 0 until its first use. Printed in reports, never compared: the same call from two lines is legal.
struct call_site {
  const char *file;
  const char *text; ///< the call as written, for instance "MPI_Allreduce"; may be null
  std::uint32_t line;
  std::atomic<std::uint32_t> id;

  constexpr call_site(const char *file_name, std::uint32_t line_number, const char *call_text) noexcept
      : file(file_name), text(call_text), line(line_number), id(0) {}
};

} // namespace DTDEBUG_ABI
} // namespace dtdebug
