// A call that fits where the others wait in everything but the group it names.
#pragma once

#include <dtdebug/diagnose/align.hpp>
#include <dtdebug/diagnose/scene.hpp>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace diagnose {

namespace detail {

/// The calls of a rank that may be meant for the group in which others wait: those in which it waits itself, and those
/// with a label that it made since its last one there.
inline std::vector<const model::call *> candidates(const scene &s, std::size_t row, const lane &there) {
  const standing &st = s.index.standings[row];
  std::vector<const model::call *> out;
  for (const auto *line : {&st.host, &st.requests}) {
    std::copy_if(line->begin(), line->end(), std::back_inserter(out),
                 [](const model::call *c) { return is_collective(c->op); });
  }
  for (const auto &stream : st.streams) {
    if (is_collective(stream.front()->op)) {
      out.push_back(stream.front());
    }
  }
  const std::uint64_t since = there.calls.empty() || there.calls.back() == nullptr ? 0 : there.calls.back()->order;
  const auto &calls = s.snap(row).calls;
  for (std::size_t i = calls.size(); i-- > 0 && calls[i].order >= since;) {
    if (is_collective(calls[i].op) && !calls[i].label.empty() && calls[i].state == call_state::done) {
      out.push_back(&calls[i]);
    }
  }
  return out;
}

/// True if the call is lonely where it was made: a member is absent there, or it is the odd one among them.
inline bool out_of_place(const scene &s, std::size_t row, std::size_t circle_index, const model::call &call) {
  const std::size_t n = s.waits.meeting(circle_index, call.seq, false);
  if (n != npos && !s.waits.nodes[n].edges.empty()) {
    const auto &edges = s.waits.nodes[n].edges; // one that failed before the call is reason enough for its absence
    return std::none_of(edges.begin(), edges.end(), [&](const auto &e) {
      const std::size_t r = s.waits.nodes[e.to].row;
      const lane *own = s.index.lane_of(r, circle_index);
      return own != nullptr &&
             s.error_between(r, own->calls.empty() ? 0 : issued_after(own->calls.back()), ~std::uint64_t{0}) != nullptr;
    });
  }
  return !call.label.empty() && std::any_of(s.findings.begin(), s.findings.end(), [&](const finding &f) {
    return f.what == family::calls && f.circle == circle_index &&
           (f.v.tie || std::binary_search(f.v.ranks.begin(), f.v.ranks.end(), s.rank(row)));
  });
}

/// True if something else explains why the rank waits: a chain leads from it to a rank that does not come by itself, or
/// to calls that do not agree. Without a label, calls of two groups may be equal by chance.
inline bool explained_otherwise(const scene &s, std::size_t row) {
  return std::any_of(s.findings.begin(), s.findings.end(), [&](const finding &f) {
    const bool cause = f.hangs && (f.what == family::own ||
                                   (f.what == family::calls && f.v.kind != "missing_call" && f.v.kind != "extra_call"));
    return cause && std::any_of(f.holds.begin(), f.holds.end(),
                                [&](std::size_t n) { return n != row && s.waits.reaches(row, n); });
  });
}

/// True if the rank made such a call in this group before, from the same line: then it belongs there.
inline bool at_home(const scene &s, std::size_t row, const model::call &call) {
  const model::rank_snapshot &rank = s.snap(row);
  return std::any_of(rank.calls.begin(), rank.calls.end(), [&](const model::call &c) {
    return c.order < call.order && c.group == call.group && c.op == call.op && differing(c, call) == 0 &&
           c.label == call.label && same_place(rank, c, call);
  });
}

/// How many ranks made such a call in a group of this name, among their last calls in it.
inline std::size_t uses(const scene &s, const std::string &name, const model::call &call) {
  std::size_t out = 0;
  for (const circle &c : s.index.circles) {
    for (const lane &l : c.lanes) {
      bool made = false;
      const std::uint64_t oldest = l.end() > l.first + 64 ? l.end() - 64 : l.first;
      for (std::uint64_t p = l.end(); c.name == name && p-- > oldest && !made;) {
        const model::call *own = l.at(p);
        made = own != nullptr && own->op == call.op && differing(*own, call) == 0 && own->label == call.label;
      }
      out += made ? 1U : 0U;
    }
  }
  return out;
}

} // namespace detail

