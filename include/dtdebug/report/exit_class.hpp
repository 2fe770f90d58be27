// Kinds of verdicts → families and exit statuses.
#pragma once

#include <dtdebug/model/verdict.hpp>

#include <string>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace report {

/// Exit statuses of the `dtdebug` command and of a trainer ended by DTDEBUG_ON_HANG=abort. Scripts rely on the numbers.
enum class exit_class : int {
  nothing_found = 0,
  wrong_usage = 2,
  input_unreadable = 3,
  different_calls = 10,
  call_not_made = 11,
  groups = 12,
  point_to_point = 13,
  across_groups = 14,
  library_or_wire = 15,
  data = 16,
  memory = 17,
  undetermined = 19,
};

/// Class of a verdict's kind; a kind that is not of the vocabulary counts as undetermined.
inline exit_class class_of(const std::string &kind) {
  struct entry {
    const char *kind;
    exit_class family;
  };
  static constexpr entry table[] = {
      {"op_mismatch", exit_class::different_calls},
      {"count_mismatch", exit_class::different_calls},
      {"shape_mismatch", exit_class::different_calls},
      {"dtype_mismatch", exit_class::different_calls},
      {"redop_mismatch", exit_class::different_calls},
      {"root_mismatch", exit_class::different_calls},
      {"split_mismatch", exit_class::different_calls},
      {"order_mismatch", exit_class::different_calls},
      {"wrong_group", exit_class::different_calls},
      {"missing_call", exit_class::call_not_made},
      {"extra_call", exit_class::call_not_made},
      {"rank_exited", exit_class::call_not_made},
      {"rank_crashed", exit_class::call_not_made},
      {"rank_stopped", exit_class::call_not_made},
      {"rank_stuck_host", exit_class::call_not_made},
      {"rank_stuck_device", exit_class::call_not_made},
      {"rank_slow", exit_class::call_not_made},
      {"host_unreachable", exit_class::call_not_made},
      {"membership_mismatch", exit_class::groups},
      {"group_order_mismatch", exit_class::groups},
      {"mesh_mismatch", exit_class::groups},
      {"world_mismatch", exit_class::groups},
      {"group_left_open", exit_class::groups},
      {"p2p_unmatched", exit_class::point_to_point},
      {"p2p_size_mismatch", exit_class::point_to_point},
      {"p2p_cycle", exit_class::point_to_point},
      {"cross_group_deadlock", exit_class::across_groups},
      {"latent_deadlock", exit_class::across_groups},
      {"transport_stall", exit_class::library_or_wire},
      {"comm_error", exit_class::library_or_wire},
      {"config_mismatch", exit_class::library_or_wire},
      {"replica_divergence", exit_class::data},
      {"non_finite", exit_class::data},
      {"reduction_error", exit_class::data},
      {"decision_divergence", exit_class::data},
      {"out_of_memory", exit_class::memory},
      {"memory_imbalance", exit_class::memory},
  };
  for (const entry &row : table) {
    if (kind == row.kind) {
      return row.family;
    }
  }
  return exit_class::undetermined;
}

/// Exit status of a diagnosis: the class of its first verdict.
inline int exit_status(const model::diagnosis &found) {
  return found.verdicts.empty() ? 0 : static_cast<int>(class_of(found.verdicts.front().kind));
}

} // namespace report
} // namespace DTDEBUG_ABI
} // namespace dtdebug
