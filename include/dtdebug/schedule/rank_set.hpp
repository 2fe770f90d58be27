// Sets of ranks, kept as ranges: "0-2,5" costs the same as "0-9999".
#pragma once

#include <dtdebug/core/config.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace schedule {

/// Writes ranks as the language does, in their order: runs of neighbours become ranges ("0-2,5").
inline std::string fold_ranks(const std::vector<std::int32_t> &ranks) {
  std::string out;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) {
      ++last;
    }
    out += (out.empty() ? "" : ",") + std::to_string(ranks[i]);
    if (last > i) {
      out += (last > i + 1 ? "-" : ",") + std::to_string(ranks[last]);
    }
    i = last + 1;
  }
  return out;
}

/// A set of ranks; order and repetition are forgotten.
class rank_set {
public:
  rank_set() = default;

  explicit rank_set(std::vector<std::int32_t> ranks) {
    std::sort(ranks.begin(), ranks.end());
    for (const std::int32_t r : ranks) {
      if (ranges_.empty() || r > ranges_.back().second + 1) {
        ranges_.emplace_back(r, r);
      } else {
        ranges_.back().second = r;
      }
    }
  }

  bool empty() const { return ranges_.empty(); }

  std::size_t size() const {
    std::size_t n = 0;
    for (const auto &[first, last] : ranges_) {
      n += static_cast<std::size_t>(last - first) + 1;
    }
    return n;
  }

  /// Cost: logarithmic in the number of ranges.
  bool contains(std::int32_t rank) const {
    const auto after = std::upper_bound(ranges_.begin(), ranges_.end(), rank,
                                        [](std::int32_t r, const auto &range) { return r < range.first; });
    return after != ranges_.begin() && rank <= std::prev(after)->second;
  }

  /// All ranks, ascending.
  std::vector<std::int32_t> ranks() const {
    std::vector<std::int32_t> out;
    out.reserve(size());
    for (const auto &[first, last] : ranges_) {
      for (std::int32_t r = first; r <= last; ++r) {
        out.push_back(r);
      }
    }
    return out;
  }

  std::string text() const { return fold_ranks(ranks()); }

  friend bool operator==(const rank_set &a, const rank_set &b) { return a.ranges_ == b.ranges_; }
  friend bool operator!=(const rank_set &a, const rank_set &b) { return !(a == b); }

private:
  std::vector<std::pair<std::int32_t, std::int32_t>> ranges_; ///< first and last, ascending, never touching
};

} // namespace schedule
} // namespace DTDEBUG_ABI
} // namespace dtdebug
