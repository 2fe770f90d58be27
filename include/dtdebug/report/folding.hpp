// Sets of ranks as people write them: 0-2,4-7.
#pragma once

#include <dtdebug/core/config.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace report {

/// "0-2,4-7"; a run with a stride of three or more ranks is "0-6:2" (every second); "" for no rank. Sorts a copy.
inline std::string fold(std::vector<std::int32_t> ranks) {
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  std::string out;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t last = i;
    const std::int64_t stride = i + 1 < ranks.size() ? std::int64_t{ranks[i + 1]} - ranks[i] : 1;
    while (last + 1 < ranks.size() && std::int64_t{ranks[last + 1]} - ranks[last] == stride) {
      ++last;
    }
    if (stride > 1 && last - i < 3) {
      last = i; // too short to be worth a stride
    }
    out += (out.empty() ? "" : ",") + std::to_string(ranks[i]);
    if (last > i) {
      out += (last == i + 1 && stride == 1 ? "," : "-") + std::to_string(ranks[last]);
      out += stride > 1 ? ":" + std::to_string(stride) : "";
    }
    i = last + 1;
  }
  return out;
}

/// "rank 3" or "ranks 0-2".
inline std::string fold_named(const std::vector<std::int32_t> &ranks) {
  return (ranks.size() == 1 ? "rank " : "ranks ") + fold(ranks);
}

} // namespace report
} // namespace DTDEBUG_ABI
} // namespace dtdebug
