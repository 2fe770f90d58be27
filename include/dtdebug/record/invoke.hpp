// From DT_COLLECTIVE to the adapter of the function that was named.
#pragma once

#include <dtdebug/record/begin_call.hpp>

#include <utility>

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

} // namespace detail

/// Calls `Function(arguments…)` through its adapter, or directly while nothing is recorded.
template <auto Function, typename... Args>
auto invoke(call_site &site, const char *function_name, Args &&...args)
    -> decltype(Function(std::forward<Args>(args)...)) {
  static_assert(
      detail::has_adapter<adapter<Function>>::value,
      "DT_COLLECTIVE: dtdebug has no adapter for this function. Include <dtdebug/mpi.hpp>, <dtdebug/nccl.hpp>, "
      "<dtdebug/cuda.hpp> or <dtdebug/torch.hpp> for its library, or use DT_SCOPE_COLLECTIVE");
  if (!recording()) {
    return Function(std::forward<Args>(args)...);
  }
  const detail::quiet_scope quiet;
  return adapter<Function>::call(id_of(site, function_name), std::forward<Args>(args)...);
}

} // namespace record
} // namespace DTDEBUG_ABI
} // namespace dtdebug
