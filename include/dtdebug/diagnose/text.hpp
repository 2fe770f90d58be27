// Words for ranks, calls and places: the vocabulary of every sentence that a verdict says.
#pragma once

#include <dtdebug/core/call_desc.hpp>
#include <dtdebug/core/op.hpp>
#include <dtdebug/model/snapshot.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace diagnose {

using rank_list = std::vector<std::int32_t>;

/// Sorted and without repetition.
inline rank_list ordered(rank_list ranks) {
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

/// "0-2,5"; "none" for an empty list. `ranks` must be sorted.
inline std::string fold(const rank_list &ranks) {
  std::string out;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) {
      ++last;
    }
    out += (out.empty() ? "" : ",") + std::to_string(ranks[i]);
    if (last > i) {
      out += (last == i + 1 ? "," : "-") + std::to_string(ranks[last]);
    }
    i = last + 1;
  }
  return out.empty() ? "none" : out;
}

/// `fold`, cut after a few parts: a sentence must stay readable with thousands of ranks.
inline std::string fold_short(const rank_list &ranks) {
  std::string full = fold(ranks);
  std::size_t commas = 0;
  for (std::size_t i = 0; i < full.size(); ++i) {
    if (full[i] == ',' && ++commas == 6) {
      return full.substr(0, i) + ",… (" + std::to_string(ranks.size()) + " ranks)";
    }
  }
  return full;
}

/// "rank 3" or "ranks 0-2,5".
inline std::string who(const rank_list &ranks) { return (ranks.size() == 1 ? "rank " : "ranks ") + fold_short(ranks); }

/// `who` at the beginning of a sentence.
inline std::string subject(const rank_list &ranks) {
  return (ranks.size() == 1 ? "Rank " : "Ranks ") + fold_short(ranks);
}

/// The form of a verb that fits the number of ranks: verb(r, "waits", "wait").
inline const char *verb(const rank_list &ranks, const char *one, const char *many) {
  return ranks.size() == 1 ? one : many;
}

/// "file:line", an address when no line is known, empty when nothing is.
inline std::string place(const model::rank_snapshot &rank, const model::call &call) {
  if (call.site >= rank.sites.size()) {
    return {};
  }
  const model::site &s = rank.sites[call.site];
  if (s.known()) {
    return s.file + ":" + std::to_string(s.line);
  }
  if (s.pc == 0) {
    return {};
  }
  std::string digits;
  for (std::uint64_t value = s.pc; value != 0; value >>= 4U) {
    digits.insert(digits.begin(), "0123456789abcdef"[value & 15U]);
  }
  return "0x" + digits;
}

/// The function and the call as written at the place of a call; empty when not known.
inline std::string place_function(const model::rank_snapshot &rank, const model::call &call) {
  if (call.site >= rank.sites.size()) {
    return {};
  }
  const model::site &s = rank.sites[call.site];
  return s.function.empty() ? s.text : s.text.empty() ? s.function : s.function + ": " + s.text;
}

/// "f32[1024,4096]".
inline std::string shape_text(const model::call &call) {
  std::string out = name(call.type);
  out += '[';
  if (call.has_dims) {
    for (std::size_t i = 0; i < call.dims.size(); ++i) {
      out += (i == 0 ? "" : ",") + std::to_string(call.dims[i]);
    }
  } else {
    out += std::to_string(call.count);
  }
  return out + ']';
}

inline std::string list_text(const std::vector<std::int64_t> &numbers) {
  std::string out;
  for (const std::int64_t n : numbers) {
    out += (out.empty() ? "" : ",") + std::to_string(n);
  }
  return out;
}

/// The call with all its arguments: `all_reduce f32[4096] sum "grad"`, `send f32[16] to 3 tag 7`.
inline std::string call_text(const model::call &call) {
  std::string out = name(call.op);
  if (!carries_no_data(call.op)) {
    out += ' ' + shape_text(call);
  }
  if (call.reduce != redop::none) {
    out += std::string(" ") + name(call.reduce);
  }
  if (!call.label.empty()) {
    out += " \"" + call.label + '"';
  }
  if (is_point_to_point(call.op) || call.op == op_kind::probe) {
    out += call.op == op_kind::send ? " to " : " from ";
    out += call.root == any_rank ? "any rank" : std::to_string(call.root);
    if (call.tag != 0) {
      out += call.tag == any_tag ? ", any tag" : " tag " + std::to_string(call.tag);
    }
  } else if (call.root >= 0 && is_rooted(call.op)) {
    out += " root " + std::to_string(call.root);
  }
  if (!call.splits.empty()) {
    out += " splits " + list_text(call.splits);
  }
  if (!call.recv_splits.empty()) {
    out += " recv " + list_text(call.recv_splits);
  }
  return out;
}

/// "1.5 s", "300 ms".
inline std::string time_text(model::time_ns time) {
  const bool seconds = time >= 1'000'000'000;
  const std::int64_t tenths = time / (seconds ? 100'000'000 : 100'000);
  return std::to_string(tenths / 10) + (tenths % 10 == 0 ? "" : "." + std::to_string(tenths % 10)) +
         (seconds ? " s" : " ms");
}

/// "step 12, phase data loading", or what of it is known; empty if nothing is.
inline std::string breadcrumb(const model::rank_snapshot &rank) {
  std::string out = rank.step >= 0 ? "step " + std::to_string(rank.step) : "";
  if (rank.phase != 0 && rank.phase < rank.phases.size()) {
    out += (out.empty() ? "" : ", ") + ("phase \"" + rank.phases[rank.phase] + '"');
  }
  return out;
}

} // namespace diagnose
} // namespace DTDEBUG_ABI
} // namespace dtdebug
