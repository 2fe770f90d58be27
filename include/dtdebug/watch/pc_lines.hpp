// Fills functions and lines into a snapshot that knows them by address alone.
#pragma once

#include <dtdebug/model/snapshot.hpp>
#include <dtdebug/stacks/resolver.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace watch {

using stacks::loaded_module;

/// Call sites. The address is that of the instruction after the call: one byte less is inside the call.
inline void resolve_sites(std::vector<model::site> &sites, const std::vector<loaded_module> &modules) {
  std::vector<std::uint64_t> addresses;
  for (const model::site &site : sites) {
    if (site.pc != 0 && !site.known()) {
      addresses.push_back(site.pc - 1);
    }
  }
  stacks::resolver &all = stacks::the_resolver();
  all.resolve(addresses, modules);
  for (model::site &site : sites) {
    if (site.pc != 0 && !site.known()) {
      const stacks::inline_chain &chain = all.at(site.pc - 1, modules);
      if (!chain.empty()) {
        site.file = chain.front().file;
        site.line = chain.front().line;
        site.function = chain.front().function;
      }
    }
  }
}

namespace detail {

inline bool is_capture_handler(const model::frame &frame) {
  return frame.function.find("on_capture_signal") != std::string::npos ||
         frame.function.find("on_fatal_signal") != std::string::npos ||
         frame.function.find("safe_dump_to") != std::string::npos;
}

/// One frame per function, inlined ones included. The frames of the capturing handler are cut off: a stack begins
/// where the thread was.
inline std::vector<model::frame> resolved(const std::vector<model::frame> &raw,
                                          const std::vector<loaded_module> &modules) {
  constexpr std::size_t deepest_handler = 6;
  std::vector<model::frame> stack;
  std::size_t trampoline = 0; // index of the frame by which the kernel entered the handler
  for (std::size_t i = 0; i < raw.size(); ++i) {
    model::frame frame = raw[i];
    const loaded_module *module = stacks::module_of(modules, frame.address - 1);
    frame.module = module != nullptr ? module->path : "";
    frame.offset = module != nullptr ? frame.address - module->base : frame.address;
    const std::size_t first = stack.size();
    for (const model::site &found : stacks::the_resolver().at(frame.address - 1, modules)) {
      frame.function = found.function;
      frame.file = found.file;
      frame.line = found.line;
      stack.push_back(frame);
    }
    if (stack.size() == first) {
      stack.push_back(frame);
    }
    if (i < deepest_handler &&
        std::any_of(stack.begin() + static_cast<std::ptrdiff_t>(first), stack.end(), is_capture_handler)) {
      trampoline = i + 1;
    }
    if (i == trampoline && trampoline != 0) {
      stack.clear();
    }
  }
  return stack;
}

} // namespace detail

/// Captured stacks of threads.
inline void resolve_stacks(std::vector<model::thread_state> &threads, const std::vector<loaded_module> &modules) {
  std::vector<std::uint64_t> addresses;
  for (const model::thread_state &thread : threads) {
    for (const model::frame &frame : thread.stack) {
      addresses.push_back(frame.address - 1);
    }
  }
  stacks::the_resolver().resolve(addresses, modules);
  for (model::thread_state &thread : threads) {
    thread.stack = detail::resolved(thread.stack, modules);
  }
}

} // namespace watch
} // namespace DTDEBUG_ABI
} // namespace dtdebug
