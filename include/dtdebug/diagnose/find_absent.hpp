// Calls that never came: the rank died, stopped, sits in host code, ended, failed before it, or went another way.
#pragma once

#include <dtdebug/diagnose/align.hpp>
#include <dtdebug/diagnose/scene.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace diagnose {

/// True for a rank that is alive, waits for nothing and has not ended: it computes, sleeps, or waits outside all calls.
inline bool in_host_code(const standing &s) {
  return (s.snap->life == model::liveness::alive || s.snap->life == model::liveness::unknown) && !s.in_call() &&
         s.streams.empty();
}

/// Why a rank by itself makes no more calls, as a kind of verdict; null if it ended cleanly or waits for others.
inline const char *own_state_kind(const standing &s) {
  using model::liveness;
  switch (s.snap->life) {
  case liveness::exited: return "rank_exited";
  case liveness::crashed:
  case liveness::vanished: return "rank_crashed";
  case liveness::never_started: return "rank_exited";
  case liveness::stopped: return "rank_stopped";
  case liveness::ended_cleanly: return nullptr;
  default: return in_host_code(s) ? "rank_stuck_host" : nullptr;
  }
}

inline std::string signal_text(int number) {
  static constexpr std::pair<int, const char *> names[] = {
      {1, "SIGHUP"},   {2, "SIGINT"},   {3, "SIGQUIT"},  {4, "SIGILL"},   {5, "SIGTRAP"},  {6, "SIGABRT"},
      {7, "SIGBUS"},   {8, "SIGFPE"},   {9, "SIGKILL"},  {10, "SIGUSR1"}, {11, "SIGSEGV"}, {12, "SIGUSR2"},
      {13, "SIGPIPE"}, {14, "SIGALRM"}, {15, "SIGTERM"}, {31, "SIGSYS"}};
  for (const auto &[n, text] : names) {
    if (n == number) {
      return text;
    }
  }
  return "signal " + std::to_string(number);
}

/// What happened to a rank, as the predicate of a sentence: "was killed by SIGSEGV", "left with exit code 1".
inline std::string own_state_text(const model::rank_snapshot &rank) {
  using model::liveness;
  switch (rank.life) {
  case liveness::exited:
    return rank.exit_code < 0 ? "left without the clean end"
                              : "left with exit code " + std::to_string(rank.exit_code) + " without the clean end";
  case liveness::crashed:
    return rank.signal == 0 ? "crashed"
                            : "was killed by " + signal_text(rank.signal) +
                                  (rank.oom_killed ? " (the kernel's out-of-memory killer)" : "");
  case liveness::vanished: return "is gone without a last word (SIGKILL or _exit)";
  case liveness::never_started: return "never started, or left before its first record";
  case liveness::stopped: return "is stopped (SIGSTOP, or under a debugger)";
  default: return "sits in host code, in no communication call";
  }
}

/// Finds what nobody else explains: for each rank that others wait for, why it does not come.
class absence {
public:
  explicit absence(scene &s) : s_(s) {}

  void run() {
    for (std::size_t r = 0; r < s_.index.standings.size(); ++r) {
      look_at_own_state(r);
    }
    for (auto &entry : own_) {
      report_own(entry.second);
    }
    for (std::size_t n = s_.job.ranks.size(); n < s_.waits.nodes.size(); ++n) {
      if (s_.waits.nodes[n].what == wait_node::kind::meeting && !s_.waits.nodes[n].creation) {
        look_at_meeting(n);
      }
    }
    for (std::size_t c = 0; c < s_.index.circles.size(); ++c) {
      look_at_end(c);
    }
    look_at_silent_deaths();
  }

private:
  struct own_state {
    std::string kind;
    std::vector<std::size_t> rows;
    const model::call *awaited = nullptr;
    std::size_t waiter = npos;       ///< row of the rank that makes the awaited call
    std::vector<std::size_t> inside; ///< meetings that all have reached, but that these ranks cannot finish
  };
  struct side {
    std::vector<std::size_t> rows;
    const model::note *why = nullptr;
    bool foreseen = false;
  };

  const circle &group(std::size_t c) const { return s_.index.circles[c]; }

