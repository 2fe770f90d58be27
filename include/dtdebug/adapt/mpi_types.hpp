// MPI datatypes and reduction operations in the vocabulary of core/.
#pragma once

#include <dtdebug/adapt/mpi_include.hpp>
#include <dtdebug/core/dtype.hpp>

#include <cstdint>
#include <limits>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace adapt::mpi {

/// What one element of an MPI datatype is: `factor` elements of `type`, `size` bytes each.
struct element {
  dtype type = dtype::none;
  std::uint32_t size = 0;
  std::uint64_t factor = 1;
};

namespace detail {

constexpr dtype integer(std::size_t bytes, bool is_signed) noexcept {
  switch (bytes) {
  case 1: return is_signed ? dtype::i8 : dtype::u8;
  case 2: return is_signed ? dtype::i16 : dtype::u16;
  case 4: return is_signed ? dtype::i32 : dtype::u32;
  case 8: return is_signed ? dtype::i64 : dtype::u64;
  default: return dtype::user;
  }
}

template <typename Number>
constexpr dtype integer_of() noexcept {
  return integer(sizeof(Number), std::numeric_limits<Number>::is_signed);
}

inline std::uint32_t bytes_of(MPI_Datatype type) noexcept {
  int bytes = 0;
  return PMPI_Type_size(type, &bytes) == MPI_SUCCESS && bytes > 0 ? static_cast<std::uint32_t>(bytes) : 0U;
}

/// Types of C. `none` for any other.
inline dtype c_type(MPI_Datatype type) noexcept {
  if (type == MPI_FLOAT)
    return dtype::f32;
  if (type == MPI_DOUBLE)
    return dtype::f64;
  if (type == MPI_INT)
    return integer_of<int>();
  if (type == MPI_BYTE || type == MPI_PACKED || type == MPI_UNSIGNED_CHAR)
    return dtype::u8;
  if (type == MPI_CHAR || type == MPI_SIGNED_CHAR)
    return dtype::i8;
  if (type == MPI_LONG_LONG || type == MPI_LONG_LONG_INT)
    return integer_of<long long>();
  if (type == MPI_LONG)
    return integer_of<long>();
  if (type == MPI_UNSIGNED)
    return integer_of<unsigned>();
  if (type == MPI_UNSIGNED_LONG)
    return integer_of<unsigned long>();
  if (type == MPI_UNSIGNED_LONG_LONG)
    return integer_of<unsigned long long>();
  if (type == MPI_SHORT)
    return dtype::i16;
  if (type == MPI_UNSIGNED_SHORT)
    return dtype::u16;
  if (type == MPI_INT8_T)
    return dtype::i8;
  if (type == MPI_INT16_T)
    return dtype::i16;
  if (type == MPI_INT32_T)
    return dtype::i32;
  if (type == MPI_INT64_T)
    return dtype::i64;
  if (type == MPI_UINT8_T)
    return dtype::u8;
  if (type == MPI_UINT16_T)
    return dtype::u16;
  if (type == MPI_UINT32_T)
    return dtype::u32;
  if (type == MPI_UINT64_T)
    return dtype::u64;
  if (type == MPI_LONG_DOUBLE)
    return dtype::f80;
  if (type == MPI_C_BOOL)
    return dtype::boolean;
  if (type == MPI_C_COMPLEX || type == MPI_C_FLOAT_COMPLEX)
    return dtype::c64;
  if (type == MPI_C_DOUBLE_COMPLEX)
    return dtype::c128;
  if (type == MPI_WCHAR)
    return integer_of<wchar_t>();
  if (type == MPI_AINT)
    return integer_of<MPI_Aint>();
  if (type == MPI_OFFSET)
    return integer_of<MPI_Offset>();
  if (type == MPI_COUNT)
    return integer_of<MPI_Count>();
  if (type == MPI_FLOAT_INT || type == MPI_DOUBLE_INT || type == MPI_LONG_INT || type == MPI_2INT ||
      type == MPI_SHORT_INT || type == MPI_LONG_DOUBLE_INT)
    return dtype::pair;
  return dtype::none;
}

/// Types of C++ and Fortran that have a counterpart; those that this MPI was built without are null handles.
inline dtype other_type(MPI_Datatype type) noexcept {
  if (type == MPI_CXX_BOOL)
    return dtype::boolean;
  if (type == MPI_CXX_FLOAT_COMPLEX || type == MPI_COMPLEX)
    return dtype::c64;
  if (type == MPI_CXX_DOUBLE_COMPLEX || type == MPI_DOUBLE_COMPLEX)
    return dtype::c128;
  if (type == MPI_INTEGER || type == MPI_LOGICAL)
    return integer(bytes_of(type), true);
  if (type == MPI_REAL || type == MPI_DOUBLE_PRECISION)
    return bytes_of(type) == 4 ? dtype::f32 : dtype::f64;
  if (type == MPI_CHARACTER)
    return dtype::i8;
  return dtype::none;
}

inline dtype predefined(MPI_Datatype type) noexcept {
  const dtype found = c_type(type);
  return found != dtype::none ? found : other_type(type);
}

/// `count` copies of a predefined type, as MPI_Type_contiguous and MPI_Type_dup make them; one level is looked through.
inline bool look_through(MPI_Datatype type, element &out) noexcept {
  int integers = 0;
  int addresses = 0;
  int types = 0;
  int combiner = 0;
  if (PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner) != MPI_SUCCESS || addresses != 0 ||
      types != 1 || integers > 1 || (combiner != MPI_COMBINER_CONTIGUOUS && combiner != MPI_COMBINER_DUP)) {
    return false;
  }
  int count = 1;
  MPI_Aint no_address = 0;
  MPI_Datatype inner = MPI_DATATYPE_NULL;
  if (PMPI_Type_get_contents(type, integers, 0, 1, &count, &no_address, &inner) != MPI_SUCCESS) {
    return false;
  }
  const dtype found = predefined(inner);
  const std::uint32_t size = bytes_of(inner);
  if (PMPI_Type_get_envelope(inner, &integers, &addresses, &types, &combiner) == MPI_SUCCESS &&
      combiner != MPI_COMBINER_NAMED) {
    PMPI_Type_free(&inner); // get_contents hands out a reference to a type that is not predefined
  }
  if (found == dtype::none || count < 0) {
    return false;
  }
  out = {found, size, static_cast<std::uint64_t>(count)}; // a duplicate has no integers: count is still 1
  return true;
}

} // namespace detail

