// Lines up one rank's calls in a group with those of the others: skipped, added, reordered and different calls.
#pragma once

#include <dtdebug/diagnose/compare.hpp>
#include <dtdebug/diagnose/index.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace diagnose {

/// One way in which a lane departs from the reference. `ref_at` is a position of the reference, `own_at` one of the
/// lane.
struct edit {
  enum class kind : std::uint8_t {
    differ,  ///< the calls at these positions differ in some field
    skip,    ///< the lane lacks `ref_count` calls of the reference
    extra,   ///< the lane has `own_count` calls that the reference lacks
    reorder, ///< the same `ref_count` calls in another order
  };
  kind what = kind::differ;
  std::uint64_t ref_at = 0, own_at = 0;
  std::uint64_t ref_count = 1, own_count = 1;
  std::uint64_t confirmed = 0; ///< calls that line up after it, before the next edit
  bool foreseen = false;       ///< rests on the order of earlier steps, not on later calls
};

/// What the calls of a lane would be next, judged by its own past: positions of the same lane, nearest first.
/// Empty if the last call was never made before. Looks back over at most 4096 calls.
inline std::vector<std::uint64_t> foresee(const lane &l, std::uint64_t end, std::size_t limit) {
  std::vector<std::uint64_t> out;
  if (end < l.first + 2 || end > l.end() || l.at(end - 1) == nullptr) {
    return out;
  }
  const std::uint64_t oldest = end - l.first > 4096 ? end - 4096 : l.first;
  std::uint64_t best = 0, best_context = 0;
  for (std::uint64_t k = end - 1; k-- > oldest;) {
    std::uint64_t context = 0;
    while (context < 16 && k >= context + oldest && l.at(k - context) != nullptr &&
           alike(l.at(k - context), l.at(end - 1 - context))) {
      ++context;
    }
    if (context > best_context) {
      best = k;
      best_context = context;
      if (context == 16) {
        break;
      }
    }
  }
  if (best_context == 0) {
    return out;
  }
  for (std::uint64_t k = best + 1; out.size() < limit; ++k) {
    if (k == end) {
      k = best + 1; // the period repeats
    }
    out.push_back(k);
  }
  return out;
}

/// True if two calls of one rank come from the same line, or if nothing is known of their lines.
inline bool same_place(const model::rank_snapshot &rank, const model::call &a, const model::call &b) {
  if (a.site == b.site || a.site >= rank.sites.size() || b.site >= rank.sites.size()) {
    return true;
  }
  const model::site &s = rank.sites[a.site];
  const model::site &t = rank.sites[b.site];
  return s.file == t.file && s.line == t.line && s.pc == t.pc;
}

/// True if calls of two ranks come from the same known line. Addresses of two processes cannot be compared.
inline bool same_line(const lane &a, const model::call *x, const lane &b, const model::call *y) {
  if (x == nullptr || y == nullptr || a.snap == nullptr || b.snap == nullptr || x->site >= a.snap->sites.size() ||
      y->site >= b.snap->sites.size()) {
    return false;
  }
  const model::site &s = a.snap->sites[x->site];
  const model::site &t = b.snap->sites[y->site];
  return s.known() && s.line == t.line && s.file == t.file;
}

/// Calls that look alike leave open which of them was skipped. If the lines tell, because the lane has made each of
/// these calls before and its lines run ahead of the others' by the skipped ones, this is how many positions earlier
/// the skip was than its first visible trace. A line alone is never a reason to report anything.
inline std::uint64_t earlier_by_line(const lane &ref, const lane &own, std::uint64_t ref_at, std::uint64_t own_at,
                                     std::uint64_t skipped) {
  std::uint64_t back = 0;
  while (own_at > own.first + back && ref_at > ref.first + back) {
    const model::call *mine = own.at(own_at - 1 - back);
    const model::call *straight = ref.at(ref_at - 1 - back);
    const model::call *ahead = ref.at(ref_at - 1 - back + skipped);
    if (!alike(mine, ahead) || !same_line(own, mine, ref, ahead) || same_line(own, mine, ref, straight)) {
      break;
    }
    ++back;
  }
  if (back == 0) {
    return 0;
  }
  const model::call *lost = ref.at(ref_at - back);
  for (std::uint64_t p = own_at - back; p-- > own.first;) {
    if (same_line(own, own.at(p), ref, lost) && alike(own.at(p), lost)) {
      return back;
    }
  }
  return 0;
}

