// The bugs that can be switched on, one at a time, on one rank, in one step. The wrong code itself stands where it
// would stand in a trainer, behind `plan.strikes(...)` and a comment `// bug: NAME`.
#pragma once

#include <string>

namespace trainer {

enum class bug {
  none,
  skip_allreduce, ///< takes a gradient for zero and does not reduce it
  wrong_op,       ///< reduces to one rank where the others reduce to all
  wrong_redop,    ///< takes the maximum where the others sum
  wrong_count,    ///< passes one metric less
  long_count,     ///< passes one metric more: MPI reports a truncated message
  wrong_dtype,    ///< counts samples in a double where the others use an integer
  wrong_root,     ///< believes that another rank decides the learning rate
  swap_order,     ///< reports its metrics before it fetches the learning rate
  extra_barrier,  ///< has a barrier of its own, left from a measurement
  wrong_group,    ///< reduces over the world where the others reduce over the data-parallel group
  uneven_data,    ///< runs out of data and leaves the loop without a word
  die,            ///< is killed by SIGKILL, as by the kernel when memory runs out
  segv,           ///< writes through a null pointer
  exit,           ///< calls exit(3)
  stuck_loader,   ///< searches its data for ever
  stuck_lock,     ///< waits for a mutex that another of its threads holds
  stop,           ///< is stopped by SIGSTOP
  slow,           ///< comes late, but comes
};

struct bug_plan {
  bug kind = bug::none;
  int rank = -1; ///< world rank that has the bug
  int step = 0;
  int slow_ms = 0;

  bool strikes(bug which, int this_rank, int this_step) const {
    return kind == which && rank == this_rank && step == this_step;
  }
};

/// Returns false if there is no bug of this name.
bool parse_bug(const std::string &name, bug &result);

/// All names with one line of explanation each, for --help.
std::string list_of_bugs();

/// The bugs that end or stop the process itself: happens here and now if the plan says so.
void meet_your_fate(const bug_plan &plan, int rank, int step);

} // namespace trainer
