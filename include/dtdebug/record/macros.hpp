// The public macros, on. `off.hpp` has the same names with the same arities; a test compares the two lists.
#pragma once

#include <dtdebug/core/macro_arguments.hpp>
#include <dtdebug/record/breadcrumbs.hpp>
#include <dtdebug/record/diagnose_request.hpp>
#include <dtdebug/record/invoke.hpp>
#include <dtdebug/record/named_groups.hpp>
#include <dtdebug/record/scope.hpp>
#include <dtdebug/record/shaped.hpp>

/// A static call_site of the line in which the macro stands. The lambda captures nothing, so that arguments of any
/// kind (structured bindings, template commas) stay outside of it.
#define DT_DETAIL_SITE(text)                                                                                           \
  ([]() noexcept -> ::dtdebug::call_site & {                                                                           \
    static ::dtdebug::call_site here{__FILE__, __LINE__, text};                                                        \
    return here;                                                                                                       \
  }())

/// Starts the session of this process; see dtdebug::start, which <dtdebug/dtdebug.hpp> brings.
#define DT_START(...) ::dtdebug::start(__VA_ARGS__)

/// Calls `function(arguments…)` under a guard and is its result. A function without an adapter does not compile.
#define DT_COLLECTIVE(...) DT_DETAIL_JOIN(DT_DETAIL_COLLECTIVE_, DT_DETAIL_ONE_OR_MANY(__VA_ARGS__))(__VA_ARGS__)
#define DT_DETAIL_COLLECTIVE_ONE(function)                                                                             \
  (::dtdebug::record::instrumented<&function>::call(DT_DETAIL_SITE(#function), __func__))
#define DT_DETAIL_COLLECTIVE_MANY(function, ...)                                                                       \
  (::dtdebug::record::instrumented<&function>::call(DT_DETAIL_SITE(#function), __func__, __VA_ARGS__))

/// A guard to the end of the scope around a call that dtdebug has no adapter for, described in its own words:
/// DT_SCOPE_COLLECTIVE(dtdebug::all_reduce("dp", gradient, dtdebug::sum)). A declaration.
#define DT_SCOPE_COLLECTIVE(...)                                                                                       \
  const ::dtdebug::record::scope DT_DETAIL_JOIN(dt_detail_scope_, __LINE__)(DT_DETAIL_SITE(#__VA_ARGS__), __func__,    \
                                                                            __VA_ARGS__)

/// A pointer that carries a label and a shape into the record: DT_SHAPED(ptr, rows, cols) or DT_SHAPED(ptr, "w", rows).
#define DT_SHAPED(pointer, ...) (::dtdebug::shaped((pointer), __VA_ARGS__))

/// Names a communicator in reports, or a group without one: DT_GROUP(comm, "dp"), DT_GROUP("dp", "dp", 0, 2, 4).
#define DT_GROUP(communicator, ...) ::dtdebug::name_group((communicator), __VA_ARGS__)

/// Breadcrumbs: step, phase, decision.
#define DT_STEP(number) ::dtdebug::step(number)
#define DT_PHASE(name) ::dtdebug::phase(name)
#define DT_DECISION(name, value) ::dtdebug::decision((name), (value))

/// Asks for a diagnosis now: DT_DIAGNOSE("loss is NaN").
#define DT_DIAGNOSE(reason) ::dtdebug::diagnose_now(reason)
