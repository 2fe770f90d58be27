// The parser: what it understands, and what it says of the rest.
#include <dtdebug/schedule/check.hpp>
#include <dtdebug/schedule/parse.hpp>
#include <dtdebug/schedule/unroll.hpp>

#include <doctest/doctest.h>

#include <random>
#include <string>

using namespace dtdebug;

namespace {

schedule::parsed read(const std::string &text) { return schedule::parse(text, "folder/x.sched"); }

/// The only problem of a text, as `line: message`.
std::string problem(const std::string &text) {
  const schedule::parsed result = read(text);
  REQUIRE(result.problems.size() == 1);
  return std::to_string(result.problems[0].line) + ": " + result.problems[0].message;
}

const schedule::instruction &only(const schedule::parsed &result) {
  REQUIRE(result.good());
  REQUIRE(result.schedule.body.size() == 1);
  return result.schedule.body[0].what;
}

} // namespace

TEST_CASE("a call keeps all that was written of it") {
  const schedule::parsed result = read("world 4\ngroup dp 2,0\n"
                                       "0,2: reduce dp bf16[8,16] max root=2 \"w # 1\" stream=s @a/b.cpp:17 # why\n");
  const schedule::instruction &i = only(result);
  CHECK(i.op == op_kind::reduce);
  CHECK(i.type == dtype::bf16);
  CHECK(i.dims == std::vector<std::uint64_t>{8, 16});
  CHECK(i.reduce == redop::max);
  CHECK(i.root == 2);
  CHECK(i.group == "dp");
  CHECK(i.label == "w # 1");
  CHECK(i.stream == "s");
  CHECK(i.file == "a/b.cpp");
  CHECK(i.line == 17);
  CHECK(result.schedule.body[0].ranks.text() == "0,2");
}

TEST_CASE("a statement without a site stands at its own line of the schedule") {
  const schedule::parsed result = read("world 2\n\nall: barrier world\n");
  CHECK(only(result).file == "x.sched");
  CHECK(only(result).line == 3);
}

TEST_CASE("every statement of the language is understood") {
  const schedule::parsed result = read(R"(world 4
timeout 500ms
mesh grid dp=2 tp=2
group all4 0-3
expect rank_stuck_host ranks=3 with=0-2 seq=1 chain=0,3 confidence=proven
expect-also decision_divergence name=go tie
expect-not rank_slow
all: all_reduce all4 f32[4] sum
all: reduce all4 f32[4] prod root=0
all: broadcast all4 u8[] root=1
all: all_gather all4 i64[2]
all: reduce_scatter all4 f16[8] min
all: gather all4 i8[1] root=0
all: scatter all4 u32[1] root=0
all: all_to_all all4 f64[4]
all: all_to_all_v all4 f32[4] splits=1,1,1,1 recv=1,1,1,1
all: all_gather_v all4 u64[3]
all: barrier tp
0: send all4 f8e4m3[2] to=1 tag=7
1: recv all4 f8e4m3[2] from=0 tag=7
all: group_start
all: group_end
all: all_reduce all4 f32[1] avg stream=side
all: sync stream=side
repeat 2
  all: step
  repeat 3
    all: step 5
  end
end
all: sleep 1.5s
all: phase "forward"
all: decision go "left turn"
all: memory used=0.5GiB total=80GiB
all: tensor w f32[4] = -1.5
all: poke w[3] = nan
all: replicated all4 w
all: finite w
all: all_reduce all4 w sum
all: fact nccl 2.28
all: comm_error all4 "wire"
all: mesh_check grid dp dp
0: throw "bad"
0: oom "no room"
0: exit 3
1: kill SIGSEGV
2: stop
3: spin
3: block
3: finish
)");
  INFO(schedule::problems_text(result, "x"));
  CHECK(result.good());
  CHECK(schedule::executed_statements(result.schedule.body) > 80);
  CHECK(schedule::unroll(result.schedule).has_value());
}

TEST_CASE("a problem names the line, what stands there, what should, and the nearest word") {
  CHECK(problem("all: barrier world\n") ==
        "1: found `all:`; expected the first line to be `world N`, with N from 1 to 65536");
  CHECK(problem("world 2\nall: barier world\n") ==
        "2: `barier` is no verb; expected a verb of the language; did you mean `barrier`?");
  CHECK(problem("world 2\n0-4: barrier world\n").find("2: rank 4 does not exist") == 0);
  CHECK(problem("world 2\nbarrier world\n") == "2: `barrier` without ranks; expected `RANKS: barrier …`");
  CHECK(problem("world 2\nall: barrier dp\n").find("2: rank 0 has no group `dp`") == 0);
  CHECK(problem("world 2\nall: all_reduce world f31[4] sum\n").find("`f31[4]` is no tensor") != std::string::npos);
  CHECK(problem("world 2\nall: all_reduce world f32[4]\n").find("one of sum, prod, min, max, avg") !=
        std::string::npos);
  CHECK(problem("world 2\nall: reduce world f32[4] sum\n").find("`root=` is missing") != std::string::npos);
  CHECK(problem("world 3\nall: all_to_all world f32[4]\n").find("do not divide among 3 members") != std::string::npos);
  CHECK(problem("world 2\nall: kill SIGKIL\n").find("did you mean `SIGKILL`?") != std::string::npos);
  CHECK(problem("world 2\nall: phase forward\n").find("put it in quotes") != std::string::npos);
  CHECK(problem("world 2\nrepeat 3\nall: step\n") == "2: `repeat` without `end`");
  CHECK(problem("world 2\nend\n") == "2: `end` without `repeat`");
  CHECK(problem("world 2\nall: barrier world\ngroup g 0,1\n").find("after the first statement") != std::string::npos);
  CHECK(problem("world 2\nall: finite w\n").find("has no tensor `w`") != std::string::npos);
  CHECK(problem("world 2\nexpect op_mismach\n").find("did you mean `op_mismatch`?") != std::string::npos);
  CHECK(problem("world 2\nall: phase \"x\n").find("is not closed") != std::string::npos);
  CHECK(problem("world 2\nall: phase \"\x01\"\n").find("is no text") != std::string::npos);
  CHECK(problem("") == "1: the file says nothing; expected `world N` in its first line");
}

