#include "bugs.hpp"

#include <csignal>
#include <cstdlib>
#include <unistd.h>

namespace trainer {

namespace {

struct entry {
  bug kind;
  const char *name;
  const char *what;
};

constexpr entry entries[] = {
    {bug::skip_allreduce, "skip-allreduce", "one gradient is taken for zero and not reduced"},
    {bug::wrong_op, "wrong-op", "MPI_Reduce where the others call MPI_Allreduce"},
    {bug::wrong_redop, "wrong-redop", "MPI_MAX where the others pass MPI_SUM"},
    {bug::wrong_count, "wrong-count", "one element less than the others"},
    {bug::long_count, "long-count", "one element more than the others (MPI reports truncation)"},
    {bug::wrong_dtype, "wrong-dtype", "MPI_DOUBLE where the others pass MPI_LONG_LONG"},
    {bug::wrong_root, "wrong-root", "another root of a broadcast"},
    {bug::swap_order, "swap-order", "two calls in the other order"},
    {bug::extra_barrier, "extra-barrier", "a barrier that the others do not have"},
    {bug::wrong_group, "wrong-group", "a reduction on another communicator"},
    {bug::uneven_data, "uneven-data", "data ends early and the rank leaves alone"},
    {bug::die, "die", "killed by SIGKILL"},
    {bug::segv, "segv", "writes through a null pointer"},
    {bug::exit, "exit", "calls exit(3)"},
    {bug::stuck_loader, "stuck-loader", "the data loader searches for ever"},
    {bug::stuck_lock, "stuck-lock", "two threads of the rank wait for each other's mutex"},
    {bug::stop, "stop", "stopped by SIGSTOP"},
    {bug::slow, "slow", "late by --slow-ms, then goes on"},
};

/// Where a sample's weight would be stored; there is none for an unknown sample.
double *find_weight(int sample) {
  static double weights[4] = {1, 1, 1, 1};
  return sample < 4 ? &weights[sample] : nullptr;
}

} // namespace

bool parse_bug(const std::string &name, bug &result) {
  for (const entry &each : entries) {
    if (name == each.name) {
      result = each.kind;
      return true;
    }
  }
  return false;
}

std::string list_of_bugs() {
  std::string text;
  for (const entry &each : entries) {
    std::string name = each.name;
    name.resize(16, ' ');
    text += "    " + name + each.what + "\n";
  }
  return text;
}

void meet_your_fate(const bug_plan &plan, int rank, int step) {
  if (plan.strikes(bug::die, rank, step))
    kill(getpid(), SIGKILL); // bug: die
  if (plan.strikes(bug::stop, rank, step))
    raise(SIGSTOP); // bug: stop
  if (plan.strikes(bug::segv, rank, step)) {
    double *volatile weight = find_weight(step + 4);
    *weight = 0.5; // bug: segv
  }
  if (plan.strikes(bug::exit, rank, step))
    std::exit(3); // bug: exit
}

} // namespace trainer
