// What ranks wrote down themselves: library errors, facts, decisions, data checks, memory figures.
#pragma once

#include <dtdebug/diagnose/scene.hpp>
#include <dtdebug/diagnose/vote.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace diagnose {

namespace detail {

inline std::string quoted(const std::string &text) { return '"' + text + '"'; }

/// Adds what a vote says to a finding.
inline void set_vote(finding &f, const vote_result &votes) {
  f.v.ranks = votes.odd;
  f.v.with = votes.rest;
  f.v.tie = votes.tie;
  f.v.sure = model::confidence::proven;
  f.v.reason = votes.tie ? "as many ranks are on one side as on the other, so neither is blamed"
                         : std::to_string(votes.rest.size()) + " ranks agree; " + who(votes.odd) + " " +
                               verb(votes.odd, "differs", "differ");
}

} // namespace detail

/// comm_error and out_of_memory: the ranks that say so.
inline void find_reported_errors(scene &s) {
  for (const auto &[kind, verdict_kind] : {std::make_pair(model::note_kind::comm_error, "comm_error"),
                                           std::make_pair(model::note_kind::out_of_memory, "out_of_memory")}) {
    finding f;
    f.what = family::own;
    f.v.kind = verdict_kind;
    for (std::size_t row = 0; row < s.job.ranks.size(); ++row) {
      for (const model::note &n : s.snap(row).notes) {
        if (n.kind != kind) {
          continue;
        }
        const bool group_known = kind == model::note_kind::comm_error && n.group < s.snap(row).groups.size();
        const std::string group = group_known ? s.snap(row).groups[n.group].name : "";
        if (f.v.ranks.empty()) {
          f.v.group = group;
          f.v.step = n.step >= 0 ? std::optional<std::int64_t>(n.step) : std::nullopt;
        }
        f.v.ranks.push_back(s.rank(row));
        f.suspects.push_back(s.rank(row));
        f.since.push_back(n.order);
        f.at = f.at < 0 || (n.at >= 0 && n.at < f.at) ? n.at : f.at;
        if (f.v.evidence.size() < 6) {
          f.v.evidence.push_back("rank " + std::to_string(s.rank(row)) + ": " + detail::quoted(n.text) +
                                 (group.empty() ? "" : " on group " + group));
        }
        break; // the first one of the rank
      }
    }
    if (f.v.ranks.empty()) {
      continue;
    }
    f.v.sure = model::confidence::proven;
    const bool memory = kind == model::note_kind::out_of_memory;
    f.v.headline = subject(f.v.ranks) + (memory ? " ran out of memory: " : " reported a communication error: ") +
                   f.v.evidence.front();
    f.v.reason = subject(f.v.ranks) + " " + verb(f.v.ranks, "says", "say") + " so";
    f.v.next_steps.push_back(memory ? "compare the memory of " + who(f.v.ranks) +
                                          " with that of the others; make the allocation fail on all ranks or on none"
                                    : "check link and adapter of " + who(f.v.ranks) +
                                          ", and the library's own log of that time");
    s.findings.push_back(std::move(f));
  }
}

/// Facts that should be the same everywhere, and devices that should not.
inline void find_config_mismatch(scene &s) {
  static constexpr const char *places[] = {
      "host", "device", "pid", "RANK", "LOCAL_RANK", "HOSTNAME", "CUDA_VISIBLE_DEVICES"};
  std::map<std::string, std::map<std::int32_t, std::string>> facts;
  for (const model::rank_snapshot &r : s.job.ranks) {
    for (const model::note &n : r.notes) {
      if (n.kind == model::note_kind::fact) {
        facts[n.name][r.rank] = n.text;
      }
    }
  }
  for (const auto &[name, values] : facts) {
    if (std::any_of(std::begin(places), std::end(places), [&n = name](const char *p) { return n == p; })) {
      continue;
    }
    const vote_result votes = vote(values);
    if (votes.agreed) {
      continue;
    }
    finding f;
    f.what = family::config;
    f.v.kind = "config_mismatch";
    f.v.name = name;
    detail::set_vote(f, votes);
    f.v.headline = name + " is " + values.at(votes.odd.front()) + " on " + who(votes.odd) + " and " +
                   values.at(votes.rest.front()) + " on " + who(votes.rest);
    f.v.evidence.push_back(subject(votes.odd) + ": " + name + "=" + values.at(votes.odd.front()));
    f.v.evidence.push_back(subject(votes.rest) + ": " + name + "=" + values.at(votes.rest.front()));
    f.v.next_steps.push_back("set " + name + " to one value on all ranks");
    s.findings.push_back(std::move(f));
  }
  std::map<std::pair<std::string, std::string>, rank_list> devices;
  for (const auto &[rank, device] : facts["device"]) {
    const auto host = facts["host"].find(rank);
    if (host != facts["host"].end()) {
      devices[{host->second, device}].push_back(rank);
    }
  }
  for (const auto &[place_key, ranks] : devices) {
    if (ranks.size() < 2) {
      continue;
    }
    finding f;
    f.what = family::config;
    f.v.kind = "config_mismatch";
    f.v.name = "device";
    f.v.ranks = ranks;
    f.v.sure = model::confidence::proven;
    f.v.headline = subject(ranks) + " all use device " + place_key.second + " of host " + place_key.first;
    f.v.reason =
        "two processes on one device share its memory and its time, and a collective over both may never finish";
    f.v.evidence.push_back("host " + place_key.first + ", device " + place_key.second + ": " + who(ranks));
    f.v.next_steps.push_back("select the device by the local rank (LOCAL_RANK) before the first communication call");
    s.findings.push_back(std::move(f));
  }
}