/// ~5 ns for the types of C, ~100 ns for a derived type. Local to this rank.
inline element element_of(MPI_Datatype type) noexcept {
  element out;
  if (type == MPI_DATATYPE_NULL) {
    return out;
  }
  out.type = detail::predefined(type);
  if (out.type == dtype::none && !detail::look_through(type, out)) {
    out = {dtype::user, detail::bytes_of(type), 1};
  } else if (out.size == 0) {
    out.size = size_of(out.type) != 0 ? size_of(out.type) : detail::bytes_of(type);
  }
  return out;
}

inline redop redop_of(MPI_Op op) noexcept {
  if (op == MPI_SUM)
    return redop::sum;
  if (op == MPI_MAX)
    return redop::max;
  if (op == MPI_MIN)
    return redop::min;
  if (op == MPI_PROD)
    return redop::prod;
  if (op == MPI_LAND)
    return redop::logical_and;
  if (op == MPI_LOR)
    return redop::logical_or;
  if (op == MPI_LXOR)
    return redop::logical_xor;
  if (op == MPI_BAND)
    return redop::bit_and;
  if (op == MPI_BOR)
    return redop::bit_or;
  if (op == MPI_BXOR)
    return redop::bit_xor;
  if (op == MPI_MINLOC)
    return redop::min_loc;
  if (op == MPI_MAXLOC)
    return redop::max_loc;
  if (op == MPI_REPLACE)
    return redop::replace;
  return redop::user;
}

} // namespace adapt::mpi
} // namespace DTDEBUG_ABI
} // namespace dtdebug
