// Which fields of a call enter its fingerprints, for each op.
#include <dtdebug/core/fingerprint.hpp>

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <vector>

using namespace dtdebug;

namespace {

call_desc plain(op_kind op) {
  call_desc call;
  call.op = op;
  call.type = dtype::f32;
  call.reduce = redop::sum;
  call.element_size = 4;
  call.count = 100;
  call.root = 1;
  call.tag = 5;
  return call;
}

/// Changes one field of a call at a time.
struct change {
  const char *field;
  void (*apply)(call_desc &);
};

const change every_change[] = {
    {"count", [](call_desc &c) { c.count = 101; }},
    {"dtype", [](call_desc &c) { c.type = dtype::i32; }},
    {"reduce", [](call_desc &c) { c.reduce = redop::max; }},
    {"root", [](call_desc &c) { c.root = 2; }},
    {"element_size", [](call_desc &c) { c.element_size = 8; }},
    {"tag", [](call_desc &c) { c.tag = 6; }},
    {"stream", [](call_desc &c) { c.stream = 3; }},
    {"label", [](call_desc &c) { c.label = 99; }},
    {"dims",
     [](call_desc &c) {
       c.has_dims = true;
       c.dim_count = 1;
       c.dims[0] = 100;
     }},
    {"group", [](call_desc &c) { c.group = 7; }},
    {"in_place", [](call_desc &c) { c.flags = flag_in_place; }},
    {"nonblocking", [](call_desc &c) { c.flags = flag_nonblocking; }},
    {"splits",
     [](call_desc &c) {
       static const std::int64_t shares[] = {1, 2};
       c.splits = shares;
       c.split_count = 2;
     }},
};

template <typename Hash>
std::set<std::string> fields_in(Hash hash, op_kind op) {
  std::set<std::string> out;
  for (const change &each : every_change) {
    call_desc changed = plain(op);
    each.apply(changed);
    if (hash(changed) != hash(plain(op))) {
      out.insert(each.field);
    }
  }
  return out;
}

std::set<std::string> hard_fields(op_kind op) { return fields_in(hard_fingerprint, op); }
std::set<std::string> soft_fields(op_kind op) { return fields_in(soft_fingerprint, op); }

using fields = std::set<std::string>;

} // namespace

TEST_CASE("a reduction is dtype, count and reduce op, with a root where it has one") {
  for (const op_kind op : {op_kind::all_reduce, op_kind::reduce_scatter, op_kind::scan, op_kind::exscan}) {
    CAPTURE(name(op));
    CHECK(hard_fields(op) == fields{"count", "dtype", "reduce"});
  }
  CHECK(hard_fields(op_kind::reduce) == fields{"count", "dtype", "reduce", "root"});
}

TEST_CASE("an uneven reduction is dtype and reduce op; counts are each member's own") {
  CHECK(hard_fields(op_kind::reduce_scatter_v) == fields{"dtype", "reduce"});
}

TEST_CASE("a movement is its bytes, with a root where it has one") {
  for (const op_kind op : {op_kind::all_gather, op_kind::all_to_all}) {
    CHECK(hard_fields(op) == fields{"count", "element_size"});
  }
  for (const op_kind op : {op_kind::broadcast, op_kind::gather, op_kind::scatter}) {
    CHECK(hard_fields(op) == fields{"count", "element_size", "root"});
  }
}

TEST_CASE("equal bytes of different types match in a movement and not in a reduction") {
  for (const op_kind op : {op_kind::broadcast, op_kind::all_reduce}) {
    call_desc doubles = plain(op);
    doubles.type = dtype::f64;
    doubles.element_size = 8;
    doubles.count = 50;
    CHECK((hard_fingerprint(doubles) == hard_fingerprint(plain(op))) == !is_reduction(op));
  }
}

