// Runs a program on virtual ranks and says where each of them ends, as snapshots. Nothing really waits.
#pragma once

#include <dtdebug/core/hash.hpp>
#include <dtdebug/model/snapshot.hpp>
#include <dtdebug/schedule/program.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <queue>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace schedule {

/// Executes by events: a rank runs until it blocks, and is woken by what it waits for. Time passes only while all
/// sleep. Cost: linear in the calls, times the members of a group where data are really combined.
class simulator {
public:
  explicit simulator(const program &source) : program_(source), ranks_(source.ranks.size()) {
    job_.settled = true;
    job_.timeout = source.timeout;
    job_.ranks.resize(source.ranks.size());
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      start_rank(r);
    }
  }

  /// Runs to the end and returns the snapshots; call it once.
  model::job_snapshot run() {
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      ready_.push_back(r);
    }
    while (!ready_.empty() || !next_.empty() || !sleepers_.empty()) {
      if (!next_.empty()) {
        const auto [row, number] = next_.front();
        next_.pop_front();
        begin(row, number);
        continue;
      }
      if (ready_.empty()) {
        now_ = sleepers_.top().first;
        while (!sleepers_.empty() && sleepers_.top().first == now_) {
          ready_.push_back(sleepers_.top().second);
          sleepers_.pop();
        }
      }
      const std::size_t r = ready_.front();
      ready_.pop_front();
      advance(r);
    }
    finish_snapshots();
    return std::move(job_);
  }

