// Members of a group that make different calls: by position, by order, one call too few or too many.
#pragma once

#include <dtdebug/diagnose/align.hpp>
#include <dtdebug/diagnose/scene.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace diagnose {

/// Compares the lanes of one group. Cost: linear in its calls, plus the alignment of each distinct odd lane.
class call_comparison {
public:
  call_comparison(scene &s, std::size_t circle_index)
      : s_(s), index_(circle_index), circle_(s.index.circles[circle_index]) {}

  void run() {
    for (std::size_t l = 0; l < circle_.lanes.size(); ++l) {
      if (circle_.lanes[l].joined && !circle_.lanes[l].calls.empty()) {
        work_.push_back(l);
      }
    }
    find_dropped();
    if (work_.size() < 2) {
      return;
    }
    while (split()) {
    }
    if (!odd_.empty()) {
      align_odd();
      report();
    }
  }

private:
  struct odd_lane {
    std::size_t lane;
    std::uint64_t gap; ///< first position at which it differs from the others
    bool tie;          ///< as many ranks were on its side as on the other
  };
  struct found {
    edit e;
    field_set fields = 0;
    std::vector<std::size_t> lanes; ///< the culprits
    bool tie = false;
    std::vector<std::uint64_t> again; ///< further positions with the same fault
  };

  const lane &at(std::size_t l) const { return circle_.lanes[l]; }

  static bool same(const model::call *a, const model::call *b) {
    if (a == nullptr || b == nullptr || (a->hard == b->hard && a->soft == b->soft && a->hard != 0 && a->op == b->op)) {
      return true;
    }
    return differing(*a, *b) == 0;
  }

  static std::uint64_t gap(const lane &a, const lane &b, std::uint64_t from) {
    const std::uint64_t end = std::min(a.end(), b.end());
    std::uint64_t p = std::max({a.first, b.first, from});
    while (p < end && same(a.at(p), b.at(p))) {
      ++p;
    }
    return p < end ? p : ~std::uint64_t{0};
  }

  /// An error that the rank noted between the call before this position and the one at it is a reason for blame.
  const model::note *reason(std::size_t l, std::uint64_t position) const {
    const lane &own = at(l);
    const model::call *before = position > own.first ? own.at(position - 1) : nullptr;
    const model::call *here = own.at(position);
    return s_.error_between(s_.index.row(own.rank), issued_after(before),
                            here == nullptr ? ~std::uint64_t{0} : here->order);
  }

  /// Takes the ranks out of `work_` that leave the majority at the first position at which not all are the same.
  bool split() {
    reference_ = work_.front();
    for (const std::size_t l : work_) {
      reference_ = at(l).end() > at(reference_).end() ? l : reference_;
    }
    std::uint64_t p = ~std::uint64_t{0};
    for (const std::size_t l : work_) {
      p = std::min(p, l == reference_ ? p : gap(at(reference_), at(l), checked_));
    }
    if (p == ~std::uint64_t{0}) {
      return false;
    }
    struct camp {
      std::vector<std::size_t> lanes;
      std::size_t weight = 0; ///< without those that have a reason to be wrong
    };
    std::vector<camp> camps;
    for (const std::size_t l : work_) {
      const model::call *c = at(l).at(p);
      if (c == nullptr) {
        continue;
      }
      auto it =
          std::find_if(camps.begin(), camps.end(), [&](const camp &k) { return same(at(k.lanes.front()).at(p), c); });
      if (it == camps.end()) {
        it = camps.emplace(camps.end());
      }
      it->lanes.push_back(l);
      it->weight += reason(l, p) == nullptr ? 1U : 0U;
    }
    std::stable_sort(camps.begin(), camps.end(), [](const camp &a, const camp &b) {
      return std::make_pair(a.weight, a.lanes.size()) > std::make_pair(b.weight, b.lanes.size());
    });
    if (camps.size() < 2) { // a record that is like two different ones: nothing to say
      checked_ = p + 1;
      return true;
    }
    const bool tie = camps[0].weight == camps[1].weight && camps[0].lanes.size() == camps[1].lanes.size();
    for (std::size_t k = 1; k < camps.size(); ++k) {
      for (const std::size_t l : camps[k].lanes) {
        odd_.push_back({l, p, tie});
        work_.erase(std::find(work_.begin(), work_.end(), l));
      }
    }
    checked_ = p;
    return !work_.empty();
  }

