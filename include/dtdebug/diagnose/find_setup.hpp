// What ranks should have agreed on before their first call: world, meshes, members of groups.
#pragma once

#include <dtdebug/diagnose/scene.hpp>
#include <dtdebug/diagnose/vote.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace diagnose {

namespace detail {

/// A finding of this family from a vote; says who is blamed and why.
inline finding setup_finding(const char *kind, const vote_result &votes) {
  finding out;
  out.what = family::setup;
  out.v.kind = kind;
  out.v.ranks = votes.odd;
  out.v.with = votes.rest;
  out.v.tie = votes.tie;
  out.v.sure = model::confidence::proven;
  out.suspects = votes.odd;
  out.since.assign(votes.odd.size(), 0);
  out.v.reason = votes.tie ? "as many ranks are on one side as on the other, so neither is blamed"
                           : std::to_string(votes.rest.size()) + " ranks agree; " + who(votes.odd) + " " +
                                 verb(votes.odd, "differs", "differ");
  return out;
}

inline std::string members_text(const std::vector<std::int32_t> &members) {
  if (members.empty()) {
    return "not created";
  }
  std::string out;
  if (std::is_sorted(members.begin(), members.end())) {
    return fold(members);
  }
  for (const std::int32_t m : members) {
    out += (out.empty() ? "" : ",") + std::to_string(m);
  }
  return out;
}

/// "dp=4 tp=2" -> 8; 0 for a text that is no mesh.
inline std::uint64_t mesh_product(const std::string &text) {
  std::uint64_t product = 1;
  std::size_t axes = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '=') {
      std::uint64_t size = 0;
      while (i + 1 < text.size() && text[i + 1] >= '0' && text[i + 1] <= '9') {
        size = size * 10 + static_cast<std::uint64_t>(text[++i] - '0');
      }
      product *= size;
      ++axes;
    }
  }
  return axes == 0 ? 0 : product;
}

} // namespace detail

/// Ranks that believe in different world sizes.
inline void find_world_mismatch(scene &s) {
  std::map<std::int32_t, std::int32_t> sizes;
  for (const model::rank_snapshot &r : s.job.ranks) {
    if (r.world_size > 0) {
      sizes[r.rank] = r.world_size;
    }
  }
  const vote_result votes = vote(sizes);
  if (votes.agreed) {
    return;
  }
  finding f = detail::setup_finding("world_mismatch", votes);
  f.v.group = "world";
  f.v.headline = subject(votes.odd) + " " + verb(votes.odd, "believes", "believe") + " in a world of " +
                 std::to_string(sizes[votes.odd.front()]) + " ranks, " + who(votes.rest) + " in one of " +
                 std::to_string(sizes[votes.rest.front()]);
  for (const std::int32_t r : votes.odd) {
    if (f.v.evidence.size() < 5) {
      f.v.evidence.push_back("rank " + std::to_string(r) + ": world size " + std::to_string(sizes[r]));
    }
  }
  f.v.evidence.push_back(subject(votes.rest) + ": world size " + std::to_string(sizes[votes.rest.front()]));
  f.v.next_steps.push_back("compare WORLD_SIZE (or the launcher's arguments) of " + who(votes.odd) + " with that of " +
                           who(votes.rest));
  s.findings.push_back(std::move(f));
}