/// Lines up `own` with `ref`. Pure; cost O(calls after the first difference × tried explanations).
class aligner {
public:
  aligner(const lane &ref, const lane &own) : ref_(ref), own_(own) {}

  /// Edits from position `from` on, at which the two lanes are still in step. At most `limit` edits.
  std::vector<edit> run(std::uint64_t from, std::size_t limit = 64) {
    std::vector<edit> out;
    std::uint64_t i = from, j = from;
    while (out.size() < limit) {
      while (i < ref_.end() && j < own_.end()) {
        const model::call *a = ref_.at(i);
        const model::call *b = own_.at(j);
        if (a != nullptr && b != nullptr && differing(*a, *b) != 0) {
          break;
        }
        ++i, ++j;
      }
      if (i >= ref_.end() || j >= own_.end()) {
        break;
      }
      const edit e = explain(i, j);
      out.push_back(e);
      i = e.ref_at + e.ref_count;
      j = e.own_at + e.own_count;
    }
    ref_left = i < ref_.end() ? ref_.end() - i : 0;
    own_left = j < own_.end() ? own_.end() - j : 0;
    return out;
  }

  std::uint64_t ref_left = 0, own_left = 0; ///< calls beyond the end of the other lane, after `run`

private:
  // Costs in tenths of an edit. A cheaper explanation needs fewer independent faults.
  static constexpr int cost_shift = 20; ///< one skip or one addition
  static constexpr int cost_differ = 29;
  static constexpr int cost_label =
      10; ///< more for a difference in the label alone: nobody passes one buffer for another by itself
  static constexpr int cost_reorder = 20;
  static constexpr int cost_more_reorder = 3; ///< the same disorder once more
  static constexpr int cost_instead = 10;     ///< less for a call that clearly stands for the other one
  static constexpr int cost_break = 60;       ///< the calls after it do not line up to the end
  static constexpr int cost_foreseen = 8;

  struct reach {
    std::uint64_t matched = 0;
    bool to_end = false;
    std::uint64_t ref_left = 0, own_left = 0;
    int step_clashes = 0;
  };

  reach follow(std::uint64_t i, std::uint64_t j) const {
    reach out;
    while (i < ref_.end() && j < own_.end() && alike(ref_.at(i), own_.at(j))) {
      const model::call *a = ref_.at(i);
      const model::call *b = own_.at(j);
      if (a != nullptr && b != nullptr && a->step >= 0 && b->step >= 0 && a->step != b->step) {
        ++out.step_clashes;
      }
      ++i, ++j, ++out.matched;
    }
    out.to_end = i >= ref_.end() || j >= own_.end();
    out.ref_left = ref_.end() > i ? ref_.end() - i : 0;
    out.own_left = own_.end() > j ? own_.end() - j : 0;
    return out;
  }

  static bool at_end(const lane &l) { return l.snap != nullptr && l.snap->life == model::liveness::ended_cleanly; }

  int cost_of_rest(const reach &r) const {
    if (!r.to_end) {
      return cost_break - static_cast<int>(std::min<std::uint64_t>(r.matched, 16));
    }
    int cost = 10 * static_cast<int>(std::min<std::uint64_t>(r.ref_left + r.own_left, 2));
    cost += (r.own_left > 0 && at_end(ref_)) || (r.ref_left > 0 && at_end(own_)) ? 20 : 0;
    return cost + 10 * std::min(r.step_clashes, 6);
  }

  /// True if the lane made such a call before position `j`.
  bool seen_before(const model::call *call, std::uint64_t j) const {
    const std::uint64_t oldest = j - own_.first > 1024 ? j - 1024 : own_.first;
    for (std::uint64_t k = j; k-- > oldest;) {
      if (own_.at(k) != nullptr && alike(own_.at(k), call)) {
        return true;
      }
    }
    return false;
  }

