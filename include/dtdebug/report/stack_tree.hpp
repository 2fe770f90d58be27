// Stacks of all ranks merged into one tree: common frames once, rank sets where they part.
#pragma once

#include <dtdebug/model/snapshot.hpp>
#include <dtdebug/report/folding.hpp>
#include <dtdebug/report/utf8.hpp>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace report {

/// A prefix tree over frames, outermost first, as debuggers of large MPI jobs draw it.
struct stack_node {
  std::vector<std::int32_t> ranks; ///< ranks that have a thread below this frame
  std::map<std::string, stack_node> callees;
};

namespace detail {

/// A demangled name without its argument list: `trainer::train(trainer::options const&)` → `trainer::train`.
/// A lambda is named after the function that it stands in: `main::{lambda(int)#1}::operator()(int)` →
/// `main::{lambda#1}`.
inline std::string short_name(std::string function) {
  for (std::size_t at = 0; (at = function.find("{lambda(", at)) != std::string::npos; ++at) {
    const std::size_t number = function.find(")#", at);
    const std::size_t end = function.find('}', at);
    if (number == std::string::npos || end == std::string::npos || number > end) {
      break;
    }
    function.erase(at + 7, number + 1 - (at + 7));
    if (function.compare(function.find('}', at), 13, "}::operator()") == 0) {
      return function.substr(0, function.find('}', at) + 1);
    }
  }
  const std::size_t from = function.rfind("operator(") != std::string::npos ? function.rfind("operator(") + 10 : 0;
  const std::size_t at = function.find('(', from);
  return at == std::string::npos || at == 0 || function.compare(0, 10, "(anonymous") == 0 ? function
                                                                                          : function.substr(0, at);
}

/// The qualified name alone: without the type that demangled templates begin with, arguments and template arguments.
inline std::string qualified_name(const std::string &function) {
  const std::string head = function.substr(0, function.find_first_of("(<"));
  return head.substr(head.rfind(' ') == std::string::npos ? 0 : head.rfind(' ') + 1);
}

/// Frames that tell the reader nothing: how a program starts, and dtdebug's own.
inline bool is_scaffolding(const model::frame &frame) {
  static constexpr const char *prefixes[] = {"_start", "__libc_start", "start_thread", "clone", "__clone"};
  return qualified_name(frame.function).rfind("dtdebug::", 0) == 0 ||
         std::any_of(std::begin(prefixes), std::end(prefixes),
                     [&frame](const char *prefix) { return frame.function.rfind(prefix, 0) == 0; });
}

/// The entry of a communication library: what lies below is its own affair.
inline bool enters_library(const model::frame &frame) {
  static constexpr const char *prefixes[] = {"PMPI_", "MPI_", "nccl", "pnccl"};
  return std::any_of(std::begin(prefixes), std::end(prefixes),
                     [&frame](const char *prefix) { return frame.function.rfind(prefix, 0) == 0; });
}

inline std::string frame_text(const model::frame &frame) {
  std::string text = short_name(frame.function);
  if (text.empty()) {
    char offset[24];
    std::snprintf(offset, sizeof offset, "+0x%llx", static_cast<unsigned long long>(frame.offset));
    text = std::string("?? ") + offset;
  }
  if (!frame.file.empty()) {
    text += "  " + frame.file.substr(frame.file.rfind('/') + 1) + ":" + std::to_string(frame.line);
  } else if (!frame.module.empty()) {
    text += "  (" + frame.module.substr(frame.module.rfind('/') + 1) + ")";
  }
  return printable(text);
}

inline void print_tree(const stack_node &node, const std::string &indent, std::size_t &lines, std::string &out) {
  std::vector<std::pair<std::string, const stack_node *>> callees;
  for (const auto &[text, callee] : node.callees) {
    callees.emplace_back(text, &callee);
  }
  // The few that differ are what one looks for: they come first.
  std::stable_sort(callees.begin(), callees.end(),
                   [](const auto &a, const auto &b) { return a.second->ranks.size() < b.second->ranks.size(); });
  const bool parts = callees.size() > 1 || (callees.size() == 1 && callees[0].second->ranks.size() < node.ranks.size());
  for (const auto &[text, callee] : callees) {
    if (lines == 0) {
      return;
    }
    if (--lines == 0) {
      out += indent + "…\n";
      return;
    }
    out += indent + text + (parts ? "   [" + fold_named(callee->ranks) + "]" : "") + "\n";
    print_tree(*callee, parts ? indent + "  " : indent, lines, out);
  }
}

} // namespace detail

/// Adds one thread's stack (innermost first, as captured).
inline void add_stack(stack_node &root, std::int32_t rank, const std::vector<model::frame> &stack) {
  const auto note = [rank](stack_node &node) {
    if (node.ranks.empty() || node.ranks.back() != rank) {
      node.ranks.push_back(rank);
    }
  };
  stack_node *at = &root;
  note(*at);
  const auto begins =
      std::find_if(stack.rbegin(), stack.rend(), [](const model::frame &f) { return f.function == "main"; });
  for (auto frame = begins != stack.rend() ? begins : stack.rbegin(); frame != stack.rend(); ++frame) {
    const bool unnamed_start = at == &root && frame->function.empty();
    if (unnamed_start || detail::is_scaffolding(*frame)) {
      continue;
    }
    at = &at->callees[detail::frame_text(*frame)];
    note(*at);
    if (detail::enters_library(*frame)) {
      break;
    }
  }
}

/// The tree as text, at most `max_lines` lines. Indentation grows only where ranks part.
inline std::string stack_tree_text(const stack_node &root, std::size_t max_lines = 60) {
  std::string out;
  std::size_t lines = max_lines + 1;
  detail::print_tree(root, "  ", lines, out);
  return out;
}

} // namespace report
} // namespace DTDEBUG_ABI
} // namespace dtdebug