  static std::uint64_t tail_hash(const lane &l, std::uint64_t from) {
    std::uint64_t h = mix(from, l.end());
    for (std::uint64_t p = from; p < l.end(); ++p) {
      if (const model::call *c = l.at(p)) {
        h = mix(h, static_cast<std::uint64_t>(c->op) << 24U | static_cast<std::uint64_t>(c->type) << 16U |
                       static_cast<std::uint64_t>(c->reduce) << 8U);
        h = mix(h, is_uneven(c->op) ? 0 : c->count);
        h = mix(h, hash_bytes(c->label.data(), c->label.size(), static_cast<std::uint32_t>(c->root)));
        for (const std::uint64_t d : c->dims) {
          h = mix(h, d);
        }
      }
    }
    return h;
  }

  void align_odd() {
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::vector<odd_lane>> classes; // gap, hash of the rest
    for (const odd_lane &o : odd_) {
      classes[{o.gap, tail_hash(at(o.lane), o.gap)}].push_back(o);
    }
    for (const auto &entry : classes) {
      const odd_lane &first = entry.second.front();
      aligner line_up(at(reference_), at(first.lane));
      std::vector<edit> edits = line_up.run(first.gap);
      for (std::size_t n = 0; n < edits.size(); ++n) {
        if (edits[n].what == edit::kind::skip) {
          const std::uint64_t back =
              earlier_by_line(at(reference_), at(first.lane), edits[n].ref_at, edits[n].own_at, edits[n].ref_count);
          edits[n].ref_at -= back;
          edits[n].own_at -= back;
          edits[n].confirmed += back;
        }
        if (premature(edits[n], at(first.lane))) {
          break;
        }
        for (const odd_lane &o : entry.second) {
          add(edits[n], o, n == 0);
        }
      }
    }
  }

  /// Live, a difference in the last calls is left alone for a moment: the next ones may say whether it is a swap, a
  /// skip or an extra call, and a call that the library lets return early is no hang.
  bool premature(const edit &e, const lane &own) const {
    const model::call *ours = own.at(e.own_at);
    const model::call *theirs = at(reference_).at(e.ref_at);
    if (s_.settled() || e.confirmed > 0 || e.what == edit::kind::reorder) {
      return false;
    }
    const auto young = [this](const model::call *c) {
      return c != nullptr && c->entered >= 0 && !older_than(s_.job, *c, s_.opt.min_wait_ns);
    };
    const bool last = own.end() <= e.own_at + 2 || at(reference_).end() <= e.ref_at + 2;
    return last && (young(ours) || young(theirs));
  }

  void add(const edit &e, const odd_lane &o, bool first) {
    field_set fields = 0;
    const model::call *ours = at(o.lane).at(e.own_at);
    const model::call *theirs = at(reference_).at(e.ref_at);
    if (e.what == edit::kind::differ && ours != nullptr && theirs != nullptr) {
      fields = differing(*ours, *theirs);
    }
    for (found &f : found_) {
      const bool same_edit =
          f.e.what == e.what && f.e.ref_at == e.ref_at && f.e.own_at == e.own_at && f.e.ref_count == e.ref_count &&
          f.e.own_count == e.own_count &&
          (e.what != edit::kind::differ || std::string(mismatch_kind(f.fields)) == mismatch_kind(fields));
      if (same_edit) {
        f.lanes.push_back(o.lane);
        f.fields |= fields;
        f.tie = f.tie || (first && o.tie);
        return;
      }
    }
    found_.push_back({e, fields, {o.lane}, first && o.tie, {}});
  }

  /// True if `b` is the fault `a` once more, in a later step.
  bool repeats(const found &a, const found &b) const {
    if (a.e.what != b.e.what || a.lanes != b.lanes || a.fields != b.fields || a.e.ref_count != b.e.ref_count) {
      return false;
    }
    const lane &own = at(a.lanes.front());
    const lane &ref = at(reference_);
    const bool ours = a.e.what == edit::kind::skip || alike(own.at(a.e.own_at), own.at(b.e.own_at));
    const bool theirs = a.e.what == edit::kind::extra || alike(ref.at(a.e.ref_at), ref.at(b.e.ref_at));
    return ours && theirs;
  }

