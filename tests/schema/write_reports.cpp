// Writes reports of many kinds of jobs as report.json files, for check_schema.py.
//   write_reports DIR
#include <dtdebug/offline.hpp>

#include <unit/diagnose/job_builder.hpp>

#include <cstdio>
#include <fstream>
#include <functional>
#include <iostream>

namespace {

using namespace dtdebug_test;

struct sample {
  const char *name;
  std::function<void(job_builder &)> build;
};

call_line waiting(op_kind op, const char *site) {
  call_line line;
  line.op = op;
  line.site = site;
  line.waits = true;
  return line;
}

const sample samples[] = {
    {"nothing",
     [](job_builder &job) {
       job.call({0, 1, 2, 3}, {}).ends({0, 1, 2, 3});
     }},
    {"op_mismatch",
     [](job_builder &job) {
       job.step(12);
       job.call({0, 1, 2}, waiting(op_kind::all_reduce, "train.cpp:88"));
       job.call({3}, waiting(op_kind::all_gather, "train.cpp:93"));
     }},
    {"count_mismatch",
     [](job_builder &job) {
       call_line line = waiting(op_kind::all_reduce, "train.cpp:88");
       line.label = "layer3.weight";
       job.call({0, 1, 2}, line);
       line.count = 32;
       job.call({3}, line);
     }},
    {"tie",
     [](job_builder &job) {
       call_line line = waiting(op_kind::all_reduce, "train.cpp:88");
       job.call({0, 1}, line);
       line.reduce = redop::max;
       line.dims = {8, 8};
       job.call({2, 3}, line);
     }},
    {"missing_call",
     [](job_builder &job) {
       job.call({0, 1, 2, 3}, {});
       job.call({0, 1, 2}, waiting(op_kind::all_reduce, "train.cpp:88"));
       job.ends({3});
     }},
    {"crash",
     [](job_builder &job) {
       job.call({0, 1, 2}, waiting(op_kind::all_reduce, "train.cpp:88"));
       job.ends({3}, model::liveness::crashed, 11);
     }},
    {"exit",
     [](job_builder &job) {
       job.call({0, 1, 2}, waiting(op_kind::barrier, "train.cpp:88"));
       job.ends({3}, model::liveness::exited, 3);
     }},
    {"gone and never started",
     [](job_builder &job) {
       job.call({0, 1}, waiting(op_kind::barrier, "train.cpp:88"));
       job.ends({2}, model::liveness::vanished);
       job.ends({3}, model::liveness::never_started);
       job.at(3).missing_evidence = {"no file rank-3.dtbb"};
     }},
    {"stuck in host code, with stacks",
     [](job_builder &job) {
       job.call({0, 1, 2}, waiting(op_kind::all_reduce, "train.cpp:88"));
       job.at(3).phases.emplace_back("data \"loading\"");
       job.at(3).phase = 1;
       job.at(3).phase_since = 0;
       model::thread_state thread;
       thread.tid = 77;
       thread.name = "loader\x1b[31m";
       thread.recording = thread.answered = true;
       thread.stack = {{0x1234, 0, "next_batch(loader&)", "/src/loader.cpp", 31, "/bin/train"},
                       {0x99, 0, "", "", 0, ""}};
       job.at(3).threads.push_back(thread);
       thread.stack.clear();
       thread.answered = false;
       thread.kernel_state = "D in nfs_wait";
       job.at(2).threads.push_back(thread);
     }},
    {"messages in a circle",
     [](job_builder &job) {
       for (std::int32_t r = 0; r < 4; ++r) {
         call_line line = waiting(op_kind::recv, "ring.cpp:5");
         line.root = (r + 3) % 4;
         job.call({r}, line);
       }
     }},
    {"data and memory",
     [](job_builder &job) {
       job.note({1}, model::note_kind::non_finite, "loss", "nan", 7, 1);
       job.note({2}, model::note_kind::out_of_memory, "", "64 MiB were not to be had");
       job.note({3}, model::note_kind::comm_error, "", "unhandled system error");
       job.ends({0, 1, 2, 3});
     }},
    {"settings differ",
     [](job_builder &job) {
       job.note({0, 1, 2}, model::note_kind::fact, "NCCL_ALGO", "Ring");
       job.note({3}, model::note_kind::fact, "NCCL_ALGO", "Tree");
       job.ends({0, 1, 2, 3});
     }},
    {"hostile names",
     [](job_builder &job) {
       const std::string name = "dp\x1b]0;owned\x07\n\"}]\\ \xff\xc3\x28 \xc2\x9b 31m \xe2\x80\xae";
       job.group(name, {0, 1, 2, 3});
       call_line line = waiting(op_kind::all_reduce, "evil\n.cpp:88");
       line.group = name;
       line.label = name;
       job.call({0, 1, 2}, line);
       line.op = op_kind::broadcast;
       line.root = 0;
       job.call({3}, line);
       job.job.job = name;
       job.job.environment["DTDEBUG_DIR"] = name;
     }},
};

} // namespace

int main(int argc, char **argv) {
  if (argc != 2) {
    std::cerr << "usage: write_reports DIR\n";
    return 2;
  }
  int number = 0;
  for (const sample &each : samples) {
    job_builder builder(4);
    builder.job.job = "4711";
    builder.job.environment["DTDEBUG_TIMEOUT"] = "2s";
    for (auto &rank : builder.job.ranks) {
      rank.host = "node7";
      rank.pid = 4000 + rank.rank;
    }
    each.build(builder);
    model::diagnosis found = diagnose::diagnose(builder.job);
    found.trigger = "watching";
    found.timing.suspect = 0.25;
    found.timing.total = 412.5;
    std::ofstream file(std::string(argv[1]) + "/" + std::to_string(number++) + " " + each.name + ".json");
    file << report::json_report(builder.job, found);
    if (!file) {
      std::cerr << "cannot write to " << argv[1] << "\n";
      return 3;
    }
  }
  std::cout << number << " reports\n";
  return 0;
}
