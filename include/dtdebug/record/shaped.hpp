// A pointer that carries a label and a shape to the recorder of the call it is an argument of.
#pragma once

#include <dtdebug/core/natural.hpp>
#include <dtdebug/record/session.hpp>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace record {

/// Label and dims for the next call of this thread. Taken, and thereby cleared, by the adapter of that call.
struct annotation {
  const char *label = nullptr;
  bool has_dims = false;
  std::uint8_t dim_count = 0;
  bool dims_cut = false;
  std::uint32_t dims[max_dims] = {};
};

inline thread_local annotation next_call_annotation{};

/// Moves the annotation of the calling thread into `call`. ~2 ns.
inline void take_annotation(call_desc &call) noexcept {
  annotation &note = next_call_annotation;
  if (note.label == nullptr && !note.has_dims) {
    return;
  }
  call.label_text = note.label;
  call.label = hash_string(note.label);
  call.has_dims = note.has_dims;
  call.dim_count = note.dim_count;
  if (note.dims_cut) {
    call.flags = static_cast<std::uint8_t>(call.flags | flag_dims_cut);
  }
  std::memcpy(call.dims, note.dims, sizeof call.dims);
  note = annotation{};
}

} // namespace record

/// Returns `pointer`; notes that the call it is passed to works on data of this shape (at most 8 dims). The label must
/// live until that call begins. ~2 ns, nothing at level off.
template <typename Pointer, typename... Dims>
Pointer shaped(Pointer pointer, Dims... dims) noexcept {
  static_assert(sizeof...(Dims) <= max_dims, "DT_SHAPED takes at most 8 dimensions");
  if (record::recording()) {
    record::annotation &note = record::next_call_annotation;
    note.has_dims = sizeof...(Dims) > 0;
    note.dim_count = static_cast<std::uint8_t>(sizeof...(Dims));
    [[maybe_unused]] unsigned at = 0;
    [[maybe_unused]] const auto put = [&note, &at](std::uint64_t dim) {
      note.dims_cut = note.dims_cut || dim > UINT32_MAX;
      note.dims[at++] = dim > UINT32_MAX ? UINT32_MAX : static_cast<std::uint32_t>(dim);
    };
    (put(natural(dims).value), ...);
  }
  return pointer;
}
template <typename Pointer, typename... Dims>
Pointer shaped(Pointer pointer, const char *label, Dims... dims) noexcept {
  Pointer same = shaped(pointer, dims...);
  if (record::recording()) {
    record::next_call_annotation.label = label;
  }
  return same;
}

} // namespace DTDEBUG_ABI
} // namespace dtdebug
