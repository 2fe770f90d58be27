// Members of a group that make different calls.
#include "job_builder.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace dtdebug_test;

namespace {

call_line grad() { return {op_kind::all_reduce, "world", 4096, "grad", "train.cpp:88"}; }

call_line named(const std::string &label, std::uint64_t count = 4096, const std::string &site = "train.cpp:70") {
  return {op_kind::all_reduce, "world", count, label, site};
}

call_line waiting(call_line line) {
  line.waits = true;
  return line;
}

} // namespace

TEST_CASE("equal calls on all ranks are no finding") {
  job_builder b(4);
  b.call({0, 1, 2, 3}, grad()).call({0, 1, 2, 3}, grad()).ends({0, 1, 2, 3});
  CHECK(b.verdicts().empty());
}

TEST_CASE("the same call from two lines is legal") {
  job_builder b(2);
  b.call({0}, named("a", 8, "x.cpp:1")).call({1}, named("a", 8, "x.cpp:2")).ends({0, 1});
  CHECK(b.verdicts().empty());
}

TEST_CASE("one field that differs names the kind and the smaller side is blamed") {
  struct row {
    const char *kind;
    call_line odd;
  };
  call_line gather = grad(), longer = grad(), doubles = grad(), average = grad();
  gather.op = op_kind::all_gather;
  longer.count = 4097;
  doubles.type = dtype::f64;
  average.reduce = redop::avg;
  for (const row &r : {row{"op_mismatch", gather}, row{"count_mismatch", longer}, row{"dtype_mismatch", doubles},
                       row{"redop_mismatch", average}}) {
    CAPTURE(r.kind);
    job_builder b(4);
    call_line odd = r.odd;
    odd.site = "train.cpp:93";
    b.call({0, 1, 2, 3}, named("loss", 1)).call({0, 1, 3}, waiting(grad())).call({2}, waiting(odd));
    const auto v = b.verdicts();
    REQUIRE(v.size() == 1);
    CHECK(v[0].kind == r.kind);
    CHECK(v[0].group == "world");
    CHECK(v[0].seq.value() == 1);
    CHECK(v[0].ranks == ranks{2});
    CHECK(v[0].with == ranks{0, 1, 3});
    CHECK(v[0].site == "train.cpp:93");
    CHECK(v[0].other_site == "train.cpp:88");
    CHECK_FALSE(v[0].headline.empty());
    CHECK_FALSE(v[0].reason.empty());
    CHECK_FALSE(v[0].evidence.empty());
    CHECK(v[0].next_steps.size() >= 1);
    CHECK(v[0].next_steps.size() <= 3);
    CHECK(v[0].consequences.empty());
  }
}

TEST_CASE("type and count that differ together are told as the first of both") {
  job_builder b(3);
  call_line doubles = waiting(grad());
  doubles.type = dtype::f64;
  doubles.count = 2048;
  b.call({0, 1}, waiting(grad())).call({2}, doubles);
  const auto v = b.verdicts();
  REQUIRE(v.size() == 1);
  CHECK(v[0].kind == "dtype_mismatch");
  CHECK(v[0].fields == std::vector<std::string>{"dtype", "count"});
}

TEST_CASE("another root and another shape are found") {
  job_builder b(3);
  call_line bc{op_kind::broadcast, "world", 16, "w", "a.cpp:1"};
  bc.root = 0;
  call_line wrong_root = bc;
  wrong_root.root = 1;
  call_line wide = named("m", 6), tall = wide;
  wide.dims = {2, 3};
  tall.dims = {3, 2};
  b.call({0, 1}, wide).call({2}, tall).call({0, 1}, waiting(bc)).call({2}, waiting(wrong_root));
  const auto v = b.verdicts();
  REQUIRE(v.size() == 2);
  CHECK(v[0].kind == "shape_mismatch");
  CHECK(v[0].seq.value() == 0);
  CHECK(v[1].kind == "root_mismatch");
  CHECK(v[1].seq.value() == 1);
}

TEST_CASE("raw bytes agree with any type") {
  job_builder b(2);
  call_line raw{op_kind::all_gather, "world", 64, "", "a.cpp:1", dtype::u8};
  call_line floats{op_kind::all_gather, "world", 16, "", "a.cpp:1", dtype::f32};
  b.call({0}, raw).call({1}, floats).ends({0, 1});
  CHECK(b.verdicts().empty());
}

