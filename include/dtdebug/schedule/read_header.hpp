// Reads `timeout`, `group`, `mesh` and `RANKS: world`, and derives from them what each rank believes.
#pragma once

#include <dtdebug/schedule/reader.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace schedule {

/// World ranks of the line of axis number `axis` through `rank`, in a row-major mesh (last axis fastest).
inline std::vector<std::int32_t> mesh_line(const mesh_axes &axes, std::size_t axis, std::int32_t rank) {
  std::int32_t stride = 1;
  for (std::size_t a = axis + 1; a < axes.size(); ++a) {
    stride *= static_cast<std::int32_t>(axes[a].second);
  }
  const auto size = static_cast<std::int32_t>(axes[axis].second);
  const std::int32_t first = rank - (rank / stride % size) * stride;
  std::vector<std::int32_t> line;
  for (std::int32_t k = 0; k < size; ++k) {
    line.push_back(first + k * stride);
  }
  return line;
}

/// Product of the sizes; one above `most` stands for everything above it.
inline std::uint64_t mesh_size(const mesh_axes &axes, std::uint64_t most) {
  std::uint64_t product = 1;
  for (const auto &axis : axes) {
    if (axis.second > most / product) {
      return most + 1;
    }
    product *= axis.second;
  }
  return product;
}

class header_reader {
public:
  explicit header_reader(reader &in) : in_(in) {}

  /// One line after its verb; `ranks` as written before it, or null.
  void read(std::string_view verb, const std::vector<std::int32_t> *ranks) {
    if (verb == "timeout") {
      timeout(ranks);
      return;
    }
    declaration d;
    d.line = in_.line();
    d.for_some = ranks != nullptr;
    d.ranks = ranks == nullptr ? rank_set() : rank_set(*ranks);
    const bool good = verb == "world" ? world(d) : verb == "group" ? group(d) : mesh(d);
    if (good) {
      in_.out().declarations.push_back(std::move(d));
    }
  }

private:
  bool timeout(const std::vector<std::int32_t> *ranks) {
    const std::string form = "timeout 2s";
    if (ranks != nullptr) {
      return in_.fail("`timeout` is for all ranks", "`" + form + "`", "remove the ranks before it");
    }
    if (timeout_line_ != 0) {
      return in_.fail("the timeout is given a second time (first in line " + std::to_string(timeout_line_) + ")",
                      "one");
    }
    timeout_line_ = in_.line();
    const auto time = in_.at_end() ? std::nullopt : read_duration(in_.peek().text);
    if (!time) {
      return in_.fail(in_.found(), "a time such as `500ms`, `2s` or `1min`");
    }
    in_.take();
    in_.out().timeout = *time;
    return in_.ends(form);
  }

  bool world(declaration &d) {
    const std::string form = "RANKS: world N";
    if (!d.for_some) {
      return in_.fail("the world is given a second time (first in line " + std::to_string(in_.world_line) + ")",
                      "`world N` once", "what some ranks believe is written `" + form + "`");
    }
    d.what = declaration_kind::world;
    const auto most = static_cast<std::uint64_t>(in_.limits().world);
    const auto size = in_.at_end() ? std::nullopt : read_number(in_.peek().text, most);
    if (!size) {
      return in_.fail(in_.found(), "a number of ranks up to " + std::to_string(most));
    }
    in_.take();
    d.world_size = static_cast<std::int32_t>(*size);
    const std::vector<std::int32_t> ranks = d.ranks.ranks();
    if (ranks.back() >= d.world_size) {
      return in_.fail("rank " + std::to_string(ranks.back()) + " is outside the world of " + std::to_string(*size) +
                          " in which it believes",
                      "at least `world " + std::to_string(ranks.back() + 1) + "`");
    }
    std::vector<std::int32_t> members;
    for (std::int32_t r = 0; r < d.world_size; ++r) {
      members.push_back(r);
    }
    const std::size_t list = in_.intern(members);
    for (const std::int32_t r : ranks) {
      if (!believers_.insert(r).second) {
        return in_.fail("rank " + std::to_string(r) + " is told a second time what to believe of the world",
                        "one line");
      }
      in_.view(r).world_size = d.world_size;
      in_.view(r).world_members = list;
    }
    return in_.ends(form);
  }

