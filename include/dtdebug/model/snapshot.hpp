// What is known of a job at one moment: plain data, made by watch/ from black boxes or by schedule/ from a simulation.
#pragma once

#include <dtdebug/core/call_desc.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace model {

/// Nanoseconds on the clock of the job; 0 is its start. Ranks of one host share the clock.
using time_ns = std::int64_t;
inline constexpr time_ns never = -1;

/// A source line, or an address when no line is known.
struct site {
  std::string file; ///< as the compiler saw it; empty if unknown
  std::uint32_t line = 0;
  std::string function;
  std::string text;     ///< the call as written
  std::uint64_t pc = 0; ///< return address, when the site came from interposition
  bool known() const { return !file.empty(); }
};

/// One recorded call. Ranks are world ranks.
struct call {
  op_kind op = op_kind::none;
  dtype type = dtype::none;
  redop reduce = redop::none;
  call_state state = call_state::none;
  std::uint8_t flags = 0;  ///< call_flag bits
  std::uint32_t group = 0; ///< index into rank_snapshot::groups
  std::uint64_t seq = 0;   ///< position among the group's collectives; for p2p the ordinal among the messages
                           ///< of the same (group, peer, direction, tag)
  std::uint64_t count = 0; ///< elements that this rank passes
  std::uint32_t element_size = 0;
  std::int32_t root = no_rank; ///< world rank of the root or peer; no_rank, any_rank
  std::int32_t tag = 0;
  bool has_dims = false;
  std::vector<std::uint64_t> dims;
  std::string label;      ///< what the data means; empty if not given
  std::uint64_t hard = 0; ///< fingerprints as recorded
  std::uint64_t soft = 0;
  std::vector<std::int64_t> splits; ///< `_v` ops, one per member in group order; empty if not recorded
  std::vector<std::int64_t> recv_splits;
  std::uint32_t site = 0;   ///< index into rank_snapshot::sites
  std::uint32_t thread = 0; ///< index into rank_snapshot::threads
  std::uint32_t stream = 0; ///< 0: host-blocking
  std::uint64_t order = 0;  ///< issue order within the rank (0, 1, 2 …): by entry time, then thread
  time_ns entered = never;
  time_ns left = never;    ///< when it was known to be complete; never while pending
  std::int64_t step = -1;  ///< -1: no step was announced
  std::uint32_t phase = 0; ///< index into rank_snapshot::phases; 0 is "no phase"
  std::uint32_t batch = 0; ///< >0: calls of one group_start/group_end batch of this rank share the number

  std::uint64_t bytes() const { return count * element_size; }
};

enum class group_state : std::uint8_t { none = 0, creating = 1, live = 2, freed = 3 };

/// A group as this rank sees it.
struct group {
  std::uint64_t id = 0;              ///< equal on all its members: a hash of content, never a pointer
  std::string name;                  ///< "dp", "world", "MPI_COMM_WORLD", …
  std::vector<std::int32_t> members; ///< world ranks in group order; empty if not known
  std::int32_t my_index = -1;
  group_state state = group_state::none;
  std::uint32_t ordinal = 0;  ///< how many groups this rank had begun to create before this one
  std::uint64_t next_seq = 0; ///< collectives that have taken a position so far
  std::uint64_t rolling = 0;  ///< sum over all of them of mix(hard, seq): independent of recording threads
  std::map<std::uint64_t, std::uint64_t>
      block_hash;   ///< sum over positions [64 b, 64 b + 64), for the blocks still known
  std::string mesh; ///< mesh and axis that declared it, if any
  std::string axis;
};