TEST_CASE("equal sides are a tie and nobody is blamed for it") {
  job_builder b(4);
  call_line gather = waiting(grad());
  gather.op = op_kind::all_gather;
  b.call({0, 1}, waiting(grad())).call({2, 3}, gather);
  const auto v = b.verdicts();
  REQUIRE(v.size() == 1);
  CHECK(v[0].kind == "op_mismatch");
  CHECK(v[0].tie);
}

TEST_CASE("later calls that line up shifted mean a skipped call, not a mismatch") {
  job_builder b(4);
  for (int step = 0; step < 3; ++step) {
    b.call({0, 1, 2, 3}, named("text", 64))
        .call(step == 1 ? ranks{0, 1, 3} : ranks{0, 1, 2, 3}, named("vision", 128))
        .call({0, 1, 2, 3}, named("head", 32));
  }
  const auto v = b.verdicts();
  REQUIRE(v.size() == 1);
  CHECK(v[0].kind == "missing_call");
  CHECK(v[0].seq.value() == 4);
  CHECK(v[0].ranks == ranks{2});
  CHECK(v[0].other == "all_reduce");
  CHECK(v[0].other_detail == "all_reduce f32[128] sum \"vision\"");
  CHECK(v[0].sure == model::confidence::proven);
}

TEST_CASE("equal sizes that are skipped silently are found by their labels") {
  job_builder b(3);
  for (int step = 0; step < 20; ++step) {
    b.call({0, 1, 2}, named("e0"))
        .call(step == 9 ? ranks{0, 2} : ranks{0, 1, 2}, named("e1"))
        .call({0, 1, 2}, named("e2"));
  }
  b.ends({1});
  b.at(0).calls.back().state = b.at(2).calls.back().state = call_state::entered;
  const auto v = b.verdicts();
  REQUIRE(v.size() == 1);
  CHECK(v[0].kind == "missing_call");
  CHECK(v[0].seq.value() == 28);
  CHECK(v[0].ranks == ranks{1});
  CHECK(find(v, "order_mismatch") == nullptr);
}

TEST_CASE("the call that always comes next, from the same line, shows the skip while the others still wait") {
  job_builder b(4);
  for (int step = 0; step < 3; ++step) {
    b.call({0, 1, 2, 3}, named("w0", 64, "net.cpp:10"))
        .call({0, 1, 2, 3}, named("w1", 128, "net.cpp:11"))
        .call({0, 1, 2, 3}, named("w2", 32, "net.cpp:12"));
  }
  b.call({0, 1, 2, 3}, named("w0", 64, "net.cpp:10"));
  b.call({0, 1, 3}, waiting(named("w1", 128, "net.cpp:11"))).call({2}, waiting(named("w2", 32, "net.cpp:12")));
  b.job.settled = false; // live
  const auto v = b.verdicts();
  REQUIRE(v.size() == 1);
  CHECK(v[0].kind == "missing_call");
  CHECK(v[0].seq.value() == 10);
  CHECK(v[0].ranks == ranks{2});
  CHECK(v[0].other_site == "net.cpp:11");
  CHECK(v[0].sure == model::confidence::likely);
  CHECK_FALSE(v[0].unknowns.empty());
}

TEST_CASE("a new size from the usual line is a wrong count, not a skip") {
  job_builder b(4);
  for (int step = 0; step < 3; ++step) {
    b.call({0, 1, 2, 3}, named("w0", 64, "net.cpp:10")).call({0, 1, 2, 3}, named("w1", 128, "net.cpp:11"));
  }
  b.call({0, 1, 3}, waiting(named("w0", 64, "net.cpp:10"))).call({2}, waiting(named("w0", 60, "net.cpp:10")));
  const auto v = b.verdicts();
  REQUIRE(v.size() == 1);
  CHECK(v[0].kind == "count_mismatch");
  CHECK(v[0].ranks == ranks{2});
}

TEST_CASE("a call that one rank makes alone and then goes on is an extra call") {
  job_builder b(4);
  b.call({0, 1, 2, 3}, named("loss", 1)).call({1}, named("spike", 1, "log.cpp:33"));
  b.call({0, 1, 2, 3}, named("norm", 1)).call({0, 1, 2, 3}, named("loss", 1));
  const auto v = b.verdicts();
  REQUIRE(v.size() == 1);
  CHECK(v[0].kind == "extra_call");
  CHECK(v[0].seq.value() == 1);
  CHECK(v[0].ranks == ranks{1});
  CHECK(v[0].site == "log.cpp:33");
}

