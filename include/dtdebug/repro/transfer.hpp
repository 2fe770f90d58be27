// What each member of a call receives, computed from what all members passed in.
#pragma once

#include <dtdebug/repro/arena.hpp>
#include <dtdebug/repro/arithmetic.hpp>

#include <cstdint>
#include <cstring>
#include <vector>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace repro {

using byte_list = std::vector<unsigned char>;

/// Results of one call, by member. A member that receives nothing has an empty one, as has everybody where all inputs
/// are zeros: then zeros are what they receive.
class transfer {
public:
  /// `calls` in group order; for a message the send first. Their inputs are read, nothing is written.
  transfer(const arena &memory, const std::vector<const call_in_flight *> &calls)
      : memory_(memory), calls_(calls), results_(calls.size()) {
    for (const call_in_flight *c : calls) {
      has_data_ = has_data_ || data_of(*c) != nullptr;
    }
    if (has_data_) {
      compute();
    }
  }

  const byte_list &result(std::size_t member) const { return results_[member]; }

private:
  const arena &memory_;
  const std::vector<const call_in_flight *> &calls_;
  std::vector<byte_list> results_;
  bool has_data_ = false;

  std::size_t members() const { return calls_.size(); }
  static std::uint64_t size_of_input(const call_in_flight &c) {
    const bool root_of_scatter = c.op == op_kind::scatter && c.index == c.root;
    return c.count * c.element_size * (root_of_scatter ? c.members : 1);
  }

  /// Null stands for zeros.
  const unsigned char *data_of(const call_in_flight &c) const { return c.input != 0 ? memory_.data(c.input) : nullptr; }

  byte_list part(std::size_t member, std::uint64_t from, std::uint64_t size) const {
    const call_in_flight &c = *calls_[member];
    const unsigned char *data = data_of(c);
    return data != nullptr ? byte_list(data + from, data + from + size) : byte_list(size);
  }
  byte_list all_of(std::size_t member) const { return part(member, 0, size_of_input(*calls_[member])); }

  static void append(byte_list &to, const byte_list &more) { to.insert(to.end(), more.begin(), more.end()); }

  byte_list concatenation() const {
    byte_list out;
    for (std::size_t m = 0; m < members(); ++m) {
      append(out, all_of(m));
    }
    return out;
  }

  /// Over the first `how_many` members, in group order.
  byte_list reduction(std::size_t how_many) const {
    const call_in_flight &first = *calls_.front();
    byte_list out(first.count * first.element_size);
    input_list inputs;
    for (std::size_t m = 0; m < how_many; ++m) {
      inputs.push_back(data_of(*calls_[m]));
    }
    reduce(first.type, first.reduce, inputs, out.data(), first.count);
    return out;
  }

  std::int64_t split(std::size_t member, std::size_t of) const {
    std::int64_t number = 0;
    std::memcpy(&number, memory_.data(calls_[member]->splits) + of * sizeof number, sizeof number);
    return number;
  }

  void give_all(const byte_list &what) { results_.assign(members(), what); }

  void compute() {
    const call_in_flight &first = *calls_.front();
    const auto root = static_cast<std::size_t>(first.root >= 0 ? first.root : 0);
    switch (first.op) {
    case op_kind::all_reduce: give_all(reduction(members())); break;
    case op_kind::reduce: results_[root] = reduction(members()); break;
    case op_kind::broadcast: give_all(all_of(root)); break;
    case op_kind::all_gather:
    case op_kind::all_gather_v: give_all(concatenation()); break;
    case op_kind::gather:
    case op_kind::gather_v: results_[root] = concatenation(); break;
    case op_kind::reduce_scatter: {
      const byte_list whole = reduction(members());
      const auto share = static_cast<std::ptrdiff_t>(whole.size() / members());
      for (std::size_t m = 0; m < members(); ++m) {
        const auto from = whole.begin() + share * static_cast<std::ptrdiff_t>(m);
        results_[m].assign(from, from + share);
      }
      break;
    }
    case op_kind::scatter: {
      const std::uint64_t share = first.count * first.element_size;
      for (std::size_t m = 0; m < members(); ++m) {
        results_[m] = part(root, share * m, share);
      }
      break;
    }
    case op_kind::all_to_all: {
      const std::uint64_t share = first.count * first.element_size / members();
      for (std::size_t m = 0; m < members(); ++m) {
        for (std::size_t from = 0; from < members(); ++from) {
          append(results_[m], part(from, share * m, share));
        }
      }
      break;
    }
    case op_kind::all_to_all_v: exchange_uneven(); break;
    case op_kind::scan:
    case op_kind::exscan:
      for (std::size_t m = 0; m < members(); ++m) {
        const std::size_t how_many = m + (first.op == op_kind::scan ? 1 : 0);
        results_[m] = how_many > 0 ? reduction(how_many) : byte_list();
      }
      break;
    case op_kind::send: results_[1] = all_of(0); break;
    default: break;
    }
  }

  void exchange_uneven() {
    for (std::size_t from = 0; from < members(); ++from) {
      std::uint64_t at = 0;
      for (std::size_t to = 0; to < members(); ++to) {
        const std::uint64_t size = static_cast<std::uint64_t>(split(from, to)) * calls_[from]->element_size;
        append(results_[to], part(from, at, size));
        at += size;
      }
    }
  }
};

} // namespace repro
} // namespace DTDEBUG_ABI
} // namespace dtdebug