  void report() {
    std::sort(found_.begin(), found_.end(), [](const found &a, const found &b) {
      return std::make_pair(a.e.ref_at, a.e.own_at) < std::make_pair(b.e.ref_at, b.e.own_at);
    });
    std::vector<found> kept;
    for (found &f : found_) {
      std::sort(f.lanes.begin(), f.lanes.end());
      const auto earlier = std::find_if(kept.begin(), kept.end(), [&](const found &k) { return repeats(k, f); });
      if (earlier != kept.end()) {
        earlier->again.push_back(f.e.ref_at);
      } else {
        kept.push_back(std::move(f));
      }
    }
    for (const found &f : kept) {
      const bool counts = f.e.what == edit::kind::skip || f.e.what == edit::kind::extra;
      for (const std::size_t l : f.lanes) {
        if (counts) {
          s_.shifted.emplace_back(index_, at(l).rank);
        }
      }
      s_.findings.push_back(describe(f));
    }
  }

  /// Calls on zero elements, which the library drops, where other members pass some at the same position.
  void find_dropped() {
    std::map<std::tuple<std::uint64_t, op_kind, std::string>, std::map<std::size_t, const model::call *>> empty;
    for (std::size_t l = 0; l < circle_.lanes.size(); ++l) {
      for (const model::call *e : at(l).empties) {
        if (e->count == 0) {
          empty[{e->seq, e->op, e->label}].emplace(l, e);
        }
      }
    }
    for (const auto &[key, lanes] : empty) {
      const std::uint64_t p = std::get<0>(key);
      std::vector<std::size_t> full, dropped;
      for (const std::size_t l : work_) {
        const model::call *c = at(l).at(p);
        if (lanes.count(l) == 0 && c != nullptr && c->op == std::get<1>(key) && c->label == std::get<2>(key)) {
          full.push_back(l);
        }
      }
      for (const auto &entry : lanes) { // one empty call more is harmless as long as all others line up
        const lane &own = at(entry.first);
        const model::call *here = own.at(p);
        const model::call *theirs = full.empty() ? nullptr : at(full.front()).at(p);
        const bool lines_up = theirs != nullptr && here != nullptr && alike(here, theirs) &&
                              own.end() >= at(full.front()).end() &&
                              (!somebody_waits() || same_steps(own, at(full.front()), p));
        if (!lines_up && !s_.is_shifted(index_, own.rank)) {
          dropped.push_back(entry.first);
        }
      }
      if (full.empty() || dropped.empty()) {
        continue;
      }
      report_dropped(p, full, dropped, *lanes.at(dropped.front()), *at(full.front()).at(p));
      for (const std::size_t l : dropped) {
        s_.shifted.emplace_back(index_, at(l).rank);
      }
      const auto &smaller = dropped.size() <= full.size() ? dropped : full;
      work_.erase(
          std::remove_if(work_.begin(), work_.end(),
                         [&](std::size_t l) { return std::find(smaller.begin(), smaller.end(), l) != smaller.end(); }),
          work_.end());
    }
  }

  /// True if the calls of both from this position on belong to the same steps, as far as steps are known.
  static bool same_steps(const lane &a, const lane &b, std::uint64_t from) {
    bool known = false;
    for (std::uint64_t p = from; p < std::min(a.end(), b.end()); ++p) {
      if (a.at(p) != nullptr && b.at(p) != nullptr && a.at(p)->step >= 0) {
        known = true;
        if (a.at(p)->step != b.at(p)->step) {
          return false;
        }
      }
    }
    return known;
  }

  bool somebody_waits() const {
    return std::any_of(s_.waits.nodes.begin(), s_.waits.nodes.end(),
                       [this](const wait_node &n) { return n.what == wait_node::kind::meeting && n.circle == index_; });
  }

