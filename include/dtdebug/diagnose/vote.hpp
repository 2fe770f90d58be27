// Blame by numbers: which ranks hold another value than most.
#pragma once

#include <dtdebug/diagnose/text.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace diagnose {

/// Outcome of a vote. Without a strict majority nobody is blamed: then `odd` is all who differ from the first side.
struct vote_result {
  rank_list odd, rest;
  bool agreed = true;
  bool tie = false;
};

/// `values` holds one value a rank. Cost O(n log n).
template <class Value>
vote_result vote(const std::map<std::int32_t, Value> &values) {
  std::map<Value, rank_list> sides;
  for (const auto &[rank, value] : values) {
    sides[value].push_back(rank);
  }
  vote_result out;
  if (sides.size() < 2) {
    return out;
  }
  out.agreed = false;
  std::vector<const rank_list *> order;
  order.reserve(sides.size());
  for (const auto &side : sides) {
    order.push_back(&side.second);
  }
  std::sort(order.begin(), order.end(), [](const rank_list *a, const rank_list *b) {
    return a->size() != b->size() ? a->size() > b->size() : a->front() < b->front();
  });
  out.rest = *order[0];
  out.tie = order[0]->size() == order[1]->size();
  for (std::size_t i = 1; i < order.size(); ++i) {
    out.odd.insert(out.odd.end(), order[i]->begin(), order[i]->end());
  }
  out.odd = ordered(out.odd);
  return out;
}

} // namespace diagnose
} // namespace DTDEBUG_ABI
} // namespace dtdebug
