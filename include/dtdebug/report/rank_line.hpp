// One rank in a few words: what it is doing, in which call, since when.
#pragma once

#include <dtdebug/model/snapshot.hpp>

#include <string>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace report {

/// The call to speak of: the oldest pending one, else the last one; null when the rank has made none.
inline const model::call *last_call(const model::rank_snapshot &rank) {
  for (const model::call &call : rank.calls) {
    if (is_pending(call.state) && call.op != op_kind::wait) {
      return &call;
    }
  }
  for (auto call = rank.calls.rbegin(); call != rank.calls.rend(); ++call) {
    if (call->op != op_kind::wait) {
      return &*call;
    }
  }
  return nullptr;
}

/// "waiting", "running", "ended", "exited (3)", "killed by signal 11", "stopped", "gone", "no black box".
inline std::string state_text(const model::rank_snapshot &rank) {
  switch (rank.life) {
  case model::liveness::ended_cleanly: return "ended";
  case model::liveness::exited:
    return rank.exit_code >= 0 ? "exited (" + std::to_string(rank.exit_code) + ")" : "exited";
  case model::liveness::crashed: return "killed by signal " + std::to_string(rank.signal);
  case model::liveness::stopped: return "stopped";
  case model::liveness::vanished: return "gone without a word";
  case model::liveness::never_started: return "no black box";
  case model::liveness::unknown:
  case model::liveness::alive: break;
  }
  const model::call *call = last_call(rank);
  return call != nullptr && is_pending(call->state) ? "waiting" : "in own code";
}

/// "file:line", the address when the line is not known, "" when nothing is.
inline std::string site_text(const model::rank_snapshot &rank, const model::call &call) {
  if (call.site >= rank.sites.size()) {
    return "";
  }
  const model::site &site = rank.sites[call.site];
  return site.known() ? site.file + ":" + std::to_string(site.line) : "";
}

/// all_reduce f32[64,32] sum "grad"
inline std::string call_text(const model::call &call) {
  std::string text = name(call.op);
  if (call.type != dtype::none) {
    text += std::string(" ") + name(call.type) + "[";
    if (call.has_dims) {
      for (std::size_t i = 0; i < call.dims.size(); ++i) {
        text += (i > 0 ? "," : "") + std::to_string(call.dims[i]);
      }
    } else {
      text += std::to_string(call.count);
    }
    text += "]";
  }
  if (call.reduce != redop::none) {
    text += std::string(" ") + name(call.reduce);
  }
  if (is_rooted(call.op)) {
    text += " root=" + std::to_string(call.root);
  } else if (is_point_to_point(call.op)) {
    text += (call.op == op_kind::send ? " to=" : " from=") + (call.root < 0 ? "any" : std::to_string(call.root));
    text += call.tag != 0 ? " tag=" + std::to_string(call.tag) : "";
  }
  return call.label.empty() ? text : text + " \"" + call.label + "\"";
}

} // namespace report
} // namespace DTDEBUG_ABI
} // namespace dtdebug
