// A communicator on host memory for minimal repro programs: real processes that really block, no library, no device.
#pragma once

#include <dtdebug/repro/call_check.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace dtdebug {
inline namespace DTDEBUG_ABI {

/// Where a call stands in the program; filled in by the compiler as a default argument.
struct here {
  const char *file = "";
  std::uint32_t line = 0;
  static constexpr here is(const char *file_name = __builtin_FILE(), std::uint32_t number = __builtin_LINE()) noexcept {
    return {file_name, number};
  }
};

namespace repro {

template <typename T>
constexpr dtype dtype_for() {
  if constexpr (std::is_same_v<T, float>) {
    return dtype::f32;
  } else if constexpr (std::is_same_v<T, double>) {
    return dtype::f64;
  } else {
    static_assert(std::is_integral_v<T> && sizeof(T) <= 8, "give the dtype of this type at run time: host_comm::call");
    constexpr dtype with_sign[] = {dtype::i8,   dtype::i16,  dtype::none, dtype::i32,
                                   dtype::none, dtype::none, dtype::none, dtype::i64};
    constexpr dtype without[] = {dtype::u8,   dtype::u16,  dtype::none, dtype::u32,
                                 dtype::none, dtype::none, dtype::none, dtype::u64};
    return std::is_signed_v<T> ? with_sign[sizeof(T) - 1] : without[sizeof(T) - 1];
  }
}

} // namespace repro

/// All members of a communicator call the same things in the same order; a call in which they disagree never returns,
/// as it would not in MPI or NCCL, and one that differs in what they do not check returns with wrong data. `root` and
/// peers are positions in the communicator. Calls throw std::invalid_argument for what means nothing (ranks that do not
/// exist, a bitwise reduction of floats) and std::bad_alloc when the shared memory is used up. Not thread-safe. Copies
/// are handles of one communicator.
class host_comm {
public:
  host_comm(repro::exchange &with, repro::host_group &&group)
      : with_(&with), group_(std::make_shared<repro::host_group>(std::move(group))) {}

  int rank() const { return group_->index(); }
  int size() const { return static_cast<int>(group_->members().size()); }
  const std::string &name() const { return group_->name(); }

  /// Any call, decided at run time. Blocks until it is over. The result tells a wildcard receive whom it met.
  repro::received call(const repro::host_call &what) { return together({what}).front(); }

  /// Calls that start together, as between ncclGroupStart and ncclGroupEnd. Blocks until all are over.
  std::vector<repro::received> together(const std::vector<repro::host_call> &calls) {
    for (const repro::host_call &c : calls) {
      repro::check_call(c, *group_);
    }
    const std::vector<repro::call_on_record> on_record = begin(calls);
    std::vector<repro::posted_call> posted;
    std::vector<std::vector<std::int64_t>> tables(calls.size());
    for (std::size_t i = 0; i < calls.size(); ++i) {
      posted.push_back(group_->post_form(calls[i], tables[i]));
    }
    const auto tickets = with_->post(group_->self(), posted);
    std::vector<repro::received> met;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      met.push_back(with_->wait(group_->self(), tickets[i], calls[i].out, calls[i].out_size));
      if (repro::host_group::is_wildcard(calls[i])) {
        group_->resolve(on_record[i], met.back());
      }
      group_->end(on_record[i]);
    }
    return met;
  }

  void barrier(here at = here::is()) {
    repro::host_call c;
    c.op = op_kind::barrier;
    put(c, "barrier", nullptr, at);
    call(c);
  }

  /// In place: every member's `data` becomes the combination of all.
  template <typename T>
  void all_reduce(T *data, std::uint64_t count, redop op, const char *label = nullptr, here at = here::is()) {
    repro::host_call c = form<T>(op_kind::all_reduce, data, count, data, count);
    c.reduce = op;
    put(c, "all_reduce", label, at);
    call(c);
  }

  /// `out` is written on the root alone and may be null elsewhere.
  template <typename T>
  void reduce(const T *data, T *out, std::uint64_t count, redop op, int root, const char *label = nullptr,
              here at = here::is()) {
    repro::host_call c = form<T>(op_kind::reduce, data, count, out, count);
    c.reduce = op;
    c.root = root;
    put(c, "reduce", label, at);
    call(c);
  }

  template <typename T>
  void broadcast(T *data, std::uint64_t count, int root, const char *label = nullptr, here at = here::is()) {
    repro::host_call c = form<T>(op_kind::broadcast, data, count, data, count);
    c.root = root;
    put(c, "broadcast", label, at);
    call(c);
  }

  /// `out` holds size() × count elements.
  template <typename T>
  void all_gather(const T *data, std::uint64_t count, T *out, const char *label = nullptr, here at = here::is()) {
    repro::host_call c = form<T>(op_kind::all_gather, data, count, out, count * group_->members().size());
    put(c, "all_gather", label, at);
    call(c);
  }

  /// `data` holds `count` elements, a multiple of size(); `out` one share of them.
  template <typename T>
  void reduce_scatter(const T *data, std::uint64_t count, T *out, redop op, const char *label = nullptr,
                      here at = here::is()) {
    repro::host_call c = form<T>(op_kind::reduce_scatter, data, count, out, count / group_->members().size());
    c.reduce = op;
    put(c, "reduce_scatter", label, at);
    call(c);
  }

  /// `out` holds size() × count elements on the root and may be null elsewhere.
  template <typename T>
  void gather(const T *data, std::uint64_t count, T *out, int root, const char *label = nullptr, here at = here::is()) {
    repro::host_call c = form<T>(op_kind::gather, data, count, out, count * group_->members().size());
    c.root = root;
    put(c, "gather", label, at);
    call(c);
  }

  /// `data` holds size() × count elements on the root and may be null elsewhere; `out` holds `count`.
  template <typename T>
  void scatter(const T *data, std::uint64_t count, T *out, int root, const char *label = nullptr,
               here at = here::is()) {
    repro::host_call c = form<T>(op_kind::scatter, data, count, out, count);
    c.root = root;
    put(c, "scatter", label, at);
    call(c);
  }

  /// `data` and `out` hold `count` elements, a multiple of size().
  template <typename T>
  void all_to_all(const T *data, std::uint64_t count, T *out, const char *label = nullptr, here at = here::is()) {
    repro::host_call c = form<T>(op_kind::all_to_all, data, count, out, count);
    put(c, "all_to_all", label, at);
    call(c);
  }

  /// `splits` counts what goes to each member, `recv_splits` what comes from each; `out` holds the sum of the latter.
  template <typename T>
  void all_to_all_v(const T *data, const std::vector<std::int64_t> &splits, T *out,
                    const std::vector<std::int64_t> &recv_splits, const char *label = nullptr, here at = here::is()) {
    repro::host_call c =
        form<T>(op_kind::all_to_all_v, data, repro::detail::total(splits), out, repro::detail::total(recv_splits));
    c.splits = splits;
    c.recv_splits = recv_splits;
    put(c, "all_to_all_v", label, at);
    call(c);
  }

  /// Every member passes `count` elements of its own; `out` has room for `out_count`, the sum of all.
  template <typename T>
  void all_gather_v(const T *data, std::uint64_t count, T *out, std::uint64_t out_count, const char *label = nullptr,
                    here at = here::is()) {
    repro::host_call c = form<T>(op_kind::all_gather_v, data, count, out, out_count);
    put(c, "all_gather_v", label, at);
    call(c);
  }

  /// `out` has room for `out_count` elements on the root, the sum of all, and may be null elsewhere.
  template <typename T>
  void gather_v(const T *data, std::uint64_t count, T *out, std::uint64_t out_count, int root,
                const char *label = nullptr, here at = here::is()) {
    repro::host_call c = form<T>(op_kind::gather_v, data, count, out, out_count);
    c.root = root;
    put(c, "gather_v", label, at);
    call(c);
  }

  /// In place: the combination of the members up to and including this one.
  template <typename T>
  void scan(T *data, std::uint64_t count, redop op, const char *label = nullptr, here at = here::is()) {
    repro::host_call c = form<T>(op_kind::scan, data, count, data, count);
    c.reduce = op;
    put(c, "scan", label, at);
    call(c);
  }

  /// In place: the combination of the members before this one; zeros on the first.
  template <typename T>
  void exscan(T *data, std::uint64_t count, redop op, const char *label = nullptr, here at = here::is()) {
    repro::host_call c = form<T>(op_kind::exscan, data, count, data, count);
    c.reduce = op;
    put(c, "exscan", label, at);
    call(c);
  }

  /// Blocks until the receiver has come: nothing is buffered.
  template <typename T>
  void send(const T *data, std::uint64_t count, int to, int tag = 0, const char *label = nullptr,
            here at = here::is()) {
    call(sending(data, count, to, tag, label, at));
  }

  /// `from` may be any_rank and `tag` any_tag; the result says whom it met.
  template <typename T>
  repro::received recv(T *data, std::uint64_t count, int from, int tag = 0, const char *label = nullptr,
                       here at = here::is()) {
    return call(receiving(data, count, from, tag, label, at));
  }

  /// A send for `together`.
  template <typename T>
  static repro::host_call sending(const T *data, std::uint64_t count, int to, int tag = 0, const char *label = nullptr,
                                  here at = here::is()) {
    repro::host_call c = form<T>(op_kind::send, data, count, static_cast<T *>(nullptr), 0);
    c.root = to;
    c.tag = tag;
    put(c, "send", label, at);
    return c;
  }

  /// A receive for `together`.
  template <typename T>
  static repro::host_call receiving(T *data, std::uint64_t count, int from, int tag = 0, const char *label = nullptr,
                                    here at = here::is()) {
    repro::host_call c = form<T>(op_kind::recv, static_cast<const T *>(nullptr), count, data, count);
    c.root = from;
    c.tag = tag;
    put(c, "recv", label, at);
    return c;
  }

  /// A communicator of these members (positions in this one), who must all call it. Blocks until they have.
  host_comm group(const std::string &name, const std::vector<int> &members, here at = here::is()) {
    std::vector<std::int32_t> world;
    for (const int member : members) {
      if (member < 0 || member >= size()) {
        throw std::invalid_argument("host_comm::group: " + this->name() + " has no member " + std::to_string(member));
      }
      world.push_back(group_->members()[static_cast<std::size_t>(member)]);
    }
    repro::host_group made(name, world, group_->self(), group_->next_child(name, world));
    if (made.index() < 0) {
      throw std::invalid_argument("host_comm::group: the calling rank is not among the members of " + name);
    }
    repro::host_call where;
    put(where, "group", nullptr, at);
    repro::create_group(
        *with_, made, [](std::uint16_t) {}, where);
    return host_comm(*with_, std::move(made));
  }

  /// One communicator for each colour, its members ordered by `key`, then by rank here. All members call it.
  host_comm split(const std::string &name, int color, int key = 0, here at = here::is()) {
    const std::int64_t mine[2] = {color, key};
    std::vector<std::int64_t> all(2 * group_->members().size());
    all_gather(mine, 2, all.data(), nullptr, at);
    std::vector<std::pair<std::int64_t, int>> chosen;
    for (int member = 0; member < size(); ++member) {
      if (all[2 * static_cast<std::size_t>(member)] == color) {
        chosen.emplace_back(all[2 * static_cast<std::size_t>(member) + 1], member);
      }
    }
    std::sort(chosen.begin(), chosen.end());
    std::vector<int> members;
    for (const auto &[order, member] : chosen) {
      members.push_back(member);
    }
    return group(name, members, at);
  }

private:
  repro::exchange *with_;
  std::shared_ptr<repro::host_group> group_;

  template <typename T>
  static repro::host_call form(op_kind op, const T *in, std::uint64_t count, T *out, std::uint64_t out_count) {
    repro::host_call c;
    c.op = op;
    c.type = repro::dtype_for<std::remove_const_t<T>>();
    c.count = count;
    c.in = in;
    c.out = out;
    c.out_size = out_count * sizeof(T);
    return c;
  }
  static void put(repro::host_call &c, const char *text, const char *label, here at) {
    c.file = at.file;
    c.line = at.line;
    c.text = text;
    c.label = label != nullptr ? label : "";
  }

  /// Puts calls on record: one is entered at once, several are queued first and then entered together.
  std::vector<repro::call_on_record> begin(const std::vector<repro::host_call> &calls) const {
    std::vector<repro::call_on_record> out;
    if (calls.size() == 1) {
      out.push_back(group_->begin(calls.front()));
      return out;
    }
    const repro::batch_on_record together;
    for (const repro::host_call &c : calls) {
      out.push_back(group_->begin(c, call_state::queued));
    }
    for (const repro::call_on_record &c : out) {
      group_->end(c, call_state::entered);
    }
    return out;
  }
};

} // namespace DTDEBUG_ABI
} // namespace dtdebug
