// The report for people.
#include <dtdebug/report/text.hpp>

#include <doctest/doctest.h>

#include <unit/diagnose/job_builder.hpp>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

using namespace dtdebug_test;

namespace {

/// A settled job of four ranks on one host, with all that a report can show.
model::job_snapshot four_ranks(const std::string &group_name = "dp") {
  job_builder builder(4);
  builder.group(group_name, {0, 1, 2, 3}).step(12);
  call_line line;
  line.group = group_name;
  line.label = "layer3.weight";
  line.waits = true;
  builder.call({0, 1, 2}, line);
  line.op = op_kind::all_gather;
  line.site = "src/train.cpp:93";
  builder.call({3}, line);
  builder.job.environment = {{"DTDEBUG_TIMEOUT", "2s"}};
  return builder.job;
}

model::diagnosis one(const model::verdict &verdict) {
  model::diagnosis found;
  found.verdicts = {verdict};
  found.trigger = "watching";
  found.timing.total = 412.4;
  return found;
}

model::verdict op_mismatch() {
  model::verdict v;
  v.kind = "op_mismatch";
  v.headline = "Rank 3 called all_gather where ranks 0-2 called all_reduce";
  v.group = "dp";
  v.seq = 7;
  v.step = 12;
  v.ranks = {3};
  v.with = {0, 1, 2};
  v.op = "all_gather";
  v.other = "all_reduce";
  v.detail = "all_gather f32[64] \"layer3.weight\"";
  v.other_detail = "all_reduce f32[64] sum \"layer3.weight\"";
  v.site = "src/train.cpp:93";
  v.other_site = "src/train.cpp:88";
  v.site_function = "trainer::evaluate";
  v.other_function = "trainer::step";
  v.fields = {"op", "redop"};
  v.sure = model::confidence::proven;
  v.reason = "3 of 4 ranks agree; rank 3 is the smaller side";
  v.evidence = {"the calls before agree", "rank 3 decided \"evaluate now\" at step 12"};
  v.unknowns = {"no stack of rank 1"};
  v.next_steps = {"compare train.cpp:93 with train.cpp:88", "look at what decides \"evaluate now\""};
  return v;
}

model::verdict rank_crashed() {
  model::verdict v;
  v.kind = "rank_crashed";
  v.headline = "Rank 2 was ended by SIGSEGV; ranks 0,1,3 wait for it";
  v.group = "world";
  v.seq = 3;
  v.ranks = {2};
  v.with = {0, 1, 3};
  v.other = "barrier";
  v.other_detail = "barrier";
  v.other_site = "src/train.cpp:120";
  v.sure = model::confidence::proven;
  v.reason = "its process is gone";
  v.evidence = {"signal 11"};
  v.next_steps = {"read the stack of rank 2 below"};
  model::verdict missing;
  missing.kind = "missing_call";
  missing.headline = "Rank 2 did not come to barrier";
  v.consequences = {missing};
  return v;
}

model::verdict cycle() {
  model::verdict v;
  v.kind = "p2p_cycle";
  v.headline = "Ranks 0-3 wait for each other's messages in a circle";
  v.group = "world";
  v.ranks = {0, 1, 2, 3};
  v.op = "recv";
  v.site = "src/ring.cpp:31";
  v.chain = {0, 1, 2, 3, 0};
  v.chain_text = {"rank 0 waits in recv from rank 1", "rank 1 waits in recv from rank 2",
                  "rank 2 waits in recv from rank 3", "rank 3 waits in recv from rank 0"};
  v.sure = model::confidence::likely;
  v.reason = "nobody is to blame: each waits for the next";
  v.next_steps = {"let one rank send first"};
  return v;
}

/// Compares with golden/NAME; GOLDEN_COLLECT=1 writes the file anew.
void check_golden(const std::string &name, const std::string &text) {
  const std::string here = __FILE__;
  const std::string path = here.substr(0, here.rfind('/')) + "/golden/" + name;
  if (const char *collect = std::getenv("GOLDEN_COLLECT"); collect != nullptr && *collect == '1') {
    std::ofstream(path) << text;
  }
  std::ifstream file(path);
  std::stringstream content;
  content << file.rdbuf();
  CHECK(content.str() == text);
}

std::size_t count(const std::string &text, const std::string &what) {
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) {
    ++found;
  }
  return found;
}

} // namespace

