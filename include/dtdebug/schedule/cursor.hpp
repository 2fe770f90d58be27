// Walks through the statements of one rank in the order of execution, without unrolling loops in memory.
#pragma once

#include <dtdebug/schedule/ast.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace schedule {

/// A statement together with the members of its group as the executing rank sees them.
struct bound_instruction {
  const instruction *what = nullptr;
  const std::vector<std::int32_t> *members = nullptr; ///< null if the statement names no group
  std::uint32_t line = 0;                             ///< in the schedule's file
};

/// Yields one rank's statements. The document must outlive the cursor and stay as it is.
/// Cost: memory for the nesting depth only; each step is linear in the statements that it skips.
class cursor {
public:
  cursor(const document &source, std::int32_t rank) : rank_(rank) {
    const rank_view &view = source.ranks[static_cast<std::size_t>(rank)];
    groups_["world"] = &source.member_lists[view.world_members];
    for (const rank_view::group &g : view.groups) {
      groups_[g.name] = &source.member_lists[g.members];
    }
    levels_.push_back({&source.body, 0, 1});
  }

  /// The next statement of this rank, or nothing after the last one.
  std::optional<bound_instruction> next() {
    while (!levels_.empty()) {
      level &here = levels_.back();
      if (here.at == here.body->size()) {
        here.at = 0;
        if (--here.left == 0) {
          levels_.pop_back();
        }
        continue;
      }
      const node &n = (*here.body)[here.at++];
      if (n.is_loop) {
        if (n.times > 0 && concerns(n)) {
          levels_.push_back({&n.body, 0, n.times});
        }
      } else if (n.ranks.contains(rank_)) {
        const auto group = groups_.find(n.what.group);
        return bound_instruction{&n.what, group == groups_.end() ? nullptr : group->second, n.line};
      }
    }
    return std::nullopt;
  }

private:
  struct level {
    const std::vector<node> *body;
    std::size_t at;
    std::uint64_t left; ///< turns, this one included
  };

  /// A loop without a statement of this rank may have any number of turns; it is skipped as a whole.
  bool concerns(const node &n) const {
    if (!n.is_loop) {
      return n.ranks.contains(rank_);
    }
    for (const node &child : n.body) {
      if (n.times > 0 && concerns(child)) {
        return true;
      }
    }
    return false;
  }

  std::int32_t rank_;
  std::unordered_map<std::string, const std::vector<std::int32_t> *> groups_;
  std::vector<level> levels_;
};

inline cursor program_of(const document &source, std::int32_t rank) { return {source, rank}; }

} // namespace schedule
} // namespace DTDEBUG_ABI
} // namespace dtdebug