  /// The call that the most waits for a rank: the first in the program of those who wait.
  std::pair<std::size_t, const model::call *> first_wait(std::size_t r) const {
    std::pair<std::size_t, const model::call *> best{npos, nullptr};
    for (const auto &w : s_.waits.calls_waiting_for(r)) {
      const auto key = [this](const std::pair<std::size_t, const model::call *> &x) {
        return std::make_tuple(x.second->order, x.second->entered, s_.rank(x.first));
      };
      if (w.first != r && (best.second == nullptr || key(w) < key(best))) {
        best = w;
      }
    }
    return best;
  }

  void look_at_own_state(std::size_t r) {
    const standing &st = s_.index.standings[r];
    const char *kind = own_state_kind(st);
    if (kind == nullptr) {
      return;
    }
    auto [waiter, call] = first_wait(r);
    std::vector<std::size_t> inside;
    if (st.stopped() && st.in_call()) { // it may be stopped where all wait for somebody else
      if (!s_.waits.nodes[r].edges.empty()) {
        for (const auto &e : s_.waits.nodes[r].edges) {
          const wait_node &m = s_.waits.nodes[e.to];
          if (m.what != wait_node::kind::meeting || !m.edges.empty() || e.call == nullptr) {
            continue;
          }
          if (m.waiters.size() > 1) {
            inside.push_back(e.to);
            waiter = r;
            call = e.call;
          } else if (call != nullptr) { // the others have left the call and wait for it in a later one
            inside.push_back(e.to);
          }
        }
      }
      if (inside.empty()) {
        return;
      }
    }
    if (call == nullptr) {
      return;
    }
    const bool certain =
        st.gone() || s_.waits.nodes[r].hot || (st.stopped() && older_than(s_.job, *call, 10 * s_.opt.min_wait_ns));
    if (!certain && !(st.unheard() && s_.settled())) {
      return;
    }
    const std::size_t c = s_.index.circle_of(waiter, *call);
    const std::uint64_t position =
        is_collective(call->op)
            ? call->seq
            : ~std::uint64_t{0} - (is_point_to_point(call->op) ? static_cast<std::uint64_t>(r) + 1 : 0);
    own_state &o = own_[std::make_tuple(std::string(kind), c, position, is_point_to_point(call->op))];
    o.kind = kind;
    o.rows.push_back(r);
    if (o.awaited == nullptr) {
      o.awaited = call;
      o.waiter = waiter;
    }
    o.inside.insert(o.inside.end(), inside.begin(), inside.end());
  }

  void report_own(own_state &o) {
    finding out;
    out.what = family::own;
    out.hangs = true;
    model::verdict &v = out.v;
    v.kind = o.kind;
    const std::size_t c = s_.index.circle_of(o.waiter, *o.awaited);
    out.circle = c;
    v.group = s_.index.group_name(c);
    if (is_collective(o.awaited->op)) {
      v.seq = o.awaited->seq;
    }
    std::set<std::int32_t> waiting;
    for (const std::size_t r : o.rows) {
      v.ranks.push_back(s_.rank(r));
      out.suspects.push_back(s_.rank(r));
      out.since.push_back(s_.snap(r).calls.empty() ? 0 : issued_after(&s_.snap(r).calls.back()));
      out.holds.push_back(r);
      for (const auto &w : s_.waits.calls_waiting_for(r)) {
        waiting.insert(s_.rank(w.first));
      }
    }
    out.holds.insert(out.holds.end(), o.inside.begin(), o.inside.end());
    v.ranks = ordered(v.ranks);
    for (const std::int32_t w : waiting) {
      if (!std::binary_search(v.ranks.begin(), v.ranks.end(), w)) {
        v.with.push_back(w);
      }
    }
    const model::rank_snapshot &rank = s_.snap(o.rows.front());
    const model::rank_snapshot &waiter = s_.snap(o.waiter);
    set_other_call(v, waiter, *o.awaited);
    if (!rank.calls.empty()) {
      v.site = place(rank, rank.calls.back());
      v.site_function = place_function(rank, rank.calls.back());
    }
    v.step = rank.step >= 0 ? std::optional<std::int64_t>(rank.step) : std::nullopt;
    out.at = rank.ended >= 0 ? rank.ended : o.awaited->entered;
    out.order = o.awaited->order;
    v.sure = rank.life == model::liveness::never_started ? model::confidence::suspected : model::confidence::proven;
    const std::string state = own_state_text(rank);
    v.headline = subject(v.ranks) + " " + plural(v.ranks, state) + "; " + (v.with.empty() ? "others" : who(v.with)) +
                 " " + verb(v.with, "waits", "wait") + (v.ranks.size() == 1 ? " for it in " : " for them in ") +
                 v.other_detail + (v.other_site.empty() ? "" : " at " + v.other_site);
    v.reason = subject(v.ranks) + " " + plural(v.ranks, state) + " and will not make the call that the others are in";
    for (std::size_t i = 0; i < o.rows.size() && i < 4; ++i) {
      const model::rank_snapshot &r = s_.snap(o.rows[i]);
      const std::string crumb = breadcrumb(r);
      std::string last = "rank " + std::to_string(r.rank) + " made no call at all";
      if (!r.calls.empty()) {
        last = "rank " + std::to_string(r.rank) + ": last call " + call_at(r, r.calls.back()) + ", " +
               name(r.calls.back().state);
      }
      v.evidence.push_back(last + (crumb.empty() ? "" : "; " + crumb));
      if (const model::note *e =
              s_.error_between(o.rows[i], r.calls.empty() ? 0 : r.calls.back().order, ~std::uint64_t{0})) {
        v.evidence.push_back("rank " + std::to_string(r.rank) + " noted before: \"" + e->text + '"');
      }
    }
    if (rank.life == model::liveness::vanished || (rank.life == model::liveness::crashed && rank.signal == 0)) {
      v.unknowns.push_back("how rank " + std::to_string(rank.rank) +
                           " ended: it left no signal number and no exit code");
    }
    add_unknowns(s_, v, v.ranks);
    set_chain(s_, v, s_.waits.chain_to(o.rows.front()));
    advise(v);
    s_.findings.push_back(std::move(out));
  }

