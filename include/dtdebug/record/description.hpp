// What a rank is about to do, in words of this library: the argument of DT_SCOPE_COLLECTIVE.
//
//   DT_SCOPE_COLLECTIVE(dtdebug::all_reduce("dp", gradient, dtdebug::sum));
//
// Each op takes its data in three forms: a tensor (a number, an array, a container, dtdebug::tensor(p, rows, cols), any
// type with a describe<T>); an address and a count; an address, a count and a dtype. An array with two numbers behind
// it could be either of the first two in a send or receive, and does not compile: write dtdebug::buffer(array).
#pragma once

#include <dtdebug/record/buffer.hpp>

namespace dtdebug {
inline namespace DTDEBUG_ABI {

/// Customisation point: `static std::uint16_t slot_of(Handle)` for the communicator type of a library.
template <typename Handle>
struct group_handle;

/// A group by the name that DT_GROUP gave it, or by a communicator of a library that is included.
struct group_ref {
  const char *name = nullptr; ///< null: `slot` counts
  std::uint16_t slot = 0;
  constexpr group_ref(const char *group_name) noexcept : name(group_name) {}
  template <typename Handle, typename = decltype(group_handle<Handle>::slot_of)>
  group_ref(const Handle &handle) noexcept : slot(group_handle<Handle>::slot_of(handle)) {}
};

/// Reduction operations under short names: dtdebug::sum.
enum reduction : std::uint8_t {
  sum = static_cast<std::uint8_t>(redop::sum),
  prod = static_cast<std::uint8_t>(redop::prod),
  min = static_cast<std::uint8_t>(redop::min),
  max = static_cast<std::uint8_t>(redop::max),
  avg = static_cast<std::uint8_t>(redop::avg),
  logical_and = static_cast<std::uint8_t>(redop::logical_and),
  logical_or = static_cast<std::uint8_t>(redop::logical_or),
  logical_xor = static_cast<std::uint8_t>(redop::logical_xor),
  bit_and = static_cast<std::uint8_t>(redop::bit_and),
  bit_or = static_cast<std::uint8_t>(redop::bit_or),
  bit_xor = static_cast<std::uint8_t>(redop::bit_xor),
  min_loc = static_cast<std::uint8_t>(redop::min_loc),
  max_loc = static_cast<std::uint8_t>(redop::max_loc),
};

struct reduce_by {
  redop value;
  constexpr reduce_by(redop op) noexcept : value(op) {}
  constexpr reduce_by(reduction op) noexcept : value(static_cast<redop>(op)) {}
};

/// Elements per member, in group order, of a call with uneven shares. Refers to the array, which must live until the
/// call begins.
struct splits {
  const std::int64_t *first = nullptr;
  std::uint32_t members = 0;
  constexpr splits(const std::int64_t *counts, natural how_many) noexcept
      : first(counts), members(static_cast<std::uint32_t>(how_many.value)) {}
  template <typename Container, typename = decltype(detail::element_at(detail::some<const Container>().data()))>
  constexpr splits(const Container &counts) noexcept : splits(counts.data(), counts.size()) {}
  constexpr std::uint64_t total() const noexcept {
    std::uint64_t elements = 0;
    for (std::uint32_t i = 0; i < members; ++i) {
      elements += static_cast<std::uint64_t>(first[i]);
    }
    return elements;
  }
};

/// A call that is about to be made. Its group is looked up when the call begins.
struct description {
  group_ref where;
  call_desc call;
};

namespace detail {

constexpr description describe_call(op_kind op, const group_ref &where, const buffer &data,
                                    reduce_by reduce = redop::none, std::int32_t root = no_rank,
                                    std::int32_t tag = 0) noexcept {
  description out{where, {}};
  out.call.op = op;
  out.call.type = data.type;
  out.call.reduce = reduce.value;
  out.call.element_size = data.element_size;
  out.call.count = data.count;
  out.call.root = root;
  out.call.tag = tag;
  out.call.label_text = data.label;
  out.call.has_dims = data.has_dims;
  out.call.dim_count = data.dim_count;
  out.call.flags = static_cast<std::uint8_t>(data.dims_cut ? flag_dims_cut : 0);
  for (int i = 0; i < max_dims; ++i) {
    out.call.dims[i] = data.dims[i];
  }
  return out;
}

constexpr description with_splits(description out, const splits *sent, const splits *received) noexcept {
  out.call.splits = sent != nullptr ? sent->first : nullptr;
  out.call.recv_splits = received != nullptr ? received->first : nullptr;
  out.call.split_count = sent != nullptr ? sent->members : received != nullptr ? received->members : 0;
  if (sent != nullptr && received != nullptr && sent->members != received->members) {
    out.call.splits = out.call.recv_splits = nullptr; // a wrong call of this library is not to be read beyond its end
    out.call.split_count = 0;
  }
  return out;
}

} // namespace detail

// The three forms of one op; `parameters` and `arguments` are what follows the data, with a leading comma.
#define DT_DETAIL_LIST(...) __VA_ARGS__
#define DT_DETAIL_OP(op, parameters, arguments)                                                                        \
  constexpr description op(const group_ref &group, const buffer &data DT_DETAIL_LIST parameters) noexcept {            \
    return detail::describe_call(op_kind::op, group, data DT_DETAIL_LIST arguments);                                   \
  }                                                                                                                    \
  template <typename Element>                                                                                          \
  constexpr description op(const group_ref &group, const Element *data,                                                \
                           natural count DT_DETAIL_LIST parameters) noexcept {                                         \
    return detail::describe_call(op_kind::op, group, buffer(data, count) DT_DETAIL_LIST arguments);                    \
  }                                                                                                                    \
  constexpr description op(const group_ref &group, const void *data, natural count,                                    \
                           dtype type DT_DETAIL_LIST parameters) noexcept {                                            \
    return detail::describe_call(op_kind::op, group, buffer(data, count, type) DT_DETAIL_LIST arguments);              \
  }

// Counts are what this rank passes in, but for all_to_all: the elements for all members together, and for
// reduce_scatter: the whole input.
DT_DETAIL_OP(all_reduce, (, reduce_by op), (, op))
DT_DETAIL_OP(reduce, (, reduce_by op, std::int32_t root), (, op, root))
DT_DETAIL_OP(broadcast, (, std::int32_t root), (, redop::none, root))
DT_DETAIL_OP(all_gather, (), ())
DT_DETAIL_OP(reduce_scatter, (, reduce_by op), (, op))
DT_DETAIL_OP(gather, (, std::int32_t root), (, redop::none, root))
DT_DETAIL_OP(scatter, (, std::int32_t root), (, redop::none, root))
DT_DETAIL_OP(all_to_all, (), ())
DT_DETAIL_OP(scan, (, reduce_by op), (, op))
DT_DETAIL_OP(exscan, (, reduce_by op), (, op))
DT_DETAIL_OP(neighbor_exchange, (), ())
DT_DETAIL_OP(send, (, std::int32_t peer, std::int32_t tag = 0), (, redop::none, peer, tag))
DT_DETAIL_OP(recv, (, std::int32_t peer, std::int32_t tag = 0), (, redop::none, peer, tag))
#undef DT_DETAIL_OP
#undef DT_DETAIL_LIST

constexpr description barrier(const group_ref &group) noexcept {
  return detail::describe_call(op_kind::barrier, group, {});
}

/// Uneven shares: what this rank passes in, and what it expects of or sends to each member, where it knows.
constexpr description all_to_all_v(const group_ref &group, const buffer &element, const splits &sent,
                                   const splits &received) noexcept {
  description out = detail::with_splits(detail::describe_call(op_kind::all_to_all_v, group, element), &sent, &received);
  out.call.count = sent.total();
  return out;
}
constexpr description all_gather_v(const group_ref &group, const buffer &data) noexcept {
  return detail::describe_call(op_kind::all_gather_v, group, data);
}
constexpr description all_gather_v(const group_ref &group, const buffer &data, const splits &received) noexcept {
  return detail::with_splits(all_gather_v(group, data), nullptr, &received);
}
/// At the root with `received`, elsewhere without.
constexpr description gather_v(const group_ref &group, const buffer &data, std::int32_t root) noexcept {
  return detail::describe_call(op_kind::gather_v, group, data, redop::none, root);
}
constexpr description gather_v(const group_ref &group, const buffer &data, const splits &received,
                               std::int32_t root) noexcept {
  return detail::with_splits(gather_v(group, data, root), nullptr, &received);
}
/// At the root with `sent`, elsewhere without. `data` is this rank's own share.
constexpr description scatter_v(const group_ref &group, const buffer &data, std::int32_t root) noexcept {
  return detail::describe_call(op_kind::scatter_v, group, data, redop::none, root);
}
constexpr description scatter_v(const group_ref &group, const buffer &data, const splits &sent,
                                std::int32_t root) noexcept {
  return detail::with_splits(scatter_v(group, data, root), &sent, nullptr);
}
constexpr description reduce_scatter_v(const group_ref &group, const buffer &element, const splits &shares,
                                       reduce_by op) noexcept {
  description out =
      detail::with_splits(detail::describe_call(op_kind::reduce_scatter_v, group, element, op), &shares, nullptr);
  out.call.count = shares.total();
  return out;
}

} // namespace DTDEBUG_ABI
} // namespace dtdebug
