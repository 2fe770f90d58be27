// What is written into a black box is what a reader finds in it.
#include "../record/recording_session.hpp"

#include <doctest/doctest.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>

using namespace dtdebug;
using namespace dtdebug::testing;
using blackbox::read_error;
using blackbox::section_kind;

namespace {

blackbox::reader &open(blackbox::reader &file, const recording_session &session) {
  REQUIRE(file.open(session.file.c_str()) == read_error::none);
  return file;
}

} // namespace

TEST_CASE("every table has the capacity it was made with") {
  blackbox::capacities sizes;
  sizes.ring_records = 64;
  sizes.ring_extra_words = 256;
  sizes.rings = 3;
  sizes.groups = 5;
  sizes.member_runs = 6;
  sizes.sites = 7;
  sizes.labels = 8;
  sizes.string_bytes = 900;
  sizes.notes = 10;
  sizes.messages = 11;
  sizes.modules = 12;
  sizes.stacks = 13;
  const recording_session session(sizes);
  blackbox::reader file;
  open(file, session);
  CHECK(file.count(section_kind::identity) == 1);
  CHECK(file.count(section_kind::live) == 1);
  CHECK(file.count(section_kind::groups) == 5);
  CHECK(file.count(section_kind::members) == 6);
  CHECK(file.count(section_kind::sites) == 7);
  CHECK(file.count(section_kind::labels) == 8);
  CHECK(file.count(section_kind::strings) == 900);
  CHECK(file.count(section_kind::notes) == 10);
  CHECK(file.count(section_kind::messages) == 11);
  CHECK(file.count(section_kind::modules) == 12);
  CHECK(file.count(section_kind::stacks) == 13);
  CHECK(file.count(section_kind::rings) == 3);
  CHECK(file.count(static_cast<section_kind>(99)) == 0);
}

TEST_CASE("sections begin on pages, lie in the file and do not overlap") {
  const recording_session session;
  const blackbox::header &head = *record::box().head;
  std::uint64_t end = sizeof(blackbox::header);
  for (std::uint32_t i = 0; i < head.section_count; ++i) {
    const blackbox::section &each = head.sections[i];
    CHECK(each.offset % blackbox::page_bytes == 0);
    CHECK(each.offset >= end);
    end = each.offset + each.entry_bytes * each.entries;
  }
  CHECK(end <= head.file_bytes);
  struct stat info {};
  REQUIRE(::stat(session.file.c_str(), &info) == 0);
  CHECK(static_cast<std::uint64_t>(info.st_size) == head.file_bytes);
  CHECK((info.st_mode & 0777) == 0600);
}

TEST_CASE("a ring of every size keeps its newest records") {
  for (const std::uint32_t records : {64U, 4096U, 1U << 20}) {
    blackbox::capacities sizes;
    sizes.ring_records = records;
    sizes.rings = 2;
    const recording_session session(sizes);
    for (std::uint64_t i = 0; i < 70; ++i) {
      record::begin_call(0, sum_of(i));
    }
    const std::vector<blackbox::record> calls = records_of(session);
    REQUIRE(calls.size() == std::min<std::size_t>(records, 70));
    CHECK(calls.back().count == 69);
    CHECK(record::this_thread_slot.ring->capacity == records);
  }
}