/// The first decision of each name on which ranks differ.
inline void find_decision_divergence(scene &s) {
  std::map<std::string, std::map<std::int32_t, std::vector<const model::note *>>> decisions;
  for (const model::rank_snapshot &r : s.job.ranks) {
    for (const model::note &n : r.notes) {
      if (n.kind == model::note_kind::decision) {
        decisions[n.name][r.rank].push_back(&n);
      }
    }
  }
  for (const auto &[name, logs] : decisions) {
    for (std::size_t k = 0;; ++k) {
      std::map<std::int32_t, std::string> values;
      for (const auto &[rank, log] : logs) {
        if (k < log.size()) {
          values[rank] = log[k]->text;
        }
      }
      if (values.size() < 2) {
        break;
      }
      const vote_result votes = vote(values);
      if (votes.agreed) {
        continue;
      }
      finding f;
      f.what = family::decision;
      f.v.kind = "decision_divergence";
      f.v.name = name;
      detail::set_vote(f, votes);
      for (const auto &value : values) {
        f.suspects.push_back(value.first);
        f.since.push_back(logs.at(value.first)[k]->order);
      }
      const model::note &first = *logs.at(votes.odd.front())[k];
      f.v.step = first.step >= 0 ? std::optional<std::int64_t>(first.step) : std::nullopt;
      f.at = first.at;
      f.v.headline = subject(votes.odd) + " decided " + name + " = " + values[votes.odd.front()] + " where " +
                     who(votes.rest) + " decided " + values[votes.rest.front()] + "; their calls differ after it";
      f.v.evidence.push_back("decision number " + std::to_string(k) + " of that name, after " +
                             std::to_string(first.order) + " calls of rank " + std::to_string(votes.odd.front()));
      f.v.next_steps.push_back("decide " + name + " on one rank and broadcast it, or reduce it over all ranks first");
      s.findings.push_back(std::move(f));
      break;
    }
  }
}

/// The first check of each replicated tensor at which the members' digests are not the same.
inline void find_replica_divergence(scene &s) {
  using key = std::pair<std::size_t, std::string>;
  std::map<key, std::map<std::int32_t, std::vector<const model::note *>>> checks;
  for (std::size_t row = 0; row < s.job.ranks.size(); ++row) {
    for (const model::note &n : s.snap(row).notes) {
      if (n.kind == model::note_kind::replica) {
        model::call probe;
        probe.group = n.group;
        checks[{s.index.circle_of(row, probe), n.name}][s.rank(row)].push_back(&n);
      }
    }
  }
  for (const auto &[where, logs] : checks) {
    for (std::size_t k = 0;; ++k) {
      std::map<std::int32_t, std::pair<std::uint64_t, std::uint64_t>> digests;
      for (const auto &[rank, log] : logs) {
        if (k < log.size()) {
          digests[rank] = {log[k]->value, log[k]->value2};
        }
      }
      if (digests.size() < 2) {
        break;
      }
      const vote_result votes = vote(digests);
      if (votes.agreed) {
        continue;
      }
      finding f;
      f.what = family::data;
      f.circle = where.first;
      f.v.kind = "replica_divergence";
      f.v.group = s.index.group_name(where.first);
      f.v.name = where.second;
      detail::set_vote(f, votes);
      f.suspects = votes.odd;
      for (const std::int32_t r : votes.odd) {
        f.since.push_back(logs.at(r)[k]->order);
      }
      const model::note &first = *logs.at(votes.odd.front())[k];
      f.v.step = first.step >= 0 ? std::optional<std::int64_t>(first.step) : std::nullopt;
      f.at = first.at;
      f.v.headline = "Tensor " + where.second + " of " + who(votes.odd) + " is not bit-equal to that of " +
                     who(votes.rest) + " (group " + f.v.group + ")";
      f.v.evidence.push_back("check number " + std::to_string(k) + " of the tensor; all checks before it agreed");
      f.v.next_steps.push_back("find what changed " + where.second + " on " + who(votes.odd) +
                               " alone since the last check that agreed: restored state, seed, a reduction left out");
      s.findings.push_back(std::move(f));
      break;
    }
  }
}

