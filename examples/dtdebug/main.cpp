// The `dtdebug` command: a thin main over offline.hpp.
#include "report_command.hpp"
#include "schedule_command.hpp"

#include <dtdebug/core/config.hpp>

#include <cstdio>
#include <cstring>

namespace {

constexpr const char *usage = R"(usage: dtdebug COMMAND …

  dtdebug report DIR [--json]   explain the black boxes of a run directory: of a job that was killed, or still hangs
  dtdebug run FILE.sched [--json F] [--check]
                                a schedule on real processes that really block; --check: 0 if all its expectations
                                hold, else 1 and a line for each that does not
  dtdebug simulate FILE.sched [--json F] [--check]
                                the same, computed for as many ranks as you like
  dtdebug --version

Exit status: 0 nothing found, 2 wrong usage, 3 input unreadable, 10 different calls, 11 call not made, 12 groups,
13 point to point, 14 across groups, 15 library or wire, 16 data, 17 memory, 19 undetermined.
)";

} // namespace

int main(int argc, char **argv) {
  if (argc >= 2 && std::strcmp(argv[1], "report") == 0) {
    return report_command(argc - 2, argv + 2);
  }
  if (argc >= 2 && std::strcmp(argv[1], "run") == 0) {
    return run_command(argc - 2, argv + 2);
  }
  if (argc >= 2 && std::strcmp(argv[1], "simulate") == 0) {
    return simulate_command(argc - 2, argv + 2);
  }
  if (argc == 2 && std::strcmp(argv[1], "--version") == 0) {
    std::puts("dtdebug " DTDEBUG_VERSION_STRING);
    return 0;
  }
  if (argc == 2 && std::strcmp(argv[1], "--help") == 0) {
    std::fputs(usage, stdout);
    return 0;
  }
  if (argc >= 2) {
    std::fprintf(stderr, "dtdebug: there is no command \"%s\"\n", argv[1]);
  }
  std::fputs(usage, stderr);
  return 2;
}
