// A run that passed thanks to its streams: would it pass if each rank's calls ran one at a time, in the order of issue?
#pragma once

#include <dtdebug/diagnose/scene.hpp>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace diagnose {

/// Replays the recorded calls with every stream serialised. Cost: linear in the calls.
class serial_replay {
public:
  explicit serial_replay(const scene &s) : s_(s) {
    for (const circle &c : s.index.circles) {
      std::uint64_t most = 0;
      for (const lane &l : c.lanes) {
        most = std::max(most, l.end());
      }
      arrived_.emplace_back(static_cast<std::size_t>(most), 0U);
    }
    for (const channel &c : s.index.channels) {
      messages_.emplace_back(std::max(c.sends.size(), c.recvs.size()), static_cast<std::uint8_t>(0));
    }
    at_.resize(s.job.ranks.size(), 0);
    open_.resize(s.job.ranks.size(), 0);
    from_.resize(s.job.ranks.size(), 0);
  }

  /// Rows that cannot get to their end; empty if all can.
  std::vector<std::size_t> stuck() {
    std::vector<std::size_t> ready(at_.size());
    for (std::size_t r = 0; r < ready.size(); ++r) {
      ready[r] = r;
    }
    while (!ready.empty()) {
      const std::size_t r = ready.back();
      ready.pop_back();
      while (open_[r] == 0 && at_[r] < s_.snap(r).calls.size()) {
        issue(r, ready);
      }
    }
    std::vector<std::size_t> out;
    for (std::size_t r = 0; r < at_.size(); ++r) {
      if (open_[r] != 0) {
        out.push_back(r);
      }
    }
    return out;
  }

  /// Of a stuck rank: the first call in which it waits, and the ranks that have not come to it.
  std::pair<const model::call *, std::vector<std::size_t>> waits_of(std::size_t r) const {
    for (std::size_t i = from_[r]; i < at_[r]; ++i) {
      const model::call &c = s_.snap(r).calls[i];
      std::vector<std::size_t> rows;
      const std::size_t index = s_.index.circle_of(r, c);
      if (counts(c) && is_collective(c.op) &&
          arrived_[index][static_cast<std::size_t>(c.seq)] < s_.index.circles[index].lanes.size()) {
        for (const lane &l : s_.index.circles[index].lanes) {
          const std::size_t q = s_.index.row(l.rank);
          const model::call *theirs = l.at(c.seq);
          if (q != npos && theirs != nullptr && static_cast<std::size_t>(theirs - s_.snap(q).calls.data()) >= at_[q]) {
            rows.push_back(q);
          }
        }
      } else if (counts(c) && is_point_to_point(c.op)) {
        const std::size_t channel_index = s_.index.channel_of(r, c);
        const std::size_t peer = s_.index.row(c.root);
        if (channel_index != npos && peer != npos && messages_[channel_index][static_cast<std::size_t>(c.seq)] != 3) {
          rows.push_back(peer);
        }
      }
      if (!rows.empty()) {
        return {&c, rows};
      }
    }
    return {nullptr, {}};
  }

private:
  static bool counts(const model::call &c) {
    return (is_collective(c.op) || is_point_to_point(c.op)) && (c.flags & flag_no_position) == 0 &&
           c.state == call_state::done;
  }

  void issue(std::size_t r, std::vector<std::size_t> &ready) {
    const auto &calls = s_.snap(r).calls;
    from_[r] = at_[r];
    const std::uint32_t batch = calls[at_[r]].batch;
    do {
      const model::call &c = calls[at_[r]++];
      if (!counts(c)) {
        continue;
      }
      if (is_collective(c.op)) {
        issue_collective(r, c, ready);
      } else {
        issue_message(r, c, ready);
      }
    } while (batch != 0 && at_[r] < calls.size() && calls[at_[r]].batch == batch);
  }

  void issue_collective(std::size_t r, const model::call &c, std::vector<std::size_t> &ready) {
    const std::size_t index = s_.index.circle_of(r, c);
    if (index == npos) {
      return;
    }
    const circle &group = s_.index.circles[index];
    open_[r] += waits(c) ? 1U : 0U;
    if (++arrived_[index][static_cast<std::size_t>(c.seq)] != group.lanes.size()) {
      return;
    }
    for (const lane &l : group.lanes) {
      const std::size_t q = s_.index.row(l.rank);
      const model::call *theirs = l.at(c.seq);
      if (q != npos && theirs != nullptr && waits(*theirs) && --open_[q] == 0) {
        ready.push_back(q);
      }
    }
  }

  void issue_message(std::size_t r, const model::call &c, std::vector<std::size_t> &ready) {
    const std::size_t index = s_.index.channel_of(r, c);
    if (index == npos) {
      return; // a wildcard: taken as matched
    }
    const channel &line = s_.index.channels[index];
    std::uint8_t &ends = messages_[index][static_cast<std::size_t>(c.seq)];
    ends = static_cast<std::uint8_t>(ends | (c.op == op_kind::send ? 1 : 2));
    open_[r] += message_waits(line, c) ? 1U : 0U;
    if (ends != 3) {
      return;
    }
    const std::size_t k = static_cast<std::size_t>(c.seq);
    for (const auto &[end, rank] : {std::make_pair(line.sends[k], line.from), std::make_pair(line.recvs[k], line.to)}) {
      const std::size_t q = s_.index.row(rank);
      if (message_waits(line, *end) && --open_[q] == 0) {
        ready.push_back(q);
      }
    }
  }

