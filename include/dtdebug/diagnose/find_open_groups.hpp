// Calls that a batch swallowed because it was never closed.
#pragma once

#include <dtdebug/diagnose/scene.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace diagnose {

/// group_left_open: others wait for a call that sits in an open batch of a rank that has ended or waits elsewhere.
inline void find_open_groups(scene &s) {
  for (std::size_t r = 0; r < s.index.standings.size(); ++r) {
    const standing &st = s.index.standings[r];
    const bool moves_on = !st.ended() && !s.waits.nodes[r].hot;
    const bool own_state = st.gone() || st.stopped() || (!st.ended() && !st.pending());
    if (st.queued.empty() || moves_on || own_state) {
      continue;
    }
    const auto waiting = s.waits.calls_waiting_for(r);
    const model::call *awaited = nullptr;
    const model::call *swallowed = nullptr;
    std::size_t waiter = npos;
    rank_list with;
    for (const auto &[row, call] : waiting) {
      for (const model::call *q : st.queued) {
        const bool same_circle = s.index.circle_of(r, *q) == s.index.circle_of(row, *call);
        const bool message = is_point_to_point(call->op) && is_point_to_point(q->op) && q->op != call->op &&
                             q->root == s.rank(row) && q->tag == call->tag;
        if (same_circle && (message || (is_collective(call->op) && is_collective(q->op)))) {
          with.push_back(s.rank(row));
          if (awaited == nullptr || call->order < awaited->order) {
            awaited = call;
            waiter = row;
            swallowed = q;
          }
        }
      }
    }
    if (awaited == nullptr) {
      continue;
    }
    finding f;
    f.what = family::own;
    f.hangs = true;
    f.circle = s.index.circle_of(waiter, *awaited);
    f.holds = {r};
    f.suspects = {s.rank(r)};
    f.since = {st.queued.front()->order};
    f.at = st.queued.front()->entered;
    model::verdict &v = f.v;
    v.kind = "group_left_open";
    v.group = s.index.group_name(f.circle);
    if (is_collective(awaited->op)) {
      v.seq = awaited->seq;
    }
    v.ranks = {s.rank(r)};
    v.with = ordered(with);
    v.sure = model::confidence::proven;
    set_culprit_call(v, s.snap(r), *swallowed);
    set_other_call(v, s.snap(waiter), *awaited);
    v.headline = subject(v.ranks) +
                 " opened a group of calls and never closed it: " + std::to_string(st.queued.size()) +
                 " calls were never issued, and " + who(v.with) + " " + verb(v.with, "waits", "wait") + " for them";
    v.reason =
        "what is called between group start and group end is issued only by the end, which this rank never reached";
    v.evidence.push_back("first call in the open group: " + call_at(s.snap(r), *st.queued.front()));
    if (const model::note *why = s.error_between(r, st.queued.front()->order, ~std::uint64_t{0})) {
      v.evidence.push_back("rank " + std::to_string(s.rank(r)) + " noted the error \"" + why->text +
                           "\" inside the group");
    }
    set_chain(s, v, s.waits.chain_to(r));
    add_unknowns(s, v, v.ranks);
    v.next_steps.push_back(
        "close the group on every path out of it (early return, exception), for instance with a scope guard");
    s.findings.push_back(std::move(f));
  }
}

} // namespace diagnose
} // namespace DTDEBUG_ABI
} // namespace dtdebug
