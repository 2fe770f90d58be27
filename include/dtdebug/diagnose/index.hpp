// The snapshots of all ranks put side by side: who is in which group, and which calls belong to one position or
// message.
#pragma once

#include <dtdebug/core/hash.hpp>
#include <dtdebug/core/op.hpp>
#include <dtdebug/model/snapshot.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace diagnose {

inline constexpr std::size_t npos = static_cast<std::size_t>(-1);

/// The collectives that one rank made in one group, by position.
struct lane {
  std::int32_t rank = -1;
  const model::rank_snapshot *snap = nullptr; ///< null: nothing is known of this member
  std::uint32_t slot = 0;                     ///< index into snap->groups
  bool joined = false;                        ///< this rank has the group
  std::uint64_t first = 0;                    ///< position of calls[0]; above 0 if older ones were overwritten
  std::vector<const model::call *> calls;     ///< null where a record is lost
  std::vector<const model::call *> empties;   ///< calls that took no position, in order of issue
  const model::call *creation = nullptr;      ///< the group_create call, if recorded

  std::uint64_t end() const { return first + calls.size(); }
  const model::call *at(std::uint64_t position) const {
    return position < first || position >= end() ? nullptr : calls[static_cast<std::size_t>(position - first)];
  }
  /// True if this rank has taken the position, whether its record is still there or not.
  bool made(std::uint64_t position) const { return position < end(); }
};

/// One group as all its members see it. Lanes are in the order of the members.
struct circle {
  std::uint64_t id = 0;
  std::string name;
  std::vector<lane> lanes;
  bool members_differ = false; ///< ranks that agree in the group's identity give it different members

  lane *find(std::int32_t rank) {
    const auto it = std::find_if(lanes.begin(), lanes.end(), [rank](const lane &l) { return l.rank == rank; });
    return it == lanes.end() ? nullptr : &*it;
  }
};

/// All messages of one group, direction and tag between two ranks, by ordinal; null where a record is lost.
struct channel {
  std::size_t circle = npos;
  std::int32_t from = -1, to = -1, tag = 0;
  std::vector<const model::call *> sends, recvs;
};

/// What a rank is doing now.
struct standing {
  const model::rank_snapshot *snap = nullptr;
  std::vector<const model::call *> host;  ///< communication calls in which a thread of the host sits
  std::vector<const model::call *> waits; ///< wait, group_end, finalize: the host waits for earlier calls
  std::vector<std::vector<const model::call *>> streams; ///< pending calls of each stream in order
  std::vector<const model::call *> requests;             ///< pending non-blocking calls that are on no stream
  std::vector<const model::call *> queued;               ///< calls inside a batch that is still open

  bool gone() const {
    using model::liveness;
    return snap->life == liveness::exited || snap->life == liveness::crashed || snap->life == liveness::vanished;
  }
  /// True for a rank that makes no more calls and has left in good order, or is on its way out.
  bool ended() const {
    const auto leaves = [](const model::call *w) { return w->op == op_kind::finalize; };
    return snap->life == model::liveness::ended_cleanly ||
           (!gone() && !stopped() && streams.empty() && requests.empty() && host.empty() &&
            std::any_of(waits.begin(), waits.end(), leaves));
  }
  bool stopped() const { return snap->life == model::liveness::stopped; }
  bool unheard() const { return snap->life == model::liveness::never_started; }
  bool in_call() const { return !host.empty() || !waits.empty(); }
  bool pending() const { return in_call() || !streams.empty() || !requests.empty(); }
};

/// Everything that analysers look up. Holds pointers into the job, which must outlive it.
class job_index {
public:
  explicit job_index(const model::job_snapshot &snapshot) : job(snapshot) {
    standings.resize(job.ranks.size());
    circle_of_.resize(job.ranks.size());
    for (std::size_t r = 0; r < job.ranks.size(); ++r) {
      row_[job.ranks[r].rank] = r;
      standings[r].snap = &job.ranks[r];
    }
    for (std::size_t r = 0; r < job.ranks.size(); ++r) {
      add_groups(r);
    }
    for (std::size_t r = 0; r < job.ranks.size(); ++r) {
      add_calls(r);
    }
  }

