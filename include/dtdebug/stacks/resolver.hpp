// From addresses to functions and lines: the symbol tables of the modules, and their debug info by addr2line.
#pragma once

#include <dtdebug/stacks/elf_symbols.hpp>
#include <dtdebug/stacks/line_helpers.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace stacks {

/// A module of the process whose addresses are resolved, as it was loaded there.
struct loaded_module {
  std::uint64_t base = 0; ///< address less base is what the file's tables speak of
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::string path;
};

inline const loaded_module *module_of(const std::vector<loaded_module> &modules, std::uint64_t pc) {
  const auto found = std::find_if(modules.begin(), modules.end(),
                                  [pc](const loaded_module &module) { return pc >= module.begin && pc < module.end; });
  return found != modules.end() ? &*found : nullptr;
}

/// Remembers every answer: a look every tick must not ask every tick. For reports; never near the hot path. One thread.
class resolver {
public:
  /// How long one `resolve` may wait for lines. On a machine whose cores all spin, reading debug info takes a second.
  static constexpr std::uint64_t deadline_ns = 3'000'000'000;

  /// Starts to read the debug info of the module that holds `pc`, for a question that is about to come.
  void warm_up(std::uint64_t pc, const std::vector<loaded_module> &modules) {
    const loaded_module *module = module_of(modules, pc);
    if (module != nullptr && symbols_of(module->path).has_lines()) {
      lines_.warm_up(module->path, pc - module->base);
    }
  }

  /// Looks all `addresses` up; afterwards `at` knows them.
  void resolve(const std::vector<std::uint64_t> &addresses, const std::vector<loaded_module> &modules) {
    std::map<std::string, std::vector<std::uint64_t>> unknown;
    for (const std::uint64_t address : addresses) {
      const loaded_module *module = module_of(modules, address);
      if (module == nullptr) {
        continue;
      }
      const std::uint64_t offset = address - module->base;
      const auto [place, fresh] = known_.try_emplace({module->path, offset});
      if (fresh) {
        model::site by_symbol;
        by_symbol.function = symbols_of(module->path).function_at(offset);
        if (!by_symbol.function.empty()) {
          place->second.push_back(std::move(by_symbol));
        }
        if (symbols_of(module->path).has_lines()) {
          unknown[module->path].push_back(offset);
        }
      }
    }
    if (!unknown.empty()) {
      ask_for_lines(unknown);
    }
  }

  /// What is known of an address: inlined functions first; empty when nothing is. Only after `resolve`.
  const inline_chain &at(std::uint64_t address, const std::vector<loaded_module> &modules) const {
    static const inline_chain nothing;
    const loaded_module *module = module_of(modules, address);
    const auto found = module != nullptr ? known_.find({module->path, address - module->base}) : known_.end();
    return found != known_.end() ? found->second : nothing;
  }

  /// Why lines are missing from the answers given so far; "" when none are.
  const std::string &problem() const { return problem_; }

private:
  std::map<std::pair<std::string, std::uint64_t>, inline_chain> known_;
  std::map<std::string, elf_symbols> symbols_;
  line_helpers lines_;
  std::string problem_;

  const elf_symbols &symbols_of(const std::string &path) { return symbols_.try_emplace(path, path).first->second; }

  void ask_for_lines(const std::map<std::string, std::vector<std::uint64_t>> &unknown) {
    std::vector<line_helpers::question> questions;
    for (const auto &[module, offsets] : unknown) {
      questions.push_back({module, offsets, {}, false});
    }
    lines_.ask(questions, deadline_ns);
    for (line_helpers::question &q : questions) {
      for (auto &[offset, chain] : q.answers) {
        if (!chain.empty()) {
          known_[{q.module, offset}] = std::move(chain);
        }
      }
      if (!q.complete) {
        problem_ = "source lines of " + q.module + ": addr2line (Debian package binutils) gave no answer";
      }
    }
  }
};

/// The resolver of this process. Leaky: used until the very end.
inline resolver &the_resolver() {
  static auto *all = new resolver;
  return *all;
}

} // namespace stacks
} // namespace DTDEBUG_ABI
} // namespace dtdebug
