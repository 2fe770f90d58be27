// The text to learn, as numbers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace trainer {

struct corpus {
  std::string path;
  std::vector<std::uint8_t> train; ///< symbols, each below `symbols`
  std::vector<std::uint8_t> held_out;
  int symbols = 0;
};

/// Reads `path`, or if it is empty the first well-known text that exists. Letters lose their case; bytes other than
/// letters, digits and common punctuation become spaces. Throws std::runtime_error if there is no text.
corpus read_corpus(const std::string &path);

} // namespace trainer
