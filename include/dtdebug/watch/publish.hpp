// Puts a diagnosis where people look: report.txt, report.json, standard error.
#pragma once

#include <dtdebug/report/exit_class.hpp>
#include <dtdebug/report/json.hpp>
#include <dtdebug/report/text.hpp>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <unistd.h>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace watch {

/// Writes the whole text or nothing: a reader sees the old file or the new one. Returns an errno value, 0 on success.
inline int replace_file(const std::string &path, const std::string &text) {
  const std::string draft = path + "." + std::to_string(::getpid());
  const int fd = ::open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) {
    return errno;
  }
  std::size_t written = 0;
  int error = 0;
  while (written < text.size() && error == 0) {
    const ssize_t n = ::write(fd, text.data() + written, text.size() - written);
    if (n > 0) {
      written += static_cast<std::size_t>(n);
    } else if (errno != EINTR) {
      error = errno;
    }
  }
  ::close(fd);
  if (error == 0 && ::rename(draft.c_str(), path.c_str()) != 0) {
    error = errno;
  }
  if (error != 0) {
    ::unlink(draft.c_str());
  }
  return error;
}

/// One write, so that lines of several ranks do not mix.
inline void say(const std::string &text) {
  ssize_t ignored = ::write(STDERR_FILENO, text.data(), text.size());
  static_cast<void>(ignored);
}

/// Writes both files into `directory` and the text to standard error. What could not be written is said there.
inline void publish(const std::string &directory, const model::job_snapshot &job, const model::diagnosis &found) {
  report::text_options options;
  options.color = ::isatty(STDERR_FILENO) != 0;
  std::string text = report::text_report(job, found, options);
  options.color = false;
  // report.json last: where programs find it, report.txt is there too.
  const int text_error = replace_file(directory + "/report.txt", report::text_report(job, found, options));
  const int json_error = replace_file(directory + "/report.json", report::json_report(job, found));
  if (json_error != 0 || text_error != 0) {
    text += "dtdebug: the report could not be written to " + directory + ": " +
            std::strerror(json_error != 0 ? json_error : text_error) + "\n";
  } else {
    text += "dtdebug: this report is in " + directory + "/report.txt and report.json\n";
  }
  say(text);
}

} // namespace watch
} // namespace DTDEBUG_ABI
} // namespace dtdebug
