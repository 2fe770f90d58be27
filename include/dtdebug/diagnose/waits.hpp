// Who waits for whom: a graph over host threads, streams and the positions at which calls meet.
#pragma once

#include <dtdebug/diagnose/index.hpp>
#include <dtdebug/diagnose/options.hpp>
#include <dtdebug/diagnose/text.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace diagnose {

/// A host or a stream of a rank, or a position at which members of a group meet. Each waits for what its edges name.
struct wait_node {
  enum class kind : std::uint8_t { host, stream, meeting };
  struct edge {
    std::size_t to = npos;
    const model::call *call = nullptr; ///< the call that waits; null on the edges of a meeting
  };
  kind what = kind::host;
  std::size_t row = npos;     ///< of the rank; npos for a meeting
  std::size_t circle = npos;  ///< of a meeting
  std::uint64_t position = 0; ///< of a meeting
  bool creation = false;      ///< the meeting is the creation of the group
  bool hot = false;           ///< somebody has waited here long enough that absence is evidence
  std::vector<edge> edges;
  std::vector<std::size_t> waiters; ///< nodes with an edge to this one
};

/// True for a call that has been waiting for so long that a snapshot's age cannot explain it.
inline bool older_than(const model::job_snapshot &job, const model::call &call, model::time_ns age) {
  return call.entered >= 0 && job.now - call.entered > age;
}

/// The wait-for graph of a job. Hosts come first: node r is the host of the rank in row r.
/// Cost: linear in the pending calls and the members of the groups in which they wait.
class wait_graph {
public:
  wait_graph(const job_index &index, const options &opts) : index_(index), opts_(opts) {
    nodes.resize(index.standings.size());
    stream_nodes_.resize(index.standings.size());
    for (std::size_t r = 0; r < nodes.size(); ++r) {
      nodes[r].row = r;
      for (std::size_t s = 0; s < index.standings[r].streams.size(); ++s) {
        stream_nodes_[r].push_back(nodes.size() + extra_.size());
        extra_.emplace_back();
        extra_.back().what = wait_node::kind::stream;
        extra_.back().row = r;
      }
    }
    nodes.insert(nodes.end(), extra_.begin(), extra_.end());
    extra_.clear();
    for (std::size_t r = 0; r < index.standings.size(); ++r) {
      add_rank(r);
    }
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      for (const auto &e : nodes[n].edges) {
        nodes[e.to].waiters.push_back(n);
      }
    }
    spread_heat();
  }

  std::vector<wait_node> nodes;

  /// The meeting at a position of a group, npos if nobody waits there.
  std::size_t meeting(std::size_t circle_index, std::uint64_t position, bool creation) const {
    const auto it = meetings_.find({circle_index, creation ? ~std::uint64_t{0} : position});
    return it == meetings_.end() ? npos : it->second;
  }

  /// The calls of other ranks that wait directly for node `n`, with the row of the waiting rank.
  std::vector<std::pair<std::size_t, const model::call *>> calls_waiting_for(std::size_t n) const {
    std::vector<std::pair<std::size_t, const model::call *>> out;
    for (const std::size_t w : nodes[n].waiters) {
      collect(w, n, out);
    }
    return out;
  }

  /// The host and the streams of the rank in row `r`.
  std::vector<std::size_t> agents(std::size_t r) const {
    std::vector<std::size_t> out = stream_nodes_[r];
    out.push_back(r);
    return out;
  }

  /// The calls in which the rank in row `from` waits directly for the one in row `to`.
  std::vector<const model::call *> calls_between(std::size_t from, std::size_t to) const {
    std::vector<const model::call *> out;
    for (const std::size_t n : agents(to)) {
      for (const auto &[row, call] : calls_waiting_for(n)) {
        if (row == from) {
          out.push_back(call);
        }
      }
    }
    return out;
  }

  /// Ranks from one for which nobody waits to `goal`, as rows; empty if nobody waits for it. The longest of the
  /// shortest chains, and of equal ones that of the lowest ranks.
  std::vector<std::size_t> chain_to(std::size_t goal) const;

  /// True if node `from` waits, directly or through others, for node `to`.
  bool reaches(std::size_t from, std::size_t to) const {
    std::vector<bool> seen(nodes.size(), false);
    std::vector<std::size_t> todo{from};
    while (!todo.empty()) {
      const std::size_t n = todo.back();
      todo.pop_back();
      if (n == to) {
        return true;
      }
      for (const auto &e : nodes[n].edges) {
        if (!seen[e.to]) {
          seen[e.to] = true;
          todo.push_back(e.to);
        }
      }
    }
    return false;
  }

  /// Strongly connected sets of more than one node, each sorted.
  std::vector<std::vector<std::size_t>> knots() const;

