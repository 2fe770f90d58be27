// The public macros, on. `off.hpp` has the same names with the same arities; a test compares the two lists.
#pragma once

#include <dtdebug/record/breadcrumbs.hpp>
#include <dtdebug/record/invoke.hpp>
#include <dtdebug/record/shaped.hpp>

/// A static call_site of the line in which the macro stands. The lambda captures nothing, so that arguments of any
/// kind (structured bindings, template commas) stay outside of it.
#define DT_DETAIL_SITE(text)                                                                                           \
  ([]() noexcept -> ::dtdebug::call_site & {                                                                           \
    static ::dtdebug::call_site here{__FILE__, __LINE__, text};                                                        \
    return here;                                                                                                       \
  }())

/// Starts the session of this process; see dtdebug::start. A statement.
#define DT_START(...) ::dtdebug::start(__VA_ARGS__)

/// Calls `function(arguments…)` under a guard and is its result. A function without an adapter does not compile.
#define DT_COLLECTIVE(function, ...)                                                                                   \
  (::dtdebug::record::invoke<&function>(DT_DETAIL_SITE(#function), __func__, __VA_ARGS__))

/// A pointer that carries a label and a shape into the record: DT_SHAPED(ptr, rows, cols) or DT_SHAPED(ptr, "w", rows).
#define DT_SHAPED(pointer, ...) (::dtdebug::shaped((pointer), __VA_ARGS__))

/// Names a communicator in reports.
#define DT_GROUP(communicator, ...) ::dtdebug::name_group((communicator), __VA_ARGS__)

/// Breadcrumbs: step, phase, decision.
#define DT_STEP(number) ::dtdebug::step(static_cast<unsigned long long>(number))
#define DT_PHASE(name) ::dtdebug::phase(name)
#define DT_DECISION(name, value) ::dtdebug::decision((name), (value))
