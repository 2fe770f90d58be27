// Reads all that a reader offers, as the collector does, and checks that every answer is within bounds.
#pragma once

#include <dtdebug/blackbox/reader.hpp>
#include <dtdebug/core/hash.hpp>

#include <doctest/doctest.h>

#include <cstring>
#include <vector>

namespace dtdebug::testing {

/// What was found; the sum makes sure that every byte was really read.
struct contents {
  std::uint64_t records = 0;
  std::uint64_t notes = 0;
  std::uint64_t groups = 0;
  std::uint64_t sum = 0;
};

template <typename Entry>
void read_table(const blackbox::reader &file, blackbox::section_kind kind, contents &out) {
  const std::uint64_t count = file.count(kind);
  Entry entry;
  for (std::uint64_t i = 0; i < count && i < 5000; ++i) {
    REQUIRE(file.copy(kind, i, entry));
    out.sum += hash_bytes(reinterpret_cast<const char *>(&entry), sizeof entry);
  }
  REQUIRE_FALSE(file.copy(kind, count, entry));
  REQUIRE_FALSE(file.copy(kind, UINT64_MAX, entry));
}

inline contents read_everything(const blackbox::reader &file) {
  using blackbox::section_kind;
  contents out;
  read_table<blackbox::identity>(file, section_kind::identity, out);
  read_table<blackbox::live_state>(file, section_kind::live, out);
  read_table<blackbox::member_run>(file, section_kind::members, out);
  read_table<blackbox::site_slot>(file, section_kind::sites, out);
  read_table<blackbox::label_slot>(file, section_kind::labels, out);
  read_table<blackbox::message_slot>(file, section_kind::messages, out);
  read_table<blackbox::module_slot>(file, section_kind::modules, out);
  read_table<blackbox::stack_slot>(file, section_kind::stacks, out);
  char text[40];
  for (const std::uint32_t offset : {0U, 1U, 2U, 17U, 500U, 899U, 900U, 0x7fffffffU, 0xffffffffU}) {
    file.string(offset, text, sizeof text);
    REQUIRE(std::memchr(text, 0, sizeof text) != nullptr);
  }
  const std::uint64_t groups = file.count(section_kind::groups);
  for (std::uint64_t i = 0; i < groups && i < 70'000; ++i) {
    blackbox::group_slot group;
    if (file.group_at(i, group)) {
      ++out.groups;
      out.sum += group.id + (file.still_is(i, group) ? 1U : 0U);
    }
  }
  blackbox::live_state live;
  const std::uint64_t head = file.copy(section_kind::live, 0, live) ? live.note_head : 0;
  const std::uint64_t kept = file.count(section_kind::notes);
  for (std::uint64_t n = head > kept ? head - kept : 0; n < head; ++n) {
    blackbox::note_slot note;
    out.notes += file.note_at(n, note) ? 1U : 0U;
  }
  std::vector<std::int64_t> sent(128);
  std::vector<std::int64_t> received(128);
  const std::uint64_t rings = file.count(section_kind::rings);
  for (std::uint64_t r = 0; r < rings && r < 5000; ++r) {
    blackbox::ring_header ring;
    if (!file.ring(r, ring)) {
      continue;
    }
    for (std::uint64_t n = ring.head > ring.capacity ? ring.head - ring.capacity : 0; n < ring.head; ++n) {
      blackbox::record call;
      if (!file.record_at(r, ring, n, call)) {
        continue;
      }
      ++out.records;
      REQUIRE(call.ticket == 2 * (n + 1));
      std::uint32_t sends = 0;
      std::uint32_t receives = 0;
      if (file.splits_of(r, ring, call, sent.data(), sends, received.data(), receives, 128)) {
        REQUIRE(sends <= 128);
        REQUIRE(receives <= 128);
      } else {
        REQUIRE(sends + receives == 0);
      }
    }
  }
  return out;
}

} // namespace dtdebug::testing
