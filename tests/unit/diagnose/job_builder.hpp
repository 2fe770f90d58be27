// Snapshots from literals, for tests of the diagnosis.
#pragma once

#include <dtdebug/diagnose/diagnose.hpp>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace dtdebug_test {

using namespace dtdebug;
using ranks = std::vector<std::int32_t>;

/// One call as a test writes it. Whether it is complete is said by the test.
struct call_line {
  op_kind op = op_kind::all_reduce;
  std::string group = "world";
  std::uint64_t count = 64;
  std::string label = {};
  std::string site = "train.cpp:88";
  dtype type = dtype::f32;
  redop reduce = redop::sum;
  std::int32_t root = no_rank;
  std::int32_t tag = 0;
  std::uint32_t stream = 0;
  bool waits = false; ///< still pending
  std::vector<std::uint64_t> dims = {};
  std::vector<std::int64_t> splits = {}, recv_splits = {};
};

/// Builds a settled job; all ranks are alive until told otherwise.
class job_builder {
public:
  explicit job_builder(std::int32_t world) {
    job.settled = true;
    job.timeout = 2'000'000'000;
    job.now = 10'000'000'000;
    job.ranks.resize(static_cast<std::size_t>(world));
    ranks everyone;
    for (std::int32_t r = 0; r < world; ++r) {
      everyone.push_back(r);
      at(r).rank = r;
      at(r).world_size = world;
      at(r).life = model::liveness::alive;
      at(r).sites.emplace_back();
      at(r).phases.emplace_back();
    }
    group("world", everyone);
  }

  model::rank_snapshot &at(std::int32_t r) { return job.ranks[static_cast<std::size_t>(r)]; }

  job_builder &group(const std::string &name, const ranks &members) {
    for (const std::int32_t r : members) {
      model::group g;
      g.name = name;
      g.members = members;
      g.id = hash_bytes(name.data(), name.size(), static_cast<std::uint64_t>(members.front()) + 1);
      at(r).groups.push_back(g);
    }
    return *this;
  }

  job_builder &call(const ranks &who, const call_line &line) {
    for (const std::int32_t r : who) {
      add(r, line);
    }
    return *this;
  }

  job_builder &ends(const ranks &who, model::liveness how = model::liveness::ended_cleanly, int code = 0) {
    for (const std::int32_t r : who) {
      at(r).life = how;
      at(r).signal = how == model::liveness::crashed ? code : 0;
      at(r).exit_code = how == model::liveness::exited ? code : -1;
    }
    return *this;
  }

  job_builder &note(const ranks &who, model::note_kind kind, const std::string &name, const std::string &text = {},
                    std::uint64_t value = 0, std::uint64_t value2 = 0) {
    for (const std::int32_t r : who) {
      model::note n;
      n.kind = kind;
      n.name = name;
      n.text = text;
      n.value = value;
      n.value2 = value2;
      n.order = at(r).calls.size();
      n.step = at(r).step;
      at(r).notes.push_back(n);
    }
    return *this;
  }

  job_builder &step(std::int64_t number) {
    for (auto &rank : job.ranks) {
      rank.step = number;
    }
    return *this;
  }

  std::vector<model::verdict> verdicts(const diagnose::options &opts = {}) const {
    return diagnose::diagnose(job, opts).verdicts;
  }

  model::job_snapshot job;

private:
  void add(std::int32_t r, const call_line &line) {
    model::rank_snapshot &rank = at(r);
    model::call c;
    c.op = line.op;
    c.type = line.op == op_kind::barrier ? dtype::none : line.type;
    c.reduce = is_reduction(line.op) ? line.reduce : redop::none;
    c.count = line.op == op_kind::barrier ? 0 : line.count;
    c.element_size = size_of(c.type);
    c.has_dims = !line.dims.empty();
    c.dims = line.dims;
    c.label = line.label;
    c.root = line.root;
    c.tag = line.tag;
    c.stream = line.stream;
    c.splits = line.splits;
    c.recv_splits = line.recv_splits;
    c.step = rank.step;
    c.order = rank.calls.size();
    c.state = !line.waits ? call_state::done : line.stream != 0 ? call_state::launched : call_state::entered;
    c.entered = static_cast<model::time_ns>(c.order) * 1000;
    c.left = line.waits ? model::never : c.entered + 500;
    while (c.group < rank.groups.size() && rank.groups[c.group].name != line.group) {
      ++c.group;
    }
    std::string channel = line.group;
    if (is_point_to_point(line.op)) {
      channel +=
          std::to_string(static_cast<int>(line.op)) + "/" + std::to_string(line.root) + "/" + std::to_string(line.tag);
    }
    const bool empty = is_collective(line.op) && line.op != op_kind::barrier && line.count == 0;
    c.flags = empty ? flag_no_position : 0;
    c.seq = empty ? next_[{r, channel}] : next_[{r, channel}]++;
    model::site s;
    const std::size_t colon = line.site.rfind(':');
    s.file = line.site.substr(0, colon);
    s.line = static_cast<std::uint32_t>(std::stoul(line.site.substr(colon + 1)));
    const auto same = [&s](const model::site &t) { return t.file == s.file && t.line == s.line; };
    auto it = std::find_if(rank.sites.begin(), rank.sites.end(), same);
    if (it == rank.sites.end()) {
      it = rank.sites.insert(it, s);
    }
    c.site = static_cast<std::uint32_t>(it - rank.sites.begin());
    rank.calls.push_back(c);
  }

  std::map<std::pair<std::int32_t, std::string>, std::uint64_t> next_;
};

/// The first verdict of this kind, folded or not; null if there is none.
inline const model::verdict *find(const std::vector<model::verdict> &all, const std::string &kind) {
  for (const model::verdict &v : all) {
    if (v.kind == kind) {
      return &v;
    }
    if (const model::verdict *inner = find(v.consequences, kind)) {
      return inner;
    }
  }
  return nullptr;
}

} // namespace dtdebug_test
