// What the parts of the parser share: the document under construction, the line in work, and the list of problems.
#pragma once

#include <dtdebug/schedule/ast.hpp>
#include <dtdebug/schedule/lexer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace schedule {

/// One thing that is wrong with a schedule.
struct problem {
  std::uint32_t line = 0; ///< from 1
  std::string message;    ///< what was found; what was expected; how to mend it
};

/// Bounds that keep any input from exhausting memory or time. Above them is a problem like any other.
struct parse_limits {
  std::int32_t world = 65'536;
  std::uint64_t repetitions = 1'000'000'000;               ///< product of the counts of nested loops
  std::size_t depth = 32;                                  ///< nested loops
  std::uint64_t tensor_elements = std::uint64_t{1} << 24U; ///< of a declared tensor: its data are really held
  std::size_t group_views = 4'000'000;                     ///< groups, summed over the ranks that have them
  std::size_t problems = 25;                               ///< later ones are not listed
};

/// Tokens of one line, taken from the front. Functions that return false or nothing have reported the problem.
class reader {
public:
  reader(document &out, std::vector<problem> &problems, const parse_limits &limits)
      : out_(out), problems_(problems), limits_(limits) {}

  document &out() { return out_; }
  const parse_limits &limits() const { return limits_; }
  std::uint32_t line() const { return line_; }

  void begin(std::uint32_t line, std::vector<token> tokens) {
    line_ = line;
    tokens_ = std::move(tokens);
    at_ = 0;
  }

  bool fail_at(std::uint32_t line, std::string message) {
    problems_.push_back({line, std::move(message)});
    return false;
  }

  /// Always false, so that it can be returned.
  bool fail(const std::string &found, const std::string &expected = "", const std::string &fix = "") {
    return fail_at(line_, found + (expected.empty() ? "" : "; expected " + expected) + (fix.empty() ? "" : "; " + fix));
  }

  bool at_end() const { return at_ == tokens_.size(); }
  std::size_t left() const { return tokens_.size() - at_; }
  const token &peek() const { return tokens_[at_]; }
  token take() { return tokens_[at_++]; }

  /// True if the next word stands there without quotes.
  bool next_is_word() const { return !at_end() && !peek().quoted; }

  /// `found` for a message: the next word, or that there is none.
  std::string found() const { return at_end() ? "the line ends here" : "found " + shown(peek()); }

  /// The line holds nothing more.
  bool ends(const std::string &form) {
    return at_end() ||
           fail("found " + shown(peek()) + " after the end of the statement", "`" + form + "`", "remove it");
  }

  std::optional<std::string> take_name(const std::string &what, const std::string &form) {
    if (!next_is_word() || !is_name(peek().text)) {
      fail(found(), what + " as in `" + form + "`");
      return std::nullopt;
    }
    return std::string(take().text);
  }

  std::optional<std::string> take_quoted(const std::string &form) {
    if (at_end() || !peek().quoted) {
      fail(found(), "a text in quotes, `" + form + "`", at_end() ? "" : "put it in quotes");
      return std::nullopt;
    }
    return std::string(take().text);
  }

  bool take_word(std::string_view word, const std::string &form) {
    if (!next_is_word() || peek().text != word) {
      return fail(found(), "`" + form + "`");
    }
    take();
    return true;
  }

  /// A rank of the world.
  std::optional<std::int32_t> read_rank(std::string_view text) {
    const auto number = read_number(text);
    if (!number) {
      fail("found " + shown(text), "the number of a rank");
      return std::nullopt;
    }
    if (*number >= static_cast<std::uint64_t>(out_.world)) {
      fail("rank " + std::string(text) + " does not exist", world_range());
      return std::nullopt;
    }
    return static_cast<std::int32_t>(*number);
  }

  /// `0`, `0-3`, `0-2,5`, `all`; in the order as written.
  std::optional<std::vector<std::int32_t>> read_ranks(std::string_view text) {
    std::vector<std::int32_t> ranks;
    if (text == "all") {
      for (std::int32_t r = 0; r < out_.world; ++r) {
        ranks.push_back(r);
      }
      return ranks;
    }
    std::vector<bool> named(static_cast<std::size_t>(out_.world));
    for (std::string_view rest = text;;) {
      const std::size_t comma = rest.find(',');
      const std::string_view part = rest.substr(0, comma);
      const std::size_t dash = part.find('-');
      const auto first = read_number(part.substr(0, dash));
      const auto last = dash == std::string_view::npos ? first : read_number(part.substr(dash + 1));
      if (!first || !last) {
        fail(shown(text) + " is no list of ranks", "`0`, `0-3`, `0-2,5` or `all`");
        return std::nullopt;
      }
      if (*first > *last) {
        fail("the range " + shown(part) + " runs backwards", "the lower rank first");
        return std::nullopt;
      }
      if (*last >= static_cast<std::uint64_t>(out_.world)) {
        fail("rank " + std::to_string(*last) + " does not exist", world_range());
        return std::nullopt;
      }
      for (std::uint64_t r = *first; r <= *last; ++r) {
        if (named[r]) {
          fail(shown(text) + " names rank " + std::to_string(r) + " twice", "each rank once");
          return std::nullopt;
        }
        named[r] = true;
        ranks.push_back(static_cast<std::int32_t>(r));
      }
      if (comma == std::string_view::npos) {
        return ranks;
      }
      rest.remove_prefix(comma + 1);
    }
  }

  std::string world_range() const {
    return "a rank from 0 to " + std::to_string(out_.world - 1) + ", as line " + std::to_string(world_line) +
           " says `world " + std::to_string(out_.world) + "`";
  }

  /// Index of an equal list in the document, added if it is new.
  std::size_t intern(const std::vector<std::int32_t> &members) {
    const auto [at, added] = lists_.emplace(members, out_.member_lists.size());
    if (added) {
      out_.member_lists.push_back(members);
    }
    return at->second;
  }

  rank_view &view(std::int32_t rank) { return out_.ranks[static_cast<std::size_t>(rank)]; }

  std::uint32_t world_line = 0;
  std::set<std::string> unsure_groups; ///< whose declaration failed: their uses are not reported again
  std::set<std::string> unsure_tensors;
  std::set<std::string> unsure_meshes;

private:
  document &out_;
  std::vector<problem> &problems_;
  const parse_limits &limits_;
  std::vector<token> tokens_;
  std::size_t at_ = 0;
  std::uint32_t line_ = 0;
  std::map<std::vector<std::int32_t>, std::size_t> lists_;
};

} // namespace schedule
} // namespace DTDEBUG_ABI
} // namespace dtdebug
