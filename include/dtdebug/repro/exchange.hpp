// Where the calls of the ranks meet: a call returns when all members have started it and agree, else never.
#pragma once

#include <dtdebug/core/call_desc.hpp>
#include <dtdebug/core/hash.hpp>
#include <dtdebug/repro/transfer.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <set>
#include <vector>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace repro {

/// One call as its rank makes it.
struct posted_call {
  op_kind op = op_kind::none;
  dtype type = dtype::none;
  redop reduce = redop::none;
  std::int32_t index = 0;      ///< of this rank in the group
  std::int32_t root = no_rank; ///< index in the group of the root, or of the peer of a message; any_rank
  std::int32_t tag = 0;        ///< of a message; any_tag
  std::uint32_t members = 1;
  std::uint64_t meeting = 0; ///< of a collective: equal on all that are to meet
  std::uint64_t group = 0;   ///< of a message
  std::uint64_t number = 0;  ///< of a message: 1 for the first of its group, ends and tag; 0 for a wildcard receive
  std::uint64_t count = 0;
  std::uint32_t element_size = 0;
  const void *input = nullptr;          ///< copied at once; null: zeros
  const std::int64_t *splits = nullptr; ///< members numbers sent, members numbers expected
};

/// Whom a receive met.
struct received {
  std::int32_t from = no_rank; ///< position in the group
  std::int32_t tag = 0;
};

/// The rules of when calls agree are those of docs/SCHEDULES.md, "When a call returns". Thread-safe; a rank that is
/// killed between its calls hurts nobody.
class exchange {
public:
  explicit exchange(arena &memory) noexcept : memory_(memory) {}

  using ticket = std::uint32_t; ///< of a call that the host waits for

  /// Starts calls together and returns their tickets, each of which is to be given to `wait`. Never blocks. Throws
  /// std::bad_alloc when there are too many calls or data in flight.
  std::vector<ticket> post(std::int32_t rank, const std::vector<posted_call> &calls) {
    std::vector<ticket> tickets;
    std::set<std::int32_t> to_wake;
    {
      const robust_lock held(memory_.lock());
      for (const posted_call &call : calls) {
        tickets.push_back(enter(rank, call));
      }
      for (const ticket t : tickets) {
        if (memory_.call(t).state == flight::started && (!is_point_to_point(memory_.call(t).op) || find_partner(t))) {
          meet(memory_.call(t).meeting, to_wake);
        }
      }
    }
    for (const std::int32_t other : to_wake) {
      std::uint32_t *word = memory_.wake_word(other);
      __atomic_fetch_add(word, 1, __ATOMIC_RELEASE);
      futex_wake(word);
    }
    return tickets;
  }

  /// Blocks until the call is over, for ever if need be. Copies at most `capacity` bytes of what it received to `out`.
  /// The result means something for a receive only.
  received wait(std::int32_t rank, ticket t, void *out, std::uint64_t capacity) {
    const std::uint32_t *word = memory_.wake_word(rank);
    received met;
    for (;;) {
      const std::uint32_t seen = __atomic_load_n(word, __ATOMIC_ACQUIRE);
      if (take(t, out, capacity, met)) {
        return met;
      }
      futex_wait(word, seen);
    }
  }

  /// Takes back what this rank has started and nobody met: for a rank that is about to end.
  void withdraw(std::int32_t rank) {
    const robust_lock held(memory_.lock());
    for (std::uint32_t i = 0; i < memory_.calls_in_use(); ++i) {
      if (memory_.call(i).rank == rank && memory_.call(i).state == flight::started) {
        memory_.free_call(i);
      }
    }
  }

private:
  arena &memory_;