/// wrong_group: of two sides that make one call in two groups, the smaller one.
inline void find_wrong_group(scene &s) {
  struct pair_of_sides {
    std::size_t node = npos; ///< where the others wait
    rank_list wrong;
    std::size_t wrong_row = npos, right_row = npos;
    const model::call *wrong_call = nullptr, *right_call = nullptr;
    std::size_t wrong_circle = npos;
  };
  std::map<std::pair<std::size_t, std::size_t>, pair_of_sides> found; // meeting, circle of the wrong call
  for (std::size_t n = s.job.ranks.size(); n < s.waits.nodes.size(); ++n) {
    const wait_node &m = s.waits.nodes[n];
    if (m.what != wait_node::kind::meeting || m.creation || m.edges.empty()) {
      continue;
    }
    std::size_t waiter = npos;
    const model::call *call = nullptr;
    for (const std::size_t w : m.waiters) {
      for (const auto &e : s.waits.nodes[w].edges) {
        if (call == nullptr && e.to == n && e.call != nullptr) {
          call = e.call;
          waiter = s.waits.nodes[w].row;
        }
      }
    }
    if (call == nullptr || (!s.settled() && !older_than(s.job, *call, s.opt.min_wait_ns))) {
      continue;
    }
    for (const auto &e : m.edges) {
      const std::size_t r = s.waits.nodes[e.to].row;
      const standing &st = s.index.standings[r];
      const lane *own = s.index.lane_of(r, m.circle);
      const bool failed = own != nullptr && s.error_between(r, own->calls.empty() ? 0 : issued_after(own->calls.back()),
                                                            ~std::uint64_t{0}) != nullptr;
      if (st.gone() || failed || own == nullptr || s.is_shifted(m.circle, s.rank(r))) {
        continue;
      }
      for (const model::call *c : detail::candidates(s, r, *own)) {
        const std::size_t other = s.index.circle_of(r, *c);
        if (other != npos && other != m.circle && c->op == call->op && differing(*c, *call) == 0 &&
            c->label == call->label && !detail::at_home(s, r, *c) && detail::out_of_place(s, r, other, *c) &&
            (!c->label.empty() || !detail::explained_otherwise(s, r))) {
          pair_of_sides &p = found[{n, other}];
          p.node = n;
          p.wrong.push_back(s.rank(r));
          if (p.wrong_call == nullptr) {
            p.wrong_row = r;
            p.wrong_call = c;
            p.wrong_circle = other;
            p.right_row = waiter;
            p.right_call = call;
          }
        }
      }
    }
  }
  for (const auto &entry : found) {
    const pair_of_sides &p = entry.second;
    const std::size_t right_circle = s.waits.nodes[p.node].circle;
    const rank_list wrong = ordered(p.wrong);
    rank_list right;
    for (const lane &l : s.index.circles[right_circle].lanes) {
      const model::call *c = l.at(s.waits.nodes[p.node].position);
      if (c != nullptr && is_pending(c->state)) {
        right.push_back(l.rank);
      }
    }
    right = ordered(right);
    if (right.empty() || wrong.size() > right.size()) {
      continue;
    }
    // The same pair of groups may be seen from both ends: then the majority is right.
    const auto mirrored = std::find_if(found.begin(), found.end(), [&](const auto &other) {
      return other.second.wrong_circle == right_circle && s.waits.nodes[other.second.node].circle == p.wrong_circle &&
             std::find(other.second.wrong.begin(), other.second.wrong.end(), right.front()) != other.second.wrong.end();
    });
    bool tie = false;
    if (mirrored != found.end()) {
      const auto weight = [&](const pair_of_sides &x) { // of the side that is taken for right: by those who wait, then
                                                        // by all who made the call
        const std::size_t home = s.waits.nodes[x.node].circle;
        return std::make_pair(-static_cast<std::int64_t>(x.wrong.size()),
                              static_cast<std::int64_t>(detail::uses(s, s.index.group_name(home), *x.right_call)));
      };
      tie = weight(p) == weight(mirrored->second);
      if (weight(mirrored->second) > weight(p) || (tie && mirrored->first < entry.first)) {
        continue;
      }
    }
    finding f;
    f.what = family::calls;
    f.hangs = true;
    f.circle = right_circle;
    f.second_circle = p.wrong_circle;
    model::verdict &v = f.v;
    v.kind = "wrong_group";
    v.group = s.index.group_name(right_circle);
    v.seq = s.waits.nodes[p.node].position;
    v.ranks = wrong;
    v.with = right;
    v.tie = tie;
    v.sure = v.tie ? model::confidence::likely : model::confidence::proven;
    set_culprit_call(v, s.snap(p.wrong_row), *p.wrong_call);
    set_other_call(v, s.snap(p.right_row), *p.right_call);
    v.step = p.wrong_call->step >= 0 ? std::optional<std::int64_t>(p.wrong_call->step) : std::nullopt;
    f.at = p.wrong_call->entered;
    f.suspects = wrong;
    f.since.assign(wrong.size(), p.wrong_call->order);
    f.holds.push_back(p.node);
    for (std::size_t n = s.job.ranks.size(); n < s.waits.nodes.size(); ++n) {
      const wait_node &m = s.waits.nodes[n];
      if (m.what == wait_node::kind::meeting && m.circle == p.wrong_circle && !m.creation) {
        f.holds.push_back(n);
      }
    }
    const std::string wrong_group = s.index.group_name(p.wrong_circle);
    v.headline = subject(wrong) + " called " + v.detail + (v.site.empty() ? "" : " at " + v.site) + " on group " +
                 wrong_group + "; " + who(right) + " " + verb(right, "waits", "wait") + " for the same call on group " +
                 v.group + (v.other_site.empty() ? "" : " at " + v.other_site);
    v.reason = v.tie ? "as many ranks use one group as the other, so neither is blamed"
                     : std::to_string(right.size()) + " ranks name group " + v.group + ", " +
                           std::to_string(wrong.size()) + " group " + wrong_group;
    v.evidence.push_back("op, type, count and label are equal; only the group differs");
    v.evidence.push_back("the other members of " + wrong_group + " do not make that call with it");
    v.next_steps.push_back("look at the communicator that " + (v.site.empty() ? "this call" : v.site) + " passes on " +
                           who(wrong));
    s.findings.push_back(std::move(f));
  }
}

} // namespace diagnose
} // namespace DTDEBUG_ABI
} // namespace dtdebug
