// DT_SCOPE_COLLECTIVE, the descriptions it takes, groups by name, DT_DIAGNOSE.
#include <dtdebug/record.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include <unistd.h>

namespace {

using namespace dtdebug;

/// A black box of its own for one test; what the process had before is put back.
class session_of_test {
public:
  explicit session_of_test(std::uint32_t rank = 0, std::uint32_t world_size = 4) {
    record::the_session = {};
    record::group_names = {};
    record::this_thread_slot = {};
    char path[] = "/tmp/dtdebug-scope-XXXXXX";
    const int file = ::mkstemp(path);
    REQUIRE(file >= 0);
    ::close(file);
    ::unlink(path);
    blackbox::capacities sizes;
    sizes.groups = 8;
    record::the_session.box = blackbox::create(path, sizes);
    REQUIRE(record::the_session.box.file.base != nullptr);
    ::unlink(path); // the mapping stays
    record::box().who->rank = rank;
    record::box().who->world_size = world_size;
    world::group_desc everybody;
    everybody.id = 1;
    everybody.name = "world";
    everybody.size = world_size;
    everybody.my_index = static_cast<std::int32_t>(rank);
    world::add_group(record::box(), everybody);
    record::the_session.pid = static_cast<std::uint32_t>(::getpid());
    record::the_session.level = 2;
  }
  ~session_of_test() {
    record::the_session.level = 0;
    record::this_thread_slot = {};
    os::unmap(record::the_session.box.file);
    record::the_session = before_;
    record::group_names = names_before_;
  }
  session_of_test(const session_of_test &) = delete;
  session_of_test &operator=(const session_of_test &) = delete;

  std::uint64_t calls() const { return record::calls_so_far(); }
  /// The n-th call of this thread.
  const blackbox::record &call(std::uint64_t n) const { return blackbox::records_of(record::this_thread_slot.ring)[n]; }
  const blackbox::group_slot &group(std::uint16_t slot) const { return record::box().groups[slot]; }
  std::string label(const blackbox::record &of) const {
    return of.label != 0 ? record::box().labels[of.label - 1].text : "";
  }
  std::vector<std::int32_t> members(std::uint16_t slot) const {
    std::vector<std::int32_t> out;
    for (std::uint32_t r = 0; r < group(slot).run_count; ++r) {
      const blackbox::member_run &run = record::box().members[group(slot).first_run + r];
      for (std::uint32_t i = 0; i < run.count; ++i) {
        out.push_back(run.first + static_cast<std::int32_t>(i) * run.stride);
      }
    }
    return out;
  }
  std::uint64_t notes_of(note_type kind) const {
    std::uint64_t count = 0;
    for (std::uint64_t i = 0; i < record::box().live->note_head; ++i) {
      count += record::box().notes[i].kind == static_cast<std::uint32_t>(kind) ? 1U : 0U;
    }
    return count;
  }
  const blackbox::note_slot &last_note() const { return record::box().notes[record::box().live->note_head - 1]; }

private:
  record::session_state before_ = record::the_session;
  record::name_table names_before_ = record::group_names;
};

call_state state_of(const blackbox::record &call) { return static_cast<call_state>(call.state); }

/// A tensor type of the program, taught to the library below.
struct matrix {
  std::vector<double> values;
  unsigned rows;
  unsigned columns;
};

struct own_handle {
  int number;
};

} // namespace

template <>
struct dtdebug::describe<matrix> {
  static buffer of(const matrix &m) noexcept { return tensor(m.values.data(), m.rows, m.columns); }
};

template <>
struct dtdebug::group_handle<own_handle> {
  static std::uint16_t slot_of(own_handle handle) noexcept { return static_cast<std::uint16_t>(handle.number); }
};

TEST_CASE("a scope is pending until its end and done after it") {
  const session_of_test session;
  std::vector<float> gradient(12);
  {
    DT_SCOPE_COLLECTIVE(dtdebug::all_reduce("world", gradient, dtdebug::sum));
    REQUIRE(session.calls() == 1);
    CHECK(state_of(session.call(0)) == call_state::entered);
    CHECK(session.call(0).left == 0);
  }
  const blackbox::record &call = session.call(0);
  CHECK(session.calls() == 1);
  CHECK(state_of(call) == call_state::done);
  CHECK(call.left >= call.entered);
  CHECK(static_cast<op_kind>(call.op) == op_kind::all_reduce);
  CHECK(static_cast<dtype>(call.type) == dtype::f32);
  CHECK(static_cast<redop>(call.reduce) == redop::sum);
  CHECK(call.count == 12);
  CHECK(call.element_size == 4);
  CHECK(call.group == world::world_group);
  CHECK(call.seq == 0);
  CHECK(call.site != 0);
  CHECK(session.group(world::world_group).next_seq == 1);
}

