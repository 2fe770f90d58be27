// What a call works on: element type, count, shape, label. The data itself is never touched.
//
// Shared by both modes: off, descriptions are only type-checked. So nothing here has state, and includes stay few.
#pragma once

#include <dtdebug/core/call_desc.hpp>
#include <dtdebug/core/natural.hpp>

#include <cstddef>

namespace dtdebug {
inline namespace DTDEBUG_ABI {

/// Customisation point: element type of `Element`. What is not known is `user`, of which only the size is compared.
template <typename Element>
struct dtype_of {
  static constexpr dtype value = dtype::user;
};
template <>
struct dtype_of<void> {
  static constexpr dtype value = dtype::none;
};
template <typename Element>
struct dtype_of<const Element> : dtype_of<Element> {};

namespace detail {

constexpr dtype integer_type(std::size_t bytes, bool is_signed) noexcept {
  return bytes == 1   ? (is_signed ? dtype::i8 : dtype::u8)
         : bytes == 2 ? (is_signed ? dtype::i16 : dtype::u16)
         : bytes == 4 ? (is_signed ? dtype::i32 : dtype::u32)
                      : (is_signed ? dtype::i64 : dtype::u64);
}

} // namespace detail

#define DT_DETAIL_DTYPE_OF(element, is)                                                                                \
  template <>                                                                                                          \
  struct dtype_of<element> {                                                                                           \
    static constexpr dtype value = is;                                                                                 \
  };
DT_DETAIL_DTYPE_OF(char, (detail::integer_type(1, static_cast<char>(-1) < 0)))
DT_DETAIL_DTYPE_OF(signed char, dtype::i8)
DT_DETAIL_DTYPE_OF(unsigned char, dtype::u8)
DT_DETAIL_DTYPE_OF(short, dtype::i16)
DT_DETAIL_DTYPE_OF(unsigned short, dtype::u16)
DT_DETAIL_DTYPE_OF(int, dtype::i32)
DT_DETAIL_DTYPE_OF(unsigned, dtype::u32)
DT_DETAIL_DTYPE_OF(long, (detail::integer_type(sizeof(long), true)))
DT_DETAIL_DTYPE_OF(unsigned long, (detail::integer_type(sizeof(long), false)))
DT_DETAIL_DTYPE_OF(long long, dtype::i64)
DT_DETAIL_DTYPE_OF(unsigned long long, dtype::u64)
DT_DETAIL_DTYPE_OF(bool, dtype::boolean)
DT_DETAIL_DTYPE_OF(std::byte, dtype::u8)
DT_DETAIL_DTYPE_OF(float, dtype::f32)
DT_DETAIL_DTYPE_OF(double, dtype::f64)
DT_DETAIL_DTYPE_OF(long double, dtype::f80)
#undef DT_DETAIL_DTYPE_OF

/// Customisation point: `static buffer of(const Tensor &)` for a tensor type. There are specialisations for numbers,
/// arrays, and everything with data() and size().
template <typename Tensor, typename = void>
struct describe;

/// One rank's part of a call. Copies no data; `label` must live until the call begins.
struct buffer {
  dtype type = dtype::none;
  std::uint32_t element_size = 0;
  std::uint64_t count = 0;
  const char *label = nullptr;
  bool has_dims = false;
  bool dims_cut = false;
  std::uint8_t dim_count = 0;
  std::uint32_t dims[max_dims] = {};

  constexpr buffer() noexcept = default;
  /// `count` elements at an address of any memory, host or device.
  template <typename Element>
  constexpr buffer(const Element *, natural elements) noexcept
      : type(dtype_of<Element>::value), element_size(sizeof(Element)), count(elements.value) {
    static_assert(dtype_of<Element>::value != dtype::none, "the elements of a void * have no type: pass a dtype");
  }
  /// An address without a type. `element_bytes` is needed for dtype::user and dtype::pair alone.
  constexpr buffer(const void *, natural elements, dtype of, std::uint32_t element_bytes = 0) noexcept
      : type(of), element_size(element_bytes != 0 ? element_bytes : size_of(of)), count(elements.value) {}
  /// A tensor of the program: what describe<Tensor> says of it.
  template <typename Tensor, typename = decltype(describe<Tensor>::of)>
  constexpr buffer(const Tensor &tensor) noexcept : buffer(describe<Tensor>::of(tensor)) {}

  /// The same with a label: what the data means ("layer3.weight").
  constexpr buffer named(const char *what) const noexcept {
    buffer same = *this;
    same.label = what;
    return same;
  }
  /// The same with a shape; at most 8 dims.
  template <typename... Dims>
  constexpr buffer shaped(Dims... sizes) const noexcept {
    static_assert(sizeof...(Dims) <= max_dims, "a shape has at most 8 dimensions");
    buffer same = *this;
    same.has_dims = true;
    same.dim_count = static_cast<std::uint8_t>(sizeof...(Dims));
    const std::uint64_t all[] = {natural(sizes).value..., 0};
    for (std::size_t i = 0; i < sizeof...(Dims); ++i) {
      same.dims_cut = same.dims_cut || all[i] > UINT32_MAX;
      same.dims[i] = all[i] > UINT32_MAX ? UINT32_MAX : static_cast<std::uint32_t>(all[i]);
    }
    return same;
  }
};

/// A tensor from its address and dims: its count is their product.
template <typename Element, typename... Dims>
constexpr buffer tensor(const Element *data, Dims... dims) noexcept {
  return buffer(data, (std::uint64_t{1} * ... * natural(dims).value)).shaped(dims...);
}

namespace detail {

template <typename...>
struct make_void {
  using type = void;
};
template <bool Condition>
struct void_if {};
template <>
struct void_if<true> {
  using type = void;
};
template <typename T>
T &some() noexcept; // declared only: for decltype
template <typename Element>
Element element_at(const Element *) noexcept; // likewise

} // namespace detail

/// A number.
template <typename Number>
struct describe<Number, typename detail::void_if<dtype_of<Number>::value != dtype::user && !__is_class(Number)>::type> {
  static constexpr buffer of(const Number &one) noexcept { return {&one, 1}; }
};
template <typename Element, std::size_t Size>
struct describe<Element[Size], void> {
  static constexpr buffer of(const Element (&all)[Size]) noexcept { return {&all[0], Size}; }
};
/// std::vector, std::array, std::span and their like.
template <typename Container>
struct describe<Container, typename detail::make_void<decltype(buffer(detail::some<const Container>().data(),
                                                                      detail::some<const Container>().size()))>::type> {
  static constexpr buffer of(const Container &all) noexcept { return {all.data(), all.size()}; }
};

} // namespace DTDEBUG_ABI
} // namespace dtdebug