  static std::string plural(const rank_list &ranks, const std::string &predicate) {
    if (ranks.size() == 1) {
      return predicate;
    }
    for (const auto &[one, many] :
         {std::make_pair("was ", "were "), std::make_pair("is ", "are "), std::make_pair("sits ", "sit ")}) {
      if (predicate.rfind(one, 0) == 0) {
        return many + predicate.substr(std::string(one).size());
      }
    }
    return predicate;
  }

  static void advise(model::verdict &v) {
    if (v.kind == "rank_crashed") {
      v.next_steps.push_back("read the last output of " + who(v.ranks) +
                             " and its core file; look for the out-of-memory killer in the kernel log");
    } else if (v.kind == "rank_exited") {
      v.next_steps.push_back("find the exit or return that only " + who(v.ranks) + " took, and end all ranks together");
    } else if (v.kind == "rank_stopped") {
      v.next_steps.push_back("continue " + who(v.ranks) + " (kill -CONT), or detach the debugger");
    } else {
      v.next_steps.push_back("look at the stack of " + who(v.ranks) + ": that is where the job waits");
    }
  }

  /// True if the rank in row `r` has entered the calls of earlier steps in an order by which the one that others wait
  /// for was due before the one it is in now.
  bool skipped_by_habit(std::size_t r, const lane &own, const model::call &awaited, std::size_t waiter) const {
    const standing &st = s_.index.standings[r];
    const model::call *now = !st.host.empty()                          ? st.host.front()
                             : st.waits.empty() && !st.streams.empty() ? st.streams.front().front()
                                                                       : nullptr;
    const auto &calls = s_.snap(r).calls;
    if (now == nullptr || own.calls.size() < 2) {
      return false;
    }
    // The last call before `now` of this rank, and how often before it was followed by the awaited one rather than by
    // `now`.
    std::vector<const model::call *> mine;
    for (const model::call &c : calls) {
      if (is_collective(c.op) || is_point_to_point(c.op)) {
        mine.push_back(&c);
      }
    }
    const auto here = std::find(mine.begin(), mine.end(), now);
    if (here == mine.begin() || here == mine.end()) {
      return false;
    }
    const model::call *previous = *(here - 1);
    int awaited_then_now = 0, now_at_once = 0;
    for (std::size_t k = 1; mine[k] != now; ++k) {
      if (mine[k - 1]->group != previous->group || !alike(mine[k - 1], previous) || mine[k - 1]->op != previous->op) {
        continue;
      }
      const auto is_now = [&](const model::call *c) {
        return c->group == now->group && c->op == now->op && alike(c, now) && same_place(s_.snap(r), *c, *now);
      };
      if (is_now(mine[k])) {
        ++now_at_once;
      } else if (mine[k]->group == own.slot && mine[k]->op == awaited.op && alike(mine[k], &awaited) &&
                 k + 1 < mine.size() && mine[k + 1] != now) {
        awaited_then_now += is_now(mine[k + 1]) ? 1 : 0;
      }
    }
    (void)waiter;
    return awaited_then_now > 0 && now_at_once == 0;
  }

