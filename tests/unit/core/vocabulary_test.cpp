// Names, sizes and classes of ops, dtypes, reductions and states.
#include <dtdebug/core/call_desc.hpp>
#include <dtdebug/core/call_site.hpp>

#include <doctest/doctest.h>

#include <complex>
#include <cstring>
#include <iterator>
#include <set>
#include <string>
#include <type_traits>
#include <utility>

using namespace dtdebug;

namespace {

template <typename Kind>
void check_names(int count) {
  std::set<std::string> seen;
  for (int i = 0; i < count; ++i) {
    const std::string text = name(static_cast<Kind>(i));
    CHECK(!text.empty());
    CHECK(text != "unknown");
    CHECK(text.find(' ') == std::string::npos);
    seen.insert(text);
  }
  CHECK(seen.size() == static_cast<std::size_t>(count));
  for (int i = count; i < 256; ++i) {
    CHECK(std::string(name(static_cast<Kind>(i))) == "unknown");
  }
}

} // namespace

TEST_CASE("every number has one name, and numbers of a later version are unknown") {
  check_names<op_kind>(op_kind_count);
  check_names<dtype>(dtype_count);
  check_names<redop>(redop_count);
  check_names<call_state>(9);
}

TEST_CASE("each dtype and each reduction has the name of its enumerator") {
  const std::pair<dtype, const char *> types[] = {
      {dtype::none, "none"},    {dtype::i8, "i8"},         {dtype::u8, "u8"},         {dtype::i16, "i16"},
      {dtype::u16, "u16"},      {dtype::i32, "i32"},       {dtype::u32, "u32"},       {dtype::i64, "i64"},
      {dtype::u64, "u64"},      {dtype::f16, "f16"},       {dtype::bf16, "bf16"},     {dtype::f32, "f32"},
      {dtype::f64, "f64"},      {dtype::f8e4m3, "f8e4m3"}, {dtype::f8e5m2, "f8e5m2"}, {dtype::f80, "f80"},
      {dtype::boolean, "bool"}, {dtype::c64, "c64"},       {dtype::c128, "c128"},     {dtype::pair, "pair"},
      {dtype::user, "user"}};
  for (const auto &[type, text] : types) {
    CHECK(std::string(name(type)) == text);
  }
  CHECK(std::size(types) == dtype_count);
  const std::pair<redop, const char *> reductions[] = {
      {redop::none, "none"},        {redop::sum, "sum"},        {redop::prod, "prod"},
      {redop::min, "min"},          {redop::max, "max"},        {redop::avg, "avg"},
      {redop::logical_and, "land"}, {redop::logical_or, "lor"}, {redop::logical_xor, "lxor"},
      {redop::bit_and, "band"},     {redop::bit_or, "bor"},     {redop::bit_xor, "bxor"},
      {redop::min_loc, "minloc"},   {redop::max_loc, "maxloc"}, {redop::replace, "replace"},
      {redop::user, "user"}};
  for (const auto &[reduction, text] : reductions) {
    CHECK(std::string(name(reduction)) == text);
  }
  CHECK(std::size(reductions) == redop_count);
}

TEST_CASE("each op has the name of its enumerator") {
#define CHECK_NAME(op) CHECK(std::string(name(op_kind::op)) == #op)
  CHECK_NAME(none);
  CHECK_NAME(all_reduce);
  CHECK_NAME(reduce);
  CHECK_NAME(broadcast);
  CHECK_NAME(all_gather);
  CHECK_NAME(reduce_scatter);
  CHECK_NAME(gather);
  CHECK_NAME(scatter);
  CHECK_NAME(all_to_all);
  CHECK_NAME(all_to_all_v);
  CHECK_NAME(all_gather_v);
  CHECK_NAME(barrier);
  CHECK_NAME(send);
  CHECK_NAME(recv);
  CHECK_NAME(scan);
  CHECK_NAME(exscan);
  CHECK_NAME(gather_v);
  CHECK_NAME(scatter_v);
  CHECK_NAME(reduce_scatter_v);
  CHECK_NAME(neighbor_exchange);
  CHECK_NAME(group_create);
  CHECK_NAME(group_free);
  CHECK_NAME(probe);
  CHECK_NAME(wait);
  CHECK_NAME(group_start);
  CHECK_NAME(group_end);
  CHECK_NAME(init);
  CHECK_NAME(finalize);
  CHECK_NAME(graph_launch);
#undef CHECK_NAME
}

