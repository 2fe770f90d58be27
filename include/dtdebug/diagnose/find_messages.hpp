// Sends and receives: pairs that do not fit, and halves that will never be a message.
#pragma once

#include <dtdebug/diagnose/scene.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace diagnose {

namespace detail {

/// The two ends of a message that differ, as a finding in which nobody is blamed.
inline finding message_finding(const scene &s, const channel &c, const model::call &send, const model::call &recv,
                               field_set fields) {
  finding out;
  out.what = family::calls;
  out.circle = c.circle;
  model::verdict &v = out.v;
  v.group = s.index.group_name(c.circle);
  v.ranks = {c.from};
  v.with = {c.to};
  v.fields = field_names(fields);
  set_culprit_call(v, s.snap(s.index.row(c.from)), send);
  set_other_call(v, s.snap(s.index.row(c.to)), recv);
  v.sure = model::confidence::proven;
  v.step = send.step >= 0 ? std::optional<std::int64_t>(send.step) : std::nullopt;
  out.at = std::max(send.entered, recv.entered);
  out.suspects = {c.from, c.to};
  out.since = {send.order, recv.order};
  return out;
}

inline void look_at_pairs(scene &s, const channel &c) {
  bool size_told = false;
  std::map<std::string, bool> told;
  for (std::size_t k = 0; k < std::min(c.sends.size(), c.recvs.size()); ++k) {
    const model::call *a = c.sends[k];
    const model::call *b = c.recvs[k];
    if (a == nullptr || b == nullptr) {
      continue;
    }
    if (a->bytes() != b->bytes()) {
      // A finished message may be shorter than the buffer (MPI); a longer one is cut. What waits in both halves is
      // stuck.
      const bool both_wait = is_pending(a->state) && is_pending(b->state) && s.settled();
      if (!size_told && (both_wait || a->bytes() > b->bytes())) {
        size_told = true;
        const field_set fields = (a->type != b->type ? field_dtype : 0U) | (a->count != b->count ? field_count : 0U);
        finding f = message_finding(s, c, *a, *b, fields);
        f.what = family::message;
        f.hangs = is_pending(a->state) || is_pending(b->state);
        f.v.kind = "p2p_size_mismatch";
        f.v.with.clear();
        f.v.peer = c.to;
        f.holds = {s.index.row(c.from), s.index.row(c.to)};
        f.v.headline = "Rank " + std::to_string(c.from) + " sends " + std::to_string(a->bytes()) + " bytes to rank " +
                       std::to_string(c.to) + ", which expects " + std::to_string(b->bytes()) + " (" + f.v.detail +
                       " against " + f.v.other_detail + ")";
        f.v.reason = "one pair alone does not say which end is wrong";
        f.v.evidence.push_back("message number " + std::to_string(k) + " from rank " + std::to_string(c.from) +
                               " to rank " + std::to_string(c.to) + " in group " + f.v.group);
        f.v.next_steps.push_back("compare how " + (f.v.site.empty() ? "the sender" : f.v.site) + " and " +
                                 (f.v.other_site.empty() ? "the receiver" : f.v.other_site) + " compute the size");
        s.findings.push_back(std::move(f));
      }
      continue;
    }
    const field_set fields = differing(*a, *b) & (field_dtype | field_shape | field_label);
    const std::string kind = fields == 0 ? "" : mismatch_kind(fields);
    if (fields == 0 || !s.opt.verify || told[kind]) {
      continue;
    }
    told[kind] = true;
    finding f = message_finding(s, c, *a, *b, fields);
    f.v.kind = kind;
    f.v.tie = true;
    f.v.headline = "Rank " + std::to_string(c.from) + " sends " + f.v.detail +
                   (f.v.site.empty() ? "" : " at " + f.v.site) + "; rank " + std::to_string(c.to) + " receives it as " +
                   f.v.other_detail + (f.v.other_site.empty() ? "" : " at " + f.v.other_site);
    f.v.reason = "the two ends disagree, and nothing says which one is wrong";
    f.v.sure = fields == field_label ? model::confidence::likely : model::confidence::proven;
    bool swapped = false;
    for (std::size_t n = k + 1; n < std::min({c.sends.size(), c.recvs.size(), k + 64}) && !swapped; ++n) {
      swapped = c.recvs[n] != nullptr && alike(c.recvs[n], a) && c.recvs[n]->label == a->label;
    }
    if (swapped) {
      f.v.sure = model::confidence::proven;
      f.v.evidence.push_back("the receiver takes the same messages in another order");
    }
    f.v.evidence.push_back("message number " + std::to_string(k) + " from rank " + std::to_string(c.from) +
                           " to rank " + std::to_string(c.to) + " in group " + f.v.group);
    f.v.evidence.push_back("messages match by order and tag, not by meaning: the call returns with the wrong data");
    f.v.next_steps.push_back("give the two kinds of messages different tags, or make the order the same at both ends");
    s.findings.push_back(std::move(f));
  }
}

/// A call of the peer that waits for a message between the two ranks, of the same group, with another tag.
inline const model::call *other_tag(const scene &s, std::size_t peer, std::size_t row, const model::call &call) {
  const standing &st = s.index.standings[peer];
  const auto fits = [&](const model::call *c) {
    return is_point_to_point(c->op) && c->op != call.op && c->root == s.rank(row) && c->tag != call.tag &&
           c->tag != any_tag && s.index.circle_of(peer, *c) == s.index.circle_of(row, call);
  };
  for (const auto *line : {&st.host, &st.requests}) {
    const auto it = std::find_if(line->begin(), line->end(), fits);
    if (it != line->end()) {
      return *it;
    }
  }
  for (const auto &stream : st.streams) {
    if (fits(stream.front())) {
      return stream.front();
    }
  }
  return nullptr;
}

inline void look_at_waiting_half(scene &s, std::size_t agent, std::size_t row, const model::call &call,
                                 std::size_t peer) {
  const standing &st = s.index.standings[peer];
  const bool queued = std::any_of(st.queued.begin(), st.queued.end(), [&](const model::call *q) {
    return is_point_to_point(q->op) && q->op != call.op && q->root == s.rank(row);
  });
  const model::call *tagged = other_tag(s, peer, row, call);
  const bool old_enough = s.settled() || older_than(s.job, call, s.opt.min_wait_ns);
  if (queued || !old_enough || (!st.ended() && tagged == nullptr)) {
    return;
  }
  finding f;
  f.what = family::message;
  f.hangs = true;
  f.circle = s.index.circle_of(row, call);
  model::verdict &v = f.v;
  v.kind = "p2p_unmatched";
  v.group = s.index.group_name(f.circle);
  v.ranks = {s.rank(row)};
  v.peer = s.rank(peer);
  f.suspects = {s.rank(row), s.rank(peer)};
  f.since = {call.order, tagged == nullptr ? s.snap(peer).calls.size() : tagged->order};
  f.holds = {agent, peer};
  f.at = call.entered;
  v.sure = s.snap(peer).calls_lost > 0 && tagged == nullptr ? model::confidence::suspected : model::confidence::proven;
  set_culprit_call(v, s.snap(row), call);
  v.step = call.step >= 0 ? std::optional<std::int64_t>(call.step) : std::nullopt;
  const std::string self = "Rank " + std::to_string(s.rank(row));
  const std::string other = "rank " + std::to_string(s.rank(peer));
  v.headline = self + " waits in " + v.detail + (v.site.empty() ? "" : " at " + v.site) + "; " + other;
  if (tagged != nullptr) {
    set_other_call(v, s.snap(peer), *tagged);
    v.headline += " waits for tag " + std::to_string(tagged->tag) + " in " + v.other_detail +
                  (v.other_site.empty() ? "" : " at " + v.other_site);
    v.reason = "two halves with different tags never become one message; nothing says which tag is right";
    v.next_steps.push_back("compare how the two ends compute the tag");
  } else {
    v.headline += std::string(" has ended without the ") + (call.op == op_kind::send ? "receive" : "send");
    v.reason = "one half of the message was never made: either one too many here, or one too few there";
    v.next_steps.push_back("count the messages between the two: compare the loops around " +
                           (v.site.empty() ? "this call" : v.site) + " and its partner");
    const auto sent = std::count_if(s.snap(peer).calls.begin(), s.snap(peer).calls.end(), [&](const model::call &c) {
      return is_point_to_point(c.op) && c.op != call.op && c.root == s.rank(row) && c.tag == call.tag;
    });
    v.evidence.push_back(other + " made " + std::to_string(sent) + " such calls, this is number " +
                         std::to_string(call.seq + 1) + " of " + std::to_string(s.rank(row)));
  }
  if (const model::note *why = s.error_between(peer, 0, ~std::uint64_t{0})) {
    v.evidence.push_back(other + " noted an error: \"" + why->text + '"');
  }
  add_unknowns(s, v, {s.rank(row), s.rank(peer)});
  s.findings.push_back(std::move(f));
}

} // namespace detail

/// p2p_size_mismatch, p2p_unmatched, and messages whose ends differ silently in type, shape or label.
inline void find_message_faults(scene &s) {
  for (const channel &c : s.index.channels) {
    if (s.index.row(c.from) != npos && s.index.row(c.to) != npos) {
      detail::look_at_pairs(s, c);
    }
  }
  for (std::size_t n = 0; n < s.waits.nodes.size(); ++n) {
    const wait_node &node = s.waits.nodes[n];
    if (node.what == wait_node::kind::meeting) {
      continue;
    }
    for (const auto &e : node.edges) {
      if (e.call != nullptr && is_point_to_point(e.call->op) && s.waits.nodes[e.to].what == wait_node::kind::host) {
        detail::look_at_waiting_half(s, n, node.row, *e.call, s.waits.nodes[e.to].row);
      }
    }
  }
}

} // namespace diagnose
} // namespace DTDEBUG_ABI
} // namespace dtdebug
