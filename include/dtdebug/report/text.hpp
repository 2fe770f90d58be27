// A diagnosis as text, written to be understood in ten seconds.
#pragma once

#include <dtdebug/model/verdict.hpp>
#include <dtdebug/report/rank_line.hpp>
#include <dtdebug/report/stack_tree.hpp>
#include <dtdebug/report/utf8.hpp>

#include <map>
#include <string>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace report {

struct text_options {
  bool color = false; ///< ANSI colours: only for a terminal
};

namespace detail {

class text_builder {
public:
  text_builder(const model::job_snapshot &job, const text_options &options) : job_(job), options_(options) {}

  std::string build(const model::diagnosis &found) {
    if (found.verdicts.empty()) {
      return "dtdebug: nothing found: the calls of " + fold_named(all_ranks()) + " agree\n" + rank_table();
    }
    out_ = rule("dtdebug");
    std::size_t number = 0;
    for (const model::verdict &verdict : found.verdicts) {
      if (number++ > 0) {
        out_ += "\n" + paint("also, independent of the above:", dim) + "\n";
      }
      put_verdict(verdict);
    }
    out_ += "\n" + rank_table();
    put_stacks();
    put_missing();
    put_footer(found);
    out_ += rule("");
    return std::move(out_);
  }

  /// All ranks, folded where they do the same.
  std::string rank_table() const {
    std::map<std::string, std::vector<std::int32_t>> rows;
    std::vector<std::string> order;
    for (const model::rank_snapshot &rank : job_.ranks) {
      const std::string row = row_of(rank);
      if (rows[row].empty()) {
        order.push_back(row);
      }
      rows[row].push_back(rank.rank);
    }
    std::stable_sort(order.begin(), order.end(),
                     [&rows](const auto &a, const auto &b) { return rows[a].size() < rows[b].size(); });
    std::size_t width = 0;
    for (const std::string &row : order) {
      width = std::max(width, fold_named(rows[row]).size());
    }
    std::string out = paint("  all ranks", dim) + "\n";
    std::size_t lines = 0;
    for (const std::string &row : order) {
      if (++lines > 24) {
        out += "    … " + std::to_string(order.size() - 24) + " more rows in report.json\n";
        break;
      }
      const std::string who = fold_named(rows[row]);
      out += "    " + who + std::string(width - who.size() + 2, ' ') + row + "\n";
    }
    return out;
  }

private:
  const model::job_snapshot &job_;
  const text_options &options_;
  std::string out_;
  static constexpr const char *bold = "1";
  static constexpr const char *red = "1;31";
  static constexpr const char *dim = "2";

  std::string paint(const std::string &text, const char *code) const {
    return options_.color ? "\033[" + std::string(code) + "m" + text + "\033[0m" : text;
  }
  std::string rule(const std::string &title) const {
    std::string line = title.empty() ? "" : "── " + title + " ";
    for (std::size_t i = title.empty() ? 0 : title.size() + 4; i < 100; ++i) {
      line += "─";
    }
    return paint(line, dim) + "\n";
  }
  std::vector<std::int32_t> all_ranks() const {
    std::vector<std::int32_t> ranks;
    for (const model::rank_snapshot &rank : job_.ranks) {
      ranks.push_back(rank.rank);
    }
    return ranks;
  }

  void put(const std::string &key, const std::string &value) {
    if (!value.empty()) {
      out_ += "  " + paint(key + std::string(key.size() < 9 ? 9 - key.size() : 1, ' '), dim) + printable(value) + "\n";
    }
  }

  void put_side(const std::vector<std::int32_t> &ranks, const std::string &detail, const std::string &site,
                const std::string &function, const char *color) {
    if (ranks.empty() && detail.empty() && site.empty()) {
      return;
    }
    std::string who = ranks.empty() ? "" : fold_named(ranks);
    who += std::string(who.size() < 14 ? 14 - who.size() : 1, ' ');
    out_ += "    " + paint(who, color) +
            (!detail.empty() ? printable(detail)
             : site.empty()  ? "no call"
                             : "no call here; the last one was") +
            "\n";
    if (!site.empty()) {
      out_ += std::string(18, ' ') + "at " + paint(printable(site), bold) +
              (function.empty() ? "" : "  in " + printable(function)) + "\n";
    }
  }

