// Diagnosis of a run directory from outside: of the files of a dead job, or of one that still runs.
#pragma once

#include <dtdebug/diagnose/diagnose.hpp>
#include <dtdebug/watch/collect.hpp>

#include <algorithm>
#include <csignal>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace watch {

namespace detail {

/// Deaths and stalls that lie closer together than this belong to one event: heartbeats come every 50 ms, launchers
/// kill the rest of a job within milliseconds, and a machine under load delays both.
inline constexpr model::time_ns one_event_ns = 1'000'000'000;

/// A watchdog that got no processor, or was busy with a report, is silent as well, but not for so long.
inline constexpr model::time_ns long_silence_ns = 5'000'000'000;

/// How a job that nobody survived came to its end.
struct common_end {
  bool happened = false;                             ///< no rank lives, and some left no last word
  model::time_ns last_beat = 0;                      ///< of the rank whose heart stopped last
  model::time_ns last_move = 0;                      ///< when a rank last entered or left a call or a phase
  model::time_ns first_word = model::never;          ///< the first crash or exit that the rank itself wrote down
  std::map<std::int32_t, model::time_ns> died_at;    ///< where a neighbour noted a death
  std::map<std::int32_t, model::time_ns> stopped_at; ///< where a leader noted a stop, the last one
  std::int32_t first = -1;                           ///< whose death was noted first
  std::int64_t watched = -1;                         ///< ranks up to this one: neighbours would have noted their death
  bool others_ended = false;                         ///< ranks came to a clean end before, or at the same time

