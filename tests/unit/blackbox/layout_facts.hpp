// Every field of the file format: where it is and how large, as the compiler sees it.
#pragma once

#include <dtdebug/blackbox/layout.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace dtdebug::testing {

struct field_fact {
  std::string name;
  std::size_t offset;
  std::size_t size;
};

struct structure_fact {
  std::string name;
  std::size_t size;
  std::vector<field_fact> fields;
};

#define FIELD(type, field)                                                                                             \
  { #field, offsetof(blackbox::type, field), sizeof(blackbox::type::field) }

inline std::vector<structure_fact> layout_facts() {
  using namespace blackbox;
  return {
      {"header",
       sizeof(header),
       {FIELD(header, magic), FIELD(header, version), FIELD(header, endian), FIELD(header, header_bytes),
        FIELD(header, section_count), FIELD(header, file_bytes), FIELD(header, ready), FIELD(header, sections)}},
      {"section",
       sizeof(section),
       {FIELD(section, kind), FIELD(section, entry_bytes), FIELD(section, offset), FIELD(section, entries)}},
      {"identity",
       sizeof(identity),
       {FIELD(identity, rank), FIELD(identity, world_size), FIELD(identity, local_rank), FIELD(identity, pid),
        FIELD(identity, process_start), FIELD(identity, start_wall_ns), FIELD(identity, start_mono_ns),
        FIELD(identity, start_ticks), FIELD(identity, boot_id_hash), FIELD(identity, uid), FIELD(identity, launcher),
        FIELD(identity, host), FIELD(identity, job), FIELD(identity, program), FIELD(identity, command_line),
        FIELD(identity, library_version)}},
      {"live_state",
       sizeof(live_state),
       {FIELD(live_state, heartbeat_ticks),
        FIELD(live_state, heartbeat_mono_ns),
        FIELD(live_state, end),
        FIELD(live_state, exit_code),
        FIELD(live_state, signal),
        FIELD(live_state, disabled),
        FIELD(live_state, end_ticks),
        FIELD(live_state, fault_address),
        FIELD(live_state, step),
        FIELD(live_state, step_ticks),
        FIELD(live_state, phase),
        FIELD(live_state, level),
        FIELD(live_state, phase_ticks),
        FIELD(live_state, timeout_ns),
        FIELD(live_state, frozen_epoch),
        FIELD(live_state, string_bytes),
        FIELD(live_state, member_runs),
        FIELD(live_state, note_head),
        FIELD(live_state, module_count),
        FIELD(live_state, stack_count),
        FIELD(live_state, ring_count),
        FIELD(live_state, group_count),
        FIELD(live_state, group_ordinal),
        FIELD(live_state, calls_unrecorded),
        FIELD(live_state, groups_unrecorded),
        FIELD(live_state, labels_unrecorded),
        FIELD(live_state, sites_unrecorded),
        FIELD(live_state, strings_cut),
        FIELD(live_state, messages_untracked),
        FIELD(live_state, members_unrecorded)}},
      {"group_slot",
       sizeof(group_slot),
       {FIELD(group_slot, id), FIELD(group_slot, next_seq), FIELD(group_slot, rolling),
        FIELD(group_slot, created_ticks), FIELD(group_slot, state), FIELD(group_slot, ordinal), FIELD(group_slot, size),
        FIELD(group_slot, my_index), FIELD(group_slot, first_run), FIELD(group_slot, run_count),
        FIELD(group_slot, timeout_ns), FIELD(group_slot, name), FIELD(group_slot, mesh), FIELD(group_slot, axis),
        FIELD(group_slot, blocks)}},
      {"hash_block", sizeof(hash_block), {FIELD(hash_block, block), FIELD(hash_block, sum), FIELD(hash_block, filled)}},
      {"member_run",
       sizeof(member_run),
       {FIELD(member_run, first), FIELD(member_run, stride), FIELD(member_run, count)}},
      {"site_slot",
       sizeof(site_slot),
       {FIELD(site_slot, key), FIELD(site_slot, pc), FIELD(site_slot, line), FIELD(site_slot, file),
        FIELD(site_slot, function), FIELD(site_slot, text)}},
      {"label_slot", sizeof(label_slot), {FIELD(label_slot, key), FIELD(label_slot, text)}},
      {"note_slot",
       sizeof(note_slot),
       {FIELD(note_slot, ticket), FIELD(note_slot, ticks), FIELD(note_slot, value), FIELD(note_slot, value2),
        FIELD(note_slot, ordinal), FIELD(note_slot, order), FIELD(note_slot, step), FIELD(note_slot, kind),
        FIELD(note_slot, group), FIELD(note_slot, name), FIELD(note_slot, text)}},
      {"message_slot", sizeof(message_slot), {FIELD(message_slot, key), FIELD(message_slot, count)}},
      {"module_slot",
       sizeof(module_slot),
       {FIELD(module_slot, base), FIELD(module_slot, begin), FIELD(module_slot, end), FIELD(module_slot, path),
        FIELD(module_slot, build_id_bytes), FIELD(module_slot, build_id)}},
      {"stack_slot",
       sizeof(stack_slot),
       {FIELD(stack_slot, tid), FIELD(stack_slot, frame_count), FIELD(stack_slot, answered), FIELD(stack_slot, state),
        FIELD(stack_slot, pad), FIELD(stack_slot, name), FIELD(stack_slot, wait), FIELD(stack_slot, frames)}},
      {"ring_header",
       sizeof(ring_header),
       {FIELD(ring_header, head), FIELD(ring_header, tid), FIELD(ring_header, used), FIELD(ring_header, capacity),
        FIELD(ring_header, extra_words), FIELD(ring_header, extra_head), FIELD(ring_header, thread_name),
        FIELD(ring_header, pad)}},
      {"record",
       sizeof(record),
       {FIELD(record, ticket), FIELD(record, hard),  FIELD(record, entered),      FIELD(record, left),
        FIELD(record, count),  FIELD(record, seq),   FIELD(record, dims),         FIELD(record, soft),
        FIELD(record, site),   FIELD(record, label), FIELD(record, root),         FIELD(record, tag),
        FIELD(record, step),   FIELD(record, extra), FIELD(record, element_size), FIELD(record, group),
        FIELD(record, stream), FIELD(record, batch), FIELD(record, op),           FIELD(record, type),
        FIELD(record, reduce), FIELD(record, state), FIELD(record, flags),        FIELD(record, shape),
        FIELD(record, phase),  FIELD(record, result)}},
  };
}

#undef FIELD

} // namespace dtdebug::testing
