// Executes one rank of a schedule: really calls, really blocks, really dies.
#pragma once

#include <dtdebug/record/breadcrumbs.hpp>
#include <dtdebug/repro/host_group.hpp>
#include <dtdebug/repro/stream_thread.hpp>
#include <dtdebug/schedule/program.hpp>

#include <atomic>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace repro {

/// What a rank does at this moment, for the parent that waits until nothing can move any more. In shared memory.
enum class activity : std::uint32_t { runs = 0, blocked = 1, sleeps = 2 };

/// Needs a session that records. `run` returns only when the rank has come to its clean end.
class program_rank {
public:
  program_rank(const schedule::program &source, std::int32_t rank, exchange &with, std::atomic<activity> &now)
      : source_(source), mine_(source.ranks[static_cast<std::size_t>(rank)]), rank_(rank), with_(with), now_(now) {}

  void run() {
    enter_world();
    note_meshes();
    for (const auto &[name, members] : mine_.groups) {
      create(name, members);
    }
    for (const std::uint32_t number : mine_.body) {
      if (!execute(source_.instructions[number])) {
        break;
      }
    }
    const blocking here(now_);
    for (const auto &[name, one] : streams_) {
      one.thread->drain();
    }
  }

private:
  struct tensor {
    dtype type = dtype::none;
    std::uint64_t count = 0;
    std::vector<unsigned char> data;
    std::uint32_t width() const { return size_of(type); }
  };
  struct stream {
    std::unique_ptr<stream_thread> thread;
    std::uint32_t id = 0;
  };
  /// A call on record that is to be made, alone or with others of its batch.
  struct pending {
    host_call call;
    host_group *group = nullptr;
    call_on_record on_record;
    std::string on_stream; ///< empty: the host waits
  };
  class blocking {
  public:
    explicit blocking(std::atomic<activity> &now, activity what = activity::blocked) : now_(now) { now_.store(what); }
    ~blocking() { now_.store(activity::runs); }
    blocking(const blocking &) = delete;
    blocking &operator=(const blocking &) = delete;

  private:
    std::atomic<activity> &now_;
  };

  const schedule::program &source_;
  const schedule::rank_program &mine_;
  std::int32_t rank_;
  exchange &with_;
  std::atomic<activity> &now_;
  std::map<std::string, host_group> groups_;
  std::map<std::string, tensor> tensors_;
  std::map<std::string, stream> streams_;
  std::vector<pending> batch_;
  int depth_ = 0;
  std::int64_t step_ = -1;

  void enter_world() {
    std::vector<std::int32_t> everybody;
    for (std::int32_t r = 0; r < mine_.world_size; ++r) {
      everybody.push_back(r);
    }
    groups_.emplace("world", host_group("world", everybody, rank_));
  }

  void note_meshes() const {
    for (const schedule::rank_program::mesh &m : mine_.meshes) {
      std::string text;
      std::uint64_t product = 1;
      for (const auto &[axis, size] : m.axes) {
        text += (text.empty() ? "" : " ") + axis + "=" + std::to_string(size);
        product *= size;
      }
      record::note(note_type::mesh, m.name.c_str(), text.c_str(), product);
    }
  }

  void create(const std::string &name, const std::vector<std::int32_t> &members) {
    host_group &group = groups_.emplace(name, host_group(name, members, rank_)).first->second;
    const blocking here(now_);
    create_group(with_, group, [&](std::uint16_t slot) {
      for (const schedule::rank_program::mesh &m : mine_.meshes) {
        for (const auto &axis : m.axes) {
          if (axis.first == name && slot != world::no_group) {
            m.name.copy(record::box().groups[slot].mesh, sizeof(blackbox::group_slot::mesh) - 1);
            name.copy(record::box().groups[slot].axis, sizeof(blackbox::group_slot::axis) - 1);
          }
        }
      }
    });
  }

  stream &stream_of(const std::string &name) {
    stream &found = streams_[name];
    if (found.thread == nullptr) {
      found.thread = std::make_unique<stream_thread>();
      found.id = static_cast<std::uint32_t>(streams_.size());
    }
    return found;
  }

  // -- calls

