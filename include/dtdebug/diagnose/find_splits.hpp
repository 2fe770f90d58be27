// Uneven exchanges whose tables of counts do not fit together.
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

/// One position of an all_to_all_v: reports the pairs that disagree. Quadratic in the members. True if there are any.
inline bool look_at_splits(scene &s, std::size_t circle_index, std::uint64_t position) {
  const circle &c = s.index.circles[circle_index];
  const std::size_t n = c.lanes.size();
  std::vector<const model::call *> calls(n, nullptr);
  for (std::size_t i = 0; i < n; ++i) {
    calls[i] = c.lanes[i].at(position);
    if (calls[i] != nullptr &&
        (calls[i]->op != op_kind::all_to_all_v || calls[i]->splits.size() != n || calls[i]->recv_splits.size() != n)) {
      calls[i] = nullptr;
    }
  }
  std::vector<std::pair<std::size_t, std::size_t>> bad;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n && calls[i] != nullptr; ++j) {
      if (calls[j] != nullptr && calls[i]->splits[j] * static_cast<std::int64_t>(calls[i]->element_size) !=
                                     calls[j]->recv_splits[i] * static_cast<std::int64_t>(calls[j]->element_size)) {
        bad.emplace_back(i, j);
      }
    }
  }
  if (bad.empty()) {
    return false;
  }
  std::vector<std::size_t> in_all;
  for (const std::size_t x : {bad.front().first, bad.front().second}) {
    const bool everywhere =
        std::all_of(bad.begin(), bad.end(), [x](const auto &p) { return p.first == x || p.second == x; });
    if (everywhere && std::find(in_all.begin(), in_all.end(), x) == in_all.end()) {
      in_all.push_back(x);
    }
  }
  finding f;
  f.what = family::calls;
  f.circle = circle_index;
  model::verdict &v = f.v;
  v.kind = "split_mismatch";
  v.group = c.name;
  v.seq = position;
  v.fields = {"splits"};
  v.sure = model::confidence::proven;
  const bool one = in_all.size() == 1;
  const std::size_t ours = one ? in_all.front() : bad.front().first;
  const std::size_t theirs = bad.front().first == ours ? bad.front().second : bad.front().first;
  rank_list concerned;
  for (const auto &[i, j] : bad) {
    concerned.push_back(c.lanes[i].rank);
    concerned.push_back(c.lanes[j].rank);
  }
  concerned = ordered(concerned);
  if (one) {
    v.ranks = {c.lanes[ours].rank};
    for (const lane &l : c.lanes) {
      if (l.rank != v.ranks.front() && l.made(position)) {
        v.with.push_back(l.rank);
      }
    }
    v.with = ordered(v.with);
    v.reason = "it is in each of the " + std::to_string(bad.size()) + " pairs that disagree";
    if (bad.size() == 1) {
      v.ranks.clear();
    }
  } else {
    v.reason = "the pairs that disagree have no single rank in common, so nobody is blamed";
  }
  set_culprit_call(v, *c.lanes[ours].snap, *calls[ours]);
  set_other_call(v, *c.lanes[theirs].snap, *calls[theirs]);
  v.step = calls[ours]->step >= 0 ? std::optional<std::int64_t>(calls[ours]->step) : std::nullopt;
  f.at = calls[ours]->entered;
  f.suspects = one ? v.ranks : concerned;
  for (const std::int32_t r : f.suspects) {
    const auto it = std::find_if(c.lanes.begin(), c.lanes.end(), [r](const lane &l) { return l.rank == r; });
    f.since.push_back(it->at(position) == nullptr ? 0 : it->at(position)->order);
  }
  const auto &[from, to] = bad.front();
  v.headline = (one ? subject(v.ranks) + " and its peers" : subject(concerned)) +
               " disagree in how much they exchange at " + position_text(c.name, position) + ": rank " +
               std::to_string(c.lanes[from].rank) + " sends " + std::to_string(calls[from]->splits[to]) +
               " elements to rank " + std::to_string(c.lanes[to].rank) + ", which expects " +
               std::to_string(calls[to]->recv_splits[from]);
  for (std::size_t i = 0; i < bad.size() && i < 5; ++i) {
    const auto &[a, b] = bad[i];
    v.evidence.push_back("rank " + std::to_string(c.lanes[a].rank) + " sends " + std::to_string(calls[a]->splits[b]) +
                         " to rank " + std::to_string(c.lanes[b].rank) + ", which expects " +
                         std::to_string(calls[b]->recv_splits[a]));
  }
  v.next_steps.push_back(
      "exchange the table of counts (all_to_all of the splits) in the same step in which it is used");
  const std::size_t node = s.waits.meeting(circle_index, position, false);
  if (node != npos) {
    f.holds.push_back(node);
    f.hangs = true;
  }
  s.findings.push_back(std::move(f));
  return true;
}

} // namespace detail

/// split_mismatch. Positions that still wait are always looked at, finished ones as far as a budget of pairs allows.
inline void find_split_mismatch(scene &s) {
  std::uint64_t budget = 20'000'000;
  for (std::size_t c = 0; c < s.index.circles.size(); ++c) {
    const circle &group = s.index.circles[c];
    const std::uint64_t pairs = static_cast<std::uint64_t>(group.lanes.size()) * group.lanes.size();
    std::uint64_t first = ~std::uint64_t{0}, end = 0;
    for (const lane &l : group.lanes) {
      first = std::min(first, l.first);
      end = std::max(end, l.end());
    }
    const lane *sample = nullptr;
    for (const lane &l : group.lanes) {
      sample = sample == nullptr || l.end() > sample->end() ? &l : sample;
    }
    for (std::uint64_t p = first; sample != nullptr && p < end; ++p) {
      const model::call *call = sample->at(p);
      if (call == nullptr || call->op != op_kind::all_to_all_v || call->splits.empty()) {
        continue;
      }
      const bool waits = s.waits.meeting(c, p, false) != npos;
      if (waits || budget >= pairs) {
        budget -= waits ? 0 : pairs;
        if (detail::look_at_splits(s, c, p)) {
          break; // what follows is a consequence
        }
      }
    }
  }
}

} // namespace diagnose
} // namespace DTDEBUG_ABI
} // namespace dtdebug
