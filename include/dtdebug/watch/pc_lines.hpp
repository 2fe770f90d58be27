// Source lines of return addresses, by one run of addr2line per module. For reports; never near the hot path.
#pragma once

#include <dtdebug/model/snapshot.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace watch {

struct loaded_module {
  std::uint64_t base = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::string path;
};

namespace detail {

/// Where an address was resolved to before, inlined functions first: a look every tick must not start a process every
/// tick.
using inline_chain = std::vector<model::site>;
inline std::map<std::pair<std::string, std::uint64_t>, inline_chain> &line_cache() {
  static auto *cache =
      new std::map<std::pair<std::string, std::uint64_t>, inline_chain>; // leaky: used until the very end
  return *cache;
}

/// Quotes a path for the shell.
inline std::string quoted(const std::string &path) {
  std::string out = "'";
  for (const char c : path) {
    out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return out + "'";
}

/// Next line of the pipe without its newline; false at the end.
inline bool next_line(std::FILE *pipe, std::string &line) {
  char buffer[4096];
  line.clear();
  while (std::fgets(buffer, sizeof buffer, pipe) != nullptr) {
    line += buffer;
    if (line.back() == '\n') {
      line.pop_back();
      return true;
    }
  }
  return !line.empty();
}

/// One run of addr2line. With -a it prints each address before what it found there, with -i a pair of lines for each
/// inlined function, innermost first.
inline void ask_addr2line(const std::string &module, const std::vector<std::uint64_t> &offsets) {
  std::string command = "addr2line -a -i -f -C -e " + quoted(module);
  for (const std::uint64_t offset : offsets) {
    char text[24];
    std::snprintf(text, sizeof text, " 0x%llx", static_cast<unsigned long long>(offset));
    command += text;
    line_cache()[{module, offset}]; // known from now on, even if nothing is found
  }
  std::FILE *pipe = ::popen((command + " 2>/dev/null").c_str(), "re");
  if (pipe == nullptr) {
    return;
  }
  inline_chain *chain = nullptr;
  std::string line;
  std::string place;
  while (next_line(pipe, line)) {
    if (line.compare(0, 2, "0x") == 0) {
      chain = &line_cache()[{module, std::strtoull(line.c_str(), nullptr, 16)}];
      continue;
    }
    if (!next_line(pipe, place) || chain == nullptr) {
      break;
    }
    model::site found;
    found.function = line == "??" ? "" : line;
    const std::size_t colon = place.rfind(':');
    const unsigned long number = colon != std::string::npos ? std::strtoul(place.c_str() + colon + 1, nullptr, 10) : 0;
    if (number > 0) {
      found.file = place.substr(0, colon);
      found.line = static_cast<std::uint32_t>(number);
    }
    if (!found.function.empty() || number > 0) {
      chain->push_back(std::move(found));
    }
  }
  ::pclose(pipe);
}

} // namespace detail

inline const loaded_module *module_of(const std::vector<loaded_module> &modules, std::uint64_t pc) {
  const auto found = std::find_if(modules.begin(), modules.end(),
                                  [pc](const loaded_module &module) { return pc >= module.begin && pc < module.end; });
  return found != modules.end() ? &*found : nullptr;
}

/// Resolves `addresses` into the cache: one process per module, and none for what is known.
inline void resolve(const std::vector<std::uint64_t> &addresses, const std::vector<loaded_module> &modules) {
  std::map<std::string, std::vector<std::uint64_t>> wanted;
  for (const std::uint64_t address : addresses) {
    const loaded_module *module = module_of(modules, address);
    if (module != nullptr && detail::line_cache().count({module->path, address - module->base}) == 0) {
      std::vector<std::uint64_t> &offsets = wanted[module->path];
      if (std::find(offsets.begin(), offsets.end(), address - module->base) == offsets.end()) {
        offsets.push_back(address - module->base);
      }
    }
  }
  for (const auto &[module, offsets] : wanted) {
    detail::ask_addr2line(module, offsets);
  }
}

/// Fills in file, line and function of sites that are known by address alone, as far as the modules have debug info.
/// The address is that of the instruction after the call: one byte less is inside the call.
inline void resolve_sites(std::vector<model::site> &sites, const std::vector<loaded_module> &modules) {
  std::vector<std::uint64_t> addresses;
  for (const model::site &site : sites) {
    if (site.pc != 0 && !site.known()) {
      addresses.push_back(site.pc - 1);
    }
  }
  resolve(addresses, modules);
  for (model::site &site : sites) {
    const loaded_module *module = site.pc != 0 && !site.known() ? module_of(modules, site.pc) : nullptr;
    if (module != nullptr) {
      const detail::inline_chain &chain = detail::line_cache()[{module->path, site.pc - 1 - module->base}];
      if (!chain.empty()) {
        site.file = chain.front().file;
        site.line = chain.front().line;
        site.function = chain.front().function;
      }
    }
  }
}

/// The same for captured stacks. The frames of the capturing handler itself are cut off: a stack begins where the
/// thread was.
inline void resolve_stacks(std::vector<model::thread_state> &threads, const std::vector<loaded_module> &modules) {
  std::vector<std::uint64_t> addresses;
  for (const model::thread_state &thread : threads) {
    for (const model::frame &frame : thread.stack) {
      addresses.push_back(frame.address - 1);
    }
  }
  resolve(addresses, modules);
  const auto is_handler = [](const model::frame &frame) {
    return frame.function.find("on_capture_signal") != std::string::npos ||
           frame.function.find("safe_dump_to") != std::string::npos;
  };
  for (model::thread_state &thread : threads) {
    std::vector<model::frame> resolved;
    std::size_t below_handler = 0;
    for (std::size_t i = 0; i < thread.stack.size(); ++i) {
      model::frame frame = thread.stack[i];
      const loaded_module *module = module_of(modules, frame.address - 1);
      frame.module = module != nullptr ? module->path : "";
      const std::size_t first = resolved.size();
      if (module != nullptr) {
        for (const model::site &found : detail::line_cache()[{module->path, frame.address - 1 - module->base}]) {
          frame.function = found.function;
          frame.file = found.file;
          frame.line = found.line;
          resolved.push_back(frame);
        }
      }
      if (resolved.size() == first) {
        resolved.push_back(frame);
      }
      if (i < 6 && std::any_of(resolved.begin() + static_cast<std::ptrdiff_t>(first), resolved.end(), is_handler)) {
        below_handler = i + 1; // the frame below it is the trampoline by which the kernel entered the handler
      }
      if (i == below_handler && below_handler != 0) {
        resolved.clear();
      }
    }
    thread.stack = std::move(resolved);
  }
}

} // namespace watch
} // namespace DTDEBUG_ABI
} // namespace dtdebug
