#include "text.hpp"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <stdexcept>
#include <string_view>

namespace trainer {

namespace {

// The word list comes with Debian's wamerican and its relatives; the licences are on every Debian system.
const char *const well_known[] = {
    "/usr/share/dict/american-english",
    "/usr/share/dict/words",
    "/usr/share/common-licenses/GPL-3",
    "/usr/share/common-licenses/GFDL-1.3",
};

constexpr std::size_t largest_text = std::size_t{1} << 20;
constexpr std::size_t smallest_text = 4096;

char simplify(char c) {
  const auto byte = static_cast<unsigned char>(c);
  if (std::isalpha(byte) != 0 && byte < 128)
    return static_cast<char>(std::tolower(byte));
  constexpr std::string_view kept = "\n0123456789.,;:'()-";
  return kept.find(c) != std::string_view::npos ? c : ' ';
}

/// The lines in a fixed random order: an alphabetic list would put all words with one first letter on one rank.
std::string shuffle_lines(const std::string &text) {
  std::vector<std::string> lines;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find('\n', begin), text.size() - 1);
    lines.push_back(text.substr(begin, end - begin + 1));
    begin = end + 1;
  }
  std::mt19937 random(20);
  for (std::size_t i = lines.size(); i > 1; --i)
    std::swap(lines[i - 1], lines[random() % i]);
  std::string result;
  result.reserve(text.size());
  for (const std::string &line : lines)
    result += line;
  return result;
}

} // namespace

corpus read_corpus(const std::string &path) {
  corpus result;
  std::string text;
  std::vector<std::string> candidates(std::begin(well_known), std::end(well_known));
  if (!path.empty())
    candidates = {path};
  for (const std::string &candidate : candidates) {
    std::ifstream file(candidate, std::ios::binary);
    text.assign(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    if (text.size() >= smallest_text) {
      result.path = candidate;
      break;
    }
  }
  if (result.path.empty())
    throw std::runtime_error("no text of at least 4 KiB: " + (path.empty() ? "give one with --text" : path));

  std::transform(text.begin(), text.end(), text.begin(), simplify);
  text = shuffle_lines(text);
  text.resize(std::min(text.size(), largest_text));

  std::map<char, std::uint8_t> number;
  for (const char c : text)
    number.emplace(c, std::uint8_t{0});
  for (auto &[c, n] : number)
    n = static_cast<std::uint8_t>(result.symbols++);

  const std::size_t cut = text.size() / 10 * 9;
  for (std::size_t i = 0; i < text.size(); ++i)
    (i < cut ? result.train : result.held_out).push_back(number[text[i]]);
  return result;
}

} // namespace trainer
