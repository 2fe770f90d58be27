// A schedule as it was written: declarations, statements with their loops, expectations. Plain data.
#pragma once

#include <dtdebug/model/snapshot.hpp>
#include <dtdebug/model/verdict.hpp>
#include <dtdebug/schedule/program.hpp>
#include <dtdebug/schedule/rank_set.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace schedule {

using mesh_axes = std::vector<std::pair<std::string, std::uint64_t>>;

enum class declaration_kind : std::uint8_t { world, group, mesh };

/// One line of the header other than `world N`, `timeout` and expectations, as written.
struct declaration {
  declaration_kind what = declaration_kind::group;
  bool for_some = false;             ///< written with `RANKS:` before it
  rank_set ranks;                    ///< those ranks; empty unless for_some
  std::string name;                  ///< of the group or mesh
  std::vector<std::int32_t> members; ///< group: in this order
  mesh_axes axes;                    ///< mesh
  std::int32_t world_size = 0;       ///< world: what these ranks believe
  std::uint32_t line = 0;
};

/// What one rank believes before its first statement. Derived from the declarations by the parser.
struct rank_view {
  struct group {
    std::string name;
    std::size_t members = 0; ///< index into document::member_lists
    std::uint32_t line = 0;  ///< of the declaration
  };
  std::int32_t world_size = 0;
  std::size_t world_members = 0;   ///< index into document::member_lists: the group `world`
  std::vector<group> groups;       ///< in order of creation, without `world`
  std::vector<std::size_t> meshes; ///< indices into document::declarations

  /// The group of that name, or null; `world` is not among them.
  const group *find(const std::string &name) const {
    for (const group &g : groups) {
      if (g.name == name) {
        return &g;
      }
    }
    return nullptr;
  }
};

/// A statement, or a loop around others.
struct node {
  bool is_loop = false;
  std::uint64_t times = 0; ///< loop
  std::vector<node> body;  ///< loop
  rank_set ranks;          ///< statement: who executes it
  instruction what;        ///< statement; its file and line are the `@` site, or else this file's own line
  bool has_site = false;   ///< statement: a site was written
  std::uint32_t line = 0;
};

enum class expect_word : std::uint8_t { first, also, never, none };

/// One `expect` line. A key that was not written is empty.
struct expectation {
  expect_word word = expect_word::first; ///< `expect`, `expect-also`, `expect-not`, `expect none`
  bool in_front = false;                 ///< the first `expect` of its file: the verdict that is printed first
  std::string kind;
  std::string group, name, op, other, field, site, other_site; ///< empty: not written
  std::optional<std::uint64_t> seq, step;
  std::optional<rank_set> ranks, with;
  std::optional<std::int32_t> peer;
  std::vector<std::int32_t> chain;
  std::optional<model::confidence> sure;
  bool tie = false;
  std::uint32_t line = 0;
};

struct document {
  std::string file; ///< name without folders: what a statement's own line is known by
  std::int32_t world = 0;
  model::time_ns timeout = 2'000'000'000;
  std::vector<declaration> declarations; ///< in order
  std::vector<expectation> expectations; ///< in order
  std::vector<node> body;
  std::vector<rank_view> ranks;                        ///< one a rank
  std::vector<std::vector<std::int32_t>> member_lists; ///< shared by the views; no two are equal
};

/// Members of a group as this rank sees it, `world` included; null if it has no such group.
inline const std::vector<std::int32_t> *members_of(const document &d, std::int32_t rank, const std::string &group) {
  const rank_view &view = d.ranks[static_cast<std::size_t>(rank)];
  if (group == "world") {
    return &d.member_lists[view.world_members];
  }
  const rank_view::group *found = view.find(group);
  return found == nullptr ? nullptr : &d.member_lists[found->members];
}

} // namespace schedule
} // namespace DTDEBUG_ABI
} // namespace dtdebug