/// Meshes that ranks declare differently, that do not fill the world, or that a communicator does not follow.
inline void find_mesh_mismatch(scene &s) {
  std::map<std::string, std::map<std::int32_t, std::string>> declared;
  std::map<std::pair<std::string, std::string>, std::map<std::int32_t, std::string>>
      failed; // mesh, group -> rank -> axis
  for (std::size_t row = 0; row < s.job.ranks.size(); ++row) {
    for (const model::note &n : s.snap(row).notes) {
      if (n.kind == model::note_kind::mesh) {
        declared[n.name][s.rank(row)] = n.text;
      } else if (n.kind == model::note_kind::mesh_check && n.value == 0) {
        const auto &groups = s.snap(row).groups;
        failed[{n.name, n.group < groups.size() ? groups[n.group].name : std::string()}][s.rank(row)] = n.text;
      }
    }
  }
  for (auto &[mesh, views] : declared) {
    if (!s.settled() && views.size() < s.job.ranks.size()) {
      continue; // the others may still declare it
    }
    const std::map<std::int32_t, std::string> said = views;
    for (const model::rank_snapshot &r : s.job.ranks) {
      if (r.life != model::liveness::never_started) {
        views.emplace(r.rank, "");
      }
    }
    const vote_result votes = vote(views);
    finding f = detail::setup_finding("mesh_mismatch", votes);
    f.v.name = mesh;
    if (!votes.agreed) {
      const auto text = [&views = views](std::int32_t r) {
        return views[r].empty() ? std::string("not declared") : views[r];
      };
      f.v.headline = subject(votes.odd) + " " + verb(votes.odd, "sees", "see") + " mesh " + mesh + " as " +
                     text(votes.odd.front()) + ", " + who(votes.rest) + " as " + text(votes.rest.front());
      f.v.evidence.push_back(subject(votes.odd) + ": " + text(votes.odd.front()));
      f.v.evidence.push_back(subject(votes.rest) + ": " + text(votes.rest.front()));
      f.v.next_steps.push_back("start all ranks with the same mesh sizes, in the same order of axes");
      s.findings.push_back(std::move(f));
      continue;
    }
    const std::uint64_t product = detail::mesh_product(said.begin()->second);
    const auto world = static_cast<std::uint64_t>(s.job.ranks.size());
    if (product != 0 && product != world) {
      for (const auto &view : said) {
        f.v.ranks.push_back(view.first);
      }
      f.suspects = f.v.ranks;
      f.v.headline = "Mesh " + mesh + " (" + said.begin()->second + ") has " + std::to_string(product) +
                     " places, the world has " + std::to_string(world) + " ranks";
      f.v.reason = "all ranks declare the mesh so";
      f.v.evidence.push_back(said.begin()->second + " multiplies to " + std::to_string(product) + ", not to " +
                             std::to_string(world));
      f.v.next_steps.push_back(
          "choose sizes that multiply to the number of ranks, or start as many ranks as the mesh has places");
      s.findings.push_back(std::move(f));
    }
  }
  for (const auto &[key, ranks] : failed) {
    finding f = detail::setup_finding("mesh_mismatch", {});
    f.v.name = key.first;
    f.v.group = key.second;
    for (const auto &r : ranks) {
      f.v.ranks.push_back(r.first);
    }
    f.suspects = f.v.ranks;
    const std::string axis = ranks.begin()->second;
    f.v.headline = "Group " + key.second + " does not have the members that axis " + axis + " of mesh " + key.first +
                   " says, on " + who(f.v.ranks);
    f.v.reason = "the check compares the communicator with the rank's line of the axis";
    const std::size_t row = s.index.row(f.v.ranks.front());
    for (const model::group &g : s.snap(row).groups) {
      if (g.name == key.second) {
        f.v.evidence.push_back("rank " + std::to_string(f.v.ranks.front()) + ": members of " + key.second + " are " +
                               detail::members_text(g.members));
      } else if (g.name == axis && g.mesh == key.first) {
        f.v.evidence.push_back("rank " + std::to_string(f.v.ranks.front()) + ": its line of axis " + axis + " is " +
                               detail::members_text(g.members));
      }
    }
    f.v.next_steps.push_back("look at the colour and key (or the rank list) from which " + key.second +
                             " is made: the stride of another axis is a common slip");
    s.findings.push_back(std::move(f));
  }
}

/// Ranks that give a group other members, or another order of them, and groups that a member never creates.
inline void find_membership_mismatch(scene &s) {
  // Names that some rank still creates, or whose members are in doubt; others need no look.
  std::set<std::string> doubtful;
  for (std::size_t c = 0; c < s.index.circles.size(); ++c) {
    const circle &group = s.index.circles[c];
    const std::size_t n = s.waits.meeting(c, 0, true);
    if (group.members_differ || n != npos) {
      doubtful.insert(group.name);
    }
  }
  doubtful.erase("world");
  for (const std::string &name : doubtful) {
    std::map<std::int32_t, std::vector<std::int32_t>> views;
    for (const model::rank_snapshot &r : s.job.ranks) {
      for (const model::group &g : r.groups) {
        if (g.name == name) {
          views[r.rank] = g.members; // the last of that name
        }
      }
    }
    std::set<std::int32_t> part;
    bool never_created = false;
    for (const auto &[rank, members] : views) {
      for (const std::int32_t q : members) {
        const auto other = views.find(q);
        const std::size_t row = s.index.row(q);
        bool differs = other != views.end() && other->second != members;
        if (other == views.end() && row != npos && s.index.standings[row].ended()) {
          differs = never_created = true; // it ended without ever creating the group
        }
        if (differs) {
          part.insert(rank);
          part.insert(members.begin(), members.end());
          part.insert(q);
        }
      }
    }
    if (part.empty()) {
      continue;
    }
    std::map<std::int32_t, std::vector<std::int32_t>> sides;
    for (const std::int32_t r : part) {
      const auto it = views.find(r);
      sides[r] = it == views.end() ? std::vector<std::int32_t>{} : it->second;
    }
    const vote_result votes = vote(sides);
    if (votes.agreed) {
      continue;
    }
    finding f = detail::setup_finding("membership_mismatch", votes);
    f.v.group = name;
    f.hangs = true;
    f.v.headline = subject(votes.odd) + " " + verb(votes.odd, "gives", "give") + " group " + name + " the members " +
                   detail::members_text(sides[votes.odd.front()]) + ", " + who(votes.rest) + " " +
                   detail::members_text(sides[votes.rest.front()]);
    if (never_created && sides[votes.odd.front()].empty()) {
      f.v.headline = subject(votes.odd) + " never " + verb(votes.odd, "creates", "create") + " group " + name +
                     ", of which " + who(votes.rest) + " " + verb(votes.rest, "takes", "take") + " it for a member";
    }
    f.v.evidence.push_back(subject(votes.odd) + ": " + detail::members_text(sides[votes.odd.front()]));
    f.v.evidence.push_back(subject(votes.rest) + ": " + detail::members_text(sides[votes.rest.front()]));
    f.v.next_steps.push_back(
        "make the list of members on one rank and give it to all, or compute it from the same mesh everywhere");
    for (std::size_t c = 0; c < s.index.circles.size(); ++c) {
      const std::size_t n = s.waits.meeting(c, 0, true);
      if (s.index.circles[c].name == name && n != npos) {
        f.circle = c;
        f.holds.push_back(n);
      }
    }
    s.findings.push_back(std::move(f));
  }
}

} // namespace diagnose
} // namespace DTDEBUG_ABI
} // namespace dtdebug
