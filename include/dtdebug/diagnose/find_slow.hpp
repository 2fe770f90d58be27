// Calls that took longer than the timeout and returned: who came late.
#pragma once

#include <dtdebug/diagnose/scene.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace diagnose {

namespace detail {

/// Calls that met: with the row of each.
using met_calls = std::vector<std::pair<std::size_t, const model::call *>>;

/// Reports a meeting whose last member came more than the timeout after the first. True if it did.
inline bool look_at_lateness(scene &s, std::size_t circle_index, met_calls met, bool collective) {
  if (met.size() < 2) {
    return false;
  }
  std::sort(met.begin(), met.end(), [](const auto &a, const auto &b) {
    return std::make_pair(a.second->entered, a.first) < std::make_pair(b.second->entered, b.first);
  });
  const model::time_ns first = met.front().second->entered;
  const model::time_ns last = met.back().second->entered;
  if (first < 0 || last - first <= s.job.timeout || met.front().second->left < 0) {
    return false;
  }
  // The late ones are those after the largest gap between two arrivals.
  std::size_t cut = 1;
  for (std::size_t i = 1; i < met.size(); ++i) {
    const auto gap = [&met](std::size_t k) { return met[k].second->entered - met[k - 1].second->entered; };
    cut = gap(i) >= gap(cut) ? i : cut;
  }
  // A rank that was itself held up in another call until then is not the one to name.
  rank_list late, in_time;
  const met_calls::value_type *culprit = nullptr;
  for (std::size_t i = 0; i < met.size(); ++i) {
    const auto &[row, call] = met[i];
    if (i < cut) {
      in_time.push_back(s.rank(row));
      continue;
    }
    bool held_up = false;
    const auto &calls = s.snap(row).calls;
    for (const model::call &c : calls) {
      held_up = held_up || (&c != call && c.entered >= 0 && c.left >= 0 && c.order < call->order &&
                            c.left - c.entered > s.job.timeout / 2 && c.left > first + s.job.timeout / 2 &&
                            is_point_to_point(c.op) + is_collective(c.op) + (c.op == op_kind::wait) > 0);
    }
    if (!held_up) {
      late.push_back(s.rank(row));
      culprit = culprit == nullptr ? &met[i] : culprit;
    }
  }
  if (late.empty()) {
    return false;
  }
  finding f;
  f.what = family::slow;
  f.circle = circle_index;
  model::verdict &v = f.v;
  v.kind = "rank_slow";
  v.group = s.index.group_name(circle_index);
  if (collective) {
    v.seq = culprit->second->seq;
  }
  v.ranks = ordered(late);
  v.with = ordered(in_time);
  v.sure = model::confidence::proven;
  set_culprit_call(v, s.snap(culprit->first), *culprit->second);
  set_other_call(v, s.snap(met.front().first), *met.front().second);
  const model::rank_snapshot &rank = s.snap(culprit->first);
  v.step = culprit->second->step >= 0 ? std::optional<std::int64_t>(culprit->second->step) : std::nullopt;
  f.suspects = v.ranks;
  f.since.assign(v.ranks.size(), culprit->second->order);
  f.at = last;
  f.order = culprit->second->order;
  v.headline = subject(v.ranks) + " came " + time_text(culprit->second->entered - first) + " after the first rank to " +
               v.detail + (v.site.empty() ? "" : " at " + v.site) + "; the call is complete: slow, not stuck";
  v.reason = "the others had entered the call and waited longer than the timeout of " + time_text(s.job.timeout);
  const std::uint32_t phase = culprit->second->phase;
  if (phase != 0 && phase < rank.phases.size()) {
    v.evidence.push_back("rank " + std::to_string(rank.rank) + " was in phase \"" + rank.phases[phase] +
                         "\" before the call");
  }
  v.evidence.push_back("first in the call: rank " + std::to_string(s.rank(met.front().first)) + "; last: rank " +
                       std::to_string(s.rank(met.back().first)) + ", " + time_text(last - first) + " later");
  v.next_steps.push_back(
      "see what " + who(v.ranks) +
      " did before this call (first-time work such as compiling or caching?), or raise the timeout if it is meant");
  s.findings.push_back(std::move(f));
  return true;
}

} // namespace detail

/// rank_slow: the first such call of each group and of each pair of ranks; later ones are counted.
inline void find_slow_ranks(scene &s) {
  for (std::size_t c = 0; c < s.index.circles.size(); ++c) {
    const circle &group = s.index.circles[c];
    if (group.lanes.size() < 2) {
      continue;
    }
    // One pass over the longest lane finds old calls; the others are looked at only there.
    std::uint64_t first = ~std::uint64_t{0}, end = 0;
    std::vector<std::uint64_t> old;
    for (const lane &l : group.lanes) {
      first = std::min(first, l.first);
      end = std::max(end, l.end());
      for (std::uint64_t p = l.first; p < l.end(); ++p) {
        const model::call *call = l.at(p);
        if (call != nullptr && call->entered >= 0 && call->left - call->entered > s.job.timeout) {
          old.push_back(p);
        }
      }
    }
    std::sort(old.begin(), old.end());
    old.erase(std::unique(old.begin(), old.end()), old.end());
    for (const std::uint64_t p : old) {
      detail::met_calls met;
      for (const lane &l : group.lanes) {
        if (const model::call *call = l.at(p)) {
          met.emplace_back(s.index.row(l.rank), call);
        }
      }
      if (met.size() == group.lanes.size() && detail::look_at_lateness(s, c, std::move(met), true)) {
        break;
      }
    }
  }
  for (const channel &c : s.index.channels) {
    for (std::size_t k = 0; k < std::min(c.sends.size(), c.recvs.size()); ++k) {
      const model::call *a = c.sends[k];
      const model::call *b = c.recvs[k];
      const std::size_t from = s.index.row(c.from), to = s.index.row(c.to);
      if (a != nullptr && b != nullptr && from != npos && to != npos &&
          std::max(a->left - a->entered, b->left - b->entered) > s.job.timeout &&
          detail::look_at_lateness(s, c.circle, {{from, a}, {to, b}}, false)) {
        break;
      }
    }
  }
}

} // namespace diagnose
} // namespace DTDEBUG_ABI
} // namespace dtdebug