  bool group(declaration &d) {
    const std::string form = "group NAME RANKS";
    d.what = declaration_kind::group;
    const auto name = in_.take_name("the group's name", form);
    if (!name) {
      return false;
    }
    d.name = *name;
    if (!in_.next_is_word()) {
      in_.unsure_groups.insert(*name);
      return in_.fail(in_.found(), "the members, `" + form + "`");
    }
    const auto members = in_.read_ranks(in_.take().text);
    if (!members || !in_.ends(form)) {
      in_.unsure_groups.insert(*name);
      return false;
    }
    d.members = *members;
    const std::vector<std::int32_t> ranks = d.for_some ? d.ranks.ranks() : *members;
    const rank_set inside(*members);
    const std::size_t list = in_.intern(*members);
    for (const std::int32_t r : ranks) {
      if (!inside.contains(r)) {
        in_.unsure_groups.insert(*name);
        return in_.fail("rank " + std::to_string(r) + " is not among the members of its own group `" + *name + "`",
                        "a list that contains it", "members are " + inside.text());
      }
      if (!add(r, *name, list)) {
        return false;
      }
    }
    return true;
  }

  bool mesh(declaration &d) {
    const std::string form = "mesh NAME axis=size axis=size …";
    d.what = declaration_kind::mesh;
    const auto name = in_.take_name("the mesh's name", form);
    if (!name) {
      return false;
    }
    d.name = *name;
    const bool good = axes(d, form);
    const std::size_t number = in_.out().declarations.size();
    const auto world = static_cast<std::uint64_t>(in_.out().world);
    const bool fits = mesh_size(d.axes, world) == world;
    if (!good) {
      in_.unsure_meshes.insert(*name);
      for (const auto &axis : d.axes) {
        in_.unsure_groups.insert(axis.first);
      }
      return false;
    }
    std::map<std::pair<std::size_t, std::int32_t>, std::size_t> lines;
    for (std::int32_t r = 0; r < in_.out().world; ++r) {
      if (d.for_some && !d.ranks.contains(r)) {
        continue;
      }
      for (const std::size_t m : in_.view(r).meshes) {
        if (in_.out().declarations[m].name == *name) {
          return in_.fail("rank " + std::to_string(r) + " has a mesh `" + *name + "` already (line " +
                              std::to_string(in_.out().declarations[m].line) + ")",
                          "another name");
        }
      }
      in_.view(r).meshes.push_back(number);
      for (std::size_t a = 0; fits && a < d.axes.size(); ++a) {
        const std::vector<std::int32_t> line = mesh_line(d.axes, a, r);
        const auto [at, added] = lines.emplace(std::pair(a, line.front()), 0);
        if (added) {
          at->second = in_.intern(line);
        }
        if (!add(r, d.axes[a].first, at->second)) {
          in_.view(r).meshes.pop_back();
          in_.unsure_meshes.insert(*name);
          return false;
        }
      }
    }
    return true;
  }

  bool axes(declaration &d, const std::string &form) {
    while (!in_.at_end()) {
      const token t = in_.take();
      const std::size_t equals = t.text.find('=');
      const std::string axis(t.text.substr(0, equals));
      const auto size = equals == std::string_view::npos ? std::nullopt : read_number(t.text.substr(equals + 1));
      if (t.quoted || !is_name(axis) || !size || *size == 0) {
        return in_.fail("found " + shown(t), "axis=size with a size of at least 1, `" + form + "`");
      }
      for (const auto &other : d.axes) {
        if (other.first == axis) {
          return in_.fail("the axis `" + axis + "` is named twice", "each axis once");
        }
      }
      d.axes.emplace_back(axis, *size);
    }
    return !d.axes.empty() || in_.fail("the line ends here", "at least one axis, `" + form + "`");
  }

  bool add(std::int32_t rank, const std::string &name, std::size_t list) {
    if (name == "world") {
      return in_.fail("`world` is the group of all ranks and always exists", "another name");
    }
    if (const rank_view::group *old = in_.view(rank).find(name)) {
      return in_.fail("rank " + std::to_string(rank) + " is in a group `" + name + "` already (line " +
                          std::to_string(old->line) + ")",
                      "disjoint sets under one name", "rename one of them");
    }
    if (++group_views_ > in_.limits().group_views) {
      return in_.fail("all ranks together have more than " + std::to_string(in_.limits().group_views) + " groups",
                      "fewer");
    }
    in_.view(rank).groups.push_back({name, list, in_.line()});
    return true;
  }

  reader &in_;
  std::uint32_t timeout_line_ = 0;
  std::size_t group_views_ = 0;
  std::set<std::int32_t> believers_;
};

} // namespace schedule
} // namespace DTDEBUG_ABI
} // namespace dtdebug
