// Ranks that wait in a circle: through messages, through collectives of several groups, or through creations of groups.
#pragma once

#include <dtdebug/diagnose/scene.hpp>
#include <dtdebug/diagnose/vote.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace diagnose {

namespace detail {

/// What is on a knot of the wait graph.
struct knot {
  std::vector<std::size_t> nodes;
  std::set<std::size_t> rows;
  std::vector<std::pair<std::size_t, const model::call *>> calls; ///< row and call of each inner edge that has one
  std::map<std::size_t, std::set<std::size_t>> next;              ///< rank waits for rank, streams and meetings folded
};

inline knot untangle(const scene &s, const std::vector<std::size_t> &part) {
  knot k;
  k.nodes = part;
  const auto inside = [&part](std::size_t n) { return std::binary_search(part.begin(), part.end(), n); };
  for (const std::size_t n : part) {
    const wait_node &node = s.waits.nodes[n];
    if (node.row == npos) {
      continue;
    }
    k.rows.insert(node.row);
    for (const auto &e : node.edges) {
      if (!inside(e.to)) {
        continue;
      }
      const wait_node &target = s.waits.nodes[e.to];
      if (e.call != nullptr && (target.what == wait_node::kind::meeting || target.row != node.row)) {
        k.calls.emplace_back(node.row, e.call);
      }
      if (target.what != wait_node::kind::meeting) {
        k.next[node.row].insert(target.row);
        continue;
      }
      for (const auto &absent : target.edges) {
        if (inside(absent.to)) {
          k.next[node.row].insert(s.waits.nodes[absent.to].row);
        }
      }
    }
  }
  return k;
}

/// The shortest circle through the lowest rank, of equal ones that of the lowest ranks; starts and ends with it.
inline std::vector<std::size_t> shortest_circle(const knot &k) {
  const std::size_t start = *k.rows.begin();
  std::map<std::size_t, std::size_t> from;
  std::vector<std::size_t> layer{start};
  while (!layer.empty()) {
    std::vector<std::size_t> upper;
    for (const std::size_t r : layer) {
      const auto it = k.next.find(r);
      if (it == k.next.end()) {
        continue;
      }
      if (r != start && it->second.count(start) != 0) {
        std::vector<std::size_t> path{start};
        for (std::size_t x = r; x != start; x = from[x]) {
          path.push_back(x);
        }
        path.push_back(start);
        std::reverse(path.begin(), path.end());
        return path;
      }
      for (const std::size_t to : it->second) {
        if (to != start && from.emplace(to, r).second) {
          upper.push_back(to);
        }
      }
    }
    layer = std::move(upper);
  }
  return {};
}

/// Two ranks or more that create groups in opposite orders: who is first in which.
inline void vote_on_creation(const scene &s, const knot &k, finding &f) {
  std::set<std::size_t> circles;
  for (const auto &[row, call] : k.calls) {
    circles.insert(s.index.circle_of(row, *call));
  }
  std::map<std::int32_t, std::string> first; // among those who are in all groups of the knot
  for (const std::size_t row : k.rows) {
    const bool in_all = std::all_of(circles.begin(), circles.end(), [&](std::size_t c) {
      const auto &lanes = s.index.circles[c].lanes;
      return std::any_of(lanes.begin(), lanes.end(), [&](const lane &l) { return l.rank == s.rank(row); });
    });
    for (const auto &[r, call] : k.calls) {
      if (in_all && r == row) {
        first[s.rank(row)] = s.index.group_name(s.index.circle_of(row, *call));
      }
    }
  }
  const vote_result votes = vote(first);
  f.v.ranks = votes.odd;
  f.v.with = votes.rest;
  f.v.tie = votes.tie || votes.agreed;
  f.suspects = votes.odd;
  f.since.assign(f.suspects.size(), 0);
  std::string names;
  for (const std::size_t c : circles) {
    names += (names.empty() ? "" : " and ") + s.index.group_name(c);
  }
  f.v.headline = "Ranks create the groups " + names + " in opposite orders and wait for each other";
  if (!votes.agreed) {
    f.v.headline += ": " + who(votes.odd) + " " + verb(votes.odd, "begins", "begin") + " with " +
                    first[votes.odd.front()] + ", " + who(votes.rest) + " with " + first[votes.rest.front()];
  }
  f.v.reason = f.v.tie ? "as many ranks have one order as the other, so neither is blamed"
                       : who(votes.odd) + " " + verb(votes.odd, "is", "are") + " the smaller side";
  f.v.next_steps.push_back("create groups in one order on all ranks, for instance sorted by name, also on ranks that "
                           "need only some of them");
}

} // namespace detail

