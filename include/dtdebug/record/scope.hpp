// DT_SCOPE_COLLECTIVE: a call that lasts to the end of its scope.
#pragma once

#include <dtdebug/record/begin_call.hpp>
#include <dtdebug/record/breadcrumbs.hpp>
#include <dtdebug/record/named_groups.hpp>
#include <dtdebug/record/shaped.hpp>

#include <exception>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace record {

/// Records a described call from here to the end of the scope. Left by an exception it counts as aborted, and a note
/// says so. The destructor only writes to memory: it never waits, sends, or throws.
class [[nodiscard]] scope {
public:
  scope(call_site &site, const char *function, description what) noexcept {
    if (!recording()) {
      return;
    }
    call_desc &call = what.call;
    call.group = slot_of(what.where);
    if (call.group == world::no_group) {
      return; // the group table is full, and that is counted
    }
    if (call.label_text != nullptr) {
      call.label = hash_string(call.label_text);
    }
    take_annotation(call);
    const bool no_data = call.count == 0 && !carries_no_data(call.op) && !is_uneven(call.op);
    if (is_collective(call.op) && (no_data || box().groups[call.group].size == 1)) {
      call.flags = static_cast<std::uint8_t>(call.flags | flag_no_position);
    }
    site_ = &site;
    op_ = call.op;
    group_ = call.group;
    exceptions_ = std::uncaught_exceptions();
    call_ = begin_call(id_of(site, function), call);
  }
  ~scope() {
    if (site_ == nullptr) {
      return;
    }
    const bool unwinding = std::uncaught_exceptions() > exceptions_;
    end_call(call_, unwinding ? call_state::aborted : call_state::done);
    if (unwinding) {
      note(note_type::scope_exception, name(op_), site_->text, 0, 0, group_);
    }
  }
  scope(const scope &) = delete;
  scope &operator=(const scope &) = delete;
  static void *operator new(std::size_t) = delete;
  static void *operator new[](std::size_t) = delete;

private:
  record_ref call_;
  const call_site *site_ = nullptr; ///< null: nothing was recorded
  op_kind op_ = op_kind::none;
  std::uint16_t group_ = world::no_group;
  int exceptions_ = 0;
};

} // namespace record
} // namespace DTDEBUG_ABI
} // namespace dtdebug
