// Reads `expect`, `expect-also`, `expect-not` and `expect none`.
#pragma once

#include <dtdebug/schedule/reader.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace schedule {

class expectation_reader {
public:
  explicit expectation_reader(reader &in) : in_(in) {}

  /// One line after its first word.
  bool read(std::string_view word, const std::vector<std::int32_t> *ranks) {
    constexpr std::string_view words[] = {"expect", "expect-also", "expect-not"};
    if (!is_one_of(words, word)) {
      return in_.fail("found " + shown(word), "`expect`, `expect-also` or `expect-not`", did_you_mean(word, words));
    }
    if (ranks != nullptr) {
      return in_.fail("an expectation is not made by ranks", "`" + std::string(word) + " KIND key=value …`",
                      "write the culprits as `ranks=…`");
    }
    if (!in_.next_is_word()) {
      return in_.fail(in_.found(), "a kind of verdict, or `none`");
    }
    expectation e;
    e.line = in_.line();
    e.word = word == "expect" ? expect_word::first : word == "expect-also" ? expect_word::also : expect_word::never;
    e.kind = in_.take().text;
    auto &all = in_.out().expectations;
    if (e.kind == "none") {
      if (e.word != expect_word::first) {
        return in_.fail("`" + std::string(word) + " none` says nothing", "`expect none`");
      }
      e.word = expect_word::none;
      if (!all.empty()) {
        return in_.fail("`expect none` beside the expectation of line " + std::to_string(all.front().line),
                        "`expect none` alone", "remove one of them");
      }
      if (!in_.ends("expect none")) {
        return false;
      }
    } else if (!kind(e) || !keys(e)) {
      return false;
    }
    if (!all.empty() && all.front().word == expect_word::none) {
      return in_.fail("an expectation beside the `expect none` of line " + std::to_string(all.front().line),
                      "`expect none` alone", "remove one of them");
    }
    e.in_front = e.word == expect_word::first && !has_front_;
    has_front_ = has_front_ || e.in_front;
    all.push_back(std::move(e));
    return true;
  }

private:
  bool kind(const expectation &e) {
    if (!is_one_of(verdict_kinds, e.kind)) {
      return in_.fail(shown(e.kind) + " is no kind of verdict", "`none` or a kind such as `op_mismatch`",
                      did_you_mean(e.kind, verdict_kinds));
    }
    if (e.word != expect_word::never && is_one_of(inexpressible_kinds, e.kind)) {
      return in_.fail("no schedule can bring about " + shown(e.kind), "a kind that statements can cause");
    }
    return true;
  }

  bool keys(expectation &e) {
    std::set<std::string, std::less<>> seen;
    while (!in_.at_end()) {
      const token t = in_.take();
      const std::size_t equals = t.text.find('=');
      const std::string_view key = t.text.substr(0, equals);
      const bool has_value = equals != std::string_view::npos;
      const std::string_view value = has_value ? t.text.substr(equals + 1) : std::string_view();
      if (t.quoted || !is_one_of(expect_keys, key)) {
        return in_.fail(shown(t) + " is no key",
                        "one of group seq ranks with op other field site other_site peer chain "
                        "name step tie confidence",
                        did_you_mean(key, expect_keys));
      }
      if (!seen.emplace(key).second) {
        return in_.fail("`" + std::string(key) + "` is given twice", "each key once");
      }
      if ((key == "tie") == has_value) {
        return in_.fail("found " + shown(t), has_value ? "`tie` without a value" : "`" + std::string(key) + "=…`");
      }
      if (!set(e, key, value)) {
        return false;
      }
    }
    return true;
  }

  bool set(expectation &e, std::string_view key, std::string_view value) {
    if (key == "tie") {
      e.tie = true;
      return true;
    }
    if (key == "ranks" || key == "with") {
      auto ranks = in_.read_ranks(value);
      (key == "ranks" ? e.ranks : e.with) = ranks ? std::optional(rank_set(*std::move(ranks))) : std::nullopt;
      return (key == "ranks" ? e.ranks : e.with).has_value();
    }
    if (key == "seq" || key == "step") {
      const auto number = read_number(value);
      (key == "seq" ? e.seq : e.step) = number;
      return number || in_.fail("found " + shown(value) + " for " + std::string(key), "a number from 0");
    }
    if (key == "peer") {
      e.peer = in_.read_rank(value);
      return e.peer.has_value();
    }
    if (key == "chain") {
      return chain(e, value);
    }
    return set_text(e, key, value);
  }

  bool chain(expectation &e, std::string_view value) {
    for (;;) {
      const std::size_t comma = value.find(',');
      const auto rank = in_.read_rank(value.substr(0, comma));
      if (!rank) {
        return false;
      }
      e.chain.push_back(*rank);
      if (comma == std::string_view::npos) {
        return true;
      }
      value.remove_prefix(comma + 1);
    }
  }

  bool set_text(expectation &e, std::string_view key, std::string_view value) {
    if (key == "confidence") {
      for (std::size_t i = 0; i < std::size(confidence_names); ++i) {
        if (confidence_names[i] == value) {
          e.sure = static_cast<model::confidence>(i);
        }
      }
      return e.sure || in_.fail("found " + shown(value) + " for confidence", "`proven`, `likely` or `suspected`",
                                did_you_mean(value, confidence_names));
    }
    if (key == "group" || key == "name") {
      (key == "group" ? e.group : e.name) = value;
      return is_name(value) || in_.fail("found " + shown(value) + " for " + std::string(key), "a name");
    }
    if (key == "site" || key == "other_site") {
      (key == "site" ? e.site : e.other_site) = value;
      return read_site(value) || in_.fail("found " + shown(value) + " for " + std::string(key), "file:line");
    }
    if (key == "field") {
      e.field = value;
      return is_one_of(field_names, value) ||
             in_.fail("found " + shown(value) + " for field", "op, dtype, count, redop, root, shape, splits or label",
                      did_you_mean(value, field_names));
    }
    (key == "op" ? e.op : e.other) = value;
    const verb_name *verb = find_verb(value);
    return (verb != nullptr && verb->what == verb::call) ||
           in_.fail("found " + shown(value) + " for " + std::string(key), "a collective, `send` or `recv`");
  }

  reader &in_;
  bool has_front_ = false;
};

} // namespace schedule
} // namespace DTDEBUG_ABI
} // namespace dtdebug
