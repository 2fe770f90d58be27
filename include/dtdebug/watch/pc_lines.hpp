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

/// Where an address was resolved to before: a diagnosis every tick must not start a process every tick.
inline std::map<std::pair<std::string, std::uint64_t>, model::site> &line_cache() {
  static auto *cache = new std::map<std::pair<std::string, std::uint64_t>, model::site>; // leaky: used until the very end
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

inline void ask_addr2line(const std::string &module, const std::vector<std::uint64_t> &offsets) {
  std::string command = "addr2line -f -C -e " + quoted(module);
  for (const std::uint64_t offset : offsets) {
    char text[24];
    std::snprintf(text, sizeof text, " 0x%llx", static_cast<unsigned long long>(offset));
    command += text;
  }
  std::FILE *pipe = ::popen((command + " 2>/dev/null").c_str(), "re");
  for (const std::uint64_t offset : offsets) {
    model::site found;
    char function[4096];
    char place[4096];
    if (pipe != nullptr && std::fgets(function, sizeof function, pipe) != nullptr &&
        std::fgets(place, sizeof place, pipe) != nullptr) {
      const std::string line = place;
      const std::size_t colon = line.rfind(':');
      const unsigned long number = colon != std::string::npos ? std::strtoul(line.c_str() + colon + 1, nullptr, 10) : 0;
      found.function = std::string(function).substr(0, std::string(function).find('\n'));
      if (found.function == "??") {
        found.function.clear();
      }
      if (number > 0) {
        found.file = line.substr(0, colon);
        found.line = static_cast<std::uint32_t>(number);
      }
    }
    line_cache()[{module, offset}] = found;
  }
  if (pipe != nullptr) {
    ::pclose(pipe);
  }
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
      const model::site &found = detail::line_cache()[{module->path, site.pc - 1 - module->base}];
      site.file = found.file;
      site.line = found.line;
      site.function = found.function;
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
  for (model::thread_state &thread : threads) {
    std::size_t own = 0;
    for (std::size_t i = 0; i < thread.stack.size(); ++i) {
      model::frame &frame = thread.stack[i];
      if (const loaded_module *module = module_of(modules, frame.address - 1)) {
        const model::site &found = detail::line_cache()[{module->path, frame.address - 1 - module->base}];
        frame.function = found.function;
        frame.file = found.file;
        frame.line = found.line;
        frame.module = module->path;
      }
      if (i < 6 && frame.function.find("dtdebug::") != std::string::npos &&
          frame.function.find("stacks::detail::on_capture_signal") != std::string::npos) {
        own = i + 2; // the handler, and the trampoline by which the kernel entered it
      }
    }
    thread.stack.erase(thread.stack.begin(), thread.stack.begin() + static_cast<std::ptrdiff_t>(std::min(own, thread.stack.size())));
  }
}

} // namespace watch
} // namespace DTDEBUG_ABI
} // namespace dtdebug
