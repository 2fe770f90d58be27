// A diagnosis as JSON, schema dtdebug.report/1 (docs/SCHEMA.md): the source of every other form.
#pragma once

#include <dtdebug/model/verdict.hpp>
#include <dtdebug/report/json_writer.hpp>
#include <dtdebug/report/rank_line.hpp>

#include <string>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace report {

namespace detail {

/// One verdict; a key that does not apply is absent. `cause` is the index of the verdict it follows from, -1 for a
/// root.
inline void write_verdict(json_writer &out, const model::verdict &verdict, std::int64_t cause) {
  static constexpr const char *certainty[] = {"proven", "likely", "suspected"};
  const auto text = [&out](const char *key, const std::string &value) {
    if (!value.empty()) {
      out.member(key, value);
    }
  };
  const auto list = [&out](const char *key, const auto &values) {
    if (!values.empty()) {
      out.list(key, values);
    }
  };
  out.begin_object().member("kind", verdict.kind);
  text("headline", verdict.headline);
  text("group", verdict.group);
  if (verdict.seq) {
    out.member("seq", *verdict.seq);
  }
  list("ranks", verdict.ranks);
  list("with", verdict.with);
  text("op", verdict.op);
  text("other", verdict.other);
  list("fields", verdict.fields);
  text("site", verdict.site);
  text("other_site", verdict.other_site);
  text("site_function", verdict.site_function);
  text("other_function", verdict.other_function);
  text("detail", verdict.detail);
  text("other_detail", verdict.other_detail);
  if (verdict.peer) {
    out.member("peer", *verdict.peer);
  }
  list("chain", verdict.chain);
  list("chain_text", verdict.chain_text);
  text("name", verdict.name);
  if (verdict.step) {
    out.member("step", *verdict.step);
  }
  if (verdict.tie) {
    out.member("tie", true);
  }
  out.member("confidence", certainty[static_cast<unsigned>(verdict.sure) % 3]);
  text("reason", verdict.reason);
  list("evidence", verdict.evidence);
  list("unknowns", verdict.unknowns);
  list("next_steps", verdict.next_steps);
  if (cause >= 0) {
    out.member("consequence_of", cause);
  }
  out.end_object();
}

inline void write_verdicts(json_writer &out, const std::vector<model::verdict> &verdicts, std::int64_t cause,
                           std::int64_t &written) {
  for (const model::verdict &verdict : verdicts) {
    const std::int64_t mine = written++;
    write_verdict(out, verdict, cause);
    write_verdicts(out, verdict.consequences, mine, written);
  }
}

inline void write_stack(json_writer &out, const model::thread_state &thread) {
  out.begin_object().member("tid", static_cast<std::uint64_t>(thread.tid)).member("name", thread.name);
  if (!thread.answered) {
    out.member("kernel_state", thread.kernel_state);
  }
  out.key("frames").begin_array();
  for (const model::frame &frame : thread.stack) {
    out.begin_object().member("function", frame.function).member("file", frame.file);
    out.member("line", static_cast<std::uint64_t>(frame.line)).member("module", frame.module).end_object();
  }
  out.end_array().end_object();
}

inline void write_rank(json_writer &out, const model::rank_snapshot &rank, model::time_ns now) {
  out.begin_object().member("rank", rank.rank).member("host", rank.host).member("pid", rank.pid);
  out.member("state", state_text(rank));
  if (rank.step >= 0) {
    out.member("step", rank.step);
  }
  if (rank.phase != 0 && rank.phase < rank.phases.size()) {
    out.member("phase", rank.phases[rank.phase]);
  }
  if (const model::call *call = last_call(rank)) {
    out.key("last_call").begin_object().member("call", call_text(*call)).member("op", name(call->op));
    if (call->group < rank.groups.size()) {
      out.member("group", rank.groups[call->group].name);
    }
    out.member("seq", call->seq).member("state", name(call->state));
    const std::string site = site_text(rank, *call);
    if (!site.empty()) {
      out.member("site", site);
    }
    if (call->entered != model::never && now >= call->entered) {
      out.member("age_ms", static_cast<double>(now - call->entered) / 1e6);
    }
    out.end_object();
  }
  if (!rank.missing_evidence.empty()) {
    out.list("missing_evidence", rank.missing_evidence);
  }
  out.key("threads").begin_array();
  for (const model::thread_state &thread : rank.threads) {
    if (!thread.stack.empty() || !thread.kernel_state.empty()) {
      write_stack(out, thread);
    }
  }
  out.end_array().end_object();
}

} // namespace detail

/// The whole report. Verdicts are one list: each root cause is followed by its consequences, which name it by index.
inline std::string json_report(const model::job_snapshot &job, const model::diagnosis &found) {
  json_writer out;
  out.begin_object().member("schema", "dtdebug.report/1").member("version", DTDEBUG_VERSION_STRING);
  out.member("job", job.job).member("trigger", found.trigger);
  out.key("verdicts").begin_array();
  std::int64_t written = 0;
  detail::write_verdicts(out, found.verdicts, -1, written);
  out.end_array().key("ranks").begin_array();
  for (const model::rank_snapshot &rank : job.ranks) {
    detail::write_rank(out, rank, job.now);
  }
  out.end_array().key("timing_ms").begin_object();
  const auto &time = found.timing;
  const std::pair<const char *, double> times[] = {{"suspect", time.suspect},   {"freeze", time.freeze},
                                                   {"barrier", time.barrier},   {"collect", time.collect},
                                                   {"diagnose", time.diagnose}, {"total", time.total}};
  for (const auto &[what, ms] : times) {
    if (ms >= 0) {
      out.member(what, ms);
    }
  }
  out.end_object().key("environment").begin_object();
  for (const auto &[name, value] : job.environment) {
    out.member(name, value);
  }
  return out.end_object().end_object().finish();
}

} // namespace report
} // namespace DTDEBUG_ABI
} // namespace dtdebug
