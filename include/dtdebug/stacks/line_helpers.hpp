// Source lines by addr2line, one helper process per module that is kept for the next question.
#pragma once

#include <dtdebug/model/snapshot.hpp>
#include <dtdebug/os/clock.hpp>
#include <dtdebug/os/helper_process.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include <poll.h>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace stacks {

/// Where an address is: inlined functions first, the function that really holds it last.
using inline_chain = std::vector<model::site>;

/// One addr2line per module, started at the first question and kept: most of its time goes into reading the debug
/// info, which a second question then finds read. With -a it prints each address before what it found there, with -i a
/// pair of lines for each inlined function. It flushes after every answer, being meant to be driven by another program.
/// An answer has no end mark, so address 0 is asked last and its echo ends the answers.
class line_helpers {
public:
  line_helpers() = default;
  line_helpers(const line_helpers &) = delete;
  line_helpers &operator=(const line_helpers &) = delete;
  ~line_helpers() { end_all(); }

  struct question {
    std::string module;
    std::vector<std::uint64_t> offsets; ///< addresses less the module's load address
    std::map<std::uint64_t, inline_chain> answers;
    bool complete = false;
  };

  /// Starts the helper of a module and lets it read its debug info while the caller does something else. Cheap.
  void warm_up(const std::string &module, std::uint64_t offset) {
    if (helpers_.find(module) == helpers_.end()) {
      dialogue opening;
      opening.of = start(module);
      opening.pending = line_of(offset) + line_of(0);
      opening.stale_marks = 1;
      pump(opening);
      helpers_.emplace(module, std::move(opening));
    }
  }

  /// Asks all modules at once; the answers are in place when this returns. Takes at most `deadline_ns`; a module whose
  /// helper has not answered by then is left incomplete and its helper is given up.
  void ask(std::vector<question> &questions, std::uint64_t deadline_ns) {
    const std::uint64_t end = os::monotonic_ns() + deadline_ns;
    for (question &q : questions) {
      warm_up(q.module, q.offsets.empty() ? 0 : q.offsets.front());
      dialogue &with = helpers_[q.module];
      for (const std::uint64_t offset : q.offsets) {
        with.pending += line_of(offset);
      }
      with.pending += line_of(0);
    }
    for (;;) {
      std::vector<pollfd> wait;
      for (question &q : questions) {
        dialogue &with = helpers_[q.module];
        if (!q.complete && with.of.running()) {
          pump(with);
          q.complete = understand(with, q.answers);
          if (!q.complete && with.of.running()) {
            wait.push_back({with.of.socket, static_cast<short>(with.pending.empty() ? POLLIN : POLLIN | POLLOUT), 0});
          }
        }
      }
      const std::uint64_t now = os::monotonic_ns();
      if (wait.empty() || now >= end) {
        break;
      }
      ::poll(wait.data(), wait.size(), static_cast<int>((end - now) / 1'000'000) + 1);
    }
    for (const question &q : questions) {
      if (!q.complete) {
        os::end_helper(helpers_[q.module].of);
      }
    }
  }

  void end_all() {
    for (auto &[module, with] : helpers_) {
      os::end_helper(with.of);
    }
    helpers_.clear();
  }

private:
  struct dialogue {
    os::helper_process of;
    std::string pending;           ///< not yet written
    std::string heard;             ///< not yet understood
    std::uint32_t stale_marks = 0; ///< end marks of answers that nobody waits for
  };
  std::map<std::string, dialogue> helpers_;

  static std::string line_of(std::uint64_t offset) {
    char text[24];
    std::snprintf(text, sizeof text, "0x%llx\n", static_cast<unsigned long long>(offset));
    return text;
  }

  static os::helper_process start(const std::string &module) {
    const char *const arguments[] = {"addr2line", "-a", "-i", "-f", "-C", "-e", module.c_str(), nullptr};
    const char *path = std::getenv("PATH");
    const std::string search = std::string("PATH=") + (path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin");
    const char *const environment[] = {search.c_str(), "LC_ALL=C", nullptr}; // nothing preloaded, nothing translated
    return os::start_helper(arguments, environment);
  }

  /// Writes and reads what goes without waiting. A helper that is gone is no longer running afterwards.
  static void pump(dialogue &with) {
    while (with.of.running() && !with.pending.empty()) {
      const ssize_t n = ::send(with.of.socket, with.pending.data(), with.pending.size(), MSG_NOSIGNAL);
      if (n > 0) {
        with.pending.erase(0, static_cast<std::size_t>(n));
      } else if (errno != EINTR) {
        break; // full, or gone: reading tells
      }
    }
    char buffer[4096];
    while (with.of.running()) {
      const ssize_t n = ::recv(with.of.socket, buffer, sizeof buffer, 0);
      if (n > 0) {
        with.heard.append(buffer, static_cast<std::size_t>(n));
      } else if (n == 0) {
        os::end_helper(with.of);
      } else if (errno != EINTR) {
        break;
      }
    }
  }

  /// Takes the lines heard so far; true once the end mark has come.
  static bool understand(dialogue &with, std::map<std::uint64_t, inline_chain> &answers) {
    const std::string end_mark = "0x0000000000000000\n";
    for (;;) {
      const std::size_t end = with.heard.find(end_mark);
      if (end == std::string::npos) {
        return false;
      }
      const std::string text = with.heard.substr(0, end);
      with.heard.erase(0, end + end_mark.size());
      if (with.stale_marks > 0) {
        --with.stale_marks;
        continue;
      }
      take(text, answers);
      return true;
    }
  }

  static void take(const std::string &text, std::map<std::uint64_t, inline_chain> &answers) {
    inline_chain *chain = nullptr;
    std::string function;
    bool has_function = false;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t newline = std::min(text.find('\n', at), text.size());
      const std::string line = text.substr(at, newline - at);
      at = newline + 1;
      if (line.compare(0, 2, "0x") == 0) {
        chain = &answers[std::strtoull(line.c_str(), nullptr, 16)];
        has_function = false;
      } else if (chain == nullptr) {
        continue; // the rest of the answer to an end mark
      } else if (!has_function) {
        function = line;
        has_function = true;
      } else {
        has_function = false;
        model::site found;
        found.function = function == "??" ? "" : function;
        const std::size_t colon = line.rfind(':');
        const unsigned long number =
            colon != std::string::npos ? std::strtoul(line.c_str() + colon + 1, nullptr, 10) : 0;
        if (number > 0) {
          found.file = line.substr(0, colon);
          found.line = static_cast<std::uint32_t>(number);
        }
        if (!found.function.empty() || number > 0) {
          chain->push_back(std::move(found));
        }
      }
    }
  }
};

} // namespace stacks
} // namespace DTDEBUG_ABI
} // namespace dtdebug
