#include "report_command.hpp"

#include <dtdebug/offline.hpp>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include <dirent.h>
#include <unistd.h>

namespace {

using dtdebug::report::exit_class;

} // namespace

int report_command(int count, char **arguments) {
  std::string directory;
  bool json = false;
  for (int i = 0; i < count; ++i) {
    if (std::strcmp(arguments[i], "--json") == 0) {
      json = true;
    } else if (arguments[i][0] != '-' && directory.empty()) {
      directory = arguments[i];
    } else {
      std::fprintf(stderr, "dtdebug report: what is \"%s\"? usage: dtdebug report DIR [--json]\n", arguments[i]);
      return static_cast<int>(exit_class::wrong_usage);
    }
  }
  if (directory.empty()) {
    std::fputs("dtdebug report: which run directory? usage: dtdebug report DIR [--json]\n", stderr);
    return static_cast<int>(exit_class::wrong_usage);
  }
  DIR *open = ::opendir(directory.c_str());
  if (open == nullptr) {
    std::fprintf(stderr, "dtdebug report: %s: %s\n", directory.c_str(), std::strerror(errno));
    return static_cast<int>(exit_class::input_unreadable);
  }
  ::closedir(open);
  dtdebug::watch::job_collector files(directory);
  if (files.discover() == 0) {
    std::fprintf(
        stderr,
        "dtdebug report: no readable rank-<r>.dtbb in %s. A run that ends without a finding removes its files; "
        "DTDEBUG_KEEP=1 keeps them\n",
        directory.c_str());
    return static_cast<int>(exit_class::input_unreadable);
  }
  dtdebug::watch::autopsy result = dtdebug::watch::examine(files);
  result.found.trigger = "dtdebug report";
  dtdebug::report::text_options how;
  how.color = ::isatty(STDOUT_FILENO) != 0;
  const std::string text = json ? dtdebug::report::json_report(result.job, result.found)
                                : dtdebug::report::text_report(result.job, result.found, how);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return dtdebug::report::exit_status(result.found);
}