TEST_CASE("an uneven movement is nothing but itself and its root") {
  for (const op_kind op : {op_kind::all_to_all_v, op_kind::all_gather_v, op_kind::neighbor_exchange}) {
    CHECK(hard_fields(op).empty());
  }
  for (const op_kind op : {op_kind::gather_v, op_kind::scatter_v}) {
    CHECK(hard_fields(op) == fields{"root"});
  }
}

TEST_CASE("a call without data is nothing but itself") {
  for (const op_kind op : {op_kind::barrier, op_kind::finalize, op_kind::group_create}) {
    CHECK(hard_fields(op).empty());
  }
}

TEST_CASE("ops with equal arguments have different fingerprints") {
  std::set<std::uint64_t> seen;
  for (int i = 0; i < op_kind_count; ++i) {
    seen.insert(hard_fingerprint(plain(static_cast<op_kind>(i))));
  }
  CHECK(seen.size() == op_kind_count);
}

TEST_CASE("blocking and non-blocking forms differ only where the library does not match them") {
  call_desc blocking = plain(op_kind::all_reduce);
  call_desc other = blocking;
  other.flags = flag_nonblocking;
  CHECK(hard_fingerprint(blocking) == hard_fingerprint(other));
  blocking.flags = flag_strict_mode;
  other.flags = flag_strict_mode | flag_nonblocking;
  CHECK(hard_fingerprint(blocking) != hard_fingerprint(other));
  other.flags = flag_strict_mode | flag_in_place;
  CHECK(hard_fingerprint(blocking) == hard_fingerprint(other));
}

TEST_CASE("the soft fingerprint is label, dims and dtype") {
  for (int i = 1; i < op_kind_count; ++i) {
    const auto op = static_cast<op_kind>(i);
    CAPTURE(name(op));
    CHECK(soft_fields(op) == fields{"dtype", "label", "dims"});
  }
}

TEST_CASE("dims count in order and number, also where there are none") {
  const auto with = [](std::vector<std::uint32_t> dims, op_kind op = op_kind::broadcast) {
    call_desc call = plain(op);
    call.has_dims = true;
    for (const std::uint32_t dim : dims) {
      call.dims[call.dim_count++] = dim;
    }
    return soft_fingerprint(call);
  };
  const std::set<std::uint64_t> distinct{soft_fingerprint(plain(op_kind::broadcast)),
                                         with({}),
                                         with({6}),
                                         with({2, 3}),
                                         with({3, 2}),
                                         with({1, 6}),
                                         with({6, 1}),
                                         with({2, 3, 1}),
                                         with({1, 2, 3, 4, 5, 6, 7, 8})};
  CHECK(distinct.size() == 9);
  CHECK(with({2, 3}, op_kind::all_gather_v) == with({5, 3}, op_kind::all_gather_v)); // shares differ by nature
  CHECK(with({2, 3}, op_kind::all_gather_v) != with({2, 3, 1}, op_kind::all_gather_v));
}

TEST_CASE("fingerprints are known at compile time") {
  constexpr call_desc call{};
  static_assert(hard_fingerprint(call) != 0);
  static_assert(soft_fingerprint(call) != 1);
}

TEST_CASE("a million calls that may meet have a million fingerprints") {
  std::set<std::uint64_t> seen;
  std::uint64_t made = 0;
  for (const op_kind op : {op_kind::all_reduce, op_kind::reduce, op_kind::broadcast, op_kind::all_gather}) {
    for (std::uint64_t count = 0; count < 50'000; ++count) {
      for (int variant = 0; variant < 5; ++variant) {
        call_desc call = plain(op);
        call.count = count;
        call.root = is_rooted(op) ? variant : 0;
        call.type = is_reduction(op) && !is_rooted(op) ? static_cast<dtype>(5 + variant) : dtype::f32;
        if (!is_rooted(op) && !is_reduction(op) && variant > 0) {
          continue;
        }
        ++made;
        seen.insert(hard_fingerprint(call));
      }
    }
  }
  CHECK(seen.size() == made);
}