  void report_dropped(std::uint64_t p, const std::vector<std::size_t> &full, const std::vector<std::size_t> &dropped,
                      const model::call &zero, const model::call &call) {
    finding out;
    out.what = family::calls;
    out.circle = index_;
    model::verdict &v = out.v;
    v.kind = "count_mismatch";
    v.group = circle_.name;
    v.seq = p;
    v.fields = {"count"};
    v.sure = model::confidence::proven;
    v.tie = full.size() == dropped.size();
    const bool few_dropped = dropped.size() <= full.size();
    const auto ranks = [&](const std::vector<std::size_t> &lanes) {
      rank_list list;
      for (const std::size_t l : lanes) {
        list.push_back(at(l).rank);
      }
      return ordered(list);
    };
    v.ranks = ranks(few_dropped ? dropped : full);
    v.with = ranks(few_dropped ? full : dropped);
    const model::rank_snapshot &zero_rank = *at(dropped.front()).snap;
    const model::rank_snapshot &full_rank = *at(full.front()).snap;
    set_culprit_call(v, few_dropped ? zero_rank : full_rank, few_dropped ? zero : call);
    set_other_call(v, few_dropped ? full_rank : zero_rank, few_dropped ? call : zero);
    v.headline = subject(ranks(dropped)) + " called " + call_text(zero) + " with zero elements where " +
                 who(ranks(full)) + " passed " + call_text(call) + " (" + position_text(v.group, p) + ")";
    v.reason = v.tie ? "as many ranks are on one side as on the other, so neither is blamed"
                     : who(v.ranks) + " " + verb(v.ranks, "is", "are") + " the smaller side";
    v.evidence.push_back("a call on zero elements returns at once and takes no position: " + who(ranks(dropped)) +
                         " went on, one position behind the others");
    v.next_steps.push_back("let every rank pass the same number of elements, or none of them");
    v.step = zero.step >= 0 ? std::optional<std::int64_t>(zero.step) : std::nullopt;
    out.at = zero.entered;
    out.order = zero.order;
    out.suspects = v.ranks;
    out.since.assign(v.ranks.size(), few_dropped ? zero.order : call.order);
    add_unknowns(s_, v, v.ranks);
    hold({{edit::kind::skip, p, p, 1, 0, 0, false}, 0, {}, false, {}}, out);
    s_.findings.push_back(std::move(out));
  }

  finding describe(const found &f) {
    const lane &own = at(f.lanes.front());
    const lane &ref = at(reference_);
    const model::call *ours = own.at(f.e.own_at);
    const model::call *theirs = ref.at(f.e.ref_at);
    finding out;
    out.what = family::calls;
    out.circle = index_;
    model::verdict &v = out.v;
    v.group = circle_.name;
    v.tie = f.tie;
    for (const std::size_t l : f.lanes) {
      v.ranks.push_back(at(l).rank);
      const model::call *before = f.e.own_at > at(l).first ? at(l).at(f.e.own_at - 1) : nullptr;
      out.suspects.push_back(at(l).rank);
      out.since.push_back(issued_after(before));
    }
    v.ranks = ordered(v.ranks);
    const bool extra = f.e.what == edit::kind::extra;
    v.seq = extra ? f.e.own_at : f.e.ref_at;
    for (const lane &l : circle_.lanes) {
      const auto odd = std::find_if(odd_.begin(), odd_.end(), [&](const odd_lane &o) { return &at(o.lane) == &l; });
      const bool in_step = odd == odd_.end() || odd->gap > f.e.ref_at;
      if (in_step && l.joined &&
          (extra ? l.made(f.e.ref_at) || f.e.ref_at >= ref.end() || !l.calls.empty() : l.made(f.e.ref_at)) &&
          !std::binary_search(v.ranks.begin(), v.ranks.end(), l.rank)) {
        v.with.push_back(l.rank);
      }
    }
    v.with = ordered(v.with);
    if (f.tie && extra && reason(f.lanes.front(), f.e.own_at) == nullptr) {
      return behind(f, std::move(out));
    }
    if (own.snap != nullptr && ours != nullptr) {
      set_culprit_call(v, *own.snap, *ours);
      v.step = ours->step >= 0 ? std::optional<std::int64_t>(ours->step) : std::nullopt;
      out.at = ours->entered;
      out.order = ours->order;
    }
    if (ref.snap != nullptr && theirs != nullptr) {
      set_other_call(v, *ref.snap, *theirs);
    }
    const model::note *why = reason(f.lanes.front(), f.e.own_at);
    const std::string where = position_text(v.group, *v.seq);
    switch (f.e.what) {
    case edit::kind::differ: say_differ(f, v, ours, theirs); break;
    case edit::kind::reorder: say_reorder(f, v); break;
    case edit::kind::skip: say_skip(f, v); break;
    case edit::kind::extra: say_extra(f, v); break;
    }
    if (why != nullptr) {
      v.reason =
          subject(v.ranks) + " noted an error just before it: \"" + (why->text.empty() ? why->name : why->text) + "\"";
      v.evidence.push_back("rank " + std::to_string(own.rank) + " noted the error \"" + why->text + "\" after " +
                           std::to_string(why->order) + " calls");
      v.tie = false;
    } else if (v.tie) {
      v.reason = "as many ranks are on one side as on the other, so neither is blamed";
    } else if (v.reason.empty()) {
      v.reason = std::to_string(v.with.size()) + " of " + std::to_string(v.with.size() + v.ranks.size()) +
                 " ranks agree; " + who(v.ranks) + " " + verb(v.ranks, "is", "are") + " the smaller side";
    }
    if (!f.again.empty()) {
      v.evidence.push_back("the same again at " + std::to_string(f.again.size()) + " later positions, first at " +
                           std::to_string(f.again.front()));
    }
    if (f.e.own_at != f.e.ref_at) {
      v.evidence.push_back("by then the calls of " + who(v.ranks) + " are shifted: its position " +
                           std::to_string(f.e.own_at) + " lines up with position " + std::to_string(f.e.ref_at) +
                           " of the others");
    }
    add_unknowns(s_, v, v.ranks);
    hold(f, out);
    return out;
  }

