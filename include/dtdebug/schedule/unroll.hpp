// From a document to the simulator's input: views written out, loops unrolled.
#pragma once

#include <dtdebug/schedule/ast.hpp>
#include <dtdebug/schedule/cursor.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace schedule {

/// Statements that all ranks execute together, loops counted out; the largest number if there are more.
inline std::uint64_t executed_statements(const std::vector<node> &body) {
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t sum = 0;
  for (const node &n : body) {
    std::uint64_t part = n.is_loop ? executed_statements(n.body) : n.ranks.size();
    if (n.is_loop) {
      part = n.times != 0 && part > most / n.times ? most : part * n.times;
    }
    sum = part > most - sum ? most : sum + part;
  }
  return sum;
}

/// Nothing if more than `limit` statements would be executed: four bytes each are needed here, a record each later.
inline std::optional<program> unroll(const document &source, std::uint64_t limit = 50'000'000) {
  if (executed_statements(source.body) > limit) {
    return std::nullopt;
  }
  program out;
  out.timeout = source.timeout;
  std::unordered_map<const instruction *, std::uint32_t> numbers;
  for (std::int32_t r = 0; r < source.world; ++r) {
    const rank_view &view = source.ranks[static_cast<std::size_t>(r)];
    rank_program rank;
    rank.world_size = view.world_size;
    for (const rank_view::group &g : view.groups) {
      rank.groups.emplace_back(g.name, source.member_lists[g.members]);
    }
    for (const std::size_t m : view.meshes) {
      rank.meshes.push_back({source.declarations[m].name, source.declarations[m].axes});
    }
    cursor steps = program_of(source, r);
    while (const auto step = steps.next()) {
      const auto [at, added] = numbers.emplace(step->what, static_cast<std::uint32_t>(out.instructions.size()));
      if (added) {
        out.instructions.push_back(*step->what);
      }
      rank.body.push_back(at->second);
    }
    out.ranks.push_back(std::move(rank));
  }
  return out;
}

} // namespace schedule
} // namespace DTDEBUG_ABI
} // namespace dtdebug
