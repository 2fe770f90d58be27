// The list of everything that is looked for. A new kind of finding is a new file and a line here.
#pragma once

#include <dtdebug/diagnose/find_absent.hpp>
#include <dtdebug/diagnose/find_calls.hpp>
#include <dtdebug/diagnose/find_cycles.hpp>
#include <dtdebug/diagnose/find_latent.hpp>
#include <dtdebug/diagnose/find_messages.hpp>
#include <dtdebug/diagnose/find_notes.hpp>
#include <dtdebug/diagnose/find_open_groups.hpp>
#include <dtdebug/diagnose/find_setup.hpp>
#include <dtdebug/diagnose/find_slow.hpp>
#include <dtdebug/diagnose/find_splits.hpp>
#include <dtdebug/diagnose/find_unexplained.hpp>
#include <dtdebug/diagnose/find_wrong_group.hpp>
#include <dtdebug/diagnose/scene.hpp>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace diagnose {

/// Looks at a job and adds what it finds.
using analyser = void (*)(scene &);

/// In this order, because some look at what was found before: absence at the shifts that alignment explains, circles at
/// halves of messages, and the last two at whether anything was found at all.
inline constexpr analyser analysers[] = {
    find_world_mismatch,   find_mesh_mismatch,   find_membership_mismatch, find_different_calls,    find_split_mismatch,
    find_absent_ranks,     find_wrong_group,     find_open_groups,         find_message_faults,     find_cycles,
    find_reported_errors,  find_config_mismatch, find_decision_divergence, find_replica_divergence, find_non_finite,
    find_memory_imbalance, find_slow_ranks,      find_latent_deadlock,     find_unexplained_waits,
};

} // namespace diagnose
} // namespace DTDEBUG_ABI
} // namespace dtdebug
