#include "schedule_command.hpp"

#include <dtdebug/diagnose/diagnose.hpp>
#include <dtdebug/schedule/simulate.hpp>
#include <dtdebug/schedule/unroll.hpp>

#include <cstdio>

int simulate_command(int count, char **arguments) {
  schedule_command command;
  command.name = "simulate";
  if (const int status = command.read(count, arguments)) {
    return status;
  }
  const auto program = dtdebug::schedule::unroll(command.schedule);
  if (!program) {
    std::fprintf(stderr, "%s: the loops make more statements than can be simulated (50 million over all ranks)\n",
                 command.file.c_str());
    return 3;
  }
  const dtdebug::model::job_snapshot job = dtdebug::schedule::simulate(*program);
  dtdebug::diagnose::options options;
  options.verify = true;
  dtdebug::model::diagnosis found = dtdebug::diagnose::diagnose(job, options);
  found.trigger = "simulation";
  return command.conclude(job, found);
}
