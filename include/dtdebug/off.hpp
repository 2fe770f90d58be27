// The public macros, off: nothing is left of them, yet their arguments are still type-checked, by the same rules.
//
// The functions below have the signatures of those that are on, and do nothing. A macro names one in the branch of a
// conditional that is never taken: no evaluation, no symbol, no warning about a variable that is used in it alone.
#pragma once

#if !defined(DTDEBUG) // a source that includes this file by hand while dtdebug is on

#include <dtdebug/core/macro_arguments.hpp>
#include <dtdebug/core/natural.hpp>
#include <dtdebug/record/description.hpp>

namespace dtdebug {
inline namespace DTDEBUG_ABI {

inline void step(natural) noexcept {}
inline void phase(const char *) noexcept {}
inline void decision(const char *, long long) noexcept {}
inline void decision(const char *, unsigned long long) noexcept {}
inline void decision(const char *, int) noexcept {}
inline void decision(const char *, long) noexcept {}
inline void decision(const char *, unsigned) noexcept {}
inline void decision(const char *, unsigned long) noexcept {}
inline void decision(const char *, const char *) noexcept {}
inline void fact(const char *, const char *) noexcept {}
inline void swallowed_error(const char *) noexcept {}
inline void diagnose_now(const char * = "") noexcept {}

template <typename... Ranks>
void name_group(const char *, const char *, Ranks... ranks) noexcept {
  static_cast<void>((natural(ranks).value + ... + 0));
}

template <typename Pointer, typename... Dims>
constexpr Pointer shaped(Pointer pointer, Dims... dims) noexcept {
  static_assert(sizeof...(Dims) <= max_dims, "DT_SHAPED takes at most 8 dimensions");
  static_cast<void>((natural(dims).value + ... + 0));
  return pointer;
}
template <typename Pointer, typename... Dims>
constexpr Pointer shaped(Pointer pointer, const char *, Dims... dims) noexcept {
  return shaped(pointer, dims...);
}

namespace detail {
constexpr void check_scope(const description &) noexcept {}
} // namespace detail

} // namespace DTDEBUG_ABI
} // namespace dtdebug

#define DT_DETAIL_OFF(call) (false ? call : static_cast<void>(0))

#define DT_START(...) DT_DETAIL_OFF(::dtdebug::start(__VA_ARGS__))
#define DT_COLLECTIVE(...) DT_DETAIL_JOIN(DT_DETAIL_COLLECTIVE_, DT_DETAIL_ONE_OR_MANY(__VA_ARGS__))(__VA_ARGS__)
#define DT_DETAIL_COLLECTIVE_ONE(function) function()
#define DT_DETAIL_COLLECTIVE_MANY(function, ...) function(__VA_ARGS__)
#define DT_SCOPE_COLLECTIVE(...)                                                                                       \
  do {                                                                                                                 \
    DT_DETAIL_OFF(::dtdebug::detail::check_scope(__VA_ARGS__));                                                        \
  } while (false)
#define DT_SHAPED(pointer, ...) (false ? ::dtdebug::shaped((pointer), __VA_ARGS__) : (pointer))
#define DT_GROUP(communicator, ...) DT_DETAIL_OFF(::dtdebug::name_group((communicator), __VA_ARGS__))
#define DT_STEP(number) DT_DETAIL_OFF(::dtdebug::step(number))
#define DT_PHASE(name) DT_DETAIL_OFF(::dtdebug::phase(name))
#define DT_DECISION(name, value) DT_DETAIL_OFF(::dtdebug::decision((name), (value)))
#define DT_DIAGNOSE(reason) DT_DETAIL_OFF(::dtdebug::diagnose_now(reason))

#endif