/// p2p_cycle, cross_group_deadlock and group_order_mismatch, from the strongly connected parts of the wait graph.
inline void find_cycles(scene &s) {
  for (const auto &part : s.waits.knots()) {
    const detail::knot k = detail::untangle(s, part);
    if (k.rows.size() < 2 || k.calls.empty()) {
      continue;
    }
    bool message = false, creation = false, collective = false, old_enough = true;
    std::set<std::size_t> circles;
    for (const auto &[row, call] : k.calls) {
      message = message || is_point_to_point(call->op) || call->op == op_kind::probe;
      creation = creation || call->op == op_kind::group_create;
      collective = collective || is_collective(call->op);
      circles.insert(s.index.circle_of(row, *call));
      old_enough = old_enough && older_than(s.job, *call, s.opt.min_wait_ns);
    }
    if (!s.settled() && !old_enough) {
      continue;
    }
    if (!message && circles.size() < 2) {
      continue;
    }
    // Members that see one group differently wait in a circle too: the set-up says so already.
    std::set<std::string> group_names;
    for (const std::size_t c : circles) {
      group_names.insert(s.index.group_name(c));
    }
    const bool set_up_differs =
        std::any_of(s.findings.begin(), s.findings.end(), [](const finding &f) { return f.what == family::setup; });
    if (!message && group_names.size() < 2 && set_up_differs) {
      continue;
    }
    // Two halves of one message with different tags are told as such.
    const bool halves = std::any_of(s.findings.begin(), s.findings.end(), [&](const finding &f) {
      return f.v.kind == "p2p_unmatched" && f.v.peer && k.rows.count(s.index.row(f.v.ranks.front())) != 0 &&
             k.rows.count(s.index.row(*f.v.peer)) != 0;
    });
    if (halves) {
      continue;
    }
    finding f;
    f.hangs = true;
    f.holds = k.nodes;
    model::verdict &v = f.v;
    v.sure = model::confidence::proven;
    for (const std::size_t r : k.rows) {
      v.ranks.push_back(s.rank(r));
    }
    f.what = family::cycle;
    f.suspects = v.ranks;
    for (const std::int32_t r : v.ranks) {
      std::uint64_t order = 0;
      for (const auto &[row, call] : k.calls) {
        order = s.rank(row) == r ? std::max(order, call->order) : order;
        f.at = std::max(f.at, call->entered);
      }
      f.since.push_back(order);
    }
    if (circles.size() == 1) {
      f.circle = *circles.begin();
      v.group = s.index.group_name(f.circle);
    }
    set_chain(s, v, detail::shortest_circle(k));
    v.evidence = v.chain_text;
    if (v.evidence.size() > 6) {
      v.evidence.resize(6);
    }
    if (creation && !message && !collective) {
      f.what = family::setup;
      v.kind = "group_order_mismatch";
      v.ranks.clear();
      detail::vote_on_creation(s, k, f);
      s.findings.push_back(std::move(f));
      continue;
    }
    std::string names;
    for (const std::string &n : group_names) {
      names += (names.empty() ? "" : ", ") + n;
    }
    v.reason = "each waits for the next one; no rank on the circle is more to blame than another";
    if (message) {
      v.kind = "p2p_cycle";
      v.headline =
          subject(v.ranks) +
          " wait in a circle with sends and receives: each is in a call whose partner is still busy with another one";
      v.next_steps.push_back("issue the sends and receives together (one group, or non-blocking calls and one wait), "
                             "or let every second rank receive first");
    } else {
      v.kind = "cross_group_deadlock";
      v.headline =
          subject(v.ranks) + " wait in a circle across the groups " + names + ": they entered them in different orders";
      v.next_steps.push_back("call the groups in one order on all ranks, also across streams");
    }
    s.findings.push_back(std::move(f));
  }
}

} // namespace diagnose
} // namespace DTDEBUG_ABI
} // namespace dtdebug
