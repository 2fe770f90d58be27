#pragma once

#include <dtdebug/model/snapshot.hpp>
#include <dtdebug/model/verdict.hpp>
#include <dtdebug/schedule/ast.hpp>

#include <string>

/// What `simulate` and `run` share: arguments, reading the file, reporting, checking.
struct schedule_command {
  std::string name;      ///< of the command, for messages
  std::string file;      ///< the schedule
  std::string json_file; ///< --json F; empty: the report goes to standard output as text
  bool check = false;    ///< --check
  dtdebug::schedule::document schedule;

  /// Reads arguments and file. Returns 0, or the exit status to end with: the reason has been printed.
  int read(int count, char **arguments);

  /// Prints the report or the failed expectations. Returns the exit status.
  int conclude(const dtdebug::model::job_snapshot &job, const dtdebug::model::diagnosis &found) const;
};

/// `dtdebug simulate FILE.sched [--json F] [--check]`
int simulate_command(int count, char **arguments);

/// `dtdebug run FILE.sched [--json F] [--check]`
int run_command(int count, char **arguments);