  bool still_moved() const { return last_beat - last_move <= one_event_ns; }
};

/// Gone without a word of its own, by the hand of a launcher, a shell or a kernel. A zombie still says which signal.
inline bool was_killed(const model::rank_snapshot &rank) {
  const bool by_fault = rank.signal == SIGSEGV || rank.signal == SIGBUS || rank.signal == SIGFPE ||
                        rank.signal == SIGILL || rank.signal == SIGABRT || rank.signal == SIGTRAP ||
                        rank.signal == SIGSYS;
  return rank.life == model::liveness::vanished || (rank.life == model::liveness::crashed && !by_fault);
}

inline common_end end_of(const model::job_snapshot &job) {
  common_end end;
  std::uint64_t earliest = UINT64_MAX;
  model::time_ns first_silence = INT64_MAX; // of those killed
  model::time_ns last_clean_end = model::never;
  for (const model::rank_snapshot &rank : job.ranks) {
    if (rank.life == model::liveness::alive || rank.life == model::liveness::stopped) {
      return {}; // who vanished did so alone
    }
    if (rank.life == model::liveness::ended_cleanly) {
      end.others_ended = true;
      last_clean_end = std::max(last_clean_end, rank.ended >= 0 ? rank.ended : INT64_MAX);
    }
    const bool own_word = rank.life == model::liveness::exited || rank.life == model::liveness::crashed;
    if (was_killed(rank)) {
      end.happened = true;
      first_silence = std::min(first_silence, rank.heartbeat);
    } else if (own_word && rank.ended >= 0 && (end.first_word == model::never || rank.ended < end.first_word)) {
      end.first_word = rank.ended;
    }
    end.last_beat = std::max(end.last_beat, rank.heartbeat);
    end.last_move = std::max(end.last_move, rank.phase_since);
    for (const model::call &call : rank.calls) {
      end.last_move = std::max({end.last_move, call.entered, call.left});
    }
    for (const model::note &note : rank.notes) {
      if (note.kind == model::note_kind::neighbours_watched) {
        end.watched = std::max(end.watched, static_cast<std::int64_t>(note.value));
      }
      if (note.kind == model::note_kind::neighbour_stopped) {
        model::time_ns &last = end.stopped_at.emplace(static_cast<std::int32_t>(note.value), note.at).first->second;
        last = std::max(last, note.at);
      }
      if (note.kind == model::note_kind::neighbour_died) {
        const auto who = static_cast<std::int32_t>(note.value);
        const auto [known, fresh] = end.died_at.emplace(who, note.at);
        known->second = fresh ? note.at : std::min(known->second, note.at);
        if (note.order < earliest) {
          earliest = note.order;
          end.first = who;
        }
      }
    }
  }
  if (end.others_ended && end.happened && last_clean_end - first_silence > one_event_ns) {
    return {}; // others lived on after it and came to their end
  }
  return end;
}

/// Seen stopped, and it did not run after that, or only just before its end: the kernel lets stopped processes run
/// again when their launcher dies, to receive the hang-up.
inline bool was_stopped_to_the_end(const model::rank_snapshot &rank, const common_end &end) {
  const auto seen = end.stopped_at.find(rank.rank);
  return seen != end.stopped_at.end() &&
         (rank.heartbeat <= seen->second ||
          std::any_of(rank.notes.begin(), rank.notes.end(), [&](const model::note &note) {
            return note.kind == model::note_kind::paused && note.at > seen->second &&
                   rank.heartbeat - note.at <= one_event_ns;
          }));
}

/// A rank that was killed with the rest is judged as it stood. A rank whose heart stopped long before its process was
/// gone was stopped; one whose process was gone long before the others is what they waited for. A short silence says
/// nothing where neighbours watched: a machine under load gives a watchdog no processor for seconds.
inline void excuse_the_killed(model::job_snapshot &job, const common_end &end) {
  for (model::rank_snapshot &rank : job.ranks) {
    if (!end.happened || !was_killed(rank)) {
      continue;
    }
    const auto noted = end.died_at.find(rank.rank);
    const model::time_ns gone_at = noted != end.died_at.end() ? noted->second : end.last_beat;
    const model::time_ns job_ended_at = end.first_word != model::never ? end.first_word : end.last_beat;
    const bool watched = rank.rank <= end.watched;
    const bool silent = gone_at - rank.heartbeat > long_silence_ns && watched;
    const model::time_ns gone_for_sure_at = watched ? gone_at : rank.heartbeat;
    if (silent || was_stopped_to_the_end(rank, end)) { // neighbours lived on and saw no death
      rank.life = model::liveness::stopped;
      rank.missing_evidence.push_back(
          "its watchdog fell silent before the job was killed, while its process was there");
    } else if (job_ended_at - gone_for_sure_at <= one_event_ns) {
      rank.life = model::liveness::unknown;
      rank.missing_evidence.push_back("killed together with the other ranks; judged as it stood then");
    }
  }
}

/// In a job that moved until its last moment, a rank in its own code for which others wait did not hang. If ranks
/// contradict each other besides, it was just on its way; else it was the first to die, and the launcher killed the
/// others for it.
inline void suspect_the_first(model::job_snapshot &job, model::diagnosis &found, const common_end &end,
                              const diagnose::options &options) {
  const auto is_stuck = [](const model::verdict &v) { return v.kind == "rank_stuck_host"; };
  if (!end.happened || !end.still_moved() || std::none_of(found.verdicts.begin(), found.verdicts.end(), is_stuck)) {
    return;
  }
  if (!std::all_of(found.verdicts.begin(), found.verdicts.end(), is_stuck)) {
    found.verdicts.erase(std::remove_if(found.verdicts.begin(), found.verdicts.end(), is_stuck), found.verdicts.end());
    return;
  }
  const std::vector<std::int32_t> awaited = end.first >= 0 ? std::vector<std::int32_t>{end.first} //
                                                           : found.verdicts.front().ranks;
  for (model::rank_snapshot &rank : job.ranks) {
    if (rank.life == model::liveness::unknown &&
        std::find(awaited.begin(), awaited.end(), rank.rank) != awaited.end()) {
      rank.life = model::liveness::vanished;
      rank.missing_evidence.back() = end.first >= 0 ? "its neighbours saw it die first"
                                                    : "killed while the job still moved; nobody noted who was first";
    }
  }
  found = diagnose::diagnose(job, options);
  for (model::verdict &verdict : found.verdicts) {
    if (end.first < 0 && verdict.kind == "rank_crashed") {
      verdict.sure = model::confidence::likely;
    }
  }
}

/// The verdicts on a job of which some or all ranks are dead; writes into it how they are taken to have ended.
inline model::diagnosis judge_the_dead(model::job_snapshot &job, const diagnose::options &options) {
  const common_end end = end_of(job);
  model::job_snapshot as_found = job;
  excuse_the_killed(job, end);
  model::diagnosis found = diagnose::diagnose(job, options);
  suspect_the_first(job, found, end, options);
  if (found.verdicts.empty() && end.others_ended) { // nothing else was wrong: then the deaths are
    job = std::move(as_found);
    found = diagnose::diagnose(job, options);
  }
  return found;
}

} // namespace detail

/// What the files of a run directory say.
struct autopsy {
  model::job_snapshot job;
  model::diagnosis found;
};

/// Reads and judges the boxes that `files` has discovered.
inline autopsy examine(job_collector &files) {
  char here[64] = "";
  ::gethostname(here, sizeof here - 1);
  autopsy result;
  result.job = files.collect(false);
  const bool is_here = std::all_of(result.job.ranks.begin(), result.job.ranks.end(),
                                   [&here](const auto &rank) { return rank.host.empty() || rank.host == here; });
  if (is_here) { // then /proc tells which ranks still live
    result.job = files.collect(true);
  }
  diagnose::options options;
  options.settled = std::none_of(result.job.ranks.begin(), result.job.ranks.end(), [](const auto &rank) {
    return rank.life == model::liveness::alive || rank.life == model::liveness::stopped;
  });
  result.found = detail::judge_the_dead(result.job, options);
  return result;
}

} // namespace watch
} // namespace DTDEBUG_ABI
} // namespace dtdebug