  void put_verdict(const model::verdict &verdict) {
    out_ += paint(verdict.kind, red) + ": " + paint(printable(verdict.headline), bold) + "\n\n";
    if (!verdict.group.empty()) {
      put("where", "group " + verdict.group + (verdict.seq ? ", call #" + std::to_string(*verdict.seq) : "") +
                       (verdict.step ? ", step " + std::to_string(*verdict.step) : ""));
    }
    // On a circle there is nobody to be told apart from the others.
    const bool has_sides = !verdict.with.empty() || !verdict.site.empty() || !verdict.detail.empty();
    put_side(has_sides ? verdict.ranks : std::vector<std::int32_t>(),
             verdict.detail.empty() ? verdict.op : verdict.detail, verdict.site, verdict.site_function, red);
    put_side(verdict.with, verdict.other_detail.empty() ? verdict.other : verdict.other_detail, verdict.other_site,
             verdict.other_function, bold);
    if (!verdict.fields.empty()) {
      std::string fields;
      for (const std::string &field : verdict.fields) {
        fields += (fields.empty() ? "" : ", ") + field;
      }
      put("differ in", fields);
    }
    static constexpr const char *certainty[] = {"proven", "likely", "suspected"};
    put("why", verdict.reason + " (" + certainty[static_cast<unsigned>(verdict.sure) % 3] + ")");
    for (const std::string &sentence : verdict.chain_text) {
      put(&sentence == &verdict.chain_text.front() ? "waiting" : "", sentence);
    }
    for (const std::string &line : verdict.evidence) {
      put(&line == &verdict.evidence.front() ? "seen" : "", line);
    }
    for (const std::string &line : verdict.unknowns) {
      put(&line == &verdict.unknowns.front() ? "unknown" : "", line);
    }
    std::size_t number = 0;
    for (const std::string &step : verdict.next_steps) {
      ++number;
      put(number == 1 ? "next" : "", std::to_string(number) + ". " + step);
    }
    for (const model::verdict &consequence : verdict.consequences) {
      put(&consequence == &verdict.consequences.front() ? "follows" : "",
          consequence.kind + ": " + consequence.headline);
    }
  }

  std::string row_of(const model::rank_snapshot &rank) const {
    std::string row = state_text(rank);
    if (rank.step >= 0) {
      row += ", step " + std::to_string(rank.step);
    }
    if (rank.phase != 0 && rank.phase < rank.phases.size()) {
      row += ", phase \"" + rank.phases[rank.phase] + "\"";
    }
    if (const model::call *call = last_call(rank)) {
      const bool pending = is_pending(call->state);
      row += pending ? ", in " : ", last call ";
      row += call_text(*call);
      if (call->group < rank.groups.size()) {
        row += " on " + rank.groups[call->group].name;
        if (is_collective(call->op)) {
          row += " #" + std::to_string(call->seq);
        }
      }
      const std::string site = site_text(rank, *call);
      row += site.empty() ? "" : " at " + site.substr(site.rfind('/') + 1);
      if (pending && call->entered != model::never && job_.now > call->entered) {
        const auto tenths = (job_.now - call->entered) / 100'000'000;
        row += " for " + std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " s";
      }
    } else {
      row += rank.life == model::liveness::never_started ? "" : ", has made no call";
    }
    return printable(row);
  }

  void put_stacks() {
    stack_node root;
    for (const model::rank_snapshot &rank : job_.ranks) {
      for (const model::thread_state &thread : rank.threads) {
        if (!thread.stack.empty() && (thread.recording || rank.threads.size() == 1)) {
          add_stack(root, rank.rank, thread.stack);
        }
      }
    }
    if (!root.ranks.empty()) {
      out_ += "\n" + paint("  stacks of the threads that communicate", dim) + "\n" + stack_tree_text(root);
    }
  }

  void put_missing() {
    std::map<std::string, std::vector<std::int32_t>> missing;
    for (const model::rank_snapshot &rank : job_.ranks) {
      for (const model::thread_state &thread : rank.threads) {
        if (!thread.answered && !thread.kernel_state.empty()) {
          missing["thread " + thread.name +
                  " did not answer for its stack (signals blocked, or it sleeps in the kernel); " + "state " +
                  thread.kernel_state]
              .push_back(rank.rank);
        }
      }
      for (const std::string &what : rank.missing_evidence) {
        missing[what].push_back(rank.rank);
      }
    }
    if (!missing.empty()) {
      out_ += "\n" + paint("  evidence that is missing", dim) + "\n";
    }
    for (const auto &[what, ranks] : missing) {
      out_ += "    " + fold_named(ranks) + ": " + printable(what) + "\n";
    }
  }

  void put_footer(const model::diagnosis &found) {
    std::string line = "  " + (found.trigger.empty() ? std::string("diagnosis") : "found by " + found.trigger);
    if (found.timing.total >= 0) {
      char text[64];
      std::snprintf(text, sizeof text, ", %.0f ms from suspicion to report", found.timing.total);
      line += text;
    }
    for (const auto &[name, value] : job_.environment) {
      line += ", " + name + "=" + value;
    }
    out_ += "\n" + paint(printable(line), dim) + "\n";
  }
};

} // namespace detail

/// The report for people.
inline std::string text_report(const model::job_snapshot &job, const model::diagnosis &found,
                               const text_options &options = {}) {
  return detail::text_builder(job, options).build(found);
}

/// The line that a rank prints which did not write the report itself.
inline std::string one_line(const model::diagnosis &found, std::int32_t me, const std::string &directory) {
  if (found.verdicts.empty()) {
    return "";
  }
  const model::verdict &first = found.verdicts.front();
  const bool mine = std::find(first.ranks.begin(), first.ranks.end(), me) != first.ranks.end();
  return "dtdebug: rank " + std::to_string(me) + (mine ? " is named in" : " is not to blame for") + " " + first.kind +
         ": " + printable(first.headline + " (" + directory + "/report.txt)") + "\n";
}

} // namespace report
} // namespace DTDEBUG_ABI
} // namespace dtdebug
