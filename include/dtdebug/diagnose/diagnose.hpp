// Explains a job: snapshots in, verdicts out. Pure: no clock, thread, file or environment.
#pragma once

#include <dtdebug/diagnose/analysers.hpp>
#include <dtdebug/diagnose/options.hpp>
#include <dtdebug/diagnose/scene.hpp>
#include <dtdebug/diagnose/select.hpp>
#include <dtdebug/model/snapshot.hpp>
#include <dtdebug/model/verdict.hpp>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace diagnose {

/// All findings of a job, root causes first, consequences folded under their cause. Empty when nothing is wrong.
/// Deterministic. Cost: near-linear in the number of recorded calls. Throws nothing but std::bad_alloc.
inline model::diagnosis diagnose(const model::job_snapshot &job, const options &opts = {}) {
  scene s(job, opts);
  for (const analyser look : analysers) {
    look(s);
  }
  model::diagnosis out;
  out.verdicts = select_causes(s);
  return out;
}

} // namespace diagnose
} // namespace DTDEBUG_ABI
} // namespace dtdebug