TEST_CASE("group_end without its start is found on the rank and line, in loops too") {
  CHECK(problem("world 2\n1: group_end\n") == "2: `group_end` without `group_start` on rank 1");
  CHECK(problem("world 2\nall: group_start\nrepeat 2\nall: group_end\nend\n").find("4: `group_end`") == 0);
  CHECK(read("world 2\nrepeat 1000000000\nall: group_start\nall: group_end\nend\n").good());
}

TEST_CASE("all problems of a file are listed, up to the limit") {
  const schedule::parsed two = read("world 2\nall: nonsense\nall: barrier world\nall: sleep 3\n");
  CHECK(two.problems.size() == 2);
  std::string many = "world 2\n";
  for (int i = 0; i < 1000; ++i) {
    many += "all: nonsense\n";
  }
  CHECK(read(many).problems.size() == schedule::parse_limits{}.problems);
}

TEST_CASE("sizes beyond the limits are problems, not memory") {
  CHECK_FALSE(read("world 99999999\n").good());
  CHECK_FALSE(read("world 2\nrepeat 99999999999999999999\nall: step\nend\n").good());
  CHECK_FALSE(read("world 2\nrepeat 1000000\nrepeat 1000000\nall: step\nend\nend\n").good());
  CHECK_FALSE(read("world 2\nall: tensor t f64[99999999999] = 1\n").good());
  CHECK_FALSE(read("world 2\nall: barrier world @f:99999999999\n").good());
  std::string deep = "world 2\n";
  for (int i = 0; i < 100; ++i) {
    deep += "repeat 2\n";
  }
  CHECK_FALSE(read(deep).good());
  const schedule::parsed long_run = read("world 2\nrepeat 1000000000\nall: step\nend\n");
  REQUIRE(long_run.good());
  CHECK_FALSE(schedule::unroll(long_run.schedule).has_value());
}

TEST_CASE("no input does harm") {
  std::mt19937 random(20261201);
  const std::string seed =
      "world 4\nmesh m dp=2 tp=2\ngroup g 0-3\nexpect none\nall: all_reduce g f32[4] sum \"x\" @a:1\n"
      "repeat 2\n0: send g f32[1] to=1\n1: recv g f32[1] from=0\nend\nall: tensor t i8[2] = 1\n"
      "all: poke t[1] = inf\nall: replicated g t\n";
  for (int turn = 0; turn < 20000; ++turn) {
    std::string text = seed;
    for (auto k = random() % 6 + 1; k > 0; --k) {
      const std::size_t at = random() % text.size();
      switch (static_cast<unsigned>(random() % 4)) {
      case 0: text[at] = static_cast<char>(random()); break;
      case 1: text.erase(at, random() % 8); break;
      case 2: text.insert(at, 1, static_cast<char>(random())); break;
      default: text.insert(at, seed.substr(random() % seed.size(), random() % 20)); break;
      }
    }
    const schedule::parsed result = read(text);
    CHECK((result.good() || !result.problems.front().message.empty()));
  }
}

TEST_CASE("expectations that fail are said with their line, the key and both values") {
  const schedule::parsed result = read("world 4\nexpect op_mismatch ranks=3 seq=2\nexpect-not missing_call\n");
  REQUIRE(result.good());
  model::diagnosis found;
  model::verdict v;
  v.kind = "op_mismatch";
  v.ranks = {3};
  v.seq = 2;
  found.verdicts.push_back(v);
  CHECK(schedule::failed_expectations(result.schedule, found).empty());
  found.verdicts[0].ranks = {1};
  auto failures = schedule::failed_expectations(result.schedule, found);
  REQUIRE(failures.size() == 1);
  CHECK(failures[0] == "x.sched:2: op_mismatch was found, but ranks is 1 and not 3");
  found.verdicts[0] = v;
  model::verdict other;
  other.kind = "missing_call";
  found.verdicts[0].consequences.push_back(other);
  failures = schedule::failed_expectations(result.schedule, found);
  REQUIRE(failures.size() == 1);
  CHECK(failures[0] == "x.sched:3: missing_call was not to be found, but it is");
  found.verdicts.clear();
  failures = schedule::failed_expectations(result.schedule, found);
  REQUIRE(failures.size() == 1);
  CHECK(failures[0] == "x.sched:2: op_mismatch was to be found first, but there is nothing");
}

TEST_CASE("a site of an expectation may leave out the folders") {
  CHECK(schedule::detail::same_place("a.cpp:3", "src/a.cpp:3"));
  CHECK(schedule::detail::same_place("src/a.cpp:3", "src/a.cpp:3"));
  CHECK_FALSE(schedule::detail::same_place("a.cpp:3", "ba.cpp:3"));
  CHECK_FALSE(schedule::detail::same_place("b/a.cpp:3", "a.cpp:3"));
}