private:
  void collect(std::size_t waiter, std::size_t target,
               std::vector<std::pair<std::size_t, const model::call *>> &out) const {
    const wait_node &node = nodes[waiter];
    if (node.what == wait_node::kind::meeting) {
      for (const std::size_t w : node.waiters) {
        collect(w, waiter, out);
      }
      return;
    }
    for (const auto &e : node.edges) {
      if (e.to == target && e.call != nullptr) {
        out.emplace_back(node.row, e.call);
      }
    }
  }

  void add_rank(std::size_t r) {
    const standing &s = index_.standings[r];
    if (s.gone() || s.ended() || s.unheard()) {
      return;
    }
    for (const model::call *c : s.host) {
      add_wait(r, r, *c);
    }
    bool waits_for_streams = !s.in_call();
    for (const model::call *w : s.waits) {
      waits_for_streams = waits_for_streams || w->op == op_kind::finalize;
      for (const model::call *c : s.requests) {
        if (w->op != op_kind::group_end || w->batch == 0 || w->batch == c->batch) {
          add_wait(r, r, *c);
        }
      }
      for (std::size_t i = 0; i < s.streams.size(); ++i) {
        if (w->stream != 0 && s.streams[i].front()->stream == w->stream) {
          nodes[r].edges.push_back({stream_nodes_[r][i], w});
        }
      }
    }
    for (std::size_t i = 0; i < s.streams.size(); ++i) {
      if (waits_for_streams) {
        nodes[r].edges.push_back({stream_nodes_[r][i], s.streams[i].front()});
      }
      for (const model::call *c : s.streams[i]) {
        if (at_head(s.streams[i], *c)) {
          add_wait(stream_nodes_[r][i], r, *c);
        }
      }
    }
  }

  /// True for the first call of a stream, and for those that were launched together with it.
  static bool at_head(const std::vector<const model::call *> &line, const model::call &call) {
    return &call == line.front() || (call.batch != 0 && call.batch == line.front()->batch);
  }

  /// The stream on which a call waits for its turn; the host if it is not on a stream or has started.
  std::size_t agent_of(std::size_t r, const model::call *call) const {
    if (call == nullptr || call->stream == 0 || !is_pending(call->state)) {
      return r;
    }
    for (std::size_t i = 0; i < index_.standings[r].streams.size(); ++i) {
      const auto &line = index_.standings[r].streams[i];
      if (line.front()->stream == call->stream && !at_head(line, *call)) {
        return stream_nodes_[r][i];
      }
    }
    return r;
  }

  /// True if the rank has started the call, so that others need not wait for it.
  bool here(std::size_t r, const model::call &call) const {
    if (call.state == call_state::done) {
      return true;
    }
    return !index_.standings[r].gone() && agent_of(r, &call) == r;
  }

  void add_wait(std::size_t agent, std::size_t r, const model::call &call) {
    const std::size_t circle_index = index_.circle_of(r, call);
    if (opts_.settled || index_.job.settled || older_than(index_.job, call, index_.job.timeout)) {
      nodes[agent].hot = true;
    }
    if (is_point_to_point(call.op)) {
      add_message_wait(agent, r, call);
    } else if (call.op == op_kind::probe) {
      const std::size_t peer = index_.row(call.root);
      if (peer != npos) {
        nodes[agent].edges.push_back({peer, &call});
      }
    } else if (circle_index != npos && (is_collective(call.op) || call.op == op_kind::group_create)) {
      if ((call.flags & flag_no_position) == 0) {
        const std::size_t at = meet(circle_index, call); // may move the nodes
        nodes[agent].edges.push_back({at, &call});
      }
    }
  }

  void add_message_wait(std::size_t agent, std::size_t r, const model::call &call) {
    const std::size_t peer = index_.row(call.root);
    if (peer == npos) {
      return;
    }
    const std::size_t channel_index = index_.channel_of(r, call);
    const model::call *other = nullptr;
    if (channel_index != npos) {
      const channel &c = index_.channels[channel_index];
      const auto &line = call.op == op_kind::send ? c.recvs : c.sends;
      other = call.seq < line.size() ? line[static_cast<std::size_t>(call.seq)] : nullptr;
      if (other == nullptr && call.seq < line.size()) {
        return; // made, but its record is lost
      }
    }
    if (other == nullptr || !here(peer, *other)) {
      nodes[agent].edges.push_back({agent_of(peer, other), &call});
    }
  }

  std::size_t meet(std::size_t circle_index, const model::call &call) {
    const bool creation = call.op == op_kind::group_create;
    const auto [it, added] =
        meetings_.emplace(std::make_pair(circle_index, creation ? ~std::uint64_t{0} : call.seq), nodes.size());
    if (!added) {
      return it->second;
    }
    wait_node node;
    node.what = wait_node::kind::meeting;
    node.circle = circle_index;
    node.position = creation ? 0 : call.seq;
    node.creation = creation;
    for (const lane &l : index_.circles[circle_index].lanes) {
      const std::size_t member = index_.row(l.rank);
      if (member == npos) {
        continue;
      }
      const model::call *theirs = creation ? l.creation : l.at(call.seq);
      const bool record_lost = theirs == nullptr && !creation && l.made(call.seq);
      const bool made_before = creation && l.creation == nullptr && l.joined && !l.calls.empty();
      if (!record_lost && !made_before && (theirs == nullptr || !here(member, *theirs))) {
        node.edges.push_back({agent_of(member, theirs), nullptr});
      }
    }
    nodes.push_back(std::move(node));
    return it->second;
  }

  void spread_heat() {
    std::vector<std::size_t> todo;
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      if (nodes[n].hot) {
        todo.push_back(n);
      }
    }
    while (!todo.empty()) {
      const std::size_t n = todo.back();
      todo.pop_back();
      for (const auto &e : nodes[n].edges) {
        if (!nodes[e.to].hot) {
          nodes[e.to].hot = true;
          todo.push_back(e.to);
        }
      }
    }
  }

  const job_index &index_;
  const options &opts_;
  std::vector<std::vector<std::size_t>> stream_nodes_;
  std::vector<wait_node> extra_;
  std::map<std::pair<std::size_t, std::uint64_t>, std::size_t> meetings_;
};