TEST_CASE("a scope that an exception leaves is aborted, and a note names it") {
  const session_of_test session;
  const auto run = [] {
    DT_SCOPE_COLLECTIVE(dtdebug::barrier("world"));
    throw std::runtime_error("on the way");
  };
  CHECK_THROWS_AS(run(), std::runtime_error);
  CHECK(state_of(session.call(0)) == call_state::aborted);
  REQUIRE(session.notes_of(note_type::scope_exception) == 1);
  CHECK(std::string(session.last_note().name) == "barrier");
  CHECK(std::string(session.last_note().text).find("dtdebug::barrier") != std::string::npos);
}

TEST_CASE("a scope that begins and ends while an exception unwinds is done") {
  const session_of_test session;
  struct cleans_up {
    ~cleans_up() { DT_SCOPE_COLLECTIVE(dtdebug::barrier("world")); }
  };
  const auto run = [] {
    const cleans_up at_the_end;
    throw std::runtime_error("on the way");
  };
  CHECK_THROWS_AS(run(), std::runtime_error);
  CHECK(state_of(session.call(0)) == call_state::done);
  CHECK(session.notes_of(note_type::scope_exception) == 0);
}

TEST_CASE("nothing is recorded at level off") {
  const session_of_test session;
  record::the_session.level = 0;
  {
    DT_SCOPE_COLLECTIVE(dtdebug::all_reduce("nobody", 1.0F, dtdebug::sum));
    DT_GROUP("dp", "dp", 0, 1);
    DT_DIAGNOSE("no");
  }
  record::the_session.level = 2;
  CHECK(session.calls() == 0);
  CHECK(record::box().live->note_head == 0);
  CHECK(record::box().live->group_count == 2);
}

TEST_CASE("scopes nest and end in reverse") {
  const session_of_test session;
  {
    DT_SCOPE_COLLECTIVE(dtdebug::all_reduce("world", 1, dtdebug::max));
    { DT_SCOPE_COLLECTIVE(dtdebug::barrier("world")); }
    CHECK(state_of(session.call(0)) == call_state::entered);
    CHECK(state_of(session.call(1)) == call_state::done);
  }
  CHECK(state_of(session.call(0)) == call_state::done);
  CHECK(session.call(1).seq == 1);
}

TEST_CASE("every op is recorded as itself") {
  const session_of_test session;
  float data[6] = {};
  const std::vector<std::int64_t> shares{1, 2, 3, 0};
  const struct {
    description what;
    op_kind op;
    std::int32_t root;
    std::uint64_t count;
  } all[] = {
      {all_reduce("world", data, sum), op_kind::all_reduce, no_rank, 6},
      {reduce("world", data, max, 2), op_kind::reduce, 2, 6},
      {broadcast("world", data, 1), op_kind::broadcast, 1, 6},
      {all_gather("world", data), op_kind::all_gather, no_rank, 6},
      {reduce_scatter("world", data, avg), op_kind::reduce_scatter, no_rank, 6},
      {gather("world", data, 3), op_kind::gather, 3, 6},
      {scatter("world", data, 3), op_kind::scatter, 3, 6},
      {all_to_all("world", data), op_kind::all_to_all, no_rank, 6},
      {all_to_all_v("world", buffer(data, 0), shares, shares), op_kind::all_to_all_v, no_rank, 6},
      {all_gather_v("world", data, shares), op_kind::all_gather_v, no_rank, 6},
      {gather_v("world", data, shares, 0), op_kind::gather_v, 0, 6},
      {scatter_v("world", data, 1), op_kind::scatter_v, 1, 6},
      {reduce_scatter_v("world", buffer(data, 0), shares, sum), op_kind::reduce_scatter_v, no_rank, 6},
      {barrier("world"), op_kind::barrier, no_rank, 0},
      {scan("world", data, sum), op_kind::scan, no_rank, 6},
      {exscan("world", data, sum), op_kind::exscan, no_rank, 6},
      {neighbor_exchange("world", data), op_kind::neighbor_exchange, no_rank, 6},
      {send("world", buffer(data), 2, 7), op_kind::send, 2, 6},
      {recv("world", buffer(data), 2, 7), op_kind::recv, 2, 6},
  };
  std::uint64_t n = 0;
  for (const auto &each : all) {
    { DT_SCOPE_COLLECTIVE(each.what); }
    const blackbox::record &call = session.call(n++);
    CAPTURE(name(each.op));
    CHECK(static_cast<op_kind>(call.op) == each.op);
    CHECK(call.root == each.root);
    CHECK(call.count == each.count);
    CHECK(static_cast<call_state>(call.state) == call_state::done);
    CHECK(is_reduction(each.op) == (static_cast<redop>(call.reduce) != redop::none));
    CHECK(call.tag == (is_point_to_point(each.op) ? 7 : 0));
  }
}

