// A group of ranks as one of them sees it: members, positions, and how its calls are put on record.
#pragma once

#include <dtdebug/repro/exchange.hpp>

#if defined(DTDEBUG)
#include <dtdebug/record/begin_call.hpp>
#include <dtdebug/record/breadcrumbs.hpp>
#endif

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace repro {

/// One call, with everything decided at run time. Ranks are positions in the group.
struct host_call {
  op_kind op = op_kind::none;
  dtype type = dtype::none;
  redop reduce = redop::none;
  std::int32_t root = no_rank; ///< root, or the peer of a send or recv
  std::int32_t tag = 0;
  std::uint64_t count = 0;                       ///< elements that this rank passes; of a scatter: one rank's share
  const void *in = nullptr;                      ///< null: zeros
  void *out = nullptr;                           ///< null: the result is dropped
  std::uint64_t out_size = 0;                    ///< bytes that fit there
  std::vector<std::int64_t> splits, recv_splits; ///< all_to_all_v: elements for and from each member
  std::vector<std::uint64_t> dims;               ///< on record only
  bool has_dims = false;
  std::string label; ///< on record only
  std::string file;
  std::uint32_t line = 0;
  std::string text;         ///< of the call as the program wrote it
  std::uint32_t stream = 0; ///< on record only
};

#if defined(DTDEBUG)
using call_on_record = record::record_ref;

/// Calls that begin while it lives belong together.
class batch_on_record {
public:
  batch_on_record() noexcept { record::this_thread_slot.batch = ++record::this_thread_slot.batches; }
  ~batch_on_record() { record::this_thread_slot.batch = 0; }
  batch_on_record(const batch_on_record &) = delete;
  batch_on_record &operator=(const batch_on_record &) = delete;
};
#else
struct call_on_record {};
class batch_on_record {
public:
  batch_on_record() noexcept {} // not trivial: a variable of it is used
};
#endif

/// Not thread-safe: the thread that makes a rank's calls owns it.
class host_group {
public:
  host_group(std::string name, std::vector<std::int32_t> members, std::int32_t self, std::uint64_t ordinal = 0)
      : name_(std::move(name)), members_(std::move(members)), self_(self) {
    const auto at = std::find(members_.begin(), members_.end(), self);
    index_ = at == members_.end() ? -1 : static_cast<std::int32_t>(at - members_.begin());
    id_ = mix(hash_string(name_.c_str()), ordinal + 1);
    for (const std::int32_t member : members_) {
      id_ = mix(id_, static_cast<std::uint32_t>(member) + 1ULL);
    }
    id_ |= 1;
  }

  const std::string &name() const { return name_; }
  const std::vector<std::int32_t> &members() const { return members_; }
  std::int32_t index() const { return index_; }
  std::int32_t self() const { return self_; }
  std::uint64_t id() const { return id_; }
  std::uint16_t slot() const { return slot_; }
  void set_slot(std::uint16_t slot) { slot_ = slot; }

  /// Tells groups apart that are created from this one with the same name and members. Calls of all members agree.
  std::uint64_t next_child(const std::string &name, const std::vector<std::int32_t> &members) {
    return mix(id_, children_[{name, members}]++);
  }

  /// Position in the group of a world rank; -1 if it is no member.
  std::int32_t index_of(std::int32_t world_rank) const {
    const auto at = std::find(members_.begin(), members_.end(), world_rank);
    return at == members_.end() ? -1 : static_cast<std::int32_t>(at - members_.begin());
  }

  /// A collective on nothing, or in a group of one: it returns at once and takes no position.
  bool is_empty(const host_call &call) const {
    const bool no_elements = call.count == 0 && !carries_no_data(call.op) && !is_uneven(call.op);
    return is_collective(call.op) && (no_elements || members_.size() == 1);
  }

  /// Takes the call's position, or its number among the messages of its channel.
  posted_call post_form(const host_call &call, std::vector<std::int64_t> &tables) {
    posted_call out;
    out.op = call.op;
    out.type = call.type;
    out.reduce = call.reduce;
    out.index = index_;
    out.root = call.root;
    out.members = is_empty(call) ? 1 : static_cast<std::uint32_t>(members_.size());
    out.count = call.count;
    out.element_size = dtdebug::size_of(call.type);
    out.input = call.in;
    if (call.op == op_kind::all_to_all_v) {
      tables = call.splits;
      tables.insert(tables.end(), call.recv_splits.begin(), call.recv_splits.end());
      out.splits = tables.data();
    }
    if (is_point_to_point(call.op)) {
      out.group = id_;
      out.tag = call.tag;
      out.number = is_wildcard(call) ? 0 : ++messages_[{call.op, call.root, call.tag}];
    } else if (call.op == op_kind::group_create) {
      out.meeting = mix(id_, 0x6372656174650000);
    } else if (is_empty(call)) {
      out.meeting = mix(mix(id_, 0x616c6f6e65 + empty_calls_++), static_cast<std::uint32_t>(self_));
    } else {
      out.meeting = mix(id_, ++positions_);
    }
    return out;
  }

  static bool is_wildcard(const host_call &call) {
    return call.op == op_kind::recv && (call.root == any_rank || call.tag == any_tag);
  }

  /// A wildcard receive is over: it was a message of this channel after all.
  void resolve(const call_on_record &on_record, received met) {
    ++messages_[{op_kind::recv, met.from, met.tag}];
#if defined(DTDEBUG)
    record::resolve_wildcard(on_record, met.from, met.tag);
#else
    static_cast<void>(on_record);
#endif
  }

#if defined(DTDEBUG)
  /// Puts the call on record. `state` launched: on a stream.
  call_on_record begin(const host_call &call, call_state state = call_state::entered) const {
    if (!record::recording()) {
      return {};
    }
    call_desc what;
    what.op = call.op;
    what.type = call.type;
    what.reduce = call.reduce;
    what.flags = is_empty(call) ? flag_no_position : 0;
    what.has_dims = call.has_dims;
    what.dim_count = static_cast<std::uint8_t>(std::min<std::size_t>(call.dims.size(), max_dims));
    for (std::size_t i = 0; i < what.dim_count; ++i) {
      what.dims[i] = static_cast<std::uint32_t>(std::min<std::uint64_t>(call.dims[i], UINT32_MAX));
    }
    what.group = slot_;
    what.element_size = dtdebug::size_of(call.type);
    what.root = call.root;
    what.tag = call.tag;
    what.stream = call.stream;
    what.count = call.count;
    if (!call.label.empty()) {
      what.label = hash_string(call.label.c_str());
      what.label_text = call.label.c_str();
    }
    if (!call.splits.empty()) {
      what.splits = call.splits.data();
      what.recv_splits = call.recv_splits.data();
      what.split_count = static_cast<std::uint32_t>(call.splits.size());
    }
    const std::uint32_t site =
        call.file.empty() ? 0 : blackbox::site_id(record::box(), call.file.c_str(), call.line, "", call.text.c_str());
    return record::begin_call(site, what, state);
  }
  static void end(const call_on_record &call, call_state state = call_state::done) { record::end_call(call, state); }

  /// Enters the group into this rank's table of groups.
  void enter() {
    if (record::recording()) {
      world::group_desc what;
      what.id = id_;
      what.name = name_.c_str();
      what.members = members_.data();
      what.size = static_cast<std::uint32_t>(members_.size());
      what.my_index = index_;
      what.state = world::slot_state::creating;
      slot_ = world::add_group(record::box(), what);
    }
  }
  void go_live() const {
    if (record::recording()) {
      world::set_state(record::box(), slot_, world::slot_state::live);
    }
  }
#else
  call_on_record begin(const host_call &, call_state = call_state::entered) const { return {}; }
  static void end(const call_on_record &, call_state = call_state::done) {}
  void enter() {}
  void go_live() const {}
#endif

private:
  std::string name_;
  std::vector<std::int32_t> members_;
  std::int32_t self_;
  std::int32_t index_ = -1;
  std::uint64_t id_ = 0;
  std::uint64_t positions_ = 0;
  std::uint64_t empty_calls_ = 0;
  std::uint16_t slot_ = 1; ///< the world's, until entered
  std::map<std::tuple<op_kind, std::int32_t, std::int32_t>, std::uint64_t> messages_;
  std::map<std::pair<std::string, std::vector<std::int32_t>>, std::uint64_t> children_;
};

/// A group's creation: it returns when all members are in the creation of the same group, else never. `entered` is
/// called with the group's slot before that.
template <typename Entered>
void create_group(exchange &with, host_group &group, const Entered &entered, const host_call &where = {}) {
  group.enter();
  entered(group.slot());
  host_call creation = where;
  creation.op = op_kind::group_create;
  const call_on_record on_record = group.begin(creation);
  std::vector<std::int64_t> tables;
  const auto tickets = with.post(group.self(), {group.post_form(creation, tables)});
  with.wait(group.self(), tickets.front(), nullptr, 0);
  host_group::end(on_record);
  group.go_live();
}

} // namespace repro
} // namespace DTDEBUG_ABI
} // namespace dtdebug
