// The fixed words of the language, and the nearest of them to a misspelt one.
#pragma once

#include <dtdebug/core/dtype.hpp>
#include <dtdebug/core/op.hpp>
#include <dtdebug/schedule/program.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace schedule {

struct verb_name {
  std::string_view text;
  verb what;
  op_kind op;
};

inline constexpr verb_name verb_names[] = {
    {"all_reduce", verb::call, op_kind::all_reduce},
    {"reduce", verb::call, op_kind::reduce},
    {"broadcast", verb::call, op_kind::broadcast},
    {"all_gather", verb::call, op_kind::all_gather},
    {"reduce_scatter", verb::call, op_kind::reduce_scatter},
    {"gather", verb::call, op_kind::gather},
    {"scatter", verb::call, op_kind::scatter},
    {"all_to_all", verb::call, op_kind::all_to_all},
    {"all_to_all_v", verb::call, op_kind::all_to_all_v},
    {"all_gather_v", verb::call, op_kind::all_gather_v},
    {"barrier", verb::call, op_kind::barrier},
    {"send", verb::call, op_kind::send},
    {"recv", verb::call, op_kind::recv},
    {"group_start", verb::group_start, op_kind::none},
    {"group_end", verb::group_end, op_kind::none},
    {"sync", verb::sync, op_kind::none},
    {"sleep", verb::sleep, op_kind::none},
    {"spin", verb::spin, op_kind::none},
    {"block", verb::block, op_kind::none},
    {"exit", verb::exit, op_kind::none},
    {"finish", verb::finish, op_kind::none},
    {"kill", verb::kill, op_kind::none},
    {"stop", verb::stop, op_kind::none},
    {"throw", verb::raise, op_kind::none},
    {"step", verb::step, op_kind::none},
    {"phase", verb::phase, op_kind::none},
    {"decision", verb::decision, op_kind::none},
    {"memory", verb::memory, op_kind::none},
    {"oom", verb::oom, op_kind::none},
    {"tensor", verb::tensor, op_kind::none},
    {"poke", verb::poke, op_kind::none},
    {"replicated", verb::replicated, op_kind::none},
    {"finite", verb::finite, op_kind::none},
    {"fact", verb::fact, op_kind::none},
    {"comm_error", verb::comm_error, op_kind::none},
    {"mesh_check", verb::mesh_check, op_kind::none},
};

inline const verb_name *find_verb(std::string_view text) {
  for (const verb_name &v : verb_names) {
    if (v.text == text) {
      return &v;
    }
  }
  return nullptr;
}

/// The word of a statement, as the language spells it.
inline std::string_view word_of(const instruction &i) {
  for (const verb_name &v : verb_names) {
    if (v.what == i.what && v.op == i.op) {
      return v.text;
    }
  }
  return "";
}

inline constexpr std::string_view verdict_kinds[] = {
    "op_mismatch",       "count_mismatch",   "shape_mismatch",       "dtype_mismatch",
    "redop_mismatch",    "root_mismatch",    "split_mismatch",       "order_mismatch",
    "wrong_group",       "missing_call",     "extra_call",           "rank_exited",
    "rank_crashed",      "rank_stopped",     "rank_stuck_host",      "rank_stuck_device",
    "rank_slow",         "host_unreachable", "membership_mismatch",  "group_order_mismatch",
    "mesh_mismatch",     "world_mismatch",   "group_left_open",      "p2p_unmatched",
    "p2p_size_mismatch", "p2p_cycle",        "cross_group_deadlock", "latent_deadlock",
    "transport_stall",   "comm_error",       "config_mismatch",      "replica_divergence",
    "non_finite",        "reduction_error",  "decision_divergence",  "out_of_memory",
    "memory_imbalance",  "undetermined"};

/// Kinds that the language has no means to bring about.
inline constexpr std::string_view inexpressible_kinds[] = {"rank_stuck_device", "host_unreachable", "transport_stall",
                                                           "reduction_error", "undetermined"};

inline constexpr std::string_view field_names[] = {"op", "dtype", "count", "redop", "root", "shape", "splits", "label"};

inline constexpr std::string_view confidence_names[] = {"proven", "likely", "suspected"};

inline constexpr std::string_view expect_keys[] = {"group", "seq",   "ranks", "with",       "op",
                                                   "other", "field", "site",  "other_site", "peer",
                                                   "chain", "name",  "step",  "tie",        "confidence"};

inline constexpr dtype schedule_dtypes[] = {dtype::i8,  dtype::u8,  dtype::i32,    dtype::u32,
                                            dtype::i64, dtype::u64, dtype::f16,    dtype::bf16,
                                            dtype::f32, dtype::f64, dtype::f8e4m3, dtype::f8e5m2};

inline constexpr redop schedule_redops[] = {redop::sum, redop::prod, redop::min, redop::max, redop::avg};

struct signal_name {
  std::string_view text;
  int number; ///< on Linux, x86 and Arm
};

/// Signals that end a process by default.
inline constexpr signal_name deadly_signals[] = {
    {"SIGHUP", 1},   {"SIGINT", 2},   {"SIGQUIT", 3},  {"SIGILL", 4},   {"SIGTRAP", 5},  {"SIGABRT", 6},
    {"SIGBUS", 7},   {"SIGFPE", 8},   {"SIGKILL", 9},  {"SIGUSR1", 10}, {"SIGSEGV", 11}, {"SIGUSR2", 12},
    {"SIGPIPE", 13}, {"SIGALRM", 14}, {"SIGTERM", 15}, {"SIGXCPU", 24}, {"SIGXFSZ", 25}, {"SIGVTALRM", 26},
    {"SIGPROF", 27}, {"SIGIO", 29},   {"SIGPWR", 30},  {"SIGSYS", 31}};

template <class Words>
bool is_one_of(const Words &words, std::string_view text) {
  return std::find(std::begin(words), std::end(words), text) != std::end(words);
}

/// Insertions, deletions and substitutions from one word to the other (Levenshtein 1965). Cost: product of the lengths.
inline std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) {
    row[j] = j;
  }
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, diagonal + 1, row[j] + 1});
    }
  }
  return row[b.size()];
}

/// "did you mean `X`?" for the nearest word, or "" if none is near.
template <class Words>
std::string did_you_mean(std::string_view text, const Words &words) {
  std::string_view best;
  std::size_t least = text.size() <= 40 ? text.size() / 3 + 2 : 0;
  for (const auto &word : words) {
    const std::string_view candidate = word;
    const std::size_t distance = least == 0 ? least : edit_distance(text, candidate);
    if (distance < least && distance < candidate.size()) {
      least = distance;
      best = candidate;
    }
  }
  return best.empty() ? "" : "did you mean `" + std::string(best) + "`?";
}

} // namespace schedule
} // namespace DTDEBUG_ABI
} // namespace dtdebug