  bool take(ticket t, void *out, std::uint64_t capacity, received &met) {
    const robust_lock held(memory_.lock());
    const call_in_flight &c = memory_.call(t);
    if (c.state != flight::done) {
      return false;
    }
    if (out != nullptr) {
      if (c.output != 0) {
        std::memcpy(out, memory_.data(c.output), std::min(capacity, c.output_bytes));
      } else if (c.output_bytes != 0) {
        std::memset(out, 0, std::min(capacity, c.output_bytes));
      }
    }
    met = {c.root, c.tag};
    memory_.free_call(t);
    return true;
  }

  std::uint64_t checked(std::uint64_t at) const {
    if (at == 0) {
      throw std::bad_alloc();
    }
    return at;
  }

  std::uint64_t copy_in(const void *from, std::uint64_t size) {
    const std::uint64_t at = checked(memory_.allocate(size));
    std::memcpy(memory_.data(at), from, size);
    return at;
  }

  ticket enter(std::int32_t rank, const posted_call &call) {
    const ticket t = memory_.take_call();
    if (t == arena::most_calls) {
      throw std::bad_alloc();
    }
    call_in_flight &c = memory_.call(t);
    c = call_in_flight{};
    c.op = call.op;
    c.type = call.type;
    c.reduce = call.reduce;
    c.rank = rank;
    c.index = call.index;
    c.root = call.root;
    c.tag = call.tag;
    c.group = call.group;
    c.number = call.number;
    c.order = memory_.next_order();
    c.members = call.members;
    c.meeting = call.meeting;
    c.count = call.count;
    c.element_size = call.element_size;
    const std::uint64_t shares = call.op == op_kind::scatter && call.index == call.root ? call.members : 1;
    if (call.input != nullptr && call.count != 0) {
      c.input = copy_in(call.input, call.count * call.element_size * shares);
    }
    if (call.splits != nullptr) {
      c.splits = copy_in(call.splits, 2 * sizeof(std::int64_t) * call.members);
    }
    arena::in_order();
    c.state = flight::started; // last: a rank that is killed before leaves a free place
    return t;
  }

  static bool is_wildcard(const call_in_flight &c) { return c.root == any_rank || c.tag == any_tag; }

  /// The k-th send of a channel meets its k-th receive; a wildcard receive takes the earliest send that fits, and the
  /// receives after it those that follow. Ends that have found each other stay together, even if they disagree.
  static bool fit(const call_in_flight &send, const call_in_flight &receive) {
    return send.group == receive.group && send.root == receive.index &&
           (receive.root == any_rank || receive.root == send.index) &&
           (receive.tag == any_tag || receive.tag == send.tag) &&
           (is_wildcard(receive) || receive.number == send.number);
  }

  bool find_partner(ticket t) {
    call_in_flight &mine = memory_.call(t);
    if (mine.meeting != 0) {
      return true; // found by the other end, in the same batch
    }
    call_in_flight *partner = nullptr;
    for (std::uint32_t i = 0; i < memory_.calls_in_use(); ++i) {
      call_in_flight &c = memory_.call(i);
      const bool other_end = c.state == flight::started && is_point_to_point(c.op) && c.op != mine.op && c.meeting == 0;
      if (other_end && (mine.op == op_kind::send ? fit(mine, c) : fit(c, mine)) &&
          (partner == nullptr || c.order < partner->order)) {
        partner = &c;
      }
    }
    if (partner == nullptr) {
      return false;
    }
    call_in_flight &send = mine.op == op_kind::send ? mine : *partner;
    call_in_flight &receive = mine.op == op_kind::send ? *partner : mine;
    if (is_wildcard(receive)) {
      receive.root = send.index;
      receive.tag = send.tag;
      move_receives_up(send);
    }
    send.meeting = mix(mine.order, partner->order) | 1;
    receive.meeting = send.meeting;
    return true;
  }

