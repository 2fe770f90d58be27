// Exit statuses on which scripts rely.
#include <dtdebug/report/exit_class.hpp>

#include <doctest/doctest.h>

#include <string>

using namespace dtdebug;

TEST_CASE("each family of kinds has its exit status") {
  const struct {
    const char *kind;
    int status;
  } all[] = {
      {"op_mismatch", 10},
      {"count_mismatch", 10},
      {"shape_mismatch", 10},
      {"dtype_mismatch", 10},
      {"redop_mismatch", 10},
      {"root_mismatch", 10},
      {"split_mismatch", 10},
      {"order_mismatch", 10},
      {"wrong_group", 10},
      {"missing_call", 11},
      {"extra_call", 11},
      {"rank_exited", 11},
      {"rank_crashed", 11},
      {"rank_stopped", 11},
      {"rank_stuck_host", 11},
      {"rank_stuck_device", 11},
      {"rank_slow", 11},
      {"host_unreachable", 11},
      {"mesh_mismatch", 12},
      {"membership_mismatch", 12},
      {"group_order_mismatch", 12},
      {"world_mismatch", 12},
      {"group_left_open", 12},
      {"p2p_unmatched", 13},
      {"p2p_size_mismatch", 13},
      {"p2p_cycle", 13},
      {"latent_deadlock", 14},
      {"cross_group_deadlock", 14},
      {"transport_stall", 15},
      {"comm_error", 15},
      {"config_mismatch", 15},
      {"replica_divergence", 16},
      {"non_finite", 16},
      {"reduction_error", 16},
      {"out_of_memory", 17},
      {"decision_divergence", 16},
      {"memory_imbalance", 17},
      {"undetermined", 19},
      {"", 19},
      {"a kind of a later version", 19},
  };
  for (const auto &each : all) {
    CAPTURE(each.kind);
    CHECK(static_cast<int>(report::class_of(each.kind)) == each.status);
  }
}

TEST_CASE("the first verdict decides, its consequences do not") {
  model::diagnosis found;
  CHECK(report::exit_status(found) == 0);
  model::verdict cause;
  cause.kind = "rank_crashed";
  model::verdict consequence;
  consequence.kind = "comm_error";
  cause.consequences.push_back(consequence);
  model::verdict other;
  other.kind = "non_finite";
  found.verdicts = {cause, other};
  CHECK(report::exit_status(found) == 11);
}
