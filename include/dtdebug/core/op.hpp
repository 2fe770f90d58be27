// The operations that ranks make together, and what each of them requires its members to agree on.
#pragma once

#include <dtdebug/core/config.hpp>

#include <cstdint>

namespace dtdebug {
inline namespace DTDEBUG_ABI {

/// What a call does. The numbers are part of the black-box format (docs/FORMAT.md): append only.
enum class op_kind : std::uint8_t {
  none = 0,
  all_reduce = 1,
  reduce = 2,
  broadcast = 3,
  all_gather = 4,
  reduce_scatter = 5,
  gather = 6,
  scatter = 7,
  all_to_all = 8,
  all_to_all_v = 9,
  all_gather_v = 10,
  barrier = 11,
  send = 12,
  recv = 13,
  scan = 14,
  exscan = 15,
  gather_v = 16,
  scatter_v = 17,
  reduce_scatter_v = 18,  ///< uneven reduce_scatter (MPI_Reduce_scatter)
  neighbor_exchange = 19, ///< any neighbourhood collective
  group_create = 20,      ///< collective creation of a group: position-less, blocks until all members came
  group_free = 21,        ///< collective end of a group
  probe = 22,             ///< waits for a message without receiving it
  wait = 23,              ///< waits for calls issued before: a request, or a stream (`stream` of the record)
  group_start = 24,       ///< opens a batch: calls until the matching group_end are queued
  group_end = 25,         ///< launches the batch
  init = 26,              ///< start of the communication library
  finalize = 27,          ///< end of the communication library; waits for every rank
  graph_launch = 28,      ///< launch of a captured device graph
};

inline constexpr int op_kind_count = 29;

/// Name as it is printed, and as schedules spell it. Never null. Thread- and signal-safe.
constexpr const char *name(op_kind op) noexcept {
  constexpr const char *names[op_kind_count] = {"none",
                                                "all_reduce",
                                                "reduce",
                                                "broadcast",
                                                "all_gather",
                                                "reduce_scatter",
                                                "gather",
                                                "scatter",
                                                "all_to_all",
                                                "all_to_all_v",
                                                "all_gather_v",
                                                "barrier",
                                                "send",
                                                "recv",
                                                "scan",
                                                "exscan",
                                                "gather_v",
                                                "scatter_v",
                                                "reduce_scatter_v",
                                                "neighbor_exchange",
                                                "group_create",
                                                "group_free",
                                                "probe",
                                                "wait",
                                                "group_start",
                                                "group_end",
                                                "init",
                                                "finalize",
                                                "graph_launch"};
  const auto index = static_cast<unsigned>(op);
  return index < op_kind_count ? names[index] : "unknown";
}

/// True for calls that take a position in their group.
constexpr bool is_collective(op_kind op) noexcept {
  return (op >= op_kind::all_reduce && op <= op_kind::barrier) ||
         (op >= op_kind::scan && op <= op_kind::neighbor_exchange);
}

constexpr bool is_point_to_point(op_kind op) noexcept { return op == op_kind::send || op == op_kind::recv; }

/// True where the values are combined: count, dtype and reduce op must agree, not just the bytes.
constexpr bool is_reduction(op_kind op) noexcept {
  return op == op_kind::all_reduce || op == op_kind::reduce || op == op_kind::reduce_scatter || op == op_kind::scan ||
         op == op_kind::exscan || op == op_kind::reduce_scatter_v;
}

constexpr bool is_rooted(op_kind op) noexcept {
  return op == op_kind::reduce || op == op_kind::broadcast || op == op_kind::gather || op == op_kind::scatter ||
         op == op_kind::gather_v || op == op_kind::scatter_v;
}

/// True where members may contribute different amounts; only pairs have to agree.
constexpr bool is_uneven(op_kind op) noexcept {
  return op == op_kind::all_to_all_v || op == op_kind::all_gather_v || op == op_kind::gather_v ||
         op == op_kind::scatter_v || op == op_kind::reduce_scatter_v || op == op_kind::neighbor_exchange;
}

/// True where the call carries no data at all, so that zero elements mean nothing special.
constexpr bool carries_no_data(op_kind op) noexcept {
  return op == op_kind::barrier || !(is_collective(op) || is_point_to_point(op));
}

} // namespace DTDEBUG_ABI
} // namespace dtdebug
