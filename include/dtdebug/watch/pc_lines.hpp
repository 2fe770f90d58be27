// Source lines of return addresses, by one run of addr2line per module. For reports; never near the hot path.
#pragma once

#include <dtdebug/model/snapshot.hpp>

#include <cstdio>
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

/// Fills in file, line and function of sites that are known by address alone, as far as the modules have debug info.
/// The address is that of the instruction after the call: one byte less is inside the call.
inline void resolve_sites(std::vector<model::site> &sites, const std::vector<loaded_module> &modules) {
  std::map<std::string, std::vector<std::uint64_t>> wanted;
  const auto module_of = [&modules](std::uint64_t pc) -> const loaded_module * {
    for (const loaded_module &module : modules) {
      if (pc >= module.begin && pc < module.end) {
        return &module;
      }
    }
    return nullptr;
  };
  for (const model::site &site : sites) {
    const loaded_module *module = site.pc != 0 && !site.known() ? module_of(site.pc) : nullptr;
    if (module != nullptr && detail::line_cache().count({module->path, site.pc - 1 - module->base}) == 0) {
      wanted[module->path].push_back(site.pc - 1 - module->base);
    }
  }
  for (const auto &[module, offsets] : wanted) {
    detail::ask_addr2line(module, offsets);
  }
  for (model::site &site : sites) {
    const loaded_module *module = site.pc != 0 && !site.known() ? module_of(site.pc) : nullptr;
    if (module != nullptr) {
      const model::site &found = detail::line_cache()[{module->path, site.pc - 1 - module->base}];
      site.file = found.file;
      site.line = found.line;
      site.function = found.function;
    }
  }
}

} // namespace watch
} // namespace DTDEBUG_ABI
} // namespace dtdebug
