// Output of a forked rank, cut into lines.
#pragma once

#include <dtdebug/core/config.hpp>

#include <cerrno>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <unistd.h>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace repro {

/// Takes one line of a rank, without its end. `error`: it was written to stderr.
using line_sink = std::function<void(int rank, bool error, std::string_view line)>;

/// Writes `[rank] line` to the own stdout or stderr, a line by one system call as far as the kernel takes it.
inline void print_line(int rank, bool error, std::string_view line) {
  std::string text = "[" + std::to_string(rank) + "] ";
  text.append(line);
  text += '\n';
  std::string_view rest = text;
  while (!rest.empty()) {
    const ::ssize_t written = ::write(error ? STDERR_FILENO : STDOUT_FILENO, rest.data(), rest.size());
    if (written > 0) {
      rest.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno != EINTR) {
      return;
    }
  }
}

/// The reading end of one rank's stdout or stderr. Owns the descriptor.
class line_relay {
public:
  line_relay(int rank, bool error, int descriptor) noexcept : rank_(rank), error_(error), descriptor_(descriptor) {
    ::fcntl(descriptor_, F_SETFL, ::fcntl(descriptor_, F_GETFL) | O_NONBLOCK);
    ::fcntl(descriptor_, F_SETFD, FD_CLOEXEC);
  }
  line_relay(line_relay &&other) noexcept
      : rank_(other.rank_), error_(other.error_), descriptor_(other.descriptor_), partial_(std::move(other.partial_)) {
    other.descriptor_ = -1;
  }
  line_relay(const line_relay &) = delete;
  line_relay &operator=(const line_relay &) = delete;
  line_relay &operator=(line_relay &&) = delete;
  ~line_relay() { close(); }

  /// -1 once the rank has closed its end.
  int descriptor() const noexcept { return descriptor_; }

  /// Hands over the lines that are there, and at the end of the stream what is left without a line end. Never blocks.
  void pump(const line_sink &sink) {
    char buffer[4096];
    while (descriptor_ >= 0) {
      const ::ssize_t size = ::read(descriptor_, buffer, sizeof buffer);
      if (size > 0) {
        take({buffer, static_cast<std::size_t>(size)}, sink);
      } else if (size == 0 || (errno != EAGAIN && errno != EINTR)) {
        finish(sink);
      } else if (errno == EAGAIN) {
        return;
      }
    }
  }

  /// Gives up on the stream: somebody else keeps the rank's end open.
  void finish(const line_sink &sink) {
    if (!partial_.empty()) {
      sink(rank_, error_, partial_);
      partial_.clear();
    }
    close();
  }

private:
  static constexpr std::size_t longest_line = 1U << 20; // a rank that never ends its line is cut into pieces

  void take(std::string_view bytes, const line_sink &sink) {
    while (!bytes.empty()) {
      const std::size_t end = bytes.find('\n');
      partial_.append(bytes.substr(0, end));
      if (end == std::string_view::npos) {
        if (partial_.size() >= longest_line) {
          sink(rank_, error_, partial_);
          partial_.clear();
        }
        return;
      }
      sink(rank_, error_, partial_);
      partial_.clear();
      bytes.remove_prefix(end + 1);
    }
  }

  void close() noexcept {
    if (descriptor_ >= 0) {
      ::close(descriptor_);
      descriptor_ = -1;
    }
  }

  int rank_;
  bool error_;
  int descriptor_;
  std::string partial_;
};

} // namespace repro
} // namespace DTDEBUG_ABI
} // namespace dtdebug
