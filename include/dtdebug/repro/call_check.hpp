// What a communicator on host memory refuses: calls that mean nothing, whatever the other ranks do.
#pragma once

#include <dtdebug/repro/arithmetic.hpp>
#include <dtdebug/repro/host_group.hpp>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace repro {
namespace detail {

[[noreturn]] inline void refuse(const host_call &call, const host_group &group, const std::string &why) {
  throw std::invalid_argument(std::string("host_comm: ") + dtdebug::name(call.op) + " on " + group.name() + ": " + why);
}

/// One count for each member.
inline bool is_table(const std::vector<std::int64_t> &table, std::size_t members) {
  return table.size() == members && std::all_of(table.begin(), table.end(), [](std::int64_t n) { return n >= 0; });
}

inline std::uint64_t total(const std::vector<std::int64_t> &table) {
  std::uint64_t sum = 0;
  for (const std::int64_t number : table) {
    sum += static_cast<std::uint64_t>(number);
  }
  return sum;
}

constexpr bool is_known(op_kind op) noexcept {
  return op != op_kind::scatter_v && op != op_kind::reduce_scatter_v && op != op_kind::neighbor_exchange &&
         (is_collective(op) || is_point_to_point(op));
}

inline void check_rank(const host_call &call, const host_group &group) {
  const bool wildcard = call.op == op_kind::recv && call.root == any_rank;
  const bool wants_rank = is_rooted(call.op) || is_point_to_point(call.op);
  if (wants_rank && !wildcard && (call.root < 0 || static_cast<std::size_t>(call.root) >= group.members().size())) {
    refuse(call, group, "there is no rank " + std::to_string(call.root));
  }
  if (is_point_to_point(call.op) && call.tag < 0 && !(call.op == op_kind::recv && call.tag == any_tag)) {
    refuse(call, group, "tag " + std::to_string(call.tag) + " is negative");
  }
}

inline void check_data(const host_call &call, const host_group &group) {
  const std::size_t members = group.members().size();
  if (is_reduction(call.op) ? !can_reduce(call.type, call.reduce)
                            : !carries_no_data(call.op) && dtdebug::size_of(call.type) == 0) {
    refuse(call, group, std::string("not defined for ") + dtdebug::name(call.type) + " " + dtdebug::name(call.reduce));
  }
  if ((call.op == op_kind::reduce_scatter || call.op == op_kind::all_to_all) && call.count % members != 0) {
    refuse(call, group,
           std::to_string(call.count) + " elements do not divide among " + std::to_string(members) + " members");
  }
  if (call.op == op_kind::all_to_all_v &&
      (!is_table(call.splits, members) || !is_table(call.recv_splits, members) || total(call.splits) != call.count)) {
    refuse(call, group, "both tables need one count for each member, and those sent must add up to the count passed");
  }
}

} // namespace detail

/// Throws std::invalid_argument, naming what is wrong.
inline void check_call(const host_call &call, const host_group &group) {
  if (!detail::is_known(call.op)) {
    detail::refuse(call, group, "not offered here");
  }
  detail::check_rank(call, group);
  detail::check_data(call, group);
}

} // namespace repro
} // namespace DTDEBUG_ABI
} // namespace dtdebug
