// Waiting that nothing else explains: said as such, with what was seen.
#pragma once

#include <dtdebug/diagnose/scene.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace diagnose {

/// transport_stall where all members are in the same call and it does not return; undetermined for any other wait.
/// Only if no other finding says why somebody waits.
inline void find_unexplained_waits(scene &s) {
  const bool explained = std::any_of(s.findings.begin(), s.findings.end(), [](const finding &f) { return f.hangs; });
  if (explained) {
    return;
  }
  finding f;
  f.what = family::unknown;
  f.hangs = true;
  model::verdict &v = f.v;
  for (std::size_t n = s.job.ranks.size(); n < s.waits.nodes.size() && v.ranks.empty(); ++n) {
    const wait_node &m = s.waits.nodes[n];
    if (m.what != wait_node::kind::meeting || m.creation || !m.edges.empty() || !m.hot) {
      continue;
    }
    const bool waited_for_long =
        std::any_of(m.waiters.begin(), m.waiters.end(), [&](std::size_t w) { return s.waits.nodes[w].hot; });
    const circle &c = s.index.circles[m.circle];
    for (const lane &l : c.lanes) {
      const model::call *call = l.at(m.position);
      if (waited_for_long && call != nullptr && is_pending(call->state)) {
        if (v.ranks.empty()) {
          set_culprit_call(v, *l.snap, *call);
          v.step = call->step >= 0 ? std::optional<std::int64_t>(call->step) : std::nullopt;
        }
        v.ranks.push_back(l.rank);
      }
    }
    v.group = c.name;
    v.seq = m.position;
    f.circle = m.circle;
  }
  if (!v.ranks.empty()) {
    v.kind = "transport_stall";
    v.ranks = ordered(v.ranks);
    v.sure = model::confidence::suspected;
    v.headline = "All members of group " + v.group + " are in " + v.detail + " (position " + std::to_string(*v.seq) +
                 ") and agree, but it does not return";
    v.reason = "the program is in order as far as it was recorded: look below it, at library, device and network";
    v.evidence.push_back("all members have made the call, with the same arguments");
    v.evidence.push_back(subject(v.ranks) + " " + verb(v.ranks, "is", "are") + " still in it");
    v.next_steps.push_back("read the library's own log, and the error counters of links and adapters");
    s.findings.push_back(std::move(f));
    return;
  }
  if (!s.settled()) {
    return;
  }
  for (std::size_t r = 0; r < s.index.standings.size(); ++r) {
    const standing &st = s.index.standings[r];
    if (st.gone() || st.ended() || st.unheard()) {
      continue;
    }
    for (const model::call *call : st.host) {
      if (v.ranks.empty()) {
        set_culprit_call(v, s.snap(r), *call);
      }
      v.ranks.push_back(s.rank(r));
      if (v.evidence.size() < 6) {
        v.evidence.push_back("rank " + std::to_string(s.rank(r)) + " waits in " + call_at(s.snap(r), *call));
      }
      break;
    }
  }
  if (v.ranks.empty()) {
    return;
  }
  v.kind = "undetermined";
  v.ranks = ordered(v.ranks);
  v.headline = subject(v.ranks) + " " + verb(v.ranks, "waits", "wait") + ", and the records do not say for what";
  v.reason = "no difference between calls, no dead or idle rank and no circle was found";
  add_unknowns(s, v, v.ranks);
  v.unknowns.push_back("calls that were made outside the recorded ones, for instance with another library");
  v.next_steps.push_back("look at the stacks of " + who(v.ranks));
  s.findings.push_back(std::move(f));
}

} // namespace diagnose
} // namespace DTDEBUG_ABI
} // namespace dtdebug
