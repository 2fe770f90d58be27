// From DT_COLLECTIVE to the adapter of the function that was named.
#pragma once

#include <dtdebug/record/begin_call.hpp>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace record {

/// Customisation point: how calls of `Function` are recorded. A specialisation has `static call(std::uint32_t site,
/// arguments…)`, which records, calls, and returns what the function returns.
template <auto Function>
struct adapter {
  static constexpr bool missing = true;
};

namespace detail {

template <typename Adapter, typename = void>
struct has_adapter {
  static constexpr bool value = true;
};
template <typename Adapter>
struct has_adapter<Adapter, decltype(void(Adapter::missing))> {
  static constexpr bool value = false;
};

/// Marks the thread as inside an instrumented call, so that interposed functions below it are not recorded again.
struct quiet_scope {
  quiet_scope() noexcept { ++this_thread_slot.quiet; }
  ~quiet_scope() { --this_thread_slot.quiet; }
  quiet_scope(const quiet_scope &) = delete;
  quiet_scope &operator=(const quiet_scope &) = delete;
};

/// Has the parameters of the function itself, so that arguments convert as in the plain call: a literal 0 or NULL may
/// stand for a pointer, and a wrong type is refused with the message of the plain call.
template <auto Function, typename Result, typename... Parameters>
struct instrumented_call {
  /// Calls `Function(arguments…)` through its adapter, or directly while nothing is recorded.
  static Result call(call_site &site, const char *caller, Parameters... arguments) {
    using how = adapter<Function>;
    static_assert(
        has_adapter<how>::value,
        "DT_COLLECTIVE: dtdebug has no adapter for this function. Include <dtdebug/mpi.hpp>, <dtdebug/nccl.hpp>, "
        "<dtdebug/cuda.hpp> or <dtdebug/torch.hpp> for its library, or use DT_SCOPE_COLLECTIVE");
    if constexpr (has_adapter<how>::value) {
      if (recording()) {
        const quiet_scope quiet;
        return how::call(id_of(site, caller), static_cast<Parameters &&>(arguments)...);
      }
    }
    return Function(static_cast<Parameters &&>(arguments)...);
  }
};

} // namespace detail

/// The call that DT_COLLECTIVE makes of the function it is given.
template <auto Function, typename Signature = decltype(Function)>
struct instrumented {
  template <typename... Arguments>
  static int call(call_site &, const char *, Arguments &&...) {
    static_assert(sizeof...(Arguments) == SIZE_MAX, "DT_COLLECTIVE takes the name of a function with fixed parameters");
    return 0;
  }
};
template <auto Function, typename Result, typename... Parameters>
struct instrumented<Function, Result (*)(Parameters...)> : detail::instrumented_call<Function, Result, Parameters...> {
};
template <auto Function, typename Result, typename... Parameters>
struct instrumented<Function, Result (*)(Parameters...) noexcept>
    : detail::instrumented_call<Function, Result, Parameters...> {};

} // namespace record
} // namespace DTDEBUG_ABI
} // namespace dtdebug