  /// Of two sides of equal size, one of which made a call more: the one that lacks it is the suspect.
  finding behind(const found &f, finding out) const {
    model::verdict &v = out.v;
    const lane &own = at(f.lanes.front());
    const lane &ref = at(reference_);
    const model::call *call = own.at(f.e.own_at);
    std::swap(v.ranks, v.with);
    v.kind = "missing_call";
    v.sure = model::confidence::likely;
    if (call != nullptr) {
      set_other_call(v, *own.snap, *call);
      v.step = call->step >= 0 ? std::optional<std::int64_t>(call->step) : std::nullopt;
      out.at = call->entered;
      out.order = call->order;
    }
    out.suspects = v.ranks;
    out.since.assign(v.ranks.size(), issued_after(f.e.ref_at > ref.first ? ref.at(f.e.ref_at - 1) : nullptr));
    v.headline = subject(v.ranks) + " skipped " + v.other_detail + (v.other_site.empty() ? "" : " at " + v.other_site) +
                 ", or " + who(v.with) + " made it once too often (" + position_text(v.group, *v.seq) + ")";
    v.reason = "as many ranks are on one side as on the other; the side that is behind is the suspect";
    v.evidence.push_back("without it, " + std::to_string(f.e.confirmed) + " later calls of both sides line up");
    v.next_steps.push_back("look for the condition around " + (v.other_site.empty() ? "that call" : v.other_site) +
                           " that was not the same on both sides");
    add_unknowns(s_, v, v.ranks);
    hold(f, out);
    return out;
  }

  void say_differ(const found &f, model::verdict &v, const model::call *ours, const model::call *theirs) const {
    v.kind = mismatch_kind(f.fields);
    v.fields = field_names(f.fields);
    const bool stops = ours != nullptr && theirs != nullptr && blocks(f.fields, *ours, *theirs);
    v.sure = f.fields == field_label ? model::confidence::likely : model::confidence::proven;
    v.headline = subject(v.ranks) + " called " + v.detail + (v.site.empty() ? "" : " at " + v.site) + " where " +
                 who(v.with) + " called " + v.other_detail + (v.other_site.empty() ? "" : " at " + v.other_site) +
                 " (" + position_text(v.group, *v.seq) + ")";
    std::string fields;
    for (const std::string &field : v.fields) {
      fields += (fields.empty() ? "" : ", ") + field;
    }
    v.evidence.push_back("the two calls differ in: " + fields);
    v.evidence.push_back(stops ? "calls that differ in this never return"
                               : "the calls return all the same, with wrong data");
    v.next_steps.push_back("compare " + (v.site.empty() ? "the call of " + who(v.ranks) : v.site) + " with " +
                           (v.other_site.empty() ? "that of " + who(v.with) : v.other_site) +
                           " and the values that decide its " + v.fields.front());
    if (f.fields == field_label) {
      v.next_steps.push_back(
          "make the order of these calls the same on all ranks, for instance by sorting them by name");
    }
  }

  void say_reorder(const found &f, model::verdict &v) const {
    v.kind = "order_mismatch";
    const model::call *a = at(f.lanes.front()).at(f.e.own_at);
    const model::call *b = at(reference_).at(f.e.ref_at);
    v.fields = a != nullptr && b != nullptr ? field_names(differing(*a, *b)) : std::vector<std::string>{};
    v.sure = model::confidence::proven;
    v.headline = subject(v.ranks) + " made the same " + std::to_string(f.e.ref_count) + " calls as " + who(v.with) +
                 " in another order, from " + position_text(v.group, *v.seq) + " on: first " + v.detail +
                 " where the others made " + v.other_detail;
    const auto list = [&](const lane &l, std::uint64_t from) {
      std::string out;
      for (std::uint64_t n = 0; n < std::min<std::uint64_t>(f.e.ref_count, 6); ++n) {
        const model::call *c = l.at(from + n);
        out += (n == 0 ? "" : ", ") + (c == nullptr ? "?" : call_text(*c));
      }
      return out + (f.e.ref_count > 6 ? ", …" : "");
    };
    v.evidence.push_back(subject(v.ranks) + ": " + list(at(f.lanes.front()), f.e.own_at));
    v.evidence.push_back(subject(v.with) + ": " + list(at(reference_), f.e.ref_at));
    v.next_steps.push_back(
        "make the order the same on all ranks: sort by name, or fix it once on one rank and broadcast it");
  }