  host_call form(const schedule::instruction &i, const host_group &group) {
    host_call c;
    c.op = i.op;
    c.type = i.type;
    c.reduce = i.reduce;
    c.root = i.root == no_rank ? no_rank : group.index_of(i.root);
    c.tag = i.tag;
    c.count = i.has_data ? 1 : 0;
    for (const std::uint64_t d : i.dims) {
      c.count *= d;
    }
    c.dims = i.dims;
    c.has_dims = i.has_data;
    c.splits = i.splits;
    c.recv_splits = i.recv_splits;
    c.label = i.label;
    c.file = i.file;
    c.line = i.line;
    c.stream = i.stream.empty() ? 0 : stream_of(i.stream).id;
    if (!i.tensor.empty()) {
      tensor &t = tensors_[i.tensor];
      const bool overwrites = i.op == op_kind::all_reduce || i.op == op_kind::broadcast || i.op == op_kind::recv ||
                              (i.op == op_kind::reduce && c.root == group.index());
      const bool reads = i.op != op_kind::recv && i.op != op_kind::scatter;
      c.in = reads ? t.data.data() : nullptr;
      c.out = overwrites ? t.data.data() : nullptr;
      c.out_size = t.data.size();
    }
    return c;
  }

  void call(const schedule::instruction &i) {
    host_group &group = groups_.at(i.group);
    pending made;
    made.call = form(i, group);
    made.group = &group;
    made.on_stream = i.stream;
    const call_state state = depth_ > 0         ? call_state::queued
                             : i.stream.empty() ? call_state::entered
                                                : call_state::launched;
    made.on_record = group.begin(made.call, state);
    batch_.push_back(std::move(made));
    if (depth_ == 0) {
      issue();
    }
  }

  /// Makes the calls of the batch together: those of each stream on its thread, those without one here.
  void issue() {
    std::map<std::string, std::vector<pending>> by_stream;
    for (pending &p : std::exchange(batch_, {})) {
      record::end_call(p.on_record, p.on_stream.empty() ? call_state::entered : call_state::launched);
      by_stream[p.on_stream].push_back(std::move(p));
    }
    for (auto &[name, calls] : by_stream) {
      if (!name.empty()) {
        auto work = std::make_shared<std::vector<pending>>(std::move(calls));
        // Positions are taken in the order of issue, data are read when the stream comes to it.
        auto posted = std::make_shared<prepared>(*work);
        stream_of(name).thread->enqueue([this, work, posted] { make(*work, *posted); });
      }
    }
    const auto host = by_stream.find("");
    if (host != by_stream.end()) {
      const blocking here(now_);
      prepared posted(host->second);
      make(host->second, posted);
    }
  }

  struct prepared {
    std::vector<std::vector<std::int64_t>> tables;
    std::vector<posted_call> calls;
    explicit prepared(const std::vector<pending> &from) : tables(from.size()) {
      for (std::size_t i = 0; i < from.size(); ++i) {
        calls.push_back(from[i].group->post_form(from[i].call, tables[i]));
      }
    }
  };

  void make(const std::vector<pending> &calls, const prepared &posted) {
    const auto tickets = with_.post(rank_, posted.calls);
    for (std::size_t i = 0; i < calls.size(); ++i) {
      with_.wait(rank_, tickets[i], calls[i].call.out, calls[i].call.out_size);
      record::end_call(calls[i].on_record);
    }
  }

  void sync(const schedule::instruction &i) {
    const auto found = streams_.find(i.stream);
    if (found == streams_.end()) {
      return;
    }
    call_desc what;
    what.op = op_kind::wait;
    what.stream = found->second.id;
    const std::uint32_t site = blackbox::site_id(record::box(), i.file.c_str(), i.line, "", "sync");
    const record::record_ref waiting = record::begin_call(site, what);
    const blocking here(now_);
    found->second.thread->drain();
    record::end_call(waiting);
  }

  // -- everything else

  /// False when the rank is to come to its clean end.
  bool execute(const schedule::instruction &i) {
    using schedule::verb;
    switch (i.what) {
    case verb::call: call(i); break;
    case verb::group_start:
      if (depth_++ == 0) {
        record::this_thread_slot.batch = ++record::this_thread_slot.batches;
      }
      break;
    case verb::group_end:
      if (--depth_ == 0) {
        record::this_thread_slot.batch = 0;
        issue();
      }
      break;
    case verb::sync: sync(i); break;
    case verb::sleep: sleep(i.number); break;
    case verb::spin: spin(); break;
    case verb::block: block(); break;
    case verb::exit: with_.withdraw(rank_); ::_exit(static_cast<int>(i.number));
    case verb::finish: return false;
    case verb::kill:
      with_.withdraw(rank_);
      ::raise(static_cast<int>(i.number));
      break;
    case verb::stop: stop(); break;
    case verb::step:
      step_ = i.number >= 0 ? i.number : step_ + 1;
      step(step_);
      break;
    case verb::phase: phase(i.text.c_str()); break;
    default: tell(i); break;
    }
    return true;
  }