  const model::job_snapshot &job;
  std::vector<circle> circles;
  std::vector<channel> channels;
  std::vector<standing> standings; ///< in the order of job.ranks

  /// Index of a rank in job.ranks; npos for a rank of which there is no snapshot.
  std::size_t row(std::int32_t rank) const {
    const auto it = row_.find(rank);
    return it == row_.end() ? npos : it->second;
  }
  /// Circle of a call of the rank in row `r`; npos if its group is not known.
  std::size_t circle_of(std::size_t r, const model::call &call) const {
    return call.group < circle_of_[r].size() ? circle_of_[r][call.group].first : npos;
  }
  const lane *lane_of(std::size_t r, std::size_t circle_index) const {
    for (const auto &entry : circle_of_[r]) {
      if (entry.first == circle_index) {
        return &circles[circle_index].lanes[entry.second];
      }
    }
    return nullptr;
  }
  /// Channel of a send or receive of the rank in row `r`; npos for a wildcard, or where one may take the message.
  std::size_t channel_of(std::size_t r, const model::call &call) const {
    const auto it = channel_index_.find(channel_key(r, call));
    return it == channel_index_.end() ? npos : it->second;
  }
  std::string group_name(std::size_t circle_index) const {
    return circle_index == npos ? std::string() : circles[circle_index].name;
  }

private:
  void add_groups(std::size_t r) {
    const model::rank_snapshot &rank = job.ranks[r];
    for (std::uint32_t g = 0; g < rank.groups.size(); ++g) {
      const model::group &group = rank.groups[g];
      std::uint64_t key = group.id;
      if (key == 0) {
        key = hash_bytes(group.name.data(), group.name.size(), group.members.size());
        for (const std::int32_t m : group.members) {
          key = mix(key, static_cast<std::uint32_t>(m));
        }
      }
      const auto [it, added] = by_id_.emplace(key, circles.size());
      if (added) {
        circles.emplace_back();
        circles.back().id = key;
        circles.back().name = group.name;
      }
      circle &c = circles[it->second];
      if (c.lanes.empty()) {
        for (const std::int32_t m : group.members) {
          c.lanes.emplace_back();
          c.lanes.back().rank = m;
          const std::size_t at = row(m);
          c.lanes.back().snap = at == npos ? nullptr : &job.ranks[at];
        }
      } else if (!group.members.empty()) {
        c.members_differ |= !same_members(c, group.members);
      }
      const std::size_t at = lane_for(c, rank, group.my_index);
      c.lanes[at].slot = g;
      c.lanes[at].joined = true;
      circle_of_[r].emplace_back(it->second, at);
    }
  }

  static bool same_members(const circle &c, const std::vector<std::int32_t> &members) {
    return c.lanes.size() == members.size() && std::equal(members.begin(), members.end(), c.lanes.begin(),
                                                          [](std::int32_t m, const lane &l) { return m == l.rank; });
  }

  static std::size_t lane_for(circle &c, const model::rank_snapshot &rank, std::int32_t hint) {
    if (hint >= 0 && static_cast<std::size_t>(hint) < c.lanes.size() &&
        c.lanes[static_cast<std::size_t>(hint)].rank == rank.rank) {
      return static_cast<std::size_t>(hint);
    }
    for (std::size_t i = 0; i < c.lanes.size(); ++i) {
      if (c.lanes[i].rank == rank.rank) {
        return i;
      }
    }
    c.lanes.emplace_back();
    c.lanes.back().rank = rank.rank;
    c.lanes.back().snap = &rank;
    return c.lanes.size() - 1;
  }

  std::uint64_t channel_key(std::size_t r, const model::call &call) const {
    const std::int32_t self = job.ranks[r].rank;
    const std::int32_t from = call.op == op_kind::send ? self : call.root;
    const std::int32_t to = call.op == op_kind::send ? call.root : self;
    const std::uint64_t ends =
        static_cast<std::uint64_t>(static_cast<std::uint32_t>(from)) << 32U | static_cast<std::uint32_t>(to);
    return mix(ends, mix(circle_of(r, call) + 1, static_cast<std::uint32_t>(call.tag)));
  }

