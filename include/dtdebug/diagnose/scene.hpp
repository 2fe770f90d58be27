// What every analyser is given, and where it puts what it finds.
#pragma once

#include <dtdebug/diagnose/compare.hpp>
#include <dtdebug/diagnose/index.hpp>
#include <dtdebug/diagnose/options.hpp>
#include <dtdebug/diagnose/text.hpp>
#include <dtdebug/diagnose/waits.hpp>
#include <dtdebug/model/snapshot.hpp>
#include <dtdebug/model/verdict.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace diagnose {

/// Order in which root causes are printed: what a rank did on its own, what ranks agreed on at the start, the decisions
/// before the calls, the calls, the waiting, and at last what did not stop anything.
enum class family : std::uint8_t {
  own,      ///< a rank died, stopped, reported an error or sits in host code
  setup,    ///< world, mesh, members, order of creation
  decision, ///< ranks took different branches
  calls,    ///< different calls, calls not made
  message,  ///< one message without its partner
  cycle,    ///< ranks wait in a circle
  data,
  config,
  memory,
  slow,
  latent,
  unknown,
};

/// A verdict with what is needed to see which other findings it explains.
struct finding {
  model::verdict v;
  family what = family::calls;
  std::size_t circle = npos;        ///< group in which it shows
  std::size_t second_circle = npos; ///< wrong_group: the group that the call named
  rank_list suspects;               ///< ranks whose later findings it may explain; the culprits if there are any
  std::vector<std::uint64_t> since; ///< per suspect: number of calls it had issued before
  std::vector<std::size_t> holds;   ///< nodes of the wait graph that wait because of it
  model::time_ns at = model::never; ///< when it happened, if known
  std::uint64_t order = 0;          ///< issue order of the call in which it shows, on the rank that made it
  bool hangs = false;               ///< somebody waits because of it
};

/// A job under examination.
struct scene {
  scene(const model::job_snapshot &snapshot, const options &opts)
      : job(snapshot), opt(opts), index(snapshot), waits(index, opt) {}
  scene(const scene &) = delete;
  scene &operator=(const scene &) = delete;

  const model::job_snapshot &job;
  const options opt;
  const job_index index;
  const wait_graph waits;
  std::vector<finding> findings;
  std::vector<std::pair<std::size_t, std::int32_t>> shifted; ///< (circle, rank) whose number of calls is explained

  bool settled() const { return opt.settled || job.settled; }
  const model::rank_snapshot &snap(std::size_t row) const { return job.ranks[row]; }
  std::int32_t rank(std::size_t row) const { return job.ranks[row].rank; }

  bool is_shifted(std::size_t circle_index, std::int32_t rank_number) const {
    return std::find(shifted.begin(), shifted.end(), std::make_pair(circle_index, rank_number)) != shifted.end();
  }

  /// The last error that the rank noted after `after` and up to `until` issued calls; null if there is none.
  const model::note *error_between(std::size_t row, std::uint64_t after, std::uint64_t until) const {
    const model::note *found = nullptr;
    for (const model::note &n : job.ranks[row].notes) {
      const bool error = n.kind == model::note_kind::error || n.kind == model::note_kind::out_of_memory ||
                         n.kind == model::note_kind::scope_exception;
      if (error && n.order >= after && n.order <= until) {
        found = &n;
      }
    }
    return found;
  }
};

/// Number of calls that a rank had issued when it had made this one; 0 without a call.
inline std::uint64_t issued_after(const model::call *call) { return call == nullptr ? 0 : call->order + 1; }

/// Fills in one side of a verdict.
inline void set_culprit_call(model::verdict &v, const model::rank_snapshot &rank, const model::call &call) {
  v.op = name(call.op);
  v.site = place(rank, call);
  v.site_function = place_function(rank, call);
  v.detail = call_text(call);
}
inline void set_other_call(model::verdict &v, const model::rank_snapshot &rank, const model::call &call) {
  v.other = name(call.op);
  v.other_site = place(rank, call);
  v.other_function = place_function(rank, call);
  v.other_detail = call_text(call);
}

/// "all_reduce f32[4] sum "x" at a.cpp:7".
inline std::string call_at(const model::rank_snapshot &rank, const model::call &call) {
  const std::string where = place(rank, call);
  return call_text(call) + (where.empty() ? "" : " at " + where);
}

/// "position 4 of group dp", or "group pp" for a message.
inline std::string position_text(const std::string &group, std::uint64_t position) {
  return "position " + std::to_string(position) + " of group " + group;
}

/// One sentence for each step of a wait chain given as rows, and its ranks. A cycle ends with its first row.
inline void set_chain(const scene &s, model::verdict &v, const std::vector<std::size_t> &rows) {
  if (rows.size() < 2) {
    return;
  }
  for (const std::size_t r : rows) {
    v.chain.push_back(s.rank(r));
  }
  for (std::size_t i = 0; i + 1 < rows.size(); ++i) {
    std::string sentence =
        "rank " + std::to_string(s.rank(rows[i])) + " waits for rank " + std::to_string(s.rank(rows[i + 1]));
    const auto calls = s.waits.calls_between(rows[i], rows[i + 1]);
    if (!calls.empty()) {
      const model::call &c = *calls.front();
      const std::string group = s.index.group_name(s.index.circle_of(rows[i], c));
      sentence += " in " + call_at(s.snap(rows[i]), c) +
                  (group.empty()
                       ? ""
                       : " (group " + group + (is_collective(c.op) ? ", position " + std::to_string(c.seq) : "") + ")");
    }
    v.chain_text.push_back(std::move(sentence));
  }
}

/// What is not known about a rank, for the verdict's list of unknowns.
inline void add_unknowns(const scene &s, model::verdict &v, const rank_list &ranks) {
  for (const std::int32_t r : ranks) {
    const std::size_t row = s.index.row(r);
    if (row == npos || s.snap(row).life == model::liveness::never_started) {
      v.unknowns.push_back("nothing is known of rank " + std::to_string(r) + ": no record of it was found");
      continue;
    }
    const model::rank_snapshot &rank = s.snap(row);
    if (rank.calls_lost > 0) {
      v.unknowns.push_back("rank " + std::to_string(r) + ": " + std::to_string(rank.calls_lost) +
                           " older calls were overwritten");
    }
    for (const std::string &missing : rank.missing_evidence) {
      v.unknowns.push_back("rank " + std::to_string(r) + ": " + missing);
    }
    if (v.unknowns.size() > 8) {
      break;
    }
  }
}

} // namespace diagnose
} // namespace DTDEBUG_ABI
} // namespace dtdebug
