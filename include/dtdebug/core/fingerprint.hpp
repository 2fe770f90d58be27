// Two hashes of a call: what must agree for it to return, and what is a finding when it differs.
#pragma once

#include <dtdebug/core/call_desc.hpp>
#include <dtdebug/core/hash.hpp>

namespace dtdebug {
inline namespace DTDEBUG_ABI {

/// Hash of just the fields that members of this op must agree on: op, root; bytes of a movement op; dtype, count and
/// reduce op of a reduction; nothing more for a `_v` op, whose pairs are compared in diagnose/.
/// Equal on all ranks exactly when the call can return. ~2 ns, thread- and signal-safe.
constexpr std::uint64_t hard_fingerprint(const call_desc &call) noexcept {
  const auto op = static_cast<std::uint64_t>(call.op);
  const std::uint64_t mode = (call.flags & flag_strict_mode) != 0 ? (call.flags & flag_nonblocking) | 16U : 0U;
  std::uint64_t what = 0;
  if (is_reduction(call.op)) {
    what = mix(call.count, static_cast<std::uint64_t>(call.type) << 8 | static_cast<std::uint64_t>(call.reduce));
    what = is_uneven(call.op) ? static_cast<std::uint64_t>(call.type) << 8 | static_cast<std::uint64_t>(call.reduce)
                              : what;
  } else if (!is_uneven(call.op) && !carries_no_data(call.op)) {
    what = call.count * call.element_size;
  }
  const std::uint64_t root = is_rooted(call.op) ? static_cast<std::uint32_t>(call.root) + 1ULL : 0ULL;
  return mix(what, op | mode << 8 | root << 16);
}

/// Hash of what may differ without stopping the call but is a finding when it does: label, dims, dtype, count.
/// Not compared where a member gave no label or raw bytes: `diagnose/` looks at the fields before it reports.
constexpr std::uint64_t soft_fingerprint(const call_desc &call) noexcept {
  std::uint64_t dims = call.has_dims ? call.dim_count + 1ULL : 0ULL;
  if (call.has_dims && !is_uneven(call.op)) {
    for (int i = 0; i < call.dim_count; ++i) {
      dims = mix(dims, call.dims[i]);
    }
  }
  return mix(call.label, mix(dims, static_cast<std::uint64_t>(call.type)));
}

} // namespace DTDEBUG_ABI
} // namespace dtdebug