  static void put(std::vector<const model::call *> &line, std::uint64_t at, const model::call &call) {
    if (at > line.size() + 1'000'000) {
      return; // an ordinal that no run reaches: a damaged record
    }
    if (at >= line.size()) {
      line.resize(static_cast<std::size_t>(at) + 1, nullptr);
    }
    line[static_cast<std::size_t>(at)] = &call;
  }

  void add_collective(lane &l, const model::call &call) {
    if ((call.flags & flag_no_position) != 0) {
      l.empties.push_back(&call);
      return;
    }
    if (l.calls.empty()) {
      l.first = call.seq;
    } else if (call.seq < l.first) { // issued by another thread
      if (l.first - call.seq > 1'000'000) {
        return;
      }
      l.calls.insert(l.calls.begin(), static_cast<std::size_t>(l.first - call.seq), nullptr);
      l.first = call.seq;
    }
    put(l.calls, call.seq - l.first, call);
  }

  void add_message(std::size_t r, std::size_t circle_index, const model::call &call) {
    if (call.root < 0 || call.tag == any_tag) {
      return;
    }
    const auto [it, added] = channel_index_.emplace(channel_key(r, call), channels.size());
    if (added) {
      channels.emplace_back();
      const std::int32_t self = job.ranks[r].rank;
      channels.back().circle = circle_index;
      channels.back().from = call.op == op_kind::send ? self : call.root;
      channels.back().to = call.op == op_kind::send ? call.root : self;
      channels.back().tag = call.tag;
    }
    channel &c = channels[it->second];
    put(call.op == op_kind::send ? c.sends : c.recvs, call.seq, call);
  }

  void add_standing(standing &s, const model::call &call) {
    const bool communicates = is_collective(call.op) || is_point_to_point(call.op) || call.op == op_kind::probe ||
                              call.op == op_kind::group_create || call.op == op_kind::group_free;
    if (call.state == call_state::queued) {
      s.queued.push_back(&call);
    } else if (!is_pending(call.state)) {
      return;
    } else if (!communicates) {
      if (call.state == call_state::entered && call.op != op_kind::group_start && call.op != op_kind::init) {
        s.waits.push_back(&call);
      }
    } else if (call.stream != 0) {
      const auto same = [&call](const auto &line) { return line.front()->stream == call.stream; };
      auto line = std::find_if(s.streams.begin(), s.streams.end(), same);
      if (line == s.streams.end()) {
        line = s.streams.emplace(s.streams.end());
      }
      line->push_back(&call);
    } else if (call.state == call_state::entered && (call.flags & flag_nonblocking) == 0) {
      s.host.push_back(&call);
    } else {
      s.requests.push_back(&call);
    }
  }

  void add_calls(std::size_t r) {
    const model::rank_snapshot &rank = job.ranks[r];
    for (const model::call &call : rank.calls) {
      if (call.state != call_state::done) {
        add_standing(standings[r], call);
      }
      if (call.state == call_state::queued || call.state == call_state::captured || call.state == call_state::none) {
        continue;
      }
      if (call.group >= circle_of_[r].size()) {
        continue;
      }
      const auto [circle_index, lane_index] = circle_of_[r][call.group];
      lane &l = circles[circle_index].lanes[lane_index];
      if (is_collective(call.op)) {
        add_collective(l, call);
      } else if (is_point_to_point(call.op)) {
        add_message(r, circle_index, call);
      } else if (call.op == op_kind::group_create) {
        l.creation = &call;
      }
    }
    // Positions whose records are gone still count as made.
    for (std::uint32_t g = 0; g < rank.groups.size() && rank.calls_lost > 0; ++g) {
      lane &l = circles[circle_of_[r][g].first].lanes[circle_of_[r][g].second];
      if (l.calls.empty()) {
        l.first = rank.groups[g].next_seq;
      }
    }
  }

  std::unordered_map<std::int32_t, std::size_t> row_;
  std::unordered_map<std::uint64_t, std::size_t> by_id_;
  std::unordered_map<std::uint64_t, std::size_t> channel_index_;
  std::vector<std::vector<std::pair<std::size_t, std::size_t>>> circle_of_; ///< per rank and group: circle, lane
};

} // namespace diagnose
} // namespace DTDEBUG_ABI
} // namespace dtdebug
