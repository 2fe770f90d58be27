// The result of a diagnosis: plain data from which every report is made.
#pragma once

#include <dtdebug/core/config.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace model {

/// How sure the engine is. `proven`: follows from the records. `likely`: one explanation stands out. `suspected`:
/// neither.
enum class confidence : std::uint8_t { proven = 0, likely = 1, suspected = 2 };

/// One finding. Strings of `kind` are the vocabulary of docs/SCHEMA.md. A member that does not apply is empty.
struct verdict {
  std::string kind;
  std::string group;                ///< name of the group
  std::optional<std::uint64_t> seq; ///< 0-based position in that group's collectives
  std::vector<std::int32_t> ranks;  ///< culprits; empty when nobody may be blamed
  std::vector<std::int32_t> with;   ///< the other side
  bool tie = false;                 ///< equal sides: no blame; then ranks and with are the two sides
  std::string op;                   ///< the culprit's op
  std::string other;                ///< the other side's op
  std::vector<std::string>
      fields;       ///< op, dtype, count, redop, root, shape, splits, label: all that differ, first = kind's
  std::string site; ///< "file:line" of the culprit
  std::string other_site;
  std::string site_function; ///< function and call text of each site, if known
  std::string other_function;
  std::string detail; ///< culprit's arguments: "all_gather f32[4096] \"grad\""
  std::string other_detail;
  std::optional<std::int32_t> peer;
  std::vector<std::int32_t> chain;     ///< wait chain to the root; a cycle starts and ends with its lowest rank
  std::vector<std::string> chain_text; ///< one sentence per edge
  std::string name;                    ///< tensor, decision, fact or mesh
  std::optional<std::int64_t> step;
  confidence sure = confidence::suspected;
  std::string headline; ///< one sentence: who did what, where
  std::string reason;   ///< why these ranks are blamed, or why nobody is
  std::vector<std::string> evidence;
  std::vector<std::string> unknowns;
  std::vector<std::string> next_steps; ///< one to three
  std::vector<verdict> consequences;   ///< folded under this cause
};

/// How long each part of a live diagnosis took, in milliseconds; negative: did not happen.
struct diagnosis_timing {
  double suspect = -1, freeze = -1, barrier = -1, collect = -1, diagnose = -1, total = -1;
};

struct diagnosis {
  std::vector<verdict> verdicts; ///< root causes, first is the one to read first
  diagnosis_timing timing;
  std::string trigger; ///< "contradiction", "timeout", "death", "request", "clean end", "offline"
};

} // namespace model
} // namespace DTDEBUG_ABI
} // namespace dtdebug