  void look_at_meeting(std::size_t n) {
    const wait_node &m = s_.waits.nodes[n];
    const circle &c = group(m.circle);
    std::vector<std::size_t> made;
    const model::call *call = nullptr;
    std::size_t waiter = npos;
    for (const lane &l : c.lanes) {
      const std::size_t r = s_.index.row(l.rank);
      const model::call *own = l.at(m.position);
      if (r == npos || !l.made(m.position) ||
          (own != nullptr && s_.index.standings[r].gone() && own->state != call_state::done)) {
        continue;
      }
      made.push_back(r);
      if (call == nullptr && own != nullptr && is_pending(own->state)) {
        call = own;
        waiter = r;
      }
    }
    if (call == nullptr) {
      return;
    }
    side ended, failed, habit;
    for (const auto &e : m.edges) {
      const wait_node &target = s_.waits.nodes[e.to];
      const std::size_t r = target.row;
      const standing &st = s_.index.standings[r];
      const lane *own = s_.index.lane_of(r, m.circle);
      if (target.what != wait_node::kind::host || (own != nullptr && own->made(m.position)) ||
          own_state_kind(st) != nullptr) {
        continue;
      }
      if (own == nullptr || s_.is_shifted(m.circle, s_.rank(r)) || is_queued(st, m.circle, r, *call)) {
        continue;
      }
      const model::call *last = own->calls.empty() ? nullptr : own->calls.back();
      const model::note *why = s_.error_between(r, issued_after(last), ~std::uint64_t{0});
      if (!st.ended() && !m.hot) {
        continue;
      }
      if (why != nullptr) {
        failed.rows.push_back(r);
        failed.why = why;
      } else if (st.ended()) {
        ended.rows.push_back(r);
      } else if (m.hot && skipped_by_habit(r, *own, *call, waiter)) {
        habit.rows.push_back(r);
        habit.foreseen = true;
      }
    }
    if (s_.is_shifted(m.circle, s_.rank(waiter)) && failed.rows.empty()) {
      return;
    }
    for (const side *one : {&failed, &habit, &ended}) {
      if (!one->rows.empty()) {
        report_missing(n, m.circle, m.position, *one, made, *call, waiter);
      }
    }
  }

  bool is_queued(const standing &st, std::size_t circle_index, std::size_t r, const model::call &call) const {
    return std::any_of(st.queued.begin(), st.queued.end(), [&](const model::call *q) {
      return s_.index.circle_of(r, *q) == circle_index && q->op == call.op;
    });
  }

