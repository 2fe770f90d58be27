// Reading a black box that somebody else wrote, is writing, or has damaged. Never trusts a byte.
#pragma once

#include <dtdebug/blackbox/layout.hpp>
#include <dtdebug/os/mapped_file.hpp>

#include <cstring>

namespace dtdebug {
inline namespace DTDEBUG_ABI {
namespace blackbox {

/// What is wrong with a file as a whole.
enum class read_error : std::uint8_t {
  none = 0,
  cannot_open = 1, ///< see `system_error`
  too_short = 2,   ///< no complete header
  not_a_black_box = 3,
  foreign_endian = 4, ///< written on a machine of the other byte order
  newer_version = 5,  ///< written by a later format that this reader does not know
  not_ready = 6,      ///< its rank has not finished writing the tables
};

/// A line for people. Never null.
constexpr const char *describe(read_error error) noexcept {
  switch (error) {
  case read_error::none: return "readable";
  case read_error::cannot_open: return "cannot be opened";
  case read_error::too_short: return "is cut off before the end of its header";
  case read_error::not_a_black_box: return "is not a black box of dtdebug";
  case read_error::foreign_endian: return "was written on a machine of the other byte order; read it on such a machine";
  case read_error::newer_version: return "was written by a newer dtdebug; read it with that version's command";
  case read_error::not_ready: return "was not finished by its rank: it ended, or still is, in start-up";
  }
  return "unknown";
}

/// A mapped black box. Every access copies, after a check against the size of the file as it was when it was opened.
/// The mapping stays valid when the writer dies. A file that is truncated *while* mapped would raise SIGBUS: the run
/// directory is private to its user, and writers never shrink a file.
class reader {
public:
  reader() = default;
  reader(const reader &) = delete;
  reader &operator=(const reader &) = delete;
  ~reader() { os::unmap(file_); }

  /// Maps `path` and checks its header. Cold.
  read_error open(const char *path) noexcept {
    os::unmap(file_);
    file_ = os::open_mapped(path);
    if (file_.base == nullptr) {
      system_error_ = file_.error;
      return file_.error == ENODATA ? read_error::too_short : read_error::cannot_open;
    }
    return check();
  }

  int system_error() const noexcept { return system_error_; }
  bool is_open() const noexcept { return file_.base != nullptr; }

  /// Entries of a section that lie wholly inside the file; 0 when there is no such section.
  std::uint64_t count(section_kind kind) const noexcept {
    const section *found = find(kind);
    if (found == nullptr || found->entry_bytes == 0 || found->offset >= file_.bytes) {
      return 0;
    }
    const std::uint64_t fit = (file_.bytes - found->offset) / found->entry_bytes;
    return found->entries < fit ? found->entries : fit;
  }

  /// Copies entry `index`; what an older writer did not know stays zero. False when it is not in the file.
  template <typename Entry>
  bool copy(section_kind kind, std::uint64_t index, Entry &out) const noexcept {
    out = Entry{};
    if (index >= count(kind)) {
      return false;
    }
    const section *found = find(kind);
    const std::size_t bytes = found->entry_bytes < sizeof(Entry) ? found->entry_bytes : sizeof(Entry);
    copy_words(reinterpret_cast<unsigned char *>(&out), file_.base + found->offset + index * found->entry_bytes, bytes);
    return true;
  }

  /// Copies the zero-terminated string at `offset` of the pool, cut to `size` - 1 bytes.
  void string(std::uint32_t offset, char *out, std::size_t size) const noexcept {
    std::size_t at = 0;
    const section *found = find(section_kind::strings);
    const std::uint64_t length = count(section_kind::strings);
    for (; found != nullptr && offset != 0 && at + 1 < size && offset + at < length; ++at) {
      const unsigned char byte = file_.base[found->offset + offset + at];
      if (byte == 0) {
        break;
      }
      out[at] = static_cast<char>(byte);
    }
    out[at] = '\0';
  }

  /// Header of ring `index`, with capacities that fit into the file; false if it was never used.
  bool ring(std::uint64_t index, ring_header &out) const noexcept {
    const section *found = find(section_kind::rings);
    if (!copy(section_kind::rings, index, out) || out.used == 0 || found->entry_bytes < sizeof(ring_header) ||
        found->entry_bytes % alignof(record) != 0) {
      return false;
    }
    const std::uint64_t room = found->entry_bytes - sizeof(ring_header);
    const std::uint64_t needed = std::uint64_t{out.capacity} * sizeof(record) + std::uint64_t{out.extra_words} * 8;
    return out.capacity != 0 && (out.capacity & (out.capacity - 1)) == 0 && needed <= room &&
           (out.extra_words & (out.extra_words - 1)) == 0;
  }

  /// Copies the `number`-th record (from 0) of a ring if it is still there and not being written. `left` is 0 exactly
  /// while the state is one of a call that has not ended.
  bool record_at(std::uint64_t ring_index, const ring_header &ring, std::uint64_t number, record &out) const noexcept {
    const section *found = find(section_kind::rings);
    const unsigned char *from = file_.base + found->offset + ring_index * found->entry_bytes + sizeof(ring_header) +
                                (number & (ring.capacity - 1)) * sizeof(record);
    const auto *ticket = reinterpret_cast<const std::uint64_t *>(from);
    const std::uint64_t wanted = 2 * (number + 1);
    if (__atomic_load_n(ticket, __ATOMIC_ACQUIRE) != wanted) {
      return false;
    }
    copy_words(reinterpret_cast<unsigned char *>(&out), from, sizeof out);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    // The end of a call changes `left` and then the state, without a new ticket.
    const auto state = static_cast<call_state>(out.state);
    out.left =
        has_ended(state)
            ? __atomic_load_n(reinterpret_cast<const std::uint64_t *>(from + offsetof(record, left)), __ATOMIC_ACQUIRE)
            : 0;
    return __atomic_load_n(ticket, __ATOMIC_RELAXED) == wanted;
  }

  /// Copies the splits of a record. `sent` and `received` have room for `room` numbers each. False when they were
  /// overwritten, never recorded, or do not make sense.
  bool splits_of(std::uint64_t ring_index, const ring_header &ring, const record &call, std::int64_t *sent,
                 std::uint32_t &sent_count, std::int64_t *received, std::uint32_t &received_count,
                 std::uint32_t room) const noexcept {
    sent_count = received_count = 0;
    if (call.extra == 0 || std::uint64_t{call.extra} + extra_header_words > ring.extra_words + 1ULL) {
      return false;
    }
    const section *found = find(section_kind::rings);
    const auto *words =
        reinterpret_cast<const std::uint64_t *>(file_.base + found->offset + ring_index * found->entry_bytes +
                                                sizeof(ring_header) + std::uint64_t{ring.capacity} * sizeof(record)) +
        (call.extra - 1);
    const std::uint64_t left = ring.extra_words - (call.extra - 1);
    const std::uint64_t owner = __atomic_load_n(words, __ATOMIC_ACQUIRE);
    const std::uint64_t sizes = __atomic_load_n(words + 1, __ATOMIC_RELAXED);
    const std::uint64_t n = sizes & 0xffffffffU;
    const std::uint64_t m = sizes >> 32;
    if (owner != extra_owner(call.ticket) || n > room || m > room || extra_header_words + n + m > left) {
      return false;
    }
    for (std::uint64_t i = 0; i < n; ++i) {
      sent[i] = static_cast<std::int64_t>(__atomic_load_n(words + extra_header_words + i, __ATOMIC_RELAXED));
    }
    for (std::uint64_t i = 0; i < m; ++i) {
      received[i] = static_cast<std::int64_t>(__atomic_load_n(words + extra_header_words + n + i, __ATOMIC_RELAXED));
    }
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (__atomic_load_n(words, __ATOMIC_RELAXED) != extra_owner(call.ticket)) {
      return false;
    }
    sent_count = static_cast<std::uint32_t>(n);
    received_count = static_cast<std::uint32_t>(m);
    return true;
  }

  /// Copies the `number`-th note (from 0) if it is still there and not being written.
  bool note_at(std::uint64_t number, note_slot &out) const noexcept {
    const std::uint64_t capacity = count(section_kind::notes);
    const section *found = find(section_kind::notes);
    if (capacity == 0 || found->entry_bytes < sizeof(note_slot) || found->entry_bytes % alignof(note_slot) != 0) {
      return false;
    }
    const unsigned char *from = file_.base + found->offset + number % capacity * found->entry_bytes;
    const auto *ticket = reinterpret_cast<const std::uint64_t *>(from);
    if (__atomic_load_n(ticket, __ATOMIC_ACQUIRE) != number + 1) {
      return false;
    }
    copy_words(reinterpret_cast<unsigned char *>(&out), from, sizeof out);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return __atomic_load_n(ticket, __ATOMIC_RELAXED) == number + 1;
  }

  /// Copies a group slot; false while it is not in use or is being given to another group.
  bool group_at(std::uint64_t index, group_slot &out) const noexcept {
    const std::uint64_t created = created_at(index);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return created != 0 && copy(section_kind::groups, index, out) && out.state != 0 && out.created_ticks == created &&
           still_is(index, out);
  }

  /// True while the slot holds the group that was copied: what was read with its help since is its own.
  bool still_is(std::uint64_t index, const group_slot &seen) const noexcept {
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return created_at(index) == seen.created_ticks;
  }

private:
  std::uint64_t created_at(std::uint64_t index) const noexcept {
    const section *found = find(section_kind::groups);
    if (index >= count(section_kind::groups) || found->entry_bytes < sizeof(group_slot) ||
        found->entry_bytes % alignof(group_slot) != 0) {
      return 0;
    }
    return __atomic_load_n(reinterpret_cast<const std::uint64_t *>(file_.base + found->offset +
                                                                   index * found->entry_bytes +
                                                                   offsetof(group_slot, created_ticks)),
                           __ATOMIC_ACQUIRE);
  }

  os::mapping file_;
  header head_{};
  int system_error_ = 0;

  read_error check() noexcept {
    head_ = header{}; // a file that is refused has no sections
    header seen{};
    constexpr std::size_t fixed = offsetof(header, sections);
    if (file_.bytes < fixed) {
      return read_error::too_short;
    }
    // Before the rest: what is read below was complete when the writer set it.
    const auto *ready = reinterpret_cast<const std::uint64_t *>(file_.base + offsetof(header, ready));
    const bool finished = __atomic_load_n(ready, __ATOMIC_ACQUIRE) == 1;
    std::memcpy(&seen, file_.base, fixed);
    if (std::memcmp(seen.magic, file_magic, sizeof file_magic) != 0) {
      constexpr char untouched[sizeof file_magic] = {};
      return std::memcmp(seen.magic, untouched, sizeof untouched) == 0 ? read_error::not_ready
                                                                       : read_error::not_a_black_box;
    }
    if (seen.endian != endian_tag) {
      return read_error::foreign_endian;
    }
    if (seen.version > format_version) {
      return read_error::newer_version;
    }
    const std::size_t listed = seen.section_count < max_sections ? seen.section_count : max_sections;
    if (file_.bytes < fixed + listed * sizeof(section)) {
      return read_error::too_short;
    }
    seen.section_count = static_cast<std::uint32_t>(listed);
    std::memcpy(seen.sections, file_.base + fixed, listed * sizeof(section));
    for (std::size_t i = 0; i < listed; ++i) {
      // Words of a section are read as aligned 64-bit words.
      if (seen.sections[i].offset % 8 != 0 ||
          (seen.sections[i].entry_bytes % 4 != 0 && seen.sections[i].entry_bytes != 1)) {
        seen.sections[i].kind = 0;
      }
    }
    head_ = seen;
    return finished ? read_error::none : read_error::not_ready;
  }

  const section *find(section_kind kind) const noexcept {
    for (std::uint32_t i = 0; i < head_.section_count; ++i) {
      if (head_.sections[i].kind == static_cast<std::uint32_t>(kind)) {
        return &head_.sections[i];
      }
    }
    return nullptr;
  }

  /// Copies aligned words one by one with relaxed atomic loads: the writer may be storing at this moment.
  static void copy_words(unsigned char *to, const unsigned char *from, std::size_t bytes) noexcept {
    std::size_t at = 0;
    if (reinterpret_cast<std::uintptr_t>(from) % 8 == 0) {
      for (; at + 8 <= bytes; at += 8) {
        const std::uint64_t word =
            __atomic_load_n(reinterpret_cast<const std::uint64_t *>(from + at), __ATOMIC_RELAXED);
        std::memcpy(to + at, &word, 8);
      }
    }
    for (; at < bytes; ++at) {
      to[at] = __atomic_load_n(from + at, __ATOMIC_RELAXED);
    }
  }
};

} // namespace blackbox
} // namespace DTDEBUG_ABI
} // namespace dtdebug