TEST_CASE("a barrier where the rank's own past says that a reduction is due was put in") {
  job_builder b(4);
  for (int step = 0; step < 5; ++step) {
    b.call({0, 1, 2, 3}, named("g0", 64)).call({0, 1, 2, 3}, named("g1", 32));
  }
  b.call({0, 1, 2, 3}, named("g0", 64)).call({0, 1, 3}, waiting(named("g1", 32)));
  b.call({2}, waiting({op_kind::barrier, "world", 0, "", "save.cpp:9"}));
  const auto v = b.verdicts();
  REQUIRE(v.size() == 1);
  CHECK(v[0].kind == "extra_call");
  CHECK(v[0].site == "save.cpp:9");
  CHECK(v[0].sure == model::confidence::likely);
}

TEST_CASE("the same calls in another order are told as such, even if the sizes are equal") {
  job_builder b(4);
  b.call({0, 1, 2, 3}, named("v"));
  b.call({0, 2, 3}, named("q")).call({0, 2, 3}, named("k")).call({1}, named("k")).call({1}, named("q"));
  b.call({0, 1, 2, 3}, named("o")).ends({0, 1, 2, 3});
  const auto v = b.verdicts();
  REQUIRE(v.size() == 1);
  CHECK(v[0].kind == "order_mismatch");
  CHECK(v[0].seq.value() == 1);
  CHECK(v[0].ranks == ranks{1});
  CHECK(find(v, "missing_call") == nullptr);
  CHECK(find(v, "extra_call") == nullptr);
}

TEST_CASE("zero elements on one rank are a wrong count, whatever the rank does next") {
  job_builder b(3);
  b.call({0, 1, 2}, named("b0")).call({0, 2}, waiting(named("b1"))).call({1}, named("b1", 0)).ends({1});
  const auto v = b.verdicts();
  REQUIRE(v.size() == 1);
  CHECK(v[0].kind == "count_mismatch");
  CHECK(v[0].seq.value() == 1);
  CHECK(v[0].ranks == ranks{1});
}

TEST_CASE("an empty call that one rank makes besides all others harms nobody") {
  job_builder b(3);
  b.call({0, 1, 2}, named("b0")).call({1}, named("frozen", 0)).call({0, 1, 2}, named("b1")).ends({0, 1, 2});
  CHECK(b.verdicts().empty());
}

TEST_CASE("two independent faults give two verdicts, and repeats of one are counted") {
  job_builder b(4);
  for (int step = 0; step < 4; ++step) {
    call_line odd = named("a", 64);
    odd.type = dtype::bf16;
    call_line gather = named("g", 16);
    gather.op = op_kind::all_gather;
    call_line as_half = gather;
    as_half.type = dtype::i32;
    b.call({0, 1, 2}, gather).call({3}, as_half);
    b.call({0, 1, 2, 3}, named("c", 8));
    call_line wide = named("m", 6), tall = wide;
    wide.dims = {2, 3};
    tall.dims = {3, 2};
    b.call({0, 2, 3}, wide).call({1}, tall);
  }
  b.ends({0, 1, 2, 3});
  const auto v = b.verdicts();
  REQUIRE(v.size() == 2);
  CHECK(v[0].kind == "dtype_mismatch");
  CHECK(v[0].ranks == ranks{3});
  CHECK(v[1].kind == "shape_mismatch");
  CHECK(v[1].ranks == ranks{1});
}

TEST_CASE("a rank that noted an error just before is the culprit even against the majority") {
  job_builder b(4);
  b.call({0, 1, 2, 3}, grad());
  b.note({1, 2, 3}, model::note_kind::error, "", "bad checksum");
  b.call({0}, waiting(grad())).ends({1, 2, 3});
  const auto v = b.verdicts();
  REQUIRE(v.size() == 1);
  CHECK(v[0].kind == "missing_call");
  CHECK(v[0].ranks == ranks{1, 2, 3});
  CHECK(v[0].with == ranks{0});
  CHECK(v[0].reason.find("bad checksum") != std::string::npos);
}