  /// A wildcard took this message from the receives of its channel that wait already.
  void move_receives_up(const call_in_flight &send) {
    for (std::uint32_t i = 0; i < memory_.calls_in_use(); ++i) {
      call_in_flight &c = memory_.call(i);
      if (c.state == flight::started && c.op == op_kind::recv && c.meeting == 0 && !is_wildcard(c) &&
          c.group == send.group && c.index == send.root && c.root == send.index && c.tag == send.tag &&
          c.number >= send.number) {
        ++c.number;
      }
    }
  }

  void meet(std::uint64_t meeting, std::set<std::int32_t> &to_wake) {
    std::vector<ticket> here;
    for (std::uint32_t i = 0; i < memory_.calls_in_use(); ++i) {
      if (memory_.call(i).state == flight::started && memory_.call(i).meeting == meeting) {
        here.push_back(i);
      }
    }
    const call_in_flight &first = memory_.call(here.front());
    const bool message = is_point_to_point(first.op);
    std::sort(here.begin(), here.end(), [this, message](ticket a, ticket b) {
      const call_in_flight &x = memory_.call(a);
      const call_in_flight &y = memory_.call(b);
      return message ? x.op == op_kind::send && y.op != op_kind::send : x.index < y.index;
    });
    std::vector<const call_in_flight *> calls;
    for (const ticket t : here) {
      calls.push_back(&memory_.call(t));
    }
    if (here.size() == (message ? 2U : first.members) && agree(calls)) {
      take_place(here, calls, to_wake);
    }
  }

  static std::uint64_t size_of(const call_in_flight &c) { return c.count * c.element_size; }

  bool agree(const std::vector<const call_in_flight *> &calls) const {
    const call_in_flight &a = *calls.front();
    if (is_point_to_point(a.op)) {
      return size_of(a) == size_of(*calls[1]);
    }
    for (const call_in_flight *b : calls) {
      if (a.op != b->op || a.root != b->root) {
        return false;
      }
      const bool same = is_reduction(a.op) ? a.type == b->type && a.count == b->count && a.reduce == b->reduce
                                           : size_of(a) == size_of(*b);
      if (!is_uneven(a.op) && !carries_no_data(a.op) && !same) {
        return false;
      }
    }
    return a.op != op_kind::all_to_all_v || tables_fit(calls);
  }

  bool tables_fit(const std::vector<const call_in_flight *> &calls) const {
    const auto entry = [this](const call_in_flight &c, std::size_t at) {
      std::int64_t number = 0;
      std::memcpy(&number, memory_.data(c.splits) + at * sizeof number, sizeof number);
      return static_cast<std::uint64_t>(number) * c.element_size;
    };
    for (std::size_t x = 0; x < calls.size(); ++x) {
      for (std::size_t y = 0; y < calls.size(); ++y) {
        if (entry(*calls[x], y) != entry(*calls[y], calls.size() + x)) {
          return false;
        }
      }
    }
    return true;
  }

  void take_place(const std::vector<ticket> &here, const std::vector<const call_in_flight *> &calls,
                  std::set<std::int32_t> &to_wake) {
    const transfer results(memory_, calls);
    for (std::size_t m = 0; m < here.size(); ++m) {
      call_in_flight &c = memory_.call(here[m]);
      const byte_list &result = results.result(m);
      c.output_bytes = receives(c) ? ~std::uint64_t{0} : 0; // zeros, as many as fit
      if (!result.empty()) {
        c.output_bytes = result.size();
        c.output = checked(memory_.allocate(result.size()));
        std::memcpy(memory_.data(c.output), result.data(), result.size());
      }
    }
    for (const ticket t : here) {
      to_wake.insert(memory_.call(t).rank);
      memory_.call(t).state = flight::done;
    }
  }

  static bool receives(const call_in_flight &c) {
    const bool at_root_alone = c.op == op_kind::reduce || c.op == op_kind::gather || c.op == op_kind::gather_v;
    return c.op != op_kind::send && !carries_no_data(c.op) && (!at_root_alone || c.index == c.root);
  }
};

} // namespace repro
} // namespace DTDEBUG_ABI
} // namespace dtdebug
