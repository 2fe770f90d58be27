#include "schedule_command.hpp"

#include <dtdebug/report/exit_class.hpp>
#include <dtdebug/report/json.hpp>
#include <dtdebug/report/text.hpp>
#include <dtdebug/schedule/check.hpp>
#include <dtdebug/schedule/parse.hpp>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include <unistd.h>

namespace {

using dtdebug::report::exit_class;

int status(exit_class which) { return static_cast<int>(which); }

/// Returns false when the file cannot be read as a whole; errno says why.
bool read_whole(const std::string &path, std::string &text) {
  std::FILE *file = path == "-" ? stdin : std::fopen(path.c_str(), "re");
  if (file == nullptr) {
    return false;
  }
  char buffer[65536];
  for (std::size_t n; (n = std::fread(buffer, 1, sizeof buffer, file)) > 0;) {
    text.append(buffer, n);
  }
  const bool good = std::ferror(file) == 0;
  const int error = errno;
  if (file != stdin) {
    std::fclose(file);
  }
  errno = error;
  return good;
}

} // namespace

int schedule_command::read(int count, char **arguments) {
  const std::string usage = "usage: dtdebug " + name + " FILE.sched [--json F] [--check]\n";
  for (int i = 0; i < count; ++i) {
    const std::string argument = arguments[i];
    if (argument == "--check") {
      check = true;
    } else if (argument == "--json" && i + 1 < count) {
      json_file = arguments[++i];
    } else if ((argument == "-" || argument[0] != '-') && file.empty()) {
      file = argument;
    } else {
      std::fprintf(stderr, "dtdebug %s: what is \"%s\"? %s", name.c_str(), arguments[i], usage.c_str());
      return status(exit_class::wrong_usage);
    }
  }
  if (file.empty()) {
    std::fprintf(stderr, "dtdebug %s: which schedule? %s", name.c_str(), usage.c_str());
    return status(exit_class::wrong_usage);
  }
  std::string text;
  if (!read_whole(file, text)) {
    std::fprintf(stderr, "dtdebug %s: %s: %s\n", name.c_str(), file.c_str(), std::strerror(errno));
    return status(exit_class::input_unreadable);
  }
  dtdebug::schedule::parsed result = dtdebug::schedule::parse(text, file);
  if (!result.good()) {
    std::fputs(dtdebug::schedule::problems_text(result, file).c_str(), stderr);
    return status(exit_class::input_unreadable);
  }
  schedule = std::move(result.schedule);
  return 0;
}

int schedule_command::conclude(const dtdebug::model::job_snapshot &job, const dtdebug::model::diagnosis &found) const {
  if (!json_file.empty()) {
    const std::string json = dtdebug::report::json_report(job, found);
    std::FILE *out = std::fopen(json_file.c_str(), "we");
    const bool written = out != nullptr && std::fwrite(json.data(), 1, json.size(), out) == json.size();
    if (out == nullptr || std::fclose(out) != 0 || !written) {
      std::fprintf(stderr, "dtdebug %s: %s: %s\n", name.c_str(), json_file.c_str(), std::strerror(errno));
      return status(exit_class::input_unreadable);
    }
  }
  if (check) {
    const std::vector<std::string> failures = dtdebug::schedule::failed_expectations(schedule, found);
    for (const std::string &failure : failures) {
      std::printf("%s\n", failure.c_str());
    }
    return failures.empty() ? 0 : 1;
  }
  if (json_file.empty()) {
    dtdebug::report::text_options how;
    how.color = ::isatty(STDOUT_FILENO) != 0;
    std::fputs(dtdebug::report::text_report(job, found, how).c_str(), stdout);
  }
  return dtdebug::report::exit_status(found);
}