TEST_CASE("capacities that rings cannot have are refused, and no file is left") {
  const auto error_of = [](auto change) {
    blackbox::capacities sizes;
    change(sizes);
    const temporary_path path;
    blackbox::box made = blackbox::create(path.c_str(), sizes);
    CHECK(made.file.base == nullptr);
    CHECK(::access(path.c_str(), F_OK) != 0);
    return made.file.error;
  };
  CHECK(error_of([](auto &sizes) { sizes.ring_records = 0; }) == EINVAL);
  CHECK(error_of([](auto &sizes) { sizes.ring_records = 100; }) == EINVAL);
  CHECK(error_of([](auto &sizes) { sizes.ring_extra_words = 0; }) == EINVAL);
  CHECK(error_of([](auto &sizes) { sizes.ring_extra_words = 65; }) == EINVAL);
  CHECK(error_of([](auto &sizes) { sizes.groups = 1; }) == EINVAL);
  CHECK(error_of([](auto &sizes) { sizes.groups = 70'000; }) == EINVAL);
  CHECK(error_of([](auto &sizes) { sizes.notes = 0; }) == EINVAL);
  CHECK(error_of([](auto &sizes) { sizes.messages = 0; }) == EINVAL);
}

TEST_CASE("a file that is there already is not touched") {
  const temporary_path path;
  const int fd = ::open(path.c_str(), O_CREAT | O_WRONLY, 0600);
  REQUIRE(::write(fd, "mine", 4) == 4);
  ::close(fd);
  CHECK(blackbox::create(path.c_str(), {}).file.error == EEXIST);
  struct stat info {};
  REQUIRE(::stat(path.c_str(), &info) == 0);
  CHECK(info.st_size == 4);
}

TEST_CASE("a link in the place of the file is not followed, for writing or reading") {
  const temporary_path path;
  const temporary_path elsewhere;
  REQUIRE(::symlink(elsewhere.c_str(), path.c_str()) == 0);
  CHECK(blackbox::create(path.c_str(), {}).file.base == nullptr);
  CHECK(::access(elsewhere.c_str(), F_OK) != 0);
  blackbox::reader file;
  CHECK(file.open(path.c_str()) == read_error::cannot_open);
  CHECK(file.system_error() == ELOOP);
}

TEST_CASE("the header of every ring is backed by storage before any thread claims it") {
  const recording_session session;
  const int fd = ::open(session.file.c_str(), O_RDONLY);
  for (std::uint32_t i = 0; i < record::box().sizes.rings; ++i) {
    const auto at =
        static_cast<off_t>(reinterpret_cast<unsigned char *>(record::box().ring(i)) - record::box().file.base);
    CHECK(::lseek(fd, at, SEEK_DATA) == at);
  }
  ::close(fd);
}

TEST_CASE("a descriptor that the program closed and opened again for itself is left alone") {
  const recording_session session;
  const temporary_path own;
  const int fd = ::open(own.c_str(), O_CREAT | O_RDWR, 0600);
  REQUIRE(::dup2(fd, record::box().file.descriptor) >= 0);
  CHECK_FALSE(record::begin_call(0, sum_of(1)));
  struct stat info {};
  REQUIRE(::stat(own.c_str(), &info) == 0);
  CHECK(info.st_size == 0);
  CHECK(session.live().calls_unrecorded == 1);
  ::close(fd);
}

TEST_CASE("splits of uneven calls come back until they are overwritten") {
  blackbox::capacities sizes;
  sizes.ring_extra_words = 256;
  sizes.ring_records = 64;
  const recording_session session(sizes);
  const auto call_with = [](std::uint32_t n, std::int64_t first, bool both) {
    std::vector<std::int64_t> sent(n);
    std::vector<std::int64_t> received(n);
    for (std::uint32_t i = 0; i < n; ++i) {
      sent[i] = first + i;
      received[i] = -first - i;
    }
    call_desc call = sum_of(1);
    call.op = op_kind::all_to_all_v;
    call.splits = sent.data();
    call.recv_splits = both ? received.data() : nullptr;
    call.split_count = n;
    record::begin_call(0, call);
  };
  blackbox::reader file;
  open(file, session);
  std::int64_t sent[200];
  std::int64_t received[200];
  std::uint32_t n = 0;
  std::uint32_t m = 0;
  std::uint64_t kept = 0;
  for (std::int64_t i = 0; i < 300; ++i) {
    const auto members = static_cast<std::uint32_t>(1 + i * 7 % 63);
    call_with(members, i, i % 3 != 0);
    blackbox::ring_header ring;
    REQUIRE(file.ring(0, ring));
    for (std::uint64_t k = ring.head > 64 ? ring.head - 64 : 0; k < ring.head; ++k) {
      blackbox::record call;
      REQUIRE(file.record_at(0, ring, k, call));
      const bool there = file.splits_of(0, ring, call, sent, n, received, m, 200);
      REQUIRE((there || k + 1 < ring.head)); // the newest always is
      if (there) {
        ++kept;
        const auto of_call = static_cast<std::int64_t>(k);
        REQUIRE(n == 1 + k * 7 % 63);
        REQUIRE(m == (k % 3 != 0 ? n : 0));
        for (std::uint32_t j = 0; j < n; ++j) {
          REQUIRE(sent[j] == of_call + j);
          REQUIRE((m == 0 || received[j] == -of_call - j));
        }
      }
    }
  }
  CHECK(kept > 600);
  call_with(127, 5, false); // just above half of the area
  CHECK(records_of(session).back().extra == 0);
  call_with(126, 5, false);
  CHECK(records_of(session).back().extra != 0);
}

TEST_CASE("counts that look like the owner of older splits are not taken for them") {
  blackbox::capacities sizes;
  sizes.ring_extra_words = 64;
  const recording_session session(sizes);
  const std::int64_t small[] = {1, 2};
  call_desc call = sum_of(1);
  call.op = op_kind::all_to_all_v;
  call.splits = small;
  call.split_count = 2;
  for (int i = 0; i < 16; ++i) {
    record::begin_call(0, call);
  }
  std::vector<std::int64_t> like_tickets(30);
  for (std::size_t i = 0; i < like_tickets.size(); ++i) {
    like_tickets[i] = static_cast<std::int64_t>(2 * ((i + 2) / 4 + 1)); // the ticket of the record that owned the word
  }
  call.splits = like_tickets.data();
  call.split_count = 30;
  record::begin_call(0, call);
  blackbox::reader file;
  open(file, session);
  blackbox::ring_header ring;
  REQUIRE(file.ring(0, ring));
  std::int64_t sent[64];
  std::int64_t received[64];
  std::uint32_t n = 0;
  std::uint32_t m = 0;
  for (std::uint64_t k = 0; k < 17; ++k) {
    blackbox::record each;
    REQUIRE(file.record_at(0, ring, k, each));
    CHECK(file.splits_of(0, ring, each, sent, n, received, m, 64) == (k >= 8));
  }
}

TEST_CASE("a call between the two stores of its end is read as not ended") {
  const recording_session session;
  const record::record_ref ref = record::begin_call(0, sum_of(1));
  ref.slot->left = 7;
  CHECK(records_of(session).at(0).left == 0);
  ref.slot->state = static_cast<std::uint8_t>(call_state::aborted);
  CHECK(records_of(session).at(0).left == 7);
}

TEST_CASE("equal names have one id, different ones have different ids") {
  const recording_session session;
  const auto id = [](const char *text) { return blackbox::label_id(record::box(), text, hash_string(text)); };
  CHECK(id("a") == id("a"));
  CHECK(id("a") != id("b"));
  CHECK(id(nullptr) == 0);
  const auto site = [](std::uint32_t line) { return blackbox::site_id(record::box(), "f.cpp", line, "g", "h"); };
  CHECK(site(1) == site(1));
  CHECK(site(1) != site(2));
  CHECK(blackbox::add_string(record::box(), "") == 0);
  CHECK(blackbox::add_string(record::box(), nullptr) == 0);
  blackbox::reader file;
  open(file, session);
  blackbox::site_slot slot;
  REQUIRE(file.copy(section_kind::sites, site(2) - 1, slot));
  char text[16];
  file.string(slot.file, text, sizeof text);
  CHECK(std::string(text) == "f.cpp");
  file.string(slot.file, text, 3);
  CHECK(std::string(text) == "f.");
  file.string(0, text, sizeof text);
  CHECK(std::string(text).empty());
  file.string(UINT32_MAX, text, sizeof text);
  CHECK(std::string(text).empty());
}

TEST_CASE("the string pool says when it is full and still takes what fits") {
  blackbox::capacities sizes;
  sizes.string_bytes = 32;
  const recording_session session(sizes);
  CHECK(blackbox::add_string(record::box(), "0123456789") == 1);
  CHECK(blackbox::add_string(record::box(), "this one does not fit into the rest") == 0);
  CHECK(blackbox::add_string(record::box(), "0123456789012345678") == 12);
  CHECK(blackbox::add_string(record::box(), "x") == 0);
  CHECK(session.live().strings_cut == 2);
  CHECK(session.live().string_bytes == 32);
}

TEST_CASE("the ring of notes keeps the newest and knows how many there were") {
  blackbox::capacities sizes;
  sizes.notes = 16;
  const recording_session session(sizes);
  for (std::uint64_t i = 0; i < 100; ++i) {
    record::note(note_type::fact, "n", std::to_string(i).c_str(), i);
  }
  blackbox::reader file;
  open(file, session);
  blackbox::note_slot note;
  for (std::uint64_t i = 0; i < 100; ++i) {
    REQUIRE(file.note_at(i, note) == (i >= 84));
    if (i >= 84) {
      CHECK(note.value == i);
      CHECK(std::string(note.text) == std::to_string(i));
      CHECK(note.ordinal == i);
    }
  }
  CHECK_FALSE(file.note_at(100, note));
  CHECK(session.live().note_head == 100);
}

TEST_CASE("a note whose slot an earlier writer still holds is given up and nothing is mixed") {
  blackbox::capacities sizes;
  sizes.notes = 4;
  const recording_session session(sizes);
  record::note(note_type::fact, "n", "0");
  __atomic_store_n(&record::box().notes[1].ticket, blackbox::note_busy, __ATOMIC_RELEASE);
  record::note(note_type::fact, "n", "1");
  record::note(note_type::fact, "n", "2");
  blackbox::reader file;
  open(file, session);
  blackbox::note_slot note;
  CHECK(file.note_at(0, note));
  CHECK_FALSE(file.note_at(1, note));
  CHECK(file.note_at(2, note));
}