/// The ranks on which a tensor was first found to hold NaN or infinity.
inline void find_non_finite(scene &s) {
  struct hit {
    std::int64_t step;
    std::uint64_t check;
    model::time_ns at;
    std::int32_t rank;
    const model::note *n;
    std::tuple<std::int64_t, std::uint64_t, model::time_ns, std::int32_t> key() const {
      return std::make_tuple(step < 0 ? std::int64_t{0} : step, check, at, rank);
    }
  };
  std::map<std::string, std::vector<hit>> hits;
  for (const model::rank_snapshot &r : s.job.ranks) {
    std::map<std::string, std::uint64_t> checks;
    for (const model::note &n : r.notes) {
      if (n.kind == model::note_kind::finite_ok || n.kind == model::note_kind::non_finite) {
        const std::uint64_t k = checks[n.name]++;
        if (n.kind == model::note_kind::non_finite) {
          hits[n.name].push_back({n.step, k, n.at, r.rank, &n});
        }
      }
    }
  }
  std::vector<std::pair<hit, std::string>> firsts;
  firsts.reserve(hits.size());
  for (const auto &[name, all] : hits) {
    firsts.emplace_back(
        *std::min_element(all.begin(), all.end(), [](const hit &a, const hit &b) { return a.key() < b.key(); }), name);
  }
  std::sort(firsts.begin(), firsts.end(), [](const auto &a, const auto &b) {
    const auto key = [](const hit &h) {
      return std::make_tuple(h.step < 0 ? std::int64_t{0} : h.step, h.at, h.n->order, h.rank);
    };
    return key(a.first) < key(b.first);
  });
  for (const auto &[first, name] : firsts) {
    finding f;
    f.what = family::data;
    f.v.kind = "non_finite";
    f.v.name = name;
    for (const hit &h : hits[name]) {
      if (h.step == first.step && h.check == first.check) {
        f.v.ranks.push_back(h.rank);
        f.suspects.push_back(h.rank);
        f.since.push_back(h.n->order);
      }
    }
    f.v.ranks = ordered(f.v.ranks);
    f.at = first.at;
    f.v.step = first.step >= 0 ? std::optional<std::int64_t>(first.step) : std::nullopt;
    f.v.sure = model::confidence::proven;
    f.v.headline = "Tensor " + name + " is not finite on " + who(f.v.ranks) +
                   (first.step >= 0 ? " in step " + std::to_string(first.step) : "") + ", first at element " +
                   std::to_string(first.n->value);
    f.v.reason = "no other rank saw it earlier";
    f.v.evidence.push_back("rank " + std::to_string(first.rank) + ": " + std::to_string(first.n->value2) +
                           " elements are NaN or infinite, the first is number " + std::to_string(first.n->value));
    const std::size_t later = hits[name].size() - f.v.ranks.size();
    if (later > 0) {
      f.v.evidence.push_back("it failed " + std::to_string(later) + " more times after that: a reduction spreads it");
    }
    f.v.next_steps.push_back("check what " + who(f.v.ranks) + " computed into " + name +
                             " before this check: inputs, loss scale, a division");
    s.findings.push_back(std::move(f));
  }
}

/// A rank close to its memory limit while the median rank is far from it.
inline void find_memory_imbalance(scene &s) {
  if (!s.opt.verify) {
    return;
  }
  std::map<std::int32_t, const model::note *> last;
  for (const model::rank_snapshot &r : s.job.ranks) {
    for (const model::note &n : r.notes) {
      if (n.kind == model::note_kind::memory && n.value2 > 0) {
        last[r.rank] = &n;
      }
    }
  }
  const auto share = [](const model::note *n) {
    return static_cast<double>(n->value) / static_cast<double>(n->value2);
  };
  std::vector<double> shares;
  finding f;
  for (const auto &[rank, n] : last) {
    shares.push_back(share(n));
    if (shares.back() > 0.9) {
      f.v.ranks.push_back(rank);
    }
  }
  std::sort(shares.begin(), shares.end());
  if (f.v.ranks.empty() || shares[shares.size() / 2] >= 0.6) {
    return;
  }
  const auto percent = [](double x) { return std::to_string(std::lround(x * 100)) + " %"; };
  f.what = family::memory;
  f.v.kind = "memory_imbalance";
  f.v.sure = model::confidence::proven;
  f.suspects = f.v.ranks;
  for (const std::int32_t r : f.v.ranks) {
    f.since.push_back(last[r]->order);
    f.v.evidence.push_back("rank " + std::to_string(r) + ": " + percent(share(last[r])) + " of its memory in use");
    if (f.v.evidence.size() > 4) {
      break;
    }
  }
  f.v.evidence.push_back("median of all ranks: " + percent(shares[shares.size() / 2]));
  f.v.headline = subject(f.v.ranks) + " " + verb(f.v.ranks, "uses", "use") +
                 " more than 90 % of the device memory, the median rank " + percent(shares[shares.size() / 2]);
  f.v.reason = "the load is not spread evenly; the next allocation may fail on " + who(f.v.ranks) + " alone";
  f.v.next_steps.push_back("look at what is sized by data on " + who(f.v.ranks) +
                           ": tokens routed to it, sequence lengths, caches");
  s.findings.push_back(std::move(f));
}

} // namespace diagnose
} // namespace DTDEBUG_ABI
} // namespace dtdebug