enum class note_kind : std::uint8_t {
  none = 0,
  error = 1,               ///< the program caught or threw: text
  decision = 2,            ///< name, text (value), ordinal per name
  fact = 3,                ///< name, text (value)
  memory = 4,              ///< value = bytes used, value2 = bytes in all
  out_of_memory = 5,       ///< text
  comm_error = 6,          ///< group, text
  non_finite = 7,          ///< name (tensor), value = first bad index, value2 = how many
  replica = 8,             ///< name (tensor), group, value/value2 = 128-bit digest, ordinal per (group, name)
  mesh_check = 9,          ///< name (mesh), text (axis), group (the communicator); value 1 if it holds
  mesh = 10,               ///< name, text ("dp=2 tp=4"): a mesh as this rank declares it; value = product
  phase = 11,              ///< name: the rank entered this phase (also in the call records)
  step = 12,               ///< value: the rank entered this step
  scope_exception = 13,    ///< a guard was left by an exception: text names the call
  finite_ok = 14,          ///< name (tensor): checked and finite, ordinal per name
  request = 15,            ///< the program asked for a diagnosis: text is its reason
  neighbours_watched = 16, ///< value: so many ranks of this host are watched for their death
  neighbour_died = 17,     ///< value: the rank; order: when, in nanoseconds of the host's steady clock
  paused = 18,            ///< value: nanoseconds for which the whole process did not run (stopped, or a frozen machine)
  neighbour_stopped = 19, ///< value: the rank; noted once a stop, by the leader that saw it
};

/// A breadcrumb or a finding that one rank wrote down.
struct note {
  note_kind kind = note_kind::none;
  std::string name;
  std::string text;
  std::uint64_t value = 0;
  std::uint64_t value2 = 0;
  std::uint32_t group = 0;   ///< index into groups, where the kind says so
  std::uint64_t ordinal = 0; ///< k-th of its kind and name on this rank
  std::uint64_t order = 0;   ///< number of calls this rank had issued before
  std::int64_t step = -1;
  time_ns at = never;
};

struct frame {
  std::uint64_t address = 0;
  std::uint64_t offset = 0; ///< address less the load address of its module: the same on all ranks
  std::string function;     ///< empty if not resolved
  std::string file;
  std::uint32_t line = 0;
  std::string module;
};

struct thread_state {
  std::uint32_t tid = 0;
  std::string name;
  bool recording = false;   ///< has made calls
  bool answered = false;    ///< its stack was captured
  std::string kernel_state; ///< "R (running)", "S futex_wait", … when it did not answer
  std::vector<frame> stack; ///< innermost first
};

/// How the process of a rank stands.
enum class liveness : std::uint8_t {
  unknown = 0,
  alive = 1,
  ended_cleanly = 2, ///< clean end: session end, MPI_Finalize, or main returned 0
  exited = 3,        ///< left without the clean end; exit_code if known
  crashed = 4,       ///< ended by a signal; `signal` if known
  stopped = 5,       ///< SIGSTOP or under a debugger
  vanished = 6,      ///< its process is gone and left no last word (SIGKILL or _exit)
  never_started = 7, ///< no black box of this rank was found
};

struct rank_snapshot {
  std::int32_t rank = -1;
  std::int32_t world_size = 0; ///< as this rank believes it
  std::string host;
  std::int64_t pid = 0;
  liveness life = liveness::unknown;
  int exit_code = -1;      ///< -1: not known
  int signal = 0;          ///< 0: none or not known
  bool oom_killed = false; ///< the kernel says so
  std::string program;
  std::vector<site> sites;         ///< [0] is "unknown"
  std::vector<std::string> phases; ///< [0] is ""
  std::vector<group> groups;
  std::vector<call> calls; ///< in issue order
  std::vector<note> notes; ///< in order
  std::vector<thread_state> threads;
  std::uint64_t calls_lost = 0; ///< overwritten before they could be read
  std::uint64_t groups_lost = 0;
  std::int64_t step = -1;
  std::uint32_t phase = 0;
  time_ns phase_since = never;
  time_ns heartbeat = never; ///< last sign of life of its watchdog
  time_ns ended = never;
  std::vector<std::string> missing_evidence; ///< what could not be read, and why
};

/// All ranks of the job, in rank order; a rank of which nothing is known has life == never_started.
struct job_snapshot {
  std::vector<rank_snapshot> ranks;
  time_ns now = 0;
  time_ns timeout = 60'000'000'000;
  bool settled = false; ///< no rank moves any more: all ended, or what is stuck was stuck in two looks
  std::string job;
  std::map<std::string, std::string> environment; ///< the DTDEBUG_* settings in force
};

} // namespace model
} // namespace DTDEBUG_ABI
} // namespace dtdebug
