// In which fields two calls differ, as far as the members of one call should agree in them.
#pragma once

#include <dtdebug/core/call_desc.hpp>
#include <dtdebug/model/snapshot.hpp>

#include <string>
#include <vector>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace diagnose {

/// Set of fields, lowest bit first in the order in which they name the kind of a verdict.
using field_set = unsigned;
inline constexpr field_set field_op = 1;
inline constexpr field_set field_dtype = 2;
inline constexpr field_set field_count = 4;
inline constexpr field_set field_redop = 8;
inline constexpr field_set field_root = 16;
inline constexpr field_set field_shape = 32;
inline constexpr field_set field_splits = 64;
inline constexpr field_set field_label = 128;

inline std::vector<std::string> field_names(field_set fields) {
  constexpr const char *names[] = {"op", "dtype", "count", "redop", "root", "shape", "splits", "label"};
  std::vector<std::string> out;
  for (unsigned bit = 0; bit < 8; ++bit) {
    if ((fields >> bit & 1U) != 0) {
      out.emplace_back(names[bit]);
    }
  }
  return out;
}

/// Kind of verdict for calls that differ in `fields`. A label alone shows that the same buffers came in another order.
inline const char *mismatch_kind(field_set fields) {
  return (fields & field_op) != 0      ? "op_mismatch"
         : (fields & field_dtype) != 0 ? "dtype_mismatch"
         : (fields & field_count) != 0 ? "count_mismatch"
         : (fields & field_redop) != 0 ? "redop_mismatch"
         : (fields & field_root) != 0  ? "root_mismatch"
         : (fields & field_shape) != 0 ? "shape_mismatch"
                                       : "order_mismatch";
}

/// Bytes whose type says nothing about their meaning.
constexpr bool is_raw(dtype type) noexcept {
  return type == dtype::u8 || type == dtype::user || type == dtype::pair || type == dtype::none;
}

/// Fields in which the calls of two members at one position, or the two ends of a message, differ; 0 if they agree.
inline field_set differing(const model::call &a, const model::call &b) {
  const unsigned char modes = static_cast<unsigned char>(a.flags & b.flags);
  if (!is_point_to_point(a.op)) {
    if (a.op != b.op || ((modes & flag_strict_mode) != 0 && ((a.flags ^ b.flags) & flag_nonblocking) != 0)) {
      return field_op;
    }
  }
  field_set out = 0;
  if (!carries_no_data(a.op)) {
    const bool raw = !is_reduction(a.op) && a.bytes() == b.bytes() && (is_raw(a.type) || is_raw(b.type));
    const bool uneven = is_uneven(a.op);
    if (!raw && (a.type != b.type || a.element_size != b.element_size) &&
        !(uneven && (is_raw(a.type) || is_raw(b.type)))) {
      out |= field_dtype;
    }
    if (!uneven) {
      out |= !raw && a.count != b.count ? field_count : 0U;
      out |= a.count == b.count && a.has_dims && b.has_dims && a.dims != b.dims ? field_shape : 0U;
    }
    out |= is_reduction(a.op) && a.reduce != b.reduce ? field_redop : 0U;
    out |= is_rooted(a.op) && a.root != b.root ? field_root : 0U;
  }
  out |= !a.label.empty() && !b.label.empty() && a.label != b.label ? field_label : 0U;
  return out;
}

/// True when two calls are the same call as far as a sequence of calls can be lined up by it. A hole in the records
/// (null) is like anything.
inline bool alike(const model::call *a, const model::call *b) {
  return a == nullptr || b == nullptr || (differing(*a, *b) & ~field_shape) == 0;
}

/// True when members that differ in `fields` wait for each other for ever; otherwise the call returns, with wrong data.
inline bool blocks(field_set fields, const model::call &a, const model::call &b) {
  const field_set hard = field_op | field_redop | field_root | field_splits;
  if ((fields & hard) != 0) {
    return true;
  }
  return is_reduction(a.op) ? (fields & (field_dtype | field_count)) != 0
                            : !is_uneven(a.op) && (fields & (field_dtype | field_count)) != 0 && a.bytes() != b.bytes();
}

} // namespace diagnose
} // namespace DTDEBUG_ABI
} // namespace dtdebug