TEST_CASE("splits go into the record, and two lists of different length do not") {
  const session_of_test session;
  const std::vector<std::int64_t> sent{1, 2};
  const std::vector<std::int64_t> received{4, 5};
  const std::vector<std::int64_t> longer{4, 5, 6};
  {
    DT_SCOPE_COLLECTIVE(dtdebug::all_to_all_v("world", buffer(static_cast<const float *>(nullptr), 0), sent, received));
  }
  { DT_SCOPE_COLLECTIVE(dtdebug::all_to_all_v("world", buffer(static_cast<const float *>(nullptr), 0), sent, longer)); }
  REQUIRE(session.call(0).extra != 0);
  const std::uint64_t *words = blackbox::extras_of(record::this_thread_slot.ring) + session.call(0).extra - 1;
  CHECK(words[1] == (2ULL << 32 | 2));
  CHECK(words[2] == 1);
  CHECK(words[3] == 2);
  CHECK(words[4] == 4);
  CHECK(words[5] == 5);
  CHECK(session.call(1).extra == 0);
}

TEST_CASE("data is described by what it is") {
  const session_of_test session;
  const std::array<std::int64_t, 3> array{};
  const unsigned short plain[5] = {};
  const float *const typed = nullptr;
  const void *const raw = nullptr;
  CHECK(buffer(3.0).type == dtype::f64);
  CHECK(buffer(3.0).count == 1);
  CHECK(buffer(true).type == dtype::boolean);
  CHECK(buffer(array).type == dtype::i64);
  CHECK(buffer(array).count == 3);
  CHECK(buffer(plain).type == dtype::u16);
  CHECK(buffer(plain).count == 5);
  CHECK(buffer(typed, 7).type == dtype::f32);
  CHECK(buffer(typed, -7).count == 0);
  CHECK(buffer(raw, 7, dtype::bf16).element_size == 2);
  CHECK(buffer(raw, 7, dtype::user, 24).element_size == 24);
  CHECK(buffer(&session, 2).type == dtype::user);
  CHECK(buffer(&session, 2).element_size == sizeof(session_of_test));
  CHECK(dtype_of<char>::value == dtype::i8);
  CHECK(dtype_of<const unsigned long>::value == dtype::u64);
  const buffer table = tensor(typed, 3, 5U, 2L).named("table");
  CHECK(table.count == 30);
  CHECK(table.dim_count == 3);
  CHECK(table.dims[1] == 5);
  CHECK(std::string(table.label) == "table");
  CHECK(tensor(typed, 1ULL << 40).dims_cut);
  CHECK(tensor(typed).count == 1);
  const matrix own{std::vector<double>(6), 2, 3};
  { DT_SCOPE_COLLECTIVE(dtdebug::broadcast("world", own, 0)); }
  CHECK(session.call(0).count == 6);
  CHECK(session.call(0).shape == (0x80 | 2));
  CHECK(session.call(0).dims[0] == 2);
}

TEST_CASE("a label and a shape come from the description or from DT_SHAPED") {
  const session_of_test session;
  float data[8] = {};
  { DT_SCOPE_COLLECTIVE(dtdebug::all_reduce("world", dtdebug::tensor(data, 2, 4).named("in words"), dtdebug::sum)); }
  { DT_SCOPE_COLLECTIVE(dtdebug::all_reduce("world", DT_SHAPED(&data[0], "by pointer", 4, 2), 8, dtdebug::sum)); }
  { DT_SCOPE_COLLECTIVE(dtdebug::all_reduce("world", data, dtdebug::sum)); }
  CHECK(session.label(session.call(0)) == "in words");
  CHECK(session.call(0).dims[0] == 2);
  CHECK(session.label(session.call(1)) == "by pointer");
  CHECK(session.call(1).dims[0] == 4);
  CHECK(session.label(session.call(2)).empty());
  CHECK(session.call(2).shape == 0);
}

TEST_CASE("a group is known by its name, its label, its handle") {
  const session_of_test session(2);
  DT_GROUP("dp", "data parallel", 0, 2);
  DT_GROUP("dp", "again", 0, 2);
  REQUIRE(record::box().live->group_count == 3);
  const blackbox::group_slot &dp = session.group(2);
  CHECK(std::string(dp.name) == "data parallel");
  CHECK(session.members(2) == std::vector<std::int32_t>{0, 2});
  CHECK(dp.my_index == 1);
  CHECK(record::slot_of("dp") == 2);
  CHECK(record::slot_of("data parallel") == 2);
  CHECK(record::slot_of("world") == world::world_group);
  CHECK(record::slot_of(own_handle{5}) == 5);
}

