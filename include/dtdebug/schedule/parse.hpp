// Text of a schedule → document. The language's contract is docs/SCHEDULES.md.
#pragma once

#include <dtdebug/schedule/read_call.hpp>
#include <dtdebug/schedule/read_expectation.hpp>
#include <dtdebug/schedule/read_header.hpp>
#include <dtdebug/schedule/read_host.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace schedule {

/// A document, or what is wrong with the text: then the document is incomplete and must not be used.
struct parsed {
  document schedule;
  std::vector<problem> problems;
  bool good() const { return problems.empty(); }
};

/// One pass over the lines. A line that cannot be read is reported and skipped, so that one run shows all problems.
class parser {
public:
  parser(std::string_view text, std::string file, const parse_limits &limits)
      : text_(text), limits_(limits), in_(result_.schedule, result_.problems, limits_), tensors_(in_),
        calls_(in_, tensors_), host_(in_, tensors_, calls_), header_(in_), expectations_(in_) {
    result_.schedule.file = std::move(file);
    blocks_.push_back({&result_.schedule.body, 0, 1});
  }

  parsed run() {
    std::uint32_t number = 0;
    for (std::size_t at = 0; at < text_.size() && result_.problems.size() < limits_.problems;) {
      const std::size_t end = std::min(text_.find('\n', at), text_.size());
      ++number;
      line(number, text_.substr(at, end - at));
      at = end + 1;
    }
    if (result_.problems.size() < limits_.problems) {
      finish(number);
    }
    return std::move(result_);
  }

private:
  struct block {
    std::vector<node> *body;
    std::uint32_t line;  ///< of its `repeat`
    std::uint64_t times; ///< product of the counts of all loops around the body
  };

  parsed result_;
  std::string_view text_;
  parse_limits limits_;
  reader in_;
  tensor_table tensors_;
  call_reader calls_;
  host_reader host_;
  header_reader header_;
  expectation_reader expectations_;
  std::vector<block> blocks_;
  bool in_header_ = true;
  bool no_world_ = false;

  void line(std::uint32_t number, std::string_view text) {
    std::vector<token> tokens;
    std::string why;
    in_.begin(number, {});
    if (const auto bad = first_bad_byte(text)) {
      in_.fail("byte " + std::to_string(*bad + 1) + " of the line is no text", "UTF-8 without control characters");
      return;
    }
    if (!split_line(text, tokens, why)) {
      in_.fail(why, "words separated by spaces, texts in quotes");
      return;
    }
    if (tokens.empty()) {
      return;
    }
    in_.begin(number, std::move(tokens));
    if (result_.schedule.world == 0) {
      world();
      return;
    }
    statement();
  }

  void world() {
    if (no_world_) {
      return; // said once; nothing else can be checked without it
    }
    const auto most = static_cast<std::uint64_t>(limits_.world);
    const bool begins = in_.peek().text == "world" && in_.left() == 2 && !in_.peek().quoted;
    const std::string found = in_.found();
    in_.take();
    const auto size = begins ? read_number(in_.peek().text, most) : std::nullopt;
    if (!size || *size == 0) {
      no_world_ = true;
      in_.fail(begins ? in_.found() : found,
               "the first line to be `world N`, with N from 1 to " + std::to_string(most));
      return;
    }
    document &out = result_.schedule;
    out.world = static_cast<std::int32_t>(*size);
    in_.world_line = in_.line();
    std::vector<std::int32_t> everyone;
    for (std::int32_t r = 0; r < out.world; ++r) {
      everyone.push_back(r);
    }
    rank_view view;
    view.world_size = out.world;
    view.world_members = in_.intern(everyone);
    out.ranks.assign(everyone.size(), view);
  }

  void statement() {
    std::vector<std::int32_t> ranks;
    bool has_ranks = false;
    const token first = in_.peek();
    if (!first.quoted && first.text.size() > 1 && first.text.back() == ':') {
      in_.take();
      auto read = in_.read_ranks(first.text.substr(0, first.text.size() - 1));
      if (!read) {
        return;
      }
      ranks = std::move(*read);
      has_ranks = true;
    }
    if (!in_.next_is_word()) {
      in_.fail(in_.found(), "a verb");
      return;
    }
    const std::string verb(in_.take().text);
    if (verb == "world" || verb == "timeout" || verb == "mesh" || verb == "group" || verb.rfind("expect", 0) == 0) {
      declare(verb, has_ranks ? &ranks : nullptr);
      return;
    }
    in_header_ = false;
    if (verb == "repeat" || verb == "end") {
      loop(verb, has_ranks);
      return;
    }
    const verb_name *known = find_verb(verb);
    if (known == nullptr) {
      std::vector<std::string_view> words{"repeat", "end", "world", "timeout", "mesh", "group", "expect"};
      for (const verb_name &v : verb_names) {
        words.push_back(v.text);
      }
      in_.fail(shown(verb) + " is no verb", "a verb of the language", did_you_mean(verb, words));
      return;
    }
    if (!has_ranks) {
      in_.fail("`" + verb + "` without ranks", "`RANKS: " + verb + " …`");
      return;
    }
    add(*known, ranks);
  }

  void declare(const std::string &verb, const std::vector<std::int32_t> *ranks) {
    if (!in_header_) {
      in_.fail("`" + verb + "` after the first statement", "it in the header", "move it up");
    } else if (verb.rfind("expect", 0) == 0) {
      expectations_.read(verb, ranks);
    } else {
      header_.read(verb, ranks);
    }
  }

