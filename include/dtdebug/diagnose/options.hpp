// What a diagnosis may conclude, given how its snapshots were taken.
#pragma once

#include <dtdebug/core/config.hpp>

#include <cstdint>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace diagnose {

/// How to judge. The defaults are safe for a job whose ranks still run: only what no later event can change is
/// reported (contradictions, closed wait cycles, deaths that others wait for, and calls older than the timeout).
struct options {
  /// Nothing moves any more, so that absence is evidence too. `job_snapshot::settled` says the same: either is enough.
  bool settled = false;
  /// Also report what did not stop the run: calls that differ silently, latent deadlocks, facts, memory balance.
  bool verify = true;
  /// Ranks are read one after the other; a wait younger than this may be an artefact of that and closes no cycle.
  std::int64_t min_wait_ns = 100'000'000;
};

} // namespace diagnose
} // namespace DTDEBUG_ABI
} // namespace dtdebug