  /// Smallest number of calls from here on that are the same on both sides, in another order; 0 if there is none.
  std::uint64_t disorder(std::uint64_t i, std::uint64_t j) const {
    const std::uint64_t span = std::min<std::uint64_t>({ref_.end() - i, own_.end() - j, 256});
    std::vector<const model::call *> open_ref, open_own; // calls without their twin so far
    const auto pair_off = [](std::vector<const model::call *> &others, std::vector<const model::call *> &mine,
                             const model::call *c) {
      const auto it = std::find_if(others.begin(), others.end(), [c](const model::call *o) { return alike(o, c); });
      if (it != others.end()) {
        others.erase(it);
      } else {
        mine.push_back(c);
      }
    };
    for (std::uint64_t n = 0; n < span; ++n) {
      pair_off(open_own, open_ref, ref_.at(i + n));
      pair_off(open_ref, open_own, own_.at(j + n));
      if (n > 0 && open_ref.empty() && open_own.empty()) {
        return n + 1;
      }
      if (open_ref.size() > 32) {
        break;
      }
    }
    return 0;
  }

  void offer(const edit &e, int cost) {
    if (!best_ || cost < best_cost_) {
      best_ = e;
      best_cost_ = cost;
    }
  }

  void offer_reorder(std::uint64_t i, std::uint64_t j) {
    const std::uint64_t n = disorder(i, j);
    if (n == 0) {
      return;
    }
    edit e{edit::kind::reorder, i, j, n, n, 0, false};
    const bool known_order = seen_before(own_.at(j), j);
    int cost = cost_reorder;
    reach r = follow(i + n, j + n);
    e.confirmed = r.matched;
    std::uint64_t at_ref = i + n + r.matched, at_own = j + n + r.matched;
    for (int more = 0; !r.to_end && more < 64; ++more) {
      const std::uint64_t again = disorder(at_ref, at_own);
      if (again == 0) {
        break;
      }
      cost += cost_more_reorder + (more == 0 && known_order ? 30 : 0);
      r = follow(at_ref + again, at_own + again);
      at_ref += again + r.matched;
      at_own += again + r.matched;
    }
    offer(e, cost + cost_of_rest(r));
  }

  void offer_skips(std::uint64_t i, std::uint64_t j) {
    const std::uint64_t last = std::min(ref_.end(), i + 1024);
    int tried = 0;
    const bool known = seen_before(own_.at(j), j);
    for (std::uint64_t p = i + 1; p < last && tried < 16; ++p) {
      if (alike(ref_.at(p), own_.at(j)) && ref_.at(p) != nullptr) {
        ++tried;
        reach r = follow(p, j);
        const std::uint64_t confirmed = r.matched;
        if (r.to_end && r.own_left > 0 && runs_ahead(p + r.matched, j + r.matched)) {
          r.own_left = 0; // it goes on as the others did in earlier steps
        }
        offer({edit::kind::skip, i, j, p - i, 0, confirmed, false},
              cost_shift + cost_of_rest(r) + (known ? 0 : 5) + std::min<int>(static_cast<int>(p - i) - 1, 5));
      }
    }
    if (tried == 0) {
      offer_foreseen_skip(i, j, known);
    }
  }

  /// The others have not made the next calls yet, but earlier steps say what they are: does the lane make those?
  void offer_foreseen_skip(std::uint64_t i, std::uint64_t j, bool known) {
    const model::call *mine = own_.at(j);
    if (!known || mine == nullptr || own_.snap == nullptr) {
      return;
    }
    const std::vector<std::uint64_t> future = foresee(ref_, ref_.end(), 64);
    for (std::size_t f = 0; f < future.size(); ++f) {
      const std::uint64_t source = future[f];
      if (f > 0 && source == future.front()) {
        break; // one period was enough
      }
      if (!alike(ref_.at(source), mine)) {
        continue;
      }
      const std::uint64_t mine_then = source + j - i; // the lanes were in step, apart from earlier shifts
      const model::call *before = own_.at(mine_then);
      if (mine_then >= j || before == nullptr || !alike(before, mine) || !same_place(*own_.snap, *before, *mine)) {
        continue;
      }
      bool fits = true;
      for (std::uint64_t n = 1; j + n < own_.end() && fits; ++n) {
        fits = f + n < future.size() && alike(ref_.at(future[f + n]), own_.at(j + n));
      }
      if (fits) {
        const std::uint64_t skipped = ref_.end() - i + f;
        offer({edit::kind::skip, i, j, skipped, 0, 0, true}, cost_shift + cost_foreseen);
        return;
      }
    }
  }

