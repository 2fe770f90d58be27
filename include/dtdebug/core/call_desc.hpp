// What a rank passes to one communication call: the input of the recorder.
#pragma once

#include <dtdebug/core/dtype.hpp>
#include <dtdebug/core/op.hpp>

#include <cstdint>

namespace dtdebug {
inline namespace DTDEBUG_ABI {

inline constexpr int max_dims = 8;
inline constexpr std::int32_t no_rank = -1;  ///< the op has no root and no peer
inline constexpr std::int32_t any_rank = -2; ///< wildcard receive
inline constexpr std::int32_t any_tag = -2;  ///< wildcard receive; tags of programs are >= 0

/// Life of a call. The numbers are part of the black-box format: append only.
enum class call_state : std::uint8_t {
  none = 0,
  queued = 1,   ///< inside an open group: nothing has been issued yet
  entered = 2,  ///< the host is inside the call
  launched = 3, ///< the call returned; the work runs on a stream or belongs to a request
  started = 4,  ///< the device has begun
  done = 5,
  failed = 6,   ///< the library returned an error
  aborted = 7,  ///< the scope was left by an exception
  captured = 8, ///< recorded into a device graph, not run
};

constexpr const char *name(call_state state) noexcept {
  constexpr const char *names[9] = {"none", "queued", "entered", "launched", "started",
                                    "done", "failed", "aborted", "captured"};
  const auto index = static_cast<unsigned>(state);
  return index < 9 ? names[index] : "unknown";
}

/// True while peers may still wait for this call, or this call for its peers.
constexpr bool is_pending(call_state state) noexcept {
  return state == call_state::entered || state == call_state::launched || state == call_state::started;
}

/// True for a call of which the time of its end is on record.
constexpr bool has_ended(call_state state) noexcept {
  return state == call_state::done || state == call_state::failed || state == call_state::aborted;
}

/// Bits of `call_desc::flags`. Part of the black-box format: append only.
enum call_flag : std::uint8_t {
  flag_nonblocking = 1,  ///< returns at once; ends with its stream or its request
  flag_persistent = 2,   ///< started from a prepared request
  flag_in_place = 4,     ///< input and output are one buffer
  flag_no_position = 8,  ///< nothing to do (zero elements, group of one): takes no position
  flag_strict_mode = 16, ///< blocking and non-blocking forms do not match each other (MPI 3.1 §5.12)
  flag_dims_cut = 32,    ///< a dimension was above 2^32-1 and is stored as 2^32-1
  flag_synchronous = 64, ///< send that waits for its receiver by definition (MPI_Ssend)
  flag_buffered = 128,   ///< send that never waits (MPI_Bsend)
};

/// Arguments of one call. Ranks are positions in the group (0 … size-1), as the libraries pass them.
struct call_desc {
  op_kind op = op_kind::none;
  dtype type = dtype::none;
  redop reduce = redop::none;
  std::uint8_t flags = 0;         ///< call_flag bits
  std::uint8_t dim_count = 0;     ///< 0: a scalar, or a flat buffer whose shape is not known (see has_dims)
  bool has_dims = false;          ///< dims were given by the program (DT_SHAPED, a tensor type)
  std::uint16_t group = 0;        ///< slot of the group in this rank's group table
  std::uint32_t element_size = 0; ///< bytes of one element
  std::int32_t root = no_rank;    ///< root, or the peer of a send or receive
  std::int32_t tag = 0;
  std::uint32_t stream = 0; ///< 0: the host waits; else an id of the stream within this rank
  std::uint64_t count = 0;  ///< elements that this rank passes (see docs/FORMAT.md for each op)
  std::uint32_t dims[max_dims] = {};
  std::uint64_t label = 0; ///< hash_string of the label, 0 without one
  const char *label_text = nullptr;
  const std::int64_t *splits = nullptr;      ///< `_v` ops: elements per member sent, `split_count` of them, or null
  const std::int64_t *recv_splits = nullptr; ///< `_v` ops: elements per member received, or null
  std::uint32_t split_count = 0;
};

} // namespace DTDEBUG_ABI
} // namespace dtdebug