  void loop(const std::string &verb, bool has_ranks) {
    if (has_ranks) {
      in_.fail("`" + verb + "` with ranks", "`" + verb + "` alone: the statements inside name their ranks");
      return;
    }
    if (verb == "end") {
      end_of_loop();
      return;
    }
    const auto times = in_.next_is_word() ? read_number(in_.peek().text, limits_.repetitions) : std::nullopt;
    if (!times) {
      in_.fail(in_.found(), "a number of turns up to " + std::to_string(limits_.repetitions) + ", `repeat N`");
    } else {
      in_.take();
    }
    node n;
    n.is_loop = true;
    n.line = in_.line();
    n.times = times.value_or(1);
    const std::uint64_t around = std::max<std::uint64_t>(blocks_.back().times, 1);
    if (n.times > limits_.repetitions / around) {
      in_.fail("the loops around each other make more than " + std::to_string(limits_.repetitions) + " turns", "fewer");
    }
    if (blocks_.size() > limits_.depth) {
      in_.fail("loops are nested deeper than " + std::to_string(limits_.depth), "fewer");
    }
    in_.ends("repeat N");
    blocks_.back().body->push_back(std::move(n));
    node &inserted = blocks_.back().body->back();
    blocks_.push_back({&inserted.body, inserted.line,
                       std::min(around * std::max<std::uint64_t>(inserted.times, 1), limits_.repetitions)});
  }

  void end_of_loop() {
    if (!in_.ends("end")) {
      return;
    }
    if (blocks_.size() == 1) {
      in_.fail("`end` without `repeat`");
      return;
    }
    if (blocks_.back().body->empty() && result_.problems.empty()) {
      in_.fail("nothing stands between the `repeat` of line " + std::to_string(blocks_.back().line) + " and this `end`",
               "statements to repeat");
    }
    blocks_.pop_back();
  }

  void add(const verb_name &verb, const std::vector<std::int32_t> &ranks) {
    node n;
    n.line = in_.line();
    n.ranks = rank_set(ranks);
    n.what.file = result_.schedule.file;
    n.what.line = in_.line();
    const bool good = verb.what == verb::call ? calls_.read(n, verb, ranks) : host_.read(n.what, verb, ranks);
    if (good) {
      blocks_.back().body->push_back(std::move(n));
    }
  }

  void finish(std::uint32_t last_line) {
    if (result_.schedule.world == 0 && !no_world_) {
      in_.fail_at(std::max(last_line, 1U), "the file says nothing; expected `world N` in its first line");
    }
    if (blocks_.size() > 1) {
      in_.fail_at(blocks_.back().line, "`repeat` without `end`");
    }
    if (result_.problems.empty()) {
      balance();
    }
  }

  /// `group_end` needs an open group on its rank. One turn of a loop tells for all: a loop that closes more groups than
  /// it opens does so in its first turn or, if it opens others before, is found by walking two turns.
  void balance() {
    std::map<std::int32_t, std::int64_t> depth;
    walk(result_.schedule.body, depth);
  }

  void walk(const std::vector<node> &body, std::map<std::int32_t, std::int64_t> &depth) {
    for (const node &n : body) {
      if (n.is_loop) {
        turns(n, depth);
      } else if (n.what.what == verb::group_start || n.what.what == verb::group_end) {
        for (const std::int32_t r : n.ranks.ranks()) {
          depth[r] += n.what.what == verb::group_start ? 1 : -1;
          if (depth[r] < 0 && result_.problems.empty()) {
            in_.fail_at(n.line, "`group_end` without `group_start` on rank " + std::to_string(r));
          }
        }
      }
    }
  }

  /// The first turn shows the lowest point reached within a turn; what each turn adds then repeats.
  void turns(const node &n, std::map<std::int32_t, std::int64_t> &depth) {
    if (n.times == 0) {
      return;
    }
    const std::map<std::int32_t, std::int64_t> before = depth;
    walk(n.body, depth);
    if (n.times == 1) {
      return;
    }
    std::map<std::int32_t, std::int64_t> gained;
    bool sinks = false;
    for (const auto &[rank, now] : depth) {
      const auto old = before.find(rank);
      gained[rank] = now - (old == before.end() ? 0 : old->second);
      sinks = sinks || gained[rank] < 0;
    }
    if (sinks) { // the last turn is the lowest
      for (auto &[rank, now] : depth) {
        now += gained[rank] * static_cast<std::int64_t>(n.times - 2);
      }
      walk(n.body, depth);
    } else {
      for (auto &[rank, now] : depth) {
        now += gained[rank] * static_cast<std::int64_t>(n.times - 1);
      }
    }
  }
};

/// `file`: the name that problems and source lines carry. Cost: linear in the text and in the ranks that it names.
inline parsed parse(std::string_view text, const std::string &file, const parse_limits &limits = {}) {
  return parser(text, file.substr(file.rfind('/') + 1), limits).run();
}

/// One line each: `file:line: what is wrong`.
inline std::string problems_text(const parsed &result, const std::string &file) {
  std::string out;
  for (const problem &p : result.problems) {
    out += file + ":" + std::to_string(p.line) + ": " + p.message + "\n";
  }
  return out;
}

} // namespace schedule
} // namespace DTDEBUG_ABI
} // namespace dtdebug