inline std::vector<std::size_t> wait_graph::chain_to(std::size_t goal) const {
  // Breadth first against the direction of waiting; a step to another rank counts one, to a meeting or a stream
  // nothing.
  std::vector<std::size_t> next(nodes.size(), npos);
  std::vector<std::size_t> depth(nodes.size(), npos);
  std::vector<std::size_t> layer{goal};
  depth[goal] = 0;
  for (std::size_t level = 0; !layer.empty(); ++level) {
    std::vector<std::size_t> upper;
    for (std::size_t i = 0; i < layer.size(); ++i) { // grows while meetings and streams of this level are added
      const std::size_t n = layer[i];
      std::vector<std::size_t> before = nodes[n].waiters;
      std::sort(before.begin(), before.end());
      for (const std::size_t w : before) {
        if (depth[w] != npos) {
          continue;
        }
        const bool same_level =
            nodes[w].what == wait_node::kind::meeting || (nodes[w].row == nodes[n].row && nodes[n].row != npos);
        depth[w] = same_level ? level : level + 1;
        next[w] = n;
        (same_level ? layer : upper).push_back(w);
      }
    }
    std::sort(upper.begin(), upper.end());
    layer = std::move(upper);
  }
  std::size_t start = npos;
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    if (depth[n] == npos || depth[n] == 0 || nodes[n].what == wait_node::kind::meeting) {
      continue;
    }
    const auto by_another = [this, n](std::size_t w) {
      return nodes[w].what == wait_node::kind::meeting || nodes[w].row != nodes[n].row;
    };
    const bool awaited = std::any_of(nodes[n].waiters.begin(), nodes[n].waiters.end(), by_another);
    const bool best_awaited =
        start != npos &&
        std::any_of(nodes[start].waiters.begin(), nodes[start].waiters.end(), [this, start](std::size_t w) {
          return nodes[w].what == wait_node::kind::meeting || nodes[w].row != nodes[start].row;
        });
    if (start == npos || (best_awaited && !awaited) || (best_awaited == awaited && depth[n] > depth[start])) {
      start = n;
    }
  }
  std::vector<std::size_t> rows;
  for (std::size_t n = start; n != npos; n = next[n]) {
    if (nodes[n].row != npos && (rows.empty() || rows.back() != nodes[n].row)) {
      rows.push_back(nodes[n].row);
    }
  }
  return rows;
}

inline std::vector<std::vector<std::size_t>> wait_graph::knots() const {
  // Tarjan's strongly connected components (R. Tarjan, 1972), with an explicit stack.
  struct visit {
    std::size_t node, edge;
  };
  std::vector<std::size_t> number(nodes.size(), npos), low(nodes.size(), 0), open;
  std::vector<bool> on_stack(nodes.size(), false);
  std::vector<std::vector<std::size_t>> out;
  std::size_t counter = 0;
  for (std::size_t root = 0; root < nodes.size(); ++root) {
    if (number[root] != npos) {
      continue;
    }
    std::vector<visit> path{{root, 0}};
    while (!path.empty()) {
      const std::size_t n = path.back().node;
      if (path.back().edge == 0) {
        number[n] = low[n] = counter++;
        open.push_back(n);
        on_stack[n] = true;
      }
      bool descended = false;
      while (path.back().edge < nodes[n].edges.size()) {
        const std::size_t to = nodes[n].edges[path.back().edge++].to;
        if (number[to] == npos) {
          path.push_back({to, 0});
          descended = true;
          break;
        }
        if (on_stack[to]) {
          low[n] = std::min(low[n], number[to]);
        }
      }
      if (descended) {
        continue;
      }
      if (low[n] == number[n]) {
        std::vector<std::size_t> part;
        do {
          part.push_back(open.back());
          on_stack[open.back()] = false;
          open.pop_back();
        } while (part.back() != n);
        if (part.size() > 1) {
          std::sort(part.begin(), part.end());
          out.push_back(std::move(part));
        }
      }
      path.pop_back();
      if (!path.empty()) {
        low[path.back().node] = std::min(low[path.back().node], low[n]);
      }
    }
  }
  return out;
}

} // namespace diagnose
} // namespace DTDEBUG_ABI
} // namespace dtdebug