  void offer_extras(std::uint64_t i, std::uint64_t j) {
    const std::uint64_t last = std::min(own_.end(), j + 1024);
    int tried = 0;
    for (std::uint64_t p = j + 1; p < last && tried < 16; ++p) {
      if (alike(own_.at(p), ref_.at(i)) && own_.at(p) != nullptr) {
        ++tried;
        const reach r = follow(i, p);
        offer({edit::kind::extra, i, j, 0, p - j, r.matched, false},
              cost_shift + 1 + cost_of_rest(r) + std::min<int>(static_cast<int>(p - j) - 1, 5));
      }
    }
    if (tried == 0) {
      offer_unseen_extra(i, j);
    }
  }

  /// A call without data that this lane never made before, where its own past says that the others' call is due: it was
  /// put in, not passed instead.
  void offer_unseen_extra(std::uint64_t i, std::uint64_t j) {
    const model::call *mine = own_.at(j);
    const model::call *theirs = ref_.at(i);
    if (mine == nullptr || theirs == nullptr || j + 1 != own_.end() || mine->state != call_state::entered ||
        mine->stream != 0 || !carries_no_data(mine->op) || carries_no_data(theirs->op) || seen_before(mine, j)) {
      return;
    }
    std::uint64_t habit = 0;
    for (std::uint64_t k = own_.first + 1; k < j; ++k) {
      habit += alike(own_.at(k), theirs) && alike(own_.at(k - 1), own_.at(j - 1)) ? 1U : 0U;
    }
    if (habit >= 3) {
      offer({edit::kind::extra, i, j, 0, 1, 0, true}, cost_shift + cost_foreseen);
    }
  }

  /// True for a call on the same data by another operation, from a line that has not made such a call before.
  bool instead_of(const model::call &mine, const model::call &theirs, std::uint64_t j) const {
    const bool same_data = !carries_no_data(mine.op) && mine.count == theirs.count && mine.type == theirs.type &&
                           (mine.label.empty() || theirs.label.empty() || mine.label == theirs.label);
    const std::uint64_t oldest = j - own_.first > 1024 ? j - 1024 : own_.first;
    bool habit = false;
    for (std::uint64_t k = j; k-- > oldest && !habit;) {
      habit = own_.at(k) != nullptr && own_.snap != nullptr && alike(own_.at(k), &mine) &&
              same_place(*own_.snap, *own_.at(k), mine);
    }
    return same_data && !habit;
  }

  /// True if what the lane did beyond the end of the reference is what the reference did next in earlier steps.
  bool runs_ahead(std::uint64_t i, std::uint64_t j) const {
    if (i != ref_.end() || j >= own_.end()) {
      return false;
    }
    const std::vector<std::uint64_t> future = foresee(ref_, ref_.end(), static_cast<std::size_t>(own_.end() - j));
    for (std::size_t n = 0; n < static_cast<std::size_t>(own_.end() - j); ++n) {
      if (n >= future.size() || !alike(ref_.at(future[n]), own_.at(j + n))) {
        return false;
      }
    }
    return true;
  }

  edit explain(std::uint64_t i, std::uint64_t j) {
    best_.reset();
    const reach straight = follow(i + 1, j + 1);
    edit differ;
    differ.ref_at = i;
    differ.own_at = j;
    differ.confirmed = straight.matched;
    if (alike(ref_.at(i), own_.at(j))) {
      return differ; // the shape alone
    }
    offer_reorder(i, j);
    offer_skips(i, j);
    offer_extras(i, j);
    const model::call *a = ref_.at(i);
    const model::call *b = own_.at(j);
    int cost = cost_differ + cost_of_rest(straight);
    if (a != nullptr && b != nullptr && (differing(*a, *b) & ~field_shape) == field_label) {
      cost += cost_label;
    }
    if (a != nullptr && b != nullptr && instead_of(*b, *a, j)) {
      cost -= cost_instead +
              (runs_ahead(i + 1, j + 1) ? 10 * static_cast<int>(std::min<std::uint64_t>(straight.own_left, 2)) : 0);
    }
    offer(differ, cost);
    return *best_;
  }

  const lane &ref_;
  const lane &own_;
  std::optional<edit> best_;
  int best_cost_ = 0;
};

} // namespace diagnose
} // namespace DTDEBUG_ABI
} // namespace dtdebug