TEST_CASE("a mismatch reads as in golden/op_mismatch.txt") {
  check_golden("op_mismatch.txt", report::text_report(four_ranks(), one(op_mismatch())));
}

TEST_CASE("a crash with its consequence, stacks and missing evidence reads as in golden/rank_crashed.txt") {
  model::job_snapshot job = four_ranks();
  job.ranks[2].life = model::liveness::crashed;
  job.ranks[2].signal = 11;
  job.ranks[1].missing_evidence = {"no stack: its threads did not answer within 1 s"};
  model::thread_state thread;
  thread.recording = thread.answered = true;
  model::frame main_frame;
  main_frame.function = "main";
  main_frame.file = "src/main.cpp";
  main_frame.line = 30;
  model::frame inner;
  inner.function = "MPI_Barrier";
  inner.module = "/usr/lib/libmpi.so.40";
  thread.stack = {inner, main_frame};
  job.ranks[0].threads = job.ranks[3].threads = {thread};
  inner.function = "broken(float*)";
  inner.file = "src/kernel.cpp";
  inner.line = 9;
  thread.stack = {inner, main_frame};
  job.ranks[2].threads = {thread};
  check_golden("rank_crashed.txt", report::text_report(job, one(rank_crashed())));
}

TEST_CASE("a circle of messages reads as in golden/p2p_cycle.txt") {
  check_golden("p2p_cycle.txt", report::text_report(four_ranks(), one(cycle())));
}

TEST_CASE("both sides of a mismatch are shown with their lines") {
  const std::string text = report::text_report(four_ranks(), one(op_mismatch()));
  CHECK(text.find("src/train.cpp:93  in trainer::evaluate") != std::string::npos);
  CHECK(text.find("src/train.cpp:88  in trainer::step") != std::string::npos);
  CHECK(text.find("ranks 0-2") != std::string::npos);
}

TEST_CASE("colour is there when it is asked for, and not one escape else") {
  CHECK(report::text_report(four_ranks(), one(op_mismatch())).find('\033') == std::string::npos);
  report::text_options colored;
  colored.color = true;
  CHECK(report::text_report(four_ranks(), one(op_mismatch()), colored).find("\033[1;31mop_mismatch\033[0m") !=
        std::string::npos);
}

TEST_CASE("names of the program cannot act on the terminal or add lines") {
  const std::string hostile = "dp\x1b[2J\nop_mismatch: rank 0\r\x07\xc2\x9b\xff\xe2\x80\xae";
  const std::string shown = "dp\\x1b[2J\\x0aop_mismatch: rank 0\\x0d\\x07\\x9b\\xff\\u202e";
  const auto verdict_with = [](const std::string &name) {
    model::verdict v = op_mismatch();
    v.headline = v.group = v.detail = v.other_detail = v.site = v.other_site = v.site_function = name;
    v.reason = v.name = name;
    v.evidence = v.unknowns = v.next_steps = v.chain_text = {name};
    const model::verdict follows = v;
    v.consequences = {follows};
    return one(v);
  };
  const auto report_with = [&verdict_with](const std::string &name, bool color) {
    model::job_snapshot job = four_ranks(name);
    job.environment = {{"DTDEBUG_DIR", name}};
    job.ranks[0].missing_evidence = {name};
    for (auto &rank : job.ranks) {
      rank.phases.push_back(name);
      rank.phase = 1;
      rank.calls[0].label = name;
    }
    report::text_options options;
    options.color = color;
    return report::text_report(job, verdict_with(name), options);
  };
  for (const bool color : {false, true}) {
    const std::string text = report_with(hostile, color);
    CHECK(text.find("\x1b[2J") == std::string::npos);
    CHECK(count(text, shown) > 12);
    for (const char *bad : {"\r", "\x07", "\xc2\x9b", "\xff", "\xe2\x80\xae"}) {
      CHECK(text.find(bad) == std::string::npos);
    }
    CHECK(count(text, "\n") == count(report_with("harmless", color), "\n"));
  }
  const std::string line = report::one_line(verdict_with(hostile), 0, "/tmp/x");
  CHECK(count(line, "\n") == 1);
  CHECK(line.find(shown) != std::string::npos);
}