TEST_CASE("a group without ranks is all ranks") {
  const session_of_test session(3, 4);
  DT_GROUP("everybody", "all of us");
  CHECK(session.members(2) == std::vector<std::int32_t>{0, 1, 2, 3});
  CHECK(session.group(2).my_index == 3);
}

TEST_CASE("a group has the same identity on each member and another with other members") {
  const auto identity = [](std::uint32_t rank, auto... members) {
    const session_of_test session(rank);
    name_group("tp", "tp", members...);
    return session.group(2).id;
  };
  CHECK(identity(0, 0, 1) == identity(1, 0, 1));
  CHECK(identity(0, 0, 1) != identity(2, 2, 3));
}

TEST_CASE("a name that nobody introduced is a group whose members are not known") {
  const session_of_test session;
  { DT_SCOPE_COLLECTIVE(dtdebug::barrier("never heard of")); }
  { DT_SCOPE_COLLECTIVE(dtdebug::barrier("never heard of")); }
  REQUIRE(record::box().live->group_count == 3);
  CHECK(session.call(0).group == 2);
  CHECK(session.call(1).group == 2);
  CHECK(session.call(1).seq == 1);
  CHECK(session.group(2).run_count == 0);
  CHECK(session.group(2).id != 0);
}

TEST_CASE("a full group table makes a scope that records nothing") {
  const session_of_test session;
  for (int i = 0; i < 8; ++i) {
    const std::string each = "group " + std::to_string(i);
    DT_GROUP(each.c_str(), each.c_str());
  }
  { DT_SCOPE_COLLECTIVE(dtdebug::barrier("one too many")); }
  CHECK(session.calls() == 0);
  CHECK(record::box().live->groups_unrecorded > 0);
}

TEST_CASE("a call with nothing to do takes no position") {
  const session_of_test session;
  DT_GROUP("me", "me", 0);
  { DT_SCOPE_COLLECTIVE(dtdebug::all_reduce("me", 1.0F, dtdebug::sum)); }
  { DT_SCOPE_COLLECTIVE(dtdebug::all_reduce("world", std::vector<float>(), dtdebug::sum)); }
  { DT_SCOPE_COLLECTIVE(dtdebug::barrier("world")); }
  CHECK((session.call(0).flags & flag_no_position) != 0);
  CHECK((session.call(1).flags & flag_no_position) != 0);
  CHECK((session.call(2).flags & flag_no_position) == 0);
  CHECK(session.group(world::world_group).next_seq == 1);
  CHECK(session.group(2).next_seq == 0);
}

TEST_CASE("equal descriptions have equal fingerprints, different ones have not") {
  const session_of_test session;
  float data[4] = {};
  const description all[] = {all_reduce("world", data, sum), all_reduce("world", &data[0], 4, redop::sum),
                             all_reduce("world", static_cast<void *>(data), 4U, dtype::f32, sum),
                             all_reduce("world", data, max), all_reduce("world", &data[0], 3, sum)};
  for (const description &each : all) {
    DT_SCOPE_COLLECTIVE(each);
  }
  CHECK(session.call(0).hard == session.call(1).hard);
  CHECK(session.call(0).hard == session.call(2).hard);
  CHECK(session.call(0).hard != session.call(3).hard);
  CHECK(session.call(0).hard != session.call(4).hard);
}

TEST_CASE("DT_DIAGNOSE is on record and wakes whoever watches") {
  const session_of_test session;
  static int woken = 0;
  woken = 0;
  auto *const before = record::request_diagnosis;
  record::request_diagnosis = nullptr;
  DT_DIAGNOSE("nobody watches");
  record::request_diagnosis = +[]() noexcept { ++woken; };
  DT_DIAGNOSE("loss is NaN");
  record::request_diagnosis = before;
  CHECK(woken == 1);
  CHECK(session.notes_of(note_type::request) == 2);
  CHECK(session.notes_of(note_type::error) == 0); // asking is no error of the rank that asks
  CHECK(std::string(session.last_note().text) == "loss is NaN");
}

TEST_CASE("a decision is recorded with its sign and in full") {
  const session_of_test session;
  const auto text_of = [&session](auto value) {
    DT_DECISION("which", value);
    return std::string(session.last_note().text);
  };
  CHECK(text_of(0) == "0");
  CHECK(text_of(-5) == "-5");
  CHECK(text_of(INT64_MIN) == "-9223372036854775808");
  CHECK(text_of(UINT64_MAX) == "18446744073709551615");
  CHECK(text_of(true) == "1");
  CHECK(text_of("left") == "left");
  DT_DECISION("which", 0);
  CHECK(std::string(session.last_note().text) == "0");
}