  /// What a rank says of itself; involves nobody.
  void tell(const schedule::instruction &i) {
    using schedule::verb;
    switch (i.what) {
    case verb::raise: swallowed_error(i.text.c_str()); break;
    case verb::oom: record::note(note_type::out_of_memory, "", i.text.c_str()); break;
    case verb::decision: decision(i.name.c_str(), i.text.c_str()); break;
    case verb::fact: fact(i.name.c_str(), i.text.c_str()); break;
    case verb::memory: record::note(note_type::memory, "", "", i.index, i.total); break;
    case verb::comm_error:
      record::note(note_type::comm_error, "", i.text.c_str(), 0, 0, groups_.at(i.group).slot());
      break;
    case verb::mesh_check: mesh_check(i); break;
    case verb::tensor: declare(i); break;
    case verb::poke: {
      tensor &t = tensors_[i.name];
      store_number(t.type, t.data.data() + i.index * t.width(), i.value);
      break;
    }
    case verb::replicated: replicated(i); break;
    case verb::finite: finite(i); break;
    default: break;
    }
  }

  void declare(const schedule::instruction &i) {
    tensor t;
    t.type = i.type;
    t.count = 1;
    for (const std::uint64_t d : i.dims) {
      t.count *= d;
    }
    t.data.resize(t.count * t.width());
    for (std::uint64_t at = 0; at < t.count; ++at) {
      store_number(t.type, t.data.data() + at * t.width(), i.value);
    }
    tensors_[i.name] = std::move(t);
  }

  void replicated(const schedule::instruction &i) const {
    const tensor &t = tensors_.at(i.name);
    const auto *bytes = reinterpret_cast<const char *>(t.data.data());
    record::note(note_type::replica, i.name.c_str(), "", hash_bytes(bytes, t.data.size(), 1),
                 hash_bytes(bytes, t.data.size(), 2), groups_.at(i.group).slot());
  }

  void finite(const schedule::instruction &i) const {
    const tensor &t = tensors_.at(i.name);
    std::uint64_t first = 0;
    std::uint64_t bad = 0;
    for (std::uint64_t at = 0; at < t.count; ++at) {
      if (!std::isfinite(load_number(t.type, t.data.data() + at * t.width()))) {
        first = bad == 0 ? at : first;
        ++bad;
      }
    }
    record::note(bad == 0 ? note_type::finite_ok : note_type::non_finite, i.name.c_str(), "", first, bad);
  }

  void mesh_check(const schedule::instruction &i) const {
    std::vector<std::int32_t> line;
    for (const schedule::rank_program::mesh &m : mine_.meshes) {
      std::int32_t stride = 1;
      for (std::size_t a = m.axes.size(); m.name == i.name && a-- > 0;) {
        const auto size = static_cast<std::int32_t>(m.axes[a].second);
        for (std::int32_t k = 0; k < size && m.axes[a].first == i.text; ++k) {
          line.push_back(rank_ + (k - rank_ / stride % size) * stride);
        }
        stride *= size;
      }
    }
    const host_group &group = groups_.at(i.group);
    record::note(note_type::mesh_check, i.name.c_str(), i.text.c_str(), group.members() == line ? 1 : 0, 0,
                 group.slot());
  }

  void sleep(std::int64_t ns) {
    const blocking here(now_, activity::sleeps);
    timespec left{static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
    while (::nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
  }

  [[noreturn]] void spin() {
    const blocking here(now_);
    for (std::uint64_t turns = 0;; ++turns) {
      spun_.store(turns, std::memory_order_relaxed);
    }
  }

  [[noreturn]] void block() {
    const blocking here(now_);
    for (;;) {
      ::pause();
    }
  }

  void stop() {
    const blocking here(now_);
    ::raise(SIGSTOP);
  }

  std::atomic<std::uint64_t> spun_{0};
};

} // namespace repro
} // namespace DTDEBUG_ABI
} // namespace dtdebug
