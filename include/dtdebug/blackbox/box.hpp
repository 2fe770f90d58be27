// Making a black box and addressing its tables.
#pragma once

#include <dtdebug/blackbox/layout.hpp>
#include <dtdebug/os/clock.hpp>
#include <dtdebug/os/mapped_file.hpp>

#include <cstring>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace blackbox {

/// The writing end: a mapping and typed pointers to its tables. Plain data; made by `create`.
struct box {
  os::mapping file;
  header *head = nullptr;
  identity *who = nullptr;
  live_state *live = nullptr;
  group_slot *groups = nullptr;
  member_run *members = nullptr;
  site_slot *sites = nullptr;
  label_slot *labels = nullptr;
  char *strings = nullptr;
  note_slot *notes = nullptr;
  message_slot *messages = nullptr;
  module_slot *modules = nullptr;
  stack_slot *stacks = nullptr;
  unsigned char *rings = nullptr;
  std::size_t ring_bytes = 0;
  capacities sizes;
  bool steady_counter = false;

  ring_header *ring(std::uint32_t index) const noexcept {
    return reinterpret_cast<ring_header *>(rings + index * ring_bytes);
  }
};

inline record *records_of(ring_header *ring) noexcept { return reinterpret_cast<record *>(ring + 1); }
inline std::uint64_t *extras_of(ring_header *ring) noexcept {
  return reinterpret_cast<std::uint64_t *>(records_of(ring) + ring->capacity);
}

namespace detail {

constexpr std::size_t page_ceil(std::size_t bytes) noexcept {
  return (bytes + page_bytes - 1) / page_bytes * page_bytes;
}

constexpr bool is_power_of_two(std::uint32_t number) noexcept { return number != 0 && (number & (number - 1)) == 0; }

/// Appends a section to the list and returns its offset; `end` moves behind it.
inline std::size_t add_section(header &head, section_kind kind, std::size_t entry_bytes, std::size_t entries,
                               std::size_t &end) noexcept {
  const std::size_t offset = end;
  head.sections[head.section_count++] = {static_cast<std::uint32_t>(kind), static_cast<std::uint32_t>(entry_bytes),
                                         offset, entries};
  end = page_ceil(offset + entry_bytes * entries);
  return offset;
}

} // namespace detail

/// Creates the file `path` with tables of the given capacities. Everything but the records of the rings is backed by
/// storage and touched at once; those are reserved when a thread claims the ring. On failure `file.error` is an errno
/// value (ENOSPC when the disk is full, EROFS, EACCES, EEXIST, EINVAL for capacities that the rings cannot have …) and
/// nothing is left behind. Cold: a few milliseconds.
inline box create(const char *path, const capacities &sizes) noexcept {
  box made;
  if (!detail::is_power_of_two(sizes.ring_records) || !detail::is_power_of_two(sizes.ring_extra_words) ||
      sizes.groups < 2 || sizes.groups > UINT16_MAX || sizes.sites == 0 || sizes.labels == 0 || sizes.notes == 0 ||
      sizes.messages == 0) {
    made.file.error = EINVAL;
    return made;
  }
  header head{};
  std::memcpy(head.magic, file_magic, sizeof head.magic);
  head.version = format_version;
  head.endian = endian_tag;
  head.header_bytes = sizeof(header);
  const std::size_t ring_bytes =
      detail::page_ceil(sizeof(ring_header) + sizeof(record) * sizes.ring_records + 8ULL * sizes.ring_extra_words);
  std::size_t end = detail::page_ceil(sizeof(header));
  using kind = section_kind;
  const auto who = detail::add_section(head, kind::identity, sizeof(identity), 1, end);
  const auto live = detail::add_section(head, kind::live, sizeof(live_state), 1, end);
  const auto groups = detail::add_section(head, kind::groups, sizeof(group_slot), sizes.groups, end);
  const auto members = detail::add_section(head, kind::members, sizeof(member_run), sizes.member_runs, end);
  const auto sites = detail::add_section(head, kind::sites, sizeof(site_slot), sizes.sites, end);
  const auto labels = detail::add_section(head, kind::labels, sizeof(label_slot), sizes.labels, end);
  const auto strings = detail::add_section(head, kind::strings, 1, sizes.string_bytes, end);
  const auto notes = detail::add_section(head, kind::notes, sizeof(note_slot), sizes.notes, end);
  const auto messages = detail::add_section(head, kind::messages, sizeof(message_slot), sizes.messages, end);
  const auto modules = detail::add_section(head, kind::modules, sizeof(module_slot), sizes.modules, end);
  const auto stacks = detail::add_section(head, kind::stacks, sizeof(stack_slot), sizes.stacks, end);
  const std::size_t reserved = end;
  const auto rings = detail::add_section(head, kind::rings, ring_bytes, sizes.rings, end);
  head.file_bytes = end;

  made.file = os::create_mapped(path, end, reserved);
  if (made.file.base == nullptr) {
    return made;
  }
  for (std::size_t ring = 0; ring < sizes.rings; ++ring) {
    // Readers look at the header of every ring.
    if (const int error = os::reserve(made.file, rings + ring * ring_bytes, sizeof(ring_header))) {
      os::unmap(made.file);
      ::unlink(path);
      made.file.error = error;
      return made;
    }
  }
  unsigned char *base = made.file.base;
  std::memcpy(base, &head, sizeof head);
  made.head = reinterpret_cast<header *>(base);
  made.who = reinterpret_cast<identity *>(base + who);
  made.live = reinterpret_cast<live_state *>(base + live);
  made.groups = reinterpret_cast<group_slot *>(base + groups);
  made.members = reinterpret_cast<member_run *>(base + members);
  made.sites = reinterpret_cast<site_slot *>(base + sites);
  made.labels = reinterpret_cast<label_slot *>(base + labels);
  made.strings = reinterpret_cast<char *>(base + strings);
  made.notes = reinterpret_cast<note_slot *>(base + notes);
  made.messages = reinterpret_cast<message_slot *>(base + messages);
  made.modules = reinterpret_cast<module_slot *>(base + modules);
  made.stacks = reinterpret_cast<stack_slot *>(base + stacks);
  made.rings = base + rings;
  made.ring_bytes = ring_bytes;
  made.sizes = sizes;
  made.steady_counter = os::has_steady_counter();
  made.live->string_bytes = 1; // offset 0 means "no string"
  made.live->group_count = 1;  // slot 0 means "no group"
  return made;
}

/// Marks the file as readable: identity and the world are in place.
inline void publish(const box &made) noexcept { __atomic_store_n(&made.head->ready, 1, __ATOMIC_RELEASE); }

} // namespace blackbox
} // namespace DTDEBUG_ABI
} // namespace dtdebug