TEST_CASE("printable keeps what shows and makes visible what acts") {
  CHECK(report::printable("plain äöü € 😀") == "plain äöü € 😀");
  CHECK(report::printable("\t") == "\\x09");
  CHECK(report::printable(std::string("\0", 1)) == "\\x00");
  CHECK(report::printable("\x7f") == "\\x7f");
  CHECK(report::printable("\xe2\x80\xa8") == "\\u2028");
  CHECK(report::printable("\xed\xa0\x80") == "\\xed\\xa0\\x80");
  CHECK(report::printable("\xc3") == "\\xc3");
}

TEST_CASE("ranks that do the same share a row, and the few come first") {
  job_builder builder(1000);
  call_line line;
  line.waits = true;
  ranks most;
  for (std::int32_t r = 0; r < 1000; ++r) {
    if (r != 500) {
      most.push_back(r);
    }
  }
  builder.call(most, line);
  const std::string text = report::text_report(builder.job, one(op_mismatch()));
  const std::size_t few = text.find("rank 500 ");
  const std::size_t many = text.find("ranks 0-499,501-999");
  REQUIRE(few != std::string::npos);
  REQUIRE(many != std::string::npos);
  CHECK(few < many);
  CHECK(count(text, "\n") < 40);
}

TEST_CASE("a table of ranks that all differ is cut, and says where the rest is") {
  job_builder builder(100);
  for (std::int32_t r = 0; r < 100; ++r) {
    builder.at(r).step = r;
  }
  const std::string text = report::text_report(builder.job, one(op_mismatch()));
  CHECK(text.find("… 76 more rows in report.json") != std::string::npos);
  CHECK(count(text, "in own code") == 24);
}

TEST_CASE("a report stands between two rules of 100 columns") {
  const std::string text = report::text_report(four_ranks(), one(op_mismatch()));
  const auto columns = [](const std::string &line) {
    std::size_t shown = 0;
    for (const char c : line) {
      shown += (static_cast<unsigned char>(c) & 0xc0U) != 0x80U ? 1U : 0U;
    }
    return shown;
  };
  CHECK(columns(text.substr(0, text.find('\n'))) == 100);
  CHECK(columns(text.substr(text.rfind('\n', text.size() - 2) + 1)) == 101); // and the end of the line
}

TEST_CASE("a culprit without a call is said to have none") {
  const std::string text = report::text_report(four_ranks(), one(rank_crashed()));
  CHECK(text.find("rank 2        no call\n") != std::string::npos);
}

TEST_CASE("nothing found is said in one line and the table") {
  job_builder builder(4);
  builder.call({0, 1, 2, 3}, {}).ends({0, 1, 2, 3});
  const std::string text = report::text_report(builder.job, {});
  CHECK(text.rfind("dtdebug: nothing found: the calls of ranks 0-3 agree\n", 0) == 0);
  CHECK(report::one_line({}, 0, "/tmp").empty());
}

TEST_CASE("the one line of another rank says whether it is named") {
  CHECK(report::one_line(one(op_mismatch()), 3, "/run").find("rank 3 is named in op_mismatch") != std::string::npos);
  CHECK(report::one_line(one(op_mismatch()), 0, "/run").find("rank 0 is not to blame for") != std::string::npos);
}

TEST_CASE("ranks fold into runs and strides") {
  CHECK(report::fold({}).empty());
  CHECK(report::fold({5}) == "5");
  CHECK(report::fold({3, 1, 2, 2}) == "1-3");
  CHECK(report::fold({0, 1}) == "0,1");
  CHECK(report::fold({0, 1, 2, 4, 5, 6, 7}) == "0-2,4-7");
  CHECK(report::fold({0, 2, 4, 6}) == "0-6:2");
  CHECK(report::fold({0, 2, 4}) == "0,2,4");
  CHECK(report::fold({0, 1, 3, 5, 7, 9}) == "0,1,3-9:2");
  CHECK(report::fold_named({7}) == "rank 7");
}