TEST_CASE("a dtype is as large as the type it stands for") {
  CHECK(size_of(dtype::i8) == sizeof(std::int8_t));
  CHECK(size_of(dtype::u8) == 1);
  CHECK(size_of(dtype::i16) == 2);
  CHECK(size_of(dtype::u16) == 2);
  CHECK(size_of(dtype::i32) == 4);
  CHECK(size_of(dtype::u32) == 4);
  CHECK(size_of(dtype::i64) == 8);
  CHECK(size_of(dtype::u64) == 8);
  CHECK(size_of(dtype::f16) == 2);
  CHECK(size_of(dtype::bf16) == 2);
  CHECK(size_of(dtype::f32) == sizeof(float));
  CHECK(size_of(dtype::f64) == sizeof(double));
  CHECK(size_of(dtype::f8e4m3) == 1);
  CHECK(size_of(dtype::f8e5m2) == 1);
  CHECK(size_of(dtype::f80) == 16);
  CHECK(size_of(dtype::boolean) == sizeof(bool));
  CHECK(size_of(dtype::c64) == sizeof(std::complex<float>));
  CHECK(size_of(dtype::c128) == sizeof(std::complex<double>));
  for (const dtype open : {dtype::none, dtype::pair, dtype::user, static_cast<dtype>(200)}) {
    CHECK(size_of(open) == 0);
  }
}

TEST_CASE("an op is in the classes that its name says") {
  for (int i = 0; i < 256; ++i) {
    const auto op = static_cast<op_kind>(i);
    const std::string text = name(op);
    CAPTURE(text);
    const std::set<std::string> collectives{
        "all_reduce",     "reduce",     "broadcast",        "all_gather",   "gather",           "scatter",
        "reduce_scatter", "all_to_all", "all_to_all_v",     "all_gather_v", "barrier",          "scan",
        "exscan",         "gather_v",   "reduce_scatter_v", "scatter_v",    "neighbor_exchange"};
    CHECK(is_collective(op) == (collectives.count(text) == 1));
    CHECK(is_point_to_point(op) == (text == "send" || text == "recv"));
    const bool rooted =
        text == "reduce" || text == "broadcast" || text.rfind("gather", 0) == 0 || text.rfind("scatter", 0) == 0;
    CHECK(is_rooted(op) == rooted);
    const bool uneven = text == "neighbor_exchange" || (text.size() > 2 && text.compare(text.size() - 2, 2, "_v") == 0);
    CHECK(is_uneven(op) == uneven);
    const bool reduces = text.find("reduce") != std::string::npos || text == "scan" || text == "exscan";
    CHECK(is_reduction(op) == reduces);
    if (reduces || rooted || uneven) {
      CHECK(is_collective(op));
    }
    CHECK(carries_no_data(op) == (text == "barrier" || !(is_collective(op) || is_point_to_point(op))));
  }
}

TEST_CASE("a call is pending or has ended or neither, never both") {
  std::set<std::string> pending;
  std::set<std::string> ended;
  for (int i = 0; i < 256; ++i) {
    const auto state = static_cast<call_state>(i);
    CHECK_FALSE((is_pending(state) && has_ended(state)));
    if (is_pending(state)) {
      pending.insert(name(state));
    }
    if (has_ended(state)) {
      ended.insert(name(state));
    }
  }
  CHECK(pending == std::set<std::string>{"entered", "launched", "started"});
  CHECK(ended == std::set<std::string>{"done", "failed", "aborted"});
}

TEST_CASE("flags are bits of their own") {
  const int all[] = {flag_nonblocking, flag_persistent, flag_in_place,    flag_no_position,
                     flag_strict_mode, flag_dims_cut,   flag_synchronous, flag_buffered};
  int sum = 0;
  for (const int flag : all) {
    CHECK((flag & (flag - 1)) == 0);
    sum += flag;
  }
  CHECK(sum == 255);
}

TEST_CASE("a call site is constant-initialised and has no id before its first use") {
  static call_site site{"file.cpp", 12, "MPI_Allreduce"};
  CHECK(std::string(site.file) == "file.cpp");
  CHECK(site.line == 12);
  CHECK(std::string(site.text) == "MPI_Allreduce");
  CHECK(site.id.load() == 0);
  static_assert(std::is_trivially_destructible_v<call_site>, "guards in static destructors may still use it");
}