  void report_missing(std::size_t node, std::size_t circle_index, std::uint64_t position, const side &absent,
                      const std::vector<std::size_t> &made, const model::call &call, std::size_t waiter) {
    const circle &c = group(circle_index);
    finding out;
    out.what = family::calls;
    out.circle = circle_index;
    out.hangs = node != npos;
    if (node != npos) {
      out.holds.push_back(node);
    }
    model::verdict &v = out.v;
    v.group = c.name;
    v.seq = position;
    rank_list away, there;
    for (const std::size_t r : absent.rows) {
      away.push_back(s_.rank(r));
    }
    for (const std::size_t r : made) {
      there.push_back(s_.rank(r));
    }
    away = ordered(away);
    there = ordered(there);
    const bool has_reason = absent.why != nullptr || absent.foreseen;
    const bool few_made = 2 * there.size() < c.lanes.size() && !has_reason;
    v.ranks = few_made ? there : away;
    v.with = few_made ? away : there;
    for (const std::int32_t r : v.ranks) {
      const std::size_t row = s_.index.row(r);
      const lane *own = s_.index.lane_of(row, circle_index);
      out.suspects.push_back(r);
      const model::call *last = own == nullptr || own->calls.empty() ? nullptr
                                : few_made                           ? own->at(position)
                                                                     : own->calls.back();
      const bool left = row != npos && s_.index.standings[row].ended();
      out.since.push_back(few_made && last != nullptr     ? last->order
                          : left && absent.why == nullptr ? s_.snap(row).calls.size()
                                                          : issued_after(last));
      v.step = !few_made || last == nullptr || last->step < 0 ? v.step : std::optional<std::int64_t>(last->step);
    }
    out.at = call.entered;
    out.order = call.order;
    const lane *theirs = s_.index.lane_of(waiter, circle_index);
    const lane *mine = s_.index.lane_of(absent.rows.front(), circle_index);
    if (!few_made && theirs != nullptr && mine != nullptr && absent.why == nullptr && mine->end() == position &&
        theirs->end() > position) {
      const std::uint64_t back = earlier_by_line(*theirs, *mine, position, position, theirs->end() - position);
      if (back > 0) {
        position -= back;
        v.seq = position;
        v.evidence.push_back(
            "the lines of its last " + std::to_string(back) +
            " calls in the group run ahead of those of the others: that is where the call was left out");
      }
    }
    const model::call &shown =
        theirs != nullptr && !few_made && theirs->at(position) != nullptr ? *theirs->at(position) : call;
    const std::string where = position_text(v.group, position);
    if (few_made) {
      v.kind = "extra_call";
      set_culprit_call(v, s_.snap(waiter), call);
      v.sure = model::confidence::proven;
      v.headline = subject(v.ranks) + " made " + v.detail + (v.site.empty() ? "" : " at " + v.site) + ", which " +
                   who(v.with) + " never " + verb(v.with, "makes", "make") + " (" + where + ")";
      v.reason = "only " + std::to_string(there.size()) + " of " + std::to_string(c.lanes.size()) +
                 " members made the call, and the others have ended in good order";
      v.evidence.push_back(subject(away) + " ended cleanly after " + std::to_string(position) +
                           " collectives of the group");
      v.next_steps.push_back("look for the condition around " + (v.site.empty() ? "that call" : v.site) +
                             " that was true on " + who(v.ranks) + " alone");
    } else {
      say_missing(v, absent, shown, waiter, away, there, where);
    }
    add_unknowns(s_, v, v.ranks);
    if (node != npos) {
      set_chain(s_, v, s_.waits.chain_to(absent.rows.front()));
    }
    s_.findings.push_back(std::move(out));
  }

  void say_missing(model::verdict &v, const side &absent, const model::call &call, std::size_t waiter,
                   const rank_list &away, const rank_list &there, const std::string &where) const {
    v.kind = "missing_call";
    set_other_call(v, s_.snap(waiter), call);
    const standing &st = s_.index.standings[absent.rows.front()];
    const model::rank_snapshot &rank = *st.snap;
    v.sure = absent.foreseen ? model::confidence::likely : model::confidence::proven;
    v.headline = subject(away) + " did not make " + v.other_detail +
                 (v.other_site.empty() ? "" : " at " + v.other_site) + ", " +
                 (is_pending(call.state) ? "in which " + who(there) + " " + verb(there, "waits", "wait")
                                         : "as " + who(there) + " did") +
                 " (" + where + ")";
    if (absent.why != nullptr) {
      v.reason = subject(away) + " noted an error before it and went on without the call: \"" + absent.why->text + '"';
      v.evidence.push_back("rank " + std::to_string(rank.rank) + " noted \"" + absent.why->text + "\" after " +
                           std::to_string(absent.why->order) + " calls");
    } else if (absent.foreseen) {
      v.reason = "in earlier steps " + who(away) + " made this call before the one that it is in now";
      v.unknowns.push_back("whether " + who(away) + " would make the call later");
    } else {
      v.reason = 2 * away.size() == away.size() + there.size()
                     ? who(away) + " " + verb(away, "is", "are") + " behind and has ended: the call will never come"
                     : who(away) + " ended cleanly without the call that the others make";
    }
    if (!st.host.empty()) {
      v.evidence.push_back("rank " + std::to_string(rank.rank) + " is in " + call_at(rank, *st.host.front()) +
                           " (group " + s_.index.group_name(s_.index.circle_of(absent.rows.front(), *st.host.front())) +
                           ")");
    } else if (st.ended()) {
      v.evidence.push_back(subject(away) + " ended cleanly; " + who(there) + " " + verb(there, "waits", "wait"));
    }
    const lane *own = s_.index.lane_of(absent.rows.front(), s_.index.circle_of(waiter, call));
    if (own != nullptr && !own->calls.empty() && own->calls.back() != nullptr) {
      v.evidence.push_back("last call of rank " + std::to_string(rank.rank) +
                           " in the group: " + call_at(rank, *own->calls.back()) + " at position " +
                           std::to_string(own->calls.back()->seq));
    }
    v.next_steps.push_back("look for the condition around " + (v.other_site.empty() ? "that call" : v.other_site) +
                           " that was false on " + who(away));
  }

