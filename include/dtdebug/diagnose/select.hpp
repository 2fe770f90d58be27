// Chooses the root causes among all findings, puts the first one first, and folds what follows from them.
#pragma once

#include <dtdebug/diagnose/scene.hpp>

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace diagnose {

namespace detail {

inline bool any_common(const rank_list &a, const rank_list &b) {
  return std::any_of(a.begin(), a.end(), [&b](std::int32_t r) { return std::find(b.begin(), b.end(), r) != b.end(); });
}

inline bool all_in(const rank_list &a, const rank_list &b) {
  return std::all_of(a.begin(), a.end(), [&b](std::int32_t r) { return std::find(b.begin(), b.end(), r) != b.end(); });
}

/// True if every suspect of `later` is one of `earlier`, and did the other thing first.
inline bool same_ranks_before(const finding &earlier, const finding &later) {
  if (later.suspects.empty()) {
    return false;
  }
  for (std::size_t i = 0; i < later.suspects.size(); ++i) {
    const auto it = std::find(earlier.suspects.begin(), earlier.suspects.end(), later.suspects[i]);
    if (it == earlier.suspects.end()) {
      return false;
    }
    const auto k = static_cast<std::size_t>(it - earlier.suspects.begin());
    if (k < earlier.since.size() && i < later.since.size() && earlier.since[k] > later.since[i]) {
      return false;
    }
  }
  return true;
}

/// Place of a set-up finding: a wrong world makes wrong meshes, those make wrong members, and those other creations.
inline int setup_rank(const finding &f) {
  return f.v.kind == "world_mismatch" ? 0 : f.v.kind == "mesh_mismatch" ? 1 : f.v.kind == "membership_mismatch" ? 2 : 3;
}

inline bool is_death(const finding &f) {
  return f.v.kind == "rank_crashed" || f.v.kind == "rank_exited" || f.v.kind == "rank_stopped";
}

/// True if the ranks of `later` wait, directly or through others, where `cause` holds them.
inline bool held_by(const scene &s, const finding &cause, const finding &later) {
  for (const std::int32_t r : later.v.ranks) {
    const std::size_t row = s.index.row(r);
    const bool waits = row != npos && std::any_of(cause.holds.begin(), cause.holds.end(),
                                                  [&](std::size_t n) { return n != row && s.waits.reaches(row, n); });
    if (!waits) {
      return false;
    }
  }
  return !later.v.ranks.empty();
}

inline bool share_a_wait(const finding &a, const finding &b) {
  return std::any_of(a.holds.begin(), a.holds.end(),
                     [&b](std::size_t n) { return std::find(b.holds.begin(), b.holds.end(), n) != b.holds.end(); });
}

/// Ranks that come to no further call: dead, stopped, or somewhere in their own code.
inline bool is_absence(const finding &f) { return is_death(f) || f.v.kind == "rank_stuck_host"; }

/// True if the last call of the absent ranks is the one that `cause` speaks of, and it failed on them.
inline bool failed_in_the_call(const scene &s, const finding &cause, const finding &absence) {
  const auto failed_there = [&](std::int32_t r) {
    const std::size_t row = s.index.row(r);
    if (row == npos || s.snap(row).calls.empty()) {
      return false;
    }
    const model::rank_snapshot &rank = s.snap(row);
    const model::call &last = rank.calls.back();
    return last.state == call_state::failed && is_collective(last.op) && last.group < rank.groups.size() &&
           rank.groups[last.group].name == cause.v.group && cause.v.seq && *cause.v.seq == last.seq;
  };
  return !absence.v.ranks.empty() && std::all_of(absence.v.ranks.begin(), absence.v.ranks.end(), failed_there);
}

} // namespace detail

/// True if `later` needs no explanation of its own once `cause` is known.
inline bool explains(const scene &s, const finding &cause, const finding &later) {
  using namespace detail;
  const auto is = [](const finding &f, const char *kind) { return f.v.kind == kind; };
  if (is(later, "comm_error")) { // the library complains about peers that are gone
    return is_death(cause) && !any_common(cause.v.ranks, later.v.ranks);
  }
  if (is(cause, "comm_error") || is(cause, "out_of_memory")) {
    return later.what != family::setup && later.what != family::config && later.what != family::slow &&
           same_ranks_before(cause, later);
  }
  if (is_absence(later) && cause.what == family::calls) { // the library returned an error, and the program gave up
    return failed_in_the_call(s, cause, later);
  }
  if (is_death(cause) && is_death(later)) { // the launcher ends the rest of the job after the first death
    return cause.hangs && !later.hangs && cause.at >= 0 && later.at >= cause.at;
  }
  if (cause.what == family::setup && later.hangs && later.what > family::setup) {
    return true;
  }
  if (cause.what == family::setup && later.what == family::setup) {
    return setup_rank(cause) < setup_rank(later);
  }
  if (cause.what == family::decision) {
    const bool calls = later.what == family::calls || later.what == family::message || later.what == family::cycle;
    return calls && (cause.v.tie || same_ranks_before(cause, later) || any_common(cause.v.ranks, later.v.ranks));
  }
  if (later.what == family::cycle && cause.hangs && cause.what < family::cycle) {
    return share_a_wait(cause, later) || held_by(s, cause, later);
  }
  if (cause.what == family::calls && later.what == family::calls && is(cause, "wrong_group")) {
    return share_a_wait(cause, later) ||
           (later.circle == cause.second_circle &&
            (any_common(later.v.ranks, cause.v.ranks) || any_common(later.v.with, cause.v.ranks)));
  }
  if (later.what == family::calls && cause.what == family::calls && later.hangs && is(later, "missing_call")) {
    return same_ranks_before(cause, later); // the ranks that wait for it in other groups
  }
  if (later.what == family::slow && cause.what == family::slow) {
    return all_in(later.v.ranks, cause.v.ranks);
  }
  if (later.what == family::data && cause.what == family::calls) {
    return same_ranks_before(cause, later);
  }
  if (later.what == family::unknown) {
    return true;
  }
  return false;
}

/// A decision on which ranks differ is a finding only if their calls differ after it.
inline void drop_harmless_decisions(std::vector<finding> &findings) {
  const auto harmless = [&findings](const finding &d) {
    return d.what == family::decision && std::none_of(findings.begin(), findings.end(), [&d](const finding &f) {
             const bool calls = f.what == family::calls || f.what == family::message || f.what == family::cycle;
             return calls && (detail::same_ranks_before(d, f) || d.v.tie);
           });
  };
  findings.erase(std::remove_if(findings.begin(), findings.end(), harmless), findings.end());
}

/// Root causes in the order in which to read them, each with its consequences.
inline std::vector<model::verdict> select_causes(scene &s) {
  std::vector<finding> &all = s.findings;
  drop_harmless_decisions(all);
  std::stable_sort(all.begin(), all.end(), [](const finding &a, const finding &b) {
    const auto key = [](const finding &f) {
      const int rank = f.what == family::own     ? (f.v.kind == "comm_error" || f.v.kind == "out_of_memory" ? 0
                                                    : f.hangs                                               ? 1
                                                                                                            : 2)
                       : f.what == family::setup ? detail::setup_rank(f)
                       : f.what == family::calls ? (f.v.kind == "wrong_group" ? 0 : 1)
                                                 : 0;
      return std::make_tuple(f.what, rank, f.at < 0 ? model::time_ns{1} << 62 : f.at, f.order, f.circle,
                             f.v.seq.value_or(0));
    };
    return key(a) < key(b);
  });
  // A complaint about peers that are gone comes after their death, and an absence after the call that failed on it; all
  // others keep their place.
  std::vector<finding> sorted;
  for (const bool consequence : {false, true}) {
    for (const finding &f : all) {
      const bool may_follow = f.v.kind == "comm_error" || detail::is_absence(f);
      const bool follows =
          may_follow && std::any_of(all.begin(), all.end(), [&](const finding &g) {
            return &g != &f && (f.v.kind == "comm_error" || g.what == family::calls) && explains(s, g, f);
          });
      if (follows == consequence) {
        sorted.push_back(f);
      }
    }
  }
  all = std::move(sorted);
  std::vector<std::size_t> parent(all.size(), npos);
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t k = 0; k < i && parent[i] == npos; ++k) {
      if (explains(s, all[k], all[i])) {
        parent[i] = k;
      }
    }
  }
  std::vector<model::verdict> out;
  std::vector<std::size_t> root_at(all.size(), npos);
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::size_t top = i;
    while (parent[top] != npos) {
      top = parent[top];
    }
    if (top == i) {
      root_at[i] = out.size();
      out.push_back(std::move(all[i].v));
    } else {
      out[root_at[top]].consequences.push_back(std::move(all[i].v));
    }
  }
  return out;
}

} // namespace diagnose
} // namespace DTDEBUG_ABI
} // namespace dtdebug
