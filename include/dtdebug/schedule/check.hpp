// Compares a diagnosis with the expectations of a schedule.
#pragma once

#include <dtdebug/model/verdict.hpp>
#include <dtdebug/schedule/ast.hpp>
#include <dtdebug/schedule/words.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace schedule {

namespace detail {

inline void add_with_folded(const std::vector<model::verdict> &verdicts, std::vector<const model::verdict *> &out) {
  for (const model::verdict &v : verdicts) {
    out.push_back(&v);
    add_with_folded(v.consequences, out);
  }
}

/// `file:line` as the language writes it: folders count only where they were written.
inline bool same_place(const std::string &wanted, const std::string &place) {
  if (place == wanted) {
    return true;
  }
  const std::size_t at = place.size() - std::min(place.size(), wanted.size());
  return at > 0 && place[at - 1] == '/' && place.compare(at, std::string::npos, wanted) == 0;
}

template <typename Value>
std::string shown_or_none(const std::optional<Value> &value) {
  return value ? std::to_string(*value) : "none";
}

/// Collects, key by key, how a verdict differs from an expectation.
class comparison {
public:
  comparison(const expectation &wanted, const model::verdict &v) {
    text("group", wanted.group, v.group);
    text("name", wanted.name, v.name);
    text("op", wanted.op, v.op);
    text("other", wanted.other, v.other);
    if (wanted.seq && wanted.seq != v.seq) {
      differ("seq", std::to_string(*wanted.seq), shown_or_none(v.seq));
    }
    if (wanted.step && (!v.step || static_cast<std::int64_t>(*wanted.step) != *v.step)) {
      differ("step", std::to_string(*wanted.step), shown_or_none(v.step));
    }
    if (wanted.peer && wanted.peer != v.peer) {
      differ("peer", std::to_string(*wanted.peer), shown_or_none(v.peer));
    }
    const rank_set blamed(v.tie ? std::vector<std::int32_t>() : v.ranks); // a tie blames nobody
    if (wanted.ranks && *wanted.ranks != blamed) {
      differ("ranks", wanted.ranks->text(), v.tie ? "a tie between " + fold_ranks(v.ranks) : blamed.text());
    }
    if (wanted.with && *wanted.with != rank_set(v.with)) {
      differ("with", wanted.with->text(), rank_set(v.with).text());
    }
    if (!wanted.chain.empty() && wanted.chain != v.chain) {
      differ("chain", listed(wanted.chain), listed(v.chain));
    }
    if (!wanted.site.empty() && !same_place(wanted.site, v.site)) {
      differ("site", wanted.site, v.site);
    }
    if (!wanted.other_site.empty() && !same_place(wanted.other_site, v.other_site)) {
      differ("other_site", wanted.other_site, v.other_site);
    }
    if (!wanted.field.empty() && std::find(v.fields.begin(), v.fields.end(), wanted.field) == v.fields.end()) {
      std::string fields;
      for (const std::string &field : v.fields) {
        fields += (fields.empty() ? "" : ",") + field;
      }
      differ("field", wanted.field, fields);
    }
    if (wanted.tie && !v.tie) {
      differ("tie", "a tie", "blame on " + fold_ranks(v.ranks));
    }
    if (wanted.sure && *wanted.sure != v.sure) {
      differ("confidence", std::string(confidence_names[static_cast<unsigned>(*wanted.sure)]),
             std::string(confidence_names[static_cast<unsigned>(v.sure)]));
    }
  }

  bool equal() const { return text_.empty(); }
  const std::string &text() const { return text_; }

private:
  std::string text_;

  static std::string listed(const std::vector<std::int32_t> &ranks) {
    std::string out;
    for (const std::int32_t r : ranks) {
      out += (out.empty() ? "" : ",") + std::to_string(r);
    }
    return out;
  }
  void text(const char *key, const std::string &wanted, const std::string &got) {
    if (!wanted.empty() && wanted != got) {
      differ(key, wanted, got);
    }
  }
  void differ(const std::string &key, const std::string &wanted, const std::string &got) {
    text_ += (text_.empty() ? "" : ", ") + key + " is " + (got.empty() ? "empty" : got) + " and not " + wanted;
  }
};

inline std::string kinds_of(const std::vector<model::verdict> &verdicts) {
  std::string out;
  for (const model::verdict &v : verdicts) {
    out += (out.empty() ? "" : ", ") + v.kind + " of " + fold_ranks(v.ranks);
  }
  return out.empty() ? "nothing" : out;
}

} // namespace detail

/// One sentence for each expectation that does not hold, with its line; empty when all hold.
inline std::vector<std::string> failed_expectations(const document &source, const model::diagnosis &found) {
  std::vector<const model::verdict *> all;
  detail::add_with_folded(found.verdicts, all);
  std::vector<std::string> failures;
  for (const expectation &wanted : source.expectations) {
    const auto fail = [&](const std::string &why) {
      failures.push_back(source.file + ":" + std::to_string(wanted.line) + ": " + why);
    };
    if (wanted.word == expect_word::none) {
      if (!all.empty()) {
        fail("nothing was to be found, but there is " + detail::kinds_of(found.verdicts));
      }
      continue;
    }
    std::string nearest;
    bool holds = false;
    for (const model::verdict *v : all) {
      if (v->kind != wanted.kind || (wanted.in_front && v != all.front())) {
        continue;
      }
      const detail::comparison with(wanted, *v);
      holds = holds || with.equal();
      nearest = nearest.empty() || with.text().size() < nearest.size() ? with.text() : nearest;
    }
    if (wanted.word == expect_word::never) {
      if (holds) {
        fail(wanted.kind + " was not to be found, but it is");
      }
    } else if (!holds && !nearest.empty()) {
      fail(wanted.kind + " was found, but " + nearest);
    } else if (!holds) {
      fail(wanted.kind + " was to be found" + (wanted.in_front ? " first" : "") + ", but there is " +
           detail::kinds_of(found.verdicts));
    }
  }
  return failures;
}

} // namespace schedule
} // namespace DTDEBUG_ABI
} // namespace dtdebug
