// A schedule with its ranks, groups and loops resolved: what each rank does, step by step. Input of the simulator.
#pragma once

#include <dtdebug/core/call_desc.hpp>
#include <dtdebug/model/snapshot.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace schedule {

/// What one instruction does; names as in the language, `raise` for `throw`, `call` for every collective, send and
/// recv.
enum class verb : std::uint8_t {
  call,
  group_start,
  group_end,
  sync,
  sleep,
  spin,
  block,
  exit,
  finish,
  kill,
  stop,
  raise,
  step,
  phase,
  decision,
  memory,
  oom,
  tensor,
  poke,
  replicated,
  finite,
  fact,
  comm_error,
  mesh_check,
};

/// One statement as one rank executes it. Which members matter follows from the verb.
struct instruction {
  verb what = verb::call;
  op_kind op = op_kind::none;
  dtype type = dtype::none;
  redop reduce = redop::none;
  std::vector<std::uint64_t> dims; ///< of the call's or the declared tensor; empty for a scalar
  bool has_data = false;           ///< false for a barrier
  std::int32_t root = no_rank;     ///< root or peer
  std::int32_t tag = 0;
  std::vector<std::int64_t> splits, recv_splits;
  std::string group;
  std::string stream; ///< empty: the host waits
  std::string tensor; ///< the declared tensor on which the call works; empty for a plain shape
  std::string label;
  std::string name;         ///< of a decision, fact, tensor or mesh
  std::string text;         ///< value, error text, phase, or axis of a mesh check
  std::int64_t number = -1; ///< exit code, signal, explicit step (-1: the next one), nanoseconds of a sleep
  double value = 0;         ///< tensor and poke
  std::uint64_t index = 0;  ///< poke; memory: bytes used
  std::uint64_t total = 0;  ///< memory: bytes in all
  std::string file;         ///< source line of the call
  std::uint32_t line = 0;
};

/// What one rank believes and does.
struct rank_program {
  struct mesh {
    std::string name;
    std::vector<std::pair<std::string, std::uint64_t>> axes;
  };
  std::int32_t world_size = 0;                                           ///< as it believes
  std::vector<std::pair<std::string, std::vector<std::int32_t>>> groups; ///< in order of creation
  std::vector<mesh> meshes;
  std::vector<std::uint32_t> body; ///< indices into program::instructions, loops unrolled
};

struct program {
  std::vector<instruction> instructions;
  std::vector<rank_program> ranks;
  model::time_ns timeout = 2'000'000'000;
};

} // namespace schedule
} // namespace DTDEBUG_ABI
} // namespace dtdebug