  void say_skip(const found &f, model::verdict &v) const {
    v.kind = "missing_call";
    const std::string calls = f.e.ref_count == 1 ? "the call" : std::to_string(f.e.ref_count) + " calls, the first";
    v.headline = subject(v.ranks) + " skipped " + v.other_detail + (v.other_site.empty() ? "" : " at " + v.other_site) +
                 ", which " + who(v.with) + " made at " + position_text(v.group, *v.seq);
    v.op.clear();
    v.sure = f.e.foreseen ? model::confidence::likely : model::confidence::proven;
    if (f.e.foreseen) {
      v.evidence.push_back(subject(v.ranks) + " " + verb(v.ranks, "is", "are") + " in " + v.detail +
                           (v.site.empty() ? "" : " at " + v.site) + ", which in earlier steps came right after " +
                           calls + " that the others are in");
      v.unknowns.push_back("the others have not made a later call yet that would prove the shift");
    } else {
      v.evidence.push_back("after " + calls + " skipped, " + std::to_string(f.e.confirmed) + " later calls of " +
                           who(v.ranks) + " line up with those of the others");
    }
    v.next_steps.push_back("look for the condition around " + (v.other_site.empty() ? "that call" : v.other_site) +
                           " that was false on " + who(v.ranks));
  }

  void say_extra(const found &f, model::verdict &v) const {
    v.kind = "extra_call";
    v.headline = subject(v.ranks) + " made " +
                 (f.e.own_count == 1 ? "" : std::to_string(f.e.own_count) + " calls too many, first ") + v.detail +
                 (v.site.empty() ? "" : " at " + v.site) + ", which " + who(v.with) + " " + verb(v.with, "does", "do") +
                 " not make (" + position_text(v.group, *v.seq) + ")";
    v.sure = f.e.foreseen ? model::confidence::likely : model::confidence::proven;
    if (f.e.foreseen) {
      v.evidence.push_back(subject(v.ranks) + " never made this call before; in earlier steps " + v.other_detail +
                           " came at this point, as it does on the others");
    } else {
      v.evidence.push_back("without it, " + std::to_string(f.e.confirmed) + " later calls of " + who(v.ranks) +
                           " line up with those of the others");
    }
    v.next_steps.push_back("look for the condition around " + (v.site.empty() ? "that call" : v.site) +
                           " that was true on " + who(v.ranks) + " alone");
  }

  /// Marks the places at which ranks wait because of this.
  void hold(const found &f, finding &out) const {
    for (std::size_t n = s_.job.ranks.size(); n < s_.waits.nodes.size(); ++n) {
      const wait_node &node = s_.waits.nodes[n];
      const bool later = node.position >= std::min(f.e.ref_at, f.e.own_at);
      const bool only_here = node.position == f.e.own_at || node.position == f.e.ref_at;
      if (node.what == wait_node::kind::meeting && node.circle == index_ && !node.creation &&
          (f.e.what == edit::kind::differ ? only_here : later)) {
        out.holds.push_back(n);
        out.hangs = true;
      }
    }
  }

  scene &s_;
  const std::size_t index_;
  const circle &circle_;
  std::vector<std::size_t> work_; ///< lanes that agree as far as they go
  std::vector<odd_lane> odd_;
  std::vector<found> found_;
  std::size_t reference_ = 0; ///< the longest lane of work_
  std::uint64_t checked_ = 0; ///< all of work_ agree before this position
};

/// op_, dtype_, count_, redop_, root_, shape_ and order_mismatch, missing_call and extra_call by alignment.
inline void find_different_calls(scene &s) {
  for (std::size_t c = 0; c < s.index.circles.size(); ++c) {
    call_comparison(s, c).run();
  }
}

} // namespace diagnose
} // namespace DTDEBUG_ABI
} // namespace dtdebug