  static bool waits(const model::call &c) { return c.stream != 0 || (c.flags & flag_nonblocking) == 0; }

  /// A send that returned before its receive was posted does not wait (small messages of MPI).
  static bool message_waits(const channel &line, const model::call &c) {
    const auto k = static_cast<std::size_t>(c.seq);
    const model::call *recv = k < line.recvs.size() ? line.recvs[k] : nullptr;
    const bool eager =
        c.op == op_kind::send && c.stream == 0 && (recv == nullptr || (c.left >= 0 && c.left < recv->entered));
    return waits(c) && !eager;
  }

  const scene &s_;
  std::vector<std::vector<std::uint32_t>> arrived_; ///< per circle and position
  std::vector<std::vector<std::uint8_t>> messages_; ///< per channel and ordinal: 1 sent, 2 received
  std::vector<std::size_t> at_, from_;              ///< per rank: next call, first call of the last batch
  std::vector<std::uint32_t> open_;                 ///< per rank: calls in which it waits
};

/// latent_deadlock: only on a run in which everything passed, and which used streams.
inline void find_latent_deadlock(scene &s) {
  if (!s.opt.verify || !s.settled()) {
    return;
  }
  bool streams = false;
  for (const standing &st : s.index.standings) {
    if (st.pending() || !st.queued.empty() || st.gone() || st.unheard() || st.snap->calls_lost > 0) {
      return;
    }
    streams = streams || std::any_of(st.snap->calls.begin(), st.snap->calls.end(), [](const model::call &c) {
                return c.stream != 0 && is_collective(c.op) + is_point_to_point(c.op) > 0;
              });
  }
  const bool uneven = std::any_of(s.findings.begin(), s.findings.end(), [](const finding &f) {
    return f.v.kind == "missing_call" || f.v.kind == "extra_call";
  });
  if (!streams || uneven) {
    return;
  }
  serial_replay replay(s);
  const std::vector<std::size_t> stuck = replay.stuck();
  if (stuck.empty()) {
    return;
  }
  // Everyone who is stuck waits for somebody who is stuck: walking on ends in a circle.
  std::vector<std::size_t> path;
  std::size_t r = stuck.front();
  while (std::find(path.begin(), path.end(), r) == path.end()) {
    path.push_back(r);
    const auto [call, rows] = replay.waits_of(r);
    if (rows.empty()) {
      return;
    }
    r = rows.front();
  }
  path.erase(path.begin(), std::find(path.begin(), path.end(), r));
  std::rotate(path.begin(), std::min_element(path.begin(), path.end()), path.end());
  finding f;
  f.what = family::latent;
  model::verdict &v = f.v;
  v.kind = "latent_deadlock";
  v.sure = model::confidence::proven;
  std::set<std::string> groups;
  for (std::size_t i = 0; i < path.size(); ++i) {
    const std::size_t next = path[(i + 1) % path.size()];
    const auto [call, rows] = replay.waits_of(path[i]);
    const std::string group = s.index.group_name(s.index.circle_of(path[i], *call));
    groups.insert(group);
    v.ranks.push_back(s.rank(path[i]));
    v.chain.push_back(s.rank(path[i]));
    v.chain_text.push_back("rank " + std::to_string(s.rank(path[i])) + " would wait in " +
                           call_at(s.snap(path[i]), *call) + " (group " + group + ") for rank " +
                           std::to_string(s.rank(next)));
    if (i == 0) {
      set_culprit_call(v, s.snap(path[i]), *call);
      v.step = call->step >= 0 ? std::optional<std::int64_t>(call->step) : std::nullopt;
    } else if (i == 1) {
      set_other_call(v, s.snap(path[i]), *call);
    }
  }
  v.chain.push_back(v.chain.front());
  v.ranks = ordered(v.ranks);
  f.suspects = v.ranks;
  std::string names;
  for (const std::string &g : groups) {
    names += (names.empty() ? "" : ", ") + g;
  }
  v.headline = "The run passed, but only because streams run side by side: one call at a time, " + who(v.ranks) +
               " would wait in a circle (groups " + names + ")";
  v.reason = "the ranks launch their calls in different orders; nothing says which order is right";
  v.evidence = v.chain_text;
  if (v.evidence.size() > 6) {
    v.evidence.resize(6);
  }
  v.next_steps.push_back("launch the calls of these groups in one order on all ranks; a device that cannot run both at "
                         "once would hang here");
  s.findings.push_back(std::move(f));
}

} // namespace diagnose
} // namespace DTDEBUG_ABI
} // namespace dtdebug