private:
  struct call_ref {
    std::size_t row = 0;
    std::size_t call = 0; ///< index into the rank's calls
  };
  struct batch {
    std::vector<std::size_t> calls;
    std::size_t open = 0; ///< calls that have not returned
    std::string stream;   ///< empty: the host waits
  };
  enum class state : std::uint8_t { running, sleeping, waits_for_batch, waits_for_stream, ending, over };
  struct rank_state {
    state now = state::running;
    std::size_t pc = 0;
    std::size_t created = 0;
    bool finishing = false;
    int depth = 0;
    std::uint32_t batches = 0;
    std::vector<std::size_t> queued;
    std::size_t waits_for = 0; ///< batch
    std::string stream;        ///< for which it waits
    std::size_t wait_record = static_cast<std::size_t>(-1);
    std::map<std::string, std::deque<std::size_t>> streams; ///< batches
    std::map<std::string, std::uint32_t> stream_ids;
    std::vector<std::size_t> batch_of;       ///< per call
    std::vector<const instruction *> source; ///< per call; null for a creation
    std::map<std::string, std::uint32_t> groups;
    std::map<std::pair<std::string, std::uint32_t>, std::uint32_t> sites;
    std::map<std::string, std::uint32_t> phases;
    std::map<std::string, std::vector<double>> tensors;
    std::map<std::string, std::uint64_t> ordinals;             ///< notes by kind and name
    std::unordered_map<std::uint64_t, std::uint64_t> messages; ///< by channel and direction
  };
  struct meeting {
    std::vector<call_ref> calls;
  };

  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  model::rank_snapshot &snap(std::size_t r) { return job_.ranks[r]; }
  model::call &at(const call_ref &c) { return job_.ranks[c.row].calls[c.call]; }

  static std::uint64_t identity(const std::string &name, const std::vector<std::int32_t> &members) {
    std::uint64_t id = hash_bytes(name.data(), name.size());
    for (const std::int32_t m : members) {
      id = mix(id, static_cast<std::uint32_t>(m));
    }
    return id;
  }

  void add_group(std::size_t r, const std::string &name, const std::vector<std::int32_t> &members) {
    model::group g;
    g.name = name;
    g.members = members;
    g.id = identity(name, members);
    g.ordinal = static_cast<std::uint32_t>(snap(r).groups.size());
    g.state = model::group_state::live;
    const auto self = std::find(members.begin(), members.end(), snap(r).rank);
    g.my_index = self == members.end() ? -1 : static_cast<std::int32_t>(self - members.begin());
    for (const rank_program::mesh &m : program_.ranks[r].meshes) {
      for (const auto &axis : m.axes) {
        if (axis.first == name) {
          g.mesh = m.name;
          g.axis = name;
        }
      }
    }
    ranks_[r].groups[name] = static_cast<std::uint32_t>(snap(r).groups.size());
    snap(r).groups.push_back(std::move(g));
  }

  void start_rank(std::size_t r) {
    model::rank_snapshot &s = snap(r);
    s.rank = static_cast<std::int32_t>(r);
    s.world_size = program_.ranks[r].world_size;
    s.life = model::liveness::alive;
    s.sites.emplace_back();
    s.phases.emplace_back();
    std::vector<std::int32_t> world(static_cast<std::size_t>(s.world_size));
    for (std::size_t i = 0; i < world.size(); ++i) {
      world[i] = static_cast<std::int32_t>(i);
    }
    add_group(r, "world", world);
    for (const rank_program::mesh &m : program_.ranks[r].meshes) {
      std::string text;
      std::uint64_t product = 1;
      for (const auto &[axis, size] : m.axes) {
        text += (text.empty() ? "" : " ") + axis + "=" + std::to_string(size);
        product *= size;
      }
      add_note(r, model::note_kind::mesh, m.name, text, product);
    }
  }

  model::note &add_note(std::size_t r, model::note_kind kind, const std::string &name, const std::string &text,
                        std::uint64_t value = 0, std::uint64_t value2 = 0) {
    model::note n;
    n.kind = kind;
    n.name = name;
    n.text = text;
    n.value = value;
    n.value2 = value2;
    n.ordinal = ranks_[r].ordinals[std::to_string(static_cast<int>(kind)) + name]++;
    n.order = snap(r).calls.size();
    n.step = snap(r).step;
    n.at = now_;
    snap(r).notes.push_back(std::move(n));
    return snap(r).notes.back();
  }

  // -- one rank

  void advance(std::size_t r) {
    rank_state &rank = ranks_[r];
    if (rank.now == state::over || (rank.now == state::sleeping && wake_.count(r) != 0 && wake_[r] > now_)) {
      return;
    }
    for (;;) {
      if (!released(r)) {
        return;
      }
      if (rank.now == state::over) {
        return;
      }
      rank.now = state::running;
      if (rank.created < program_.ranks[r].groups.size() && !rank.finishing) {
        create(r);
      } else if (rank.finishing || rank.pc == program_.ranks[r].body.size()) {
        rank.now = state::ending;
      } else {
        execute(r, program_.instructions[program_.ranks[r].body[rank.pc++]]);
      }
      if (rank.now == state::sleeping || rank.now == state::over) {
        return;
      }
    }
  }

  /// True if the rank may go on; a rank at its end with idle streams ends here.
  bool released(std::size_t r) {
    rank_state &rank = ranks_[r];
    switch (rank.now) {
    case state::waits_for_batch: return batches_[rank.waits_for].open == 0;
    case state::waits_for_stream:
      if (!rank.streams[rank.stream].empty()) {
        return false;
      }
      snap(r).calls[rank.wait_record].state = call_state::done;
      snap(r).calls[rank.wait_record].left = now_;
      return true;
    case state::ending:
      for (const auto &stream : rank.streams) {
        if (!stream.second.empty()) {
          return false;
        }
      }
      rank.now = state::over;
      snap(r).life = model::liveness::ended_cleanly;
      snap(r).ended = now_;
      return true;
    default: return true;
    }
  }

  void create(std::size_t r) {
    const auto &[name, members] = program_.ranks[r].groups[ranks_[r].created++];
    add_group(r, name, members);
    snap(r).groups.back().state = model::group_state::creating;
    model::call c;
    c.op = op_kind::group_create;
    c.group = ranks_[r].groups[name];
    launch(r, {record(r, c, nullptr)}, "");
  }

  std::size_t record(std::size_t r, model::call c, const instruction *source) {
    c.order = snap(r).calls.size();
    c.entered = now_;
    c.step = snap(r).step;
    c.phase = snap(r).phase;
    c.state = call_state::entered;
    snap(r).calls.push_back(std::move(c));
    ranks_[r].source.push_back(source);
    ranks_[r].batch_of.push_back(none);
    return snap(r).calls.size() - 1;
  }

  std::uint32_t site_of(std::size_t r, const instruction &i) {
    const auto [it, added] =
        ranks_[r].sites.emplace(std::make_pair(i.file, i.line), static_cast<std::uint32_t>(snap(r).sites.size()));
    if (added) {
      snap(r).sites.emplace_back();
      snap(r).sites.back().file = i.file;
      snap(r).sites.back().line = i.line;
    }
    return it->second;
  }

  std::uint32_t stream_of(std::size_t r, const std::string &name) {
    auto &ids = ranks_[r].stream_ids;
    return name.empty() ? 0 : ids.emplace(name, static_cast<std::uint32_t>(ids.size()) + 1).first->second;
  }

  void call(std::size_t r, const instruction &i) {
    rank_state &rank = ranks_[r];
    model::call c;
    c.op = i.op;
    c.type = i.type;
    c.reduce = i.reduce;
    c.group = rank.groups[i.group];
    c.has_dims = i.has_data;
    c.dims = i.dims;
    c.count = i.has_data ? 1 : 0;
    for (const std::uint64_t d : i.dims) {
      c.count *= d;
    }
    c.element_size = size_of(i.type);
    c.root = i.root;
    c.tag = i.tag;
    c.label = i.label;
    c.splits = i.splits;
    c.recv_splits = i.recv_splits;
    c.site = site_of(r, i);
    c.stream = stream_of(r, i.stream);
    c.batch = rank.depth > 0 ? rank.batches : 0;
    const std::size_t index = record(r, std::move(c), &i);
    if (rank.depth > 0) {
      snap(r).calls[index].state = call_state::queued;
      rank.queued.push_back(index);
    } else {
      issue(r, {index});
    }
  }

  static std::uint64_t channel_key(std::uint64_t group, std::int32_t from, std::int32_t to, std::int32_t tag) {
    const std::uint64_t ends =
        static_cast<std::uint64_t>(static_cast<std::uint32_t>(from)) << 32U | static_cast<std::uint32_t>(to);
    return mix(mix(group, ends), static_cast<std::uint32_t>(tag));
  }

  /// Gives calls their positions and starts them, or puts them on their streams.
  void issue(std::size_t r, const std::vector<std::size_t> &calls) {
    rank_state &rank = ranks_[r];
    std::vector<std::pair<std::string, std::vector<std::size_t>>> by_stream;
    for (const std::size_t index : calls) {
      model::call &c = snap(r).calls[index];
      model::group &g = snap(r).groups[c.group];
      c.state = c.stream == 0 ? call_state::entered : call_state::launched;
      c.entered = now_;
      if (is_point_to_point(c.op)) {
        const bool sends = c.op == op_kind::send;
        const std::uint64_t key =
            channel_key(g.id, sends ? snap(r).rank : c.root, sends ? c.root : snap(r).rank, c.tag);
        c.seq = rank.messages[mix(key, sends ? 1 : 2)]++;
      } else {
        const bool empty = c.count == 0 && !carries_no_data(c.op) && !is_uneven(c.op);
        if (empty || g.members.size() == 1) {
          c.flags |= flag_no_position;
          c.seq = g.next_seq;
        } else {
          c.seq = g.next_seq++;
        }
      }
      const std::string &stream = rank.source[index]->stream;
      auto it = std::find_if(by_stream.begin(), by_stream.end(),
                             [&stream](const auto &part) { return part.first == stream; });
      if (it == by_stream.end()) {
        it = by_stream.insert(it, {stream, {}});
      }
      it->second.push_back(index);
    }
    for (const auto &[stream, part] : by_stream) {
      launch(r, part, stream);
    }
  }

  void launch(std::size_t r, const std::vector<std::size_t> &calls, const std::string &stream) {
    const std::size_t number = batches_.size();
    batches_.push_back({calls, calls.size(), stream});
    for (const std::size_t c : calls) {
      ranks_[r].batch_of[c] = number;
    }
    if (stream.empty()) {
      ranks_[r].now = state::waits_for_batch;
      ranks_[r].waits_for = number;
      begin(r, number);
      return;
    }
    auto &queue = ranks_[r].streams[stream];
    queue.push_back(number);
    if (queue.size() == 1) {
      begin(r, number);
    }
  }

  // -- where calls meet

  void begin(std::size_t r, std::size_t number) {
    const std::vector<std::size_t> calls = batches_[number].calls;
    for (const std::size_t index : calls) {
      const model::call &c = snap(r).calls[index];
      if ((c.flags & flag_no_position) != 0) {
        complete({{r, index}});
        continue;
      }
      const model::group &g = snap(r).groups[c.group];
      std::uint64_t key = 0;
      std::size_t wanted = 2;
      if (is_point_to_point(c.op)) {
        const bool sends = c.op == op_kind::send;
        key = mix(channel_key(g.id, sends ? snap(r).rank : c.root, sends ? c.root : snap(r).rank, c.tag), c.seq + 1);
      } else {
        key = mix(g.id, c.op == op_kind::group_create ? ~std::uint64_t{0} : c.seq + 1);
        wanted = g.members.size();
      }
      std::vector<call_ref> &here = meetings_[key].calls;
      here.push_back({r, index});
      if (here.size() == wanted && agree(here)) {
        const std::vector<call_ref> all = here;
        move_data(all);
        complete(all);
      }
    }
  }

  bool agree(const std::vector<call_ref> &calls) {
    const model::call &a = at(calls.front());
    for (const call_ref &ref : calls) {
      const model::call &b = at(ref);
      if (is_point_to_point(a.op)) {
        if (a.bytes() != b.bytes()) {
          return false;
        }
        continue;
      }
      if (a.op != b.op || a.root != b.root) {
        return false;
      }
      const bool even = !is_uneven(a.op) && !carries_no_data(a.op);
      const bool same =
          is_reduction(a.op) ? a.type == b.type && a.count == b.count && a.reduce == b.reduce : a.bytes() == b.bytes();
      if (even && !same) {
        return false;
      }
    }
    return a.op != op_kind::all_to_all_v || tables_fit(calls);
  }

  bool tables_fit(const std::vector<call_ref> &calls) {
    for (const call_ref &x : calls) {
      const std::size_t i = member_index(x);
      for (const call_ref &y : calls) {
        const std::int64_t sent = at(x).splits[member_index(y)] * static_cast<std::int64_t>(at(x).element_size);
        if (sent != at(y).recv_splits[i] * static_cast<std::int64_t>(at(y).element_size)) {
          return false;
        }
      }
    }
    return true;
  }

  std::size_t member_index(const call_ref &c) {
    return static_cast<std::size_t>(snap(c.row).groups[at(c).group].my_index);
  }

  void complete(const std::vector<call_ref> &calls) {
    for (const call_ref &ref : calls) {
      model::call &c = at(ref);
      c.state = call_state::done;
      c.left = now_;
      if (c.op == op_kind::group_create) {
        snap(ref.row).groups[c.group].state = model::group_state::live;
      }
      rank_state &rank = ranks_[ref.row];
      batch &b = batches_[rank.batch_of[ref.call]];
      if (--b.open != 0) {
        continue;
      }
      ready_.push_back(ref.row);
      if (!b.stream.empty()) {
        auto &queue = rank.streams[b.stream];
        queue.pop_front();
        if (!queue.empty()) {
          next_.emplace_back(ref.row, queue.front()); // not at once: a long stream would be a deep recursion
        }
      }
    }
  }

  // -- data

  std::vector<double> data_of(const call_ref &ref) {
    const instruction *i = ranks_[ref.row].source[ref.call];
    if (i == nullptr || i->tensor.empty()) {
      return std::vector<double>(static_cast<std::size_t>(at(ref).count), 0.0);
    }
    return ranks_[ref.row].tensors[i->tensor];
  }

  static double combine(redop op, double a, double b) {
    if (std::isnan(a) || std::isnan(b)) {
      return std::numeric_limits<double>::quiet_NaN();
    }
    switch (op) {
    case redop::prod: return a * b;
    case redop::min: return std::min(a, b);
    case redop::max: return std::max(a, b);
    default: return a + b;
    }
  }

  void move_data(const std::vector<call_ref> &calls) {
    const op_kind op = at(calls.front()).op;
    const bool named = std::any_of(calls.begin(), calls.end(), [this](const call_ref &c) {
      const instruction *i = ranks_[c.row].source[c.call];
      return i != nullptr && !i->tensor.empty();
    });
    const bool writes =
        op == op_kind::all_reduce || op == op_kind::reduce || op == op_kind::broadcast || is_point_to_point(op);
    if (!named || !writes) {
      return;
    }
    std::vector<double> result;
    const std::int32_t root = at(calls.front()).root;
    if (op == op_kind::broadcast || is_point_to_point(op)) {
      for (const call_ref &c : calls) {
        if (is_point_to_point(op) ? at(c).op == op_kind::send : snap(c.row).rank == root) {
          result = data_of(c);
        }
      }
    } else {
      std::vector<call_ref> in_order = calls;
      std::sort(in_order.begin(), in_order.end(),
                [this](const call_ref &a, const call_ref &b) { return member_index(a) < member_index(b); });
      for (const call_ref &c : in_order) {
        const std::vector<double> mine = data_of(c);
        for (std::size_t e = 0; e < mine.size(); ++e) {
          if (&c == &in_order.front()) {
            result.push_back(mine[e]);
          } else {
            result[e] = combine(at(c).reduce, result[e], mine[e]);
          }
        }
      }
      if (at(calls.front()).reduce == redop::avg) {
        for (double &x : result) {
          x /= static_cast<double>(calls.size());
        }
      }
    }
    for (const call_ref &c : calls) {
      const instruction *i = ranks_[c.row].source[c.call];
      const bool target = op == op_kind::all_reduce || op == op_kind::broadcast || at(c).op == op_kind::recv ||
                          (op == op_kind::reduce && snap(c.row).rank == root);
      if (target && !i->tensor.empty()) {
        ranks_[c.row].tensors[i->tensor] = result;
      }
    }
  }

  // -- everything that is not a call

  void execute(std::size_t r, const instruction &i) {
    rank_state &rank = ranks_[r];
    model::rank_snapshot &s = snap(r);
    switch (i.what) {
    case verb::call: call(r, i); break;
    case verb::group_start: rank.batches += rank.depth++ == 0 ? 1U : 0U; break;
    case verb::group_end:
      if (--rank.depth == 0) {
        issue(r, std::exchange(rank.queued, {}));
      }
      break;
    case verb::sync: sync(r, i); break;
    case verb::sleep:
      rank.now = state::sleeping;
      wake_[r] = now_ + i.number;
      sleepers_.emplace(now_ + i.number, r);
      break;
    case verb::spin:
    case verb::block: rank.now = state::over; break;
    case verb::finish: rank.finishing = true; break;
    case verb::exit:
    case verb::kill:
    case verb::stop: leave(r, i); break;
    case verb::raise: add_note(r, model::note_kind::error, "", i.text); break;
    case verb::oom: add_note(r, model::note_kind::out_of_memory, "", i.text); break;
    case verb::step: s.step = i.number >= 0 ? i.number : s.step + 1; break;
    case verb::phase: {
      const auto [it, added] = rank.phases.emplace(i.text, static_cast<std::uint32_t>(s.phases.size()));
      if (added) {
        s.phases.push_back(i.text);
      }
      s.phase = it->second;
      s.phase_since = now_;
      break;
    }
    case verb::decision: add_note(r, model::note_kind::decision, i.name, i.text); break;
    case verb::fact: add_note(r, model::note_kind::fact, i.name, i.text); break;
    case verb::memory: add_note(r, model::note_kind::memory, "", "", i.index, i.total); break;
    case verb::comm_error: add_note(r, model::note_kind::comm_error, "", i.text).group = rank.groups[i.group]; break;
    case verb::mesh_check: mesh_check(r, i); break;
    case verb::tensor: {
      std::size_t count = 1;
      for (const std::uint64_t d : i.dims) {
        count *= static_cast<std::size_t>(d);
      }
      rank.tensors[i.name].assign(count, i.value);
      break;
    }
    case verb::poke: rank.tensors[i.name][static_cast<std::size_t>(i.index)] = i.value; break;
    case verb::replicated: {
      std::uint64_t low = 1, high = 2;
      for (const double x : rank.tensors[i.name]) {
        std::uint64_t bits = 0;
        std::memcpy(&bits, &x, sizeof bits);
        low = mix(low, bits);
        high = mix(bits, high);
      }
      add_note(r, model::note_kind::replica, i.name, "", low, high).group = rank.groups[i.group];
      break;
    }
    case verb::finite: {
      const std::vector<double> &data = rank.tensors[i.name];
      const auto bad = [](double x) { return !std::isfinite(x); };
      const auto first = std::find_if(data.begin(), data.end(), bad);
      if (first == data.end()) {
        add_note(r, model::note_kind::finite_ok, i.name, "");
      } else {
        add_note(r, model::note_kind::non_finite, i.name, "", static_cast<std::uint64_t>(first - data.begin()),
                 static_cast<std::uint64_t>(std::count_if(data.begin(), data.end(), bad)));
      }
      break;
    }
    }
  }

  void sync(std::size_t r, const instruction &i) {
    rank_state &rank = ranks_[r];
    if (rank.streams[i.stream].empty()) {
      return;
    }
    model::call c;
    c.op = op_kind::wait;
    c.stream = stream_of(r, i.stream);
    c.site = site_of(r, i);
    rank.wait_record = record(r, std::move(c), nullptr);
    rank.stream = i.stream;
    rank.now = state::waits_for_stream;
  }

  void leave(std::size_t r, const instruction &i) {
    model::rank_snapshot &s = snap(r);
    ranks_[r].now = state::over;
    s.ended = i.what == verb::stop ? model::never : now_;
    if (i.what == verb::stop) {
      s.life = model::liveness::stopped;
      return;
    }
    s.life = i.what == verb::exit ? model::liveness::exited : model::liveness::crashed;
    s.exit_code = i.what == verb::exit ? static_cast<int>(i.number) : -1;
    s.signal = i.what == verb::kill ? static_cast<int>(i.number) : 0;
    for (auto &entry : meetings_) { // what nobody met is lost with it
      auto &calls = entry.second.calls;
      calls.erase(std::remove_if(calls.begin(), calls.end(),
                                 [&](const call_ref &c) { return c.row == r && at(c).state != call_state::done; }),
                  calls.end());
    }
  }

  void mesh_check(std::size_t r, const instruction &i) {
    std::vector<std::int32_t> line;
    for (const rank_program::mesh &m : program_.ranks[r].meshes) {
      std::int32_t stride = 1;
      for (std::size_t a = m.axes.size(); m.name == i.name && a-- > 0;) {
        const auto size = static_cast<std::int32_t>(m.axes[a].second);
        if (m.axes[a].first == i.text) {
          const std::int32_t first = snap(r).rank - (snap(r).rank / stride % size) * stride;
          for (std::int32_t k = 0; k < size; ++k) {
            line.push_back(first + k * stride);
          }
        }
        stride *= size;
      }
    }
    const std::uint32_t group = ranks_[r].groups[i.group];
    add_note(r, model::note_kind::mesh_check, i.name, i.text, snap(r).groups[group].members == line ? 1 : 0).group =
        group;
  }

  void finish_snapshots() {
    job_.now = now_;
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      if (ranks_[r].now == state::ending) { // it waits for its streams
        model::call c;
        c.op = op_kind::finalize;
        record(r, std::move(c), nullptr);
      }
    }
  }

  const program &program_;
  model::job_snapshot job_;
  std::vector<rank_state> ranks_;
  std::deque<batch> batches_;
  std::unordered_map<std::uint64_t, meeting> meetings_;
  std::deque<std::size_t> ready_;
  std::deque<std::pair<std::size_t, std::size_t>> next_; ///< row and batch that is now first on its stream
  using sleeper = std::pair<model::time_ns, std::size_t>;
  std::priority_queue<sleeper, std::vector<sleeper>, std::greater<>> sleepers_;
  std::unordered_map<std::size_t, model::time_ns> wake_;
  model::time_ns now_ = 0;
};

/// Where all ranks end when the program runs. Settled snapshots; times are simulated.
inline model::job_snapshot simulate(const program &source) { return simulator(source).run(); }

} // namespace schedule
} // namespace DTDEBUG_ABI
} // namespace dtdebug