TEST_CASE("uneven exchanges are compared pair by pair") {
  job_builder b(3);
  const auto exchange = [](const std::vector<std::int64_t> &out, const std::vector<std::int64_t> &in) {
    call_line c{op_kind::all_to_all_v, "world", 0, "tokens", "moe.cpp:5"};
    for (const std::int64_t n : out) {
      c.count += static_cast<std::uint64_t>(n);
    }
    c.splits = out;
    c.recv_splits = in;
    c.waits = true;
    return c;
  };
  SUBCASE("and fit") {
    call_line a = exchange({0, 5, 4}, {0, 2, 7}), c = exchange({2, 1, 0}, {5, 1, 0}),
              d = exchange({7, 0, 1}, {4, 0, 1});
    a.waits = c.waits = d.waits = false;
    b.call({0}, a).call({1}, c).call({2}, d).ends({0, 1, 2});
    CHECK(b.verdicts().empty());
  }
  SUBCASE("one bad pair blames nobody") {
    b.call({0}, exchange({1, 2, 3}, {1, 2, 2}))
        .call({1}, exchange({2, 0, 2}, {2, 0, 1}))
        .call({2}, exchange({2, 1, 1}, {2, 2, 1}));
    const auto v = b.verdicts();
    REQUIRE(v.size() == 1);
    CHECK(v[0].kind == "split_mismatch");
    CHECK(v[0].ranks.empty());
  }
  SUBCASE("a rank in every bad pair is blamed") {
    b.call({0}, exchange({1, 2, 3}, {1, 2, 2}))
        .call({1}, exchange({2, 0, 2}, {2, 0, 1}))
        .call({2}, exchange({2, 1, 1}, {2, 1, 1}));
    const auto v = b.verdicts();
    REQUIRE(v.size() == 1);
    CHECK(v[0].kind == "split_mismatch");
    CHECK(v[0].ranks == ranks{2});
  }
}

TEST_CASE("calls without labels: known lines show which of several equal calls was skipped") {
  job_builder b(3);
  const auto at_line = [](const char *site) {
    call_line c{op_kind::all_reduce, "world", 4096, "", site};
    return c;
  };
  for (int step = 0; step < 4; ++step) {
    b.call({0, 1, 2}, at_line("n.cpp:1")).call(step == 3 ? ranks{0, 1} : ranks{0, 1, 2}, at_line("n.cpp:2"));
    call_line last = at_line("n.cpp:3");
    b.call({0, 1, 2}, last);
  }
  SUBCASE("seen at the end") {
    b.ends({2});
    b.at(0).calls.back().state = b.at(1).calls.back().state = call_state::entered;
  }
  SUBCASE("seen by the next call of another size") { b.call({0, 1, 2}, named("", 1, "n.cpp:9")); }
  const auto v = b.verdicts();
  REQUIRE(v.size() == 1);
  CHECK(v[0].kind == "missing_call");
  CHECK(v[0].ranks == ranks{2});
  CHECK(v[0].seq.value() == 10);
  CHECK(v[0].other_site == "n.cpp:2");
}

TEST_CASE("live: a silent difference is not told before the next calls say what it is") {
  job_builder b(3);
  b.job.settled = false;
  b.job.now = 5'000;
  for (int step = 0; step < 3; ++step) {
    b.call({0, 1, 2}, named("q")).call({0, 1, 2}, named("k"));
  }
  b.call({0, 2}, named("q")).call({1}, named("k"));
  CHECK(b.verdicts().empty());
  b.call({0, 2}, named("k")).call({1}, named("q")).call({0, 1, 2}, named("o"));
  const auto v = b.verdicts();
  REQUIRE(v.size() == 1);
  CHECK(v[0].kind == "order_mismatch");
  CHECK(v[0].ranks == ranks{1});
}

TEST_CASE(
    "another operation on the same data is told as such, though the rank went on and the next call has its size") {
  job_builder b(4);
  for (int step = 0; step < 3; ++step) {
    b.call({0, 1, 2, 3}, named("", 64, "g.cpp:1"))
        .call({0, 1, 2, 3}, named("", 64, "g.cpp:1"))
        .call({0, 1, 2, 3}, named("", 64, "g.cpp:1"));
    b.call({0, 1, 2, 3}, named("", 1, "g.cpp:2"));
  }
  call_line reduce{op_kind::reduce, "world", 64, "", "g.cpp:7"};
  reduce.root = 0;
  b.call({0, 1, 2, 3}, named("", 64, "g.cpp:1")).call({0, 1, 2}, waiting(named("", 64, "g.cpp:1")));
  b.call({3}, reduce).call({3}, waiting(named("", 64, "g.cpp:1")));
  const auto v = b.verdicts();
  REQUIRE(v.size() == 1);
  CHECK(v[0].kind == "op_mismatch");
  CHECK(v[0].ranks == ranks{3});
  CHECK(v[0].site == "g.cpp:7");
}
