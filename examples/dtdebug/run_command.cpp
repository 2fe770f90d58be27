#include "schedule_command.hpp"

#include <dtdebug/dtdebug.hpp>
#include <dtdebug/offline.hpp>
#include <dtdebug/repro/local_ranks.hpp>
#include <dtdebug/repro/run_program.hpp>
#include <dtdebug/schedule/unroll.hpp>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <set>

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

namespace {

using namespace dtdebug;
using clock_type = std::chrono::steady_clock;

/// Nothing has moved for so long while all wait: nothing will. A rank that can run gets a core within this time.
constexpr std::chrono::milliseconds still_time{250};

/// Removes the run directory and what is in it.
class run_directory {
public:
  run_directory() {
    for (const char *root : {"/dev/shm", "/tmp"}) {
      path_ = std::string(root) + "/dtdebug-run-XXXXXX";
      if (::mkdtemp(&path_[0]) != nullptr) {
        return;
      }
    }
    path_.clear();
  }
  ~run_directory() {
    for (int rank = 0; rank < ranks; ++rank) {
      ::unlink((path_ + "/rank-" + std::to_string(rank) + ".dtbb").c_str());
    }
    ::unlink((path_ + "/end.lock").c_str());
    ::rmdir(path_.c_str());
  }
  run_directory(const run_directory &) = delete;
  run_directory &operator=(const run_directory &) = delete;
  const std::string &path() const { return path_; }
  int ranks = 0;

private:
  std::string path_;
};

/// Watches from the parent until every rank has ended or nothing can move any more, then takes the snapshot.
class referee {
public:
  referee(const std::string &directory, const std::atomic<repro::activity> *doing, model::time_ns timeout)
      : files_(directory), doing_(doing), timeout_(timeout) {}

  /// For local_options::poll: false ends the job.
  bool go_on(const std::vector<rank_end> &ranks) {
    files_.discover();
    std::uint64_t mark = files_.progress_mark();
    bool all_over = true;
    bool can_move = false;
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      const repro::activity now = doing_[r].load();
      mark = mark * 31 + (ranks[r].ended ? 7 : static_cast<unsigned>(now) + 1);
      all_over = all_over && ranks[r].ended;
      can_move = can_move || (!ranks[r].ended && now != repro::activity::blocked);
    }
    const clock_type::time_point now = clock_type::now();
    if (mark != mark_ || can_move) {
      mark_ = mark;
      still_since_ = now;
    }
    if (all_over || now - still_since_ >= still_time) {
      judge();
      return false;
    }
    return true;
  }

  /// The state at the end of the run; must be taken while the ranks' processes are still there, as zombies at least.
  void judge() {
    if (!judged) {
      judged = true;
      files_.discover();
      job = files_.collect(true);
      job.settled = true;
      job.timeout = timeout_;
      diagnose::options options;
      options.settled = true;
      options.verify = true;
      found = diagnose::diagnose(job, options);
      found.trigger = "dtdebug run";
    }
  }

  bool judged = false;
  model::job_snapshot job;
  model::diagnosis found;

private:
  watch::job_collector files_;
  const std::atomic<repro::activity> *doing_;
  model::time_ns timeout_;
  std::uint64_t mark_ = 0;
  clock_type::time_point still_since_ = clock_type::now();
};

/// One rank, in its own process. Leaves without handlers: how it ends is what the schedule says.
[[noreturn]] void be_rank(const schedule::program &program, int rank, repro::arena &memory,
                          std::atomic<repro::activity> &now, const std::string &directory) {
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  start_options options;
  options.rank = rank;
  options.world_size = program.ranks[static_cast<std::size_t>(rank)].world_size;
  options.directory = directory.c_str();
  start(options);
  if (!record::recording()) {
    ::_exit(70);
  }
  repro::exchange with(memory);
  repro::program_rank me(program, rank, with, now);
  me.run();
  finish();
  ::_exit(0);
}

} // namespace

int run_command(int count, char **arguments) {
  schedule_command command;
  command.name = "run";
  if (const int status = command.read(count, arguments)) {
    return status;
  }
  constexpr std::uint64_t most_statements = 1'000'000;
  const auto program = schedule::unroll(command.schedule, most_statements);
  if (!program || command.schedule.world > 512) {
    std::fprintf(stderr, "%s: too large to be run on real processes (512 ranks, 1 million statements); try simulate\n",
                 command.file.c_str());
    return static_cast<int>(report::exit_class::input_unreadable);
  }
  run_directory directory;
  directory.ranks = command.schedule.world;
  repro::arena memory;
  using activities = std::atomic<repro::activity>;
  const std::size_t bytes = sizeof(activities) * static_cast<std::size_t>(command.schedule.world);
  void *shared = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (directory.path().empty() || !memory.ready() || shared == MAP_FAILED) {
    std::fprintf(stderr, "dtdebug run: no shared memory: %s\n", std::strerror(errno));
    return static_cast<int>(report::exit_class::input_unreadable);
  }
  auto *doing = new (shared) activities[static_cast<std::size_t>(command.schedule.world)]();
  ::setenv("DTDEBUG_LEVEL", "record", 1); // judged from here, when the run is over
  ::setenv("DTDEBUG_KEEP", "1", 1);
  ::setenv("DTDEBUG_LOG", "quiet", 1);
  referee judge(directory.path(), doing, program->timeout);
  local_options options;
  options.deadline = std::chrono::minutes(5);
  options.poll = [&judge](const std::vector<rank_end> &ranks) { return judge.go_on(ranks); };
  const local_result result = local_ranks(
      command.schedule.world, [&](int rank, int) { be_rank(*program, rank, memory, doing[rank], directory.path()); },
      options);
  if (!result.error.empty()) {
    return static_cast<int>(report::exit_class::input_unreadable);
  }
  judge.judge();
  return command.conclude(judge.job, judge.found);
}