  /// At the clean end of all members: numbers of calls that differ although nobody waits.
  void look_at_end(std::size_t index) {
    const circle &c = group(index);
    std::uint64_t least = ~std::uint64_t{0}, most = 0;
    for (const lane &l : c.lanes) {
      const std::size_t r = s_.index.row(l.rank);
      if (r == npos || !l.joined || !s_.index.standings[r].ended() || s_.is_shifted(index, l.rank)) {
        return;
      }
      least = std::min(least, l.end());
      most = std::max(most, l.end());
    }
    if (c.lanes.size() < 2 || least >= most || s_.waits.meeting(index, least, false) != npos) {
      return;
    }
    side absent;
    std::vector<std::size_t> made;
    const model::call *call = nullptr;
    std::size_t waiter = npos;
    for (const lane &l : c.lanes) {
      const std::size_t r = s_.index.row(l.rank);
      (l.made(least) ? made : absent.rows).push_back(r);
      if (call == nullptr && l.at(least) != nullptr) {
        call = l.at(least);
        waiter = r;
      }
    }
    if (call != nullptr) {
      for (const std::size_t r : absent.rows) {
        const lane *own = s_.index.lane_of(r, index);
        const model::note *why = s_.error_between(
            r, own == nullptr || own->calls.empty() ? 0 : issued_after(own->calls.back()), ~std::uint64_t{0});
        absent.why = why == nullptr ? absent.why : why;
      }
      report_missing(npos, index, least, absent, made, *call, waiter);
    }
  }

  /// A crash or a failing exit is told even if nobody waits for the rank.
  void look_at_silent_deaths() {
    std::map<std::string, std::vector<std::size_t>> by_kind;
    for (std::size_t r = 0; r < s_.index.standings.size(); ++r) {
      const standing &st = s_.index.standings[r];
      const bool failed = st.gone() && (s_.snap(r).life != model::liveness::exited || s_.snap(r).exit_code > 0);
      const bool told = std::any_of(s_.findings.begin(), s_.findings.end(), [&](const finding &f) {
        return f.what == family::own && std::binary_search(f.v.ranks.begin(), f.v.ranks.end(), s_.rank(r));
      });
      if (failed && !told) {
        by_kind[own_state_kind(st) + std::to_string(s_.snap(r).signal) + "/" + std::to_string(s_.snap(r).exit_code)]
            .push_back(r);
      }
    }
    for (const auto &entry : by_kind) {
      finding out;
      out.what = family::own;
      const model::rank_snapshot &rank = s_.snap(entry.second.front());
      out.v.kind = own_state_kind(s_.index.standings[entry.second.front()]);
      for (const std::size_t r : entry.second) {
        out.v.ranks.push_back(s_.rank(r));
        out.suspects.push_back(s_.rank(r));
        out.since.push_back(s_.snap(r).calls.size());
      }
      out.v.ranks = ordered(out.v.ranks);
      out.at = rank.ended;
      out.v.sure = model::confidence::proven;
      out.v.headline = subject(out.v.ranks) + " " + plural(out.v.ranks, own_state_text(rank)) +
                       "; no call of another rank waits for it";
      out.v.reason = subject(out.v.ranks) + " " + plural(out.v.ranks, own_state_text(rank));
      if (!rank.calls.empty()) {
        out.v.site = place(rank, rank.calls.back());
        out.v.evidence.push_back("last call: " + call_at(rank, rank.calls.back()) + ", " +
                                 name(rank.calls.back().state));
      }
      add_unknowns(s_, out.v, out.v.ranks);
      advise(out.v);
      s_.findings.push_back(std::move(out));
    }
  }

  scene &s_;
  std::map<std::tuple<std::string, std::size_t, std::uint64_t, bool>, own_state> own_;
};

/// rank_exited, rank_crashed, rank_stopped, rank_stuck_host, and missing_call and extra_call at the end of a group's
/// calls.
inline void find_absent_ranks(scene &s) { absence(s).run(); }

} // namespace diagnose
} // namespace DTDEBUG_ABI
} // namespace dtdebug
