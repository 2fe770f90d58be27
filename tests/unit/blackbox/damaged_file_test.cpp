// The reader on files that are cut off, damaged, foreign, or no black boxes at all.
#include "../record/recording_session.hpp"
#include "read_everything.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>

using namespace dtdebug;
using namespace dtdebug::testing;
using blackbox::read_error;

namespace {

blackbox::capacities small() {
  blackbox::capacities sizes;
  sizes.ring_records = 64;
  sizes.ring_extra_words = 128;
  sizes.rings = 2;
  sizes.groups = 3;
  sizes.member_runs = 16;
  sizes.sites = 8;
  sizes.labels = 8;
  sizes.string_bytes = 900;
  sizes.notes = 8;
  sizes.messages = 16;
  sizes.modules = 4;
  sizes.stacks = 2;
  return sizes;
}

/// Bytes of a small black box in which every table has something.
std::vector<unsigned char> a_black_box() {
  const recording_session session(small());
  const std::int32_t members[] = {0, 2, 3};
  const std::uint16_t group = world::add_group(record::box(), {2, "g", members, 3, 0});
  const std::int64_t splits[] = {1, 2, 3};
  for (std::uint64_t i = 0; i < 100; ++i) {
    call_desc call = sum_of(i, i % 2 == 0 ? group : world::world_group);
    if (i % 5 == 0) {
      call.op = op_kind::all_to_all_v;
      call.splits = splits;
      call.recv_splits = splits;
      call.split_count = 3;
    }
    call.label_text = i % 2 == 0 ? "even" : "odd";
    call.label = hash_string(call.label_text);
    static call_site site{"some/file.cpp", 12, "call"};
    site.id = 0;
    record::end_call(record::begin_call(record::id_of(site, "function"), call));
    record::end_call(record::begin_call(0, message(op_kind::send, 1, static_cast<std::int32_t>(i % 3))));
    DT_STEP(i);
    DT_PHASE("p");
    DT_DECISION("d", i);
  }
  const blackbox::box &box = record::box();
  return std::vector<unsigned char>(box.file.base, box.file.base + box.head->file_bytes);
}

/// A file of these bytes, which may be changed and cut.
class file_of {
public:
  explicit file_of(const std::vector<unsigned char> &bytes) : fd_(::open(path_.c_str(), O_CREAT | O_RDWR, 0600)) {
    REQUIRE(fd_ >= 0);
    put(0, bytes.data(), bytes.size());
  }
  ~file_of() { ::close(fd_); }
  file_of(const file_of &) = delete;
  file_of &operator=(const file_of &) = delete;

  void put(std::size_t at, const unsigned char *bytes, std::size_t size) {
    REQUIRE(::pwrite(fd_, bytes, size, static_cast<off_t>(at)) == static_cast<ssize_t>(size));
  }
  void put(std::size_t at, std::uint32_t word) { put(at, reinterpret_cast<const unsigned char *>(&word), sizeof word); }
  const char *path() const { return path_.c_str(); }
  void cut(std::size_t bytes) { REQUIRE(::ftruncate(fd_, static_cast<off_t>(bytes)) == 0); }
  read_error open() const {
    blackbox::reader file;
    const read_error error = file.open(path_.c_str());
    if (error == read_error::none || error == read_error::not_ready) {
      read_everything(file);
    }
    return error;
  }
  contents read() const {
    blackbox::reader file;
    REQUIRE(file.open(path_.c_str()) == read_error::none);
    return read_everything(file);
  }

private:
  temporary_path path_;
  int fd_;
};

} // namespace

TEST_CASE("an undamaged file gives all that was written") {
  const file_of file(a_black_box());
  const contents found = file.read();
  CHECK(found.records == 64);
  CHECK(found.notes == 8);
  CHECK(found.groups == 2);
}

TEST_CASE("a file cut off at any length is refused or read up to there") {
  const std::vector<unsigned char> bytes = a_black_box();
  const contents whole = file_of(bytes).read();
  std::vector<std::size_t> lengths;
  for (std::size_t n = 0; n <= sizeof(blackbox::header) + 16; ++n) {
    lengths.push_back(n);
  }
  blackbox::header head;
  std::memcpy(&head, bytes.data(), sizeof head);
  for (std::uint32_t i = 0; i < head.section_count; ++i) {
    const blackbox::section &each = head.sections[i];
    for (const std::uint64_t entry : {std::uint64_t{0}, std::uint64_t{1}, each.entries / 2, each.entries}) {
      for (int near = -9; near <= 9; ++near) {
        lengths.push_back(each.offset + entry * each.entry_bytes + static_cast<std::size_t>(near));
      }
    }
  }
  for (std::size_t page = 0; page < bytes.size(); page += blackbox::page_bytes) {
    lengths.push_back(page);
    lengths.push_back(page + 1);
  }
  std::mt19937 random(3);
  for (int i = 0; i < 500; ++i) {
    lengths.push_back(random() % bytes.size());
  }
  std::sort(lengths.begin(), lengths.end(), std::greater<>());
  file_of file(bytes);
  std::size_t readable = 0;
  for (const std::size_t length : lengths) {
    if (length > bytes.size()) {
      continue;
    }
    file.cut(length);
    const read_error error = file.open();
    constexpr std::size_t fixed = offsetof(blackbox::header, sections);
    CHECK((error == read_error::none || error == read_error::too_short));
    CHECK((error == read_error::too_short) == (length < fixed + head.section_count * sizeof(blackbox::section)));
    if (error == read_error::none) {
      ++readable;
      const contents part = file.read();
      CHECK(part.records <= whole.records);
      CHECK(part.groups <= whole.groups);
    }
  }
  CHECK(readable > 500);
}

TEST_CASE("no single changed byte makes the reader go wrong") {
  const std::vector<unsigned char> bytes = a_black_box();
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i < sizeof(blackbox::header) || bytes[i] != 0) {
      places.push_back(i);
    }
  }
  std::mt19937 random(4);
  file_of file(bytes);
  const auto try_byte = [&](std::size_t at, unsigned char value) {
    file.put(at, &value, 1);
    file.open();
    file.put(at, &bytes[at], 1);
  };
  for (std::size_t at = 0; at < sizeof(blackbox::header); ++at) {
    for (const unsigned char value :
         {std::uint8_t{0}, std::uint8_t{1}, std::uint8_t{0x7f}, std::uint8_t{0x80}, std::uint8_t{0xff}}) {
      try_byte(at, value);
    }
  }
  for (int i = 0; i < 12'000; ++i) {
    try_byte(places[random() % places.size()], static_cast<unsigned char>(random()));
  }
  CHECK(file.read().records == 64);
}

TEST_CASE("no handful of changed words makes the reader go wrong") {
  const std::vector<unsigned char> bytes = a_black_box();
  std::mt19937_64 random(5);
  const std::uint64_t interesting[] = {0,
                                       1,
                                       7,
                                       64,
                                       4095,
                                       4096,
                                       0x7fffffff,
                                       0x80000000,
                                       0xffffffff,
                                       1ULL << 40,
                                       1ULL << 63,
                                       UINT64_MAX,
                                       UINT64_MAX - 7,
                                       bytes.size(),
                                       bytes.size() - 1,
                                       bytes.size() - 128};
  file_of file(bytes);
  for (int round = 0; round < 12'000; ++round) {
    std::size_t at[6];
    const std::size_t changes = 1 + random() % 6;
    for (std::size_t i = 0; i < changes; ++i) {
      const std::size_t range = random() % 2 == 0 ? sizeof(blackbox::header) : bytes.size();
      at[i] = random() % (range - 8) / 4 * 4;
      const std::uint64_t word = random() % 4 == 0 ? random() : interesting[random() % std::size(interesting)];
      file.put(at[i], reinterpret_cast<const unsigned char *>(&word), random() % 2 == 0 ? 8 : 4);
    }
    file.open();
    for (std::size_t i = 0; i < changes; ++i) {
      file.put(at[i], &bytes[at[i]], 8);
    }
  }
  CHECK(file.read().records == 64);
}

TEST_CASE("bytes without any order are no black box") {
  std::mt19937 random(6);
  for (int round = 0; round < 200; ++round) {
    std::vector<unsigned char> bytes(random() % 20'000 + 1);
    for (unsigned char &byte : bytes) {
      byte = static_cast<unsigned char>(random());
    }
    const read_error error = file_of(bytes).open();
    CHECK((error == read_error::not_a_black_box || error == read_error::too_short));
  }
}

TEST_CASE("a header followed by bytes without any order is read without harm") {
  std::vector<unsigned char> bytes = a_black_box();
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    for (std::size_t i = sizeof(blackbox::header); i < bytes.size(); ++i) {
      bytes[i] = static_cast<unsigned char>(random());
    }
    file_of(bytes).open();
  }
}

TEST_CASE("each kind of unreadable file is told by name") {
  const std::vector<unsigned char> bytes = a_black_box();
  file_of file(bytes);
  file.put(offsetof(blackbox::header, endian), 0x04030201U);
  CHECK(file.open() == read_error::foreign_endian);
  file.put(offsetof(blackbox::header, endian), blackbox::endian_tag);
  file.put(offsetof(blackbox::header, version), blackbox::format_version + 1);
  CHECK(file.open() == read_error::newer_version);
  file.put(offsetof(blackbox::header, version), blackbox::format_version);
  file.put(offsetof(blackbox::header, ready), 0U);
  CHECK(file.open() == read_error::not_ready);
  file.put(offsetof(blackbox::header, ready), 1U);
  CHECK(file.open() == read_error::none);
  file.put(0, 0x20202020U);
  CHECK(file.open() == read_error::not_a_black_box);
  file.cut(0);
  CHECK(file.open() == read_error::too_short);
  file.cut(10);
  CHECK(file.open() == read_error::too_short);
  file.cut(100'000); // all zero: a rank that has made its file and written nothing
  CHECK(file.open() == read_error::not_ready);
}

TEST_CASE("what is no regular file of this user is not read") {
  blackbox::reader file;
  const temporary_path pipe;
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  for (const char *path : {"/dev/zero", "/dev/null", "/tmp", "/nowhere/rank-0.dtbb", "", pipe.c_str()}) {
    CHECK(file.open(path) == read_error::cannot_open);
    CHECK(file.system_error() != 0);
    CHECK_FALSE(file.is_open());
  }
}

TEST_CASE("a reader may be opened again and then reads the other file") {
  const std::vector<unsigned char> bytes = a_black_box();
  const temporary_path path;
  const int fd = ::open(path.c_str(), O_CREAT | O_RDWR, 0600);
  REQUIRE(::write(fd, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  ::close(fd);
  blackbox::reader file;
  CHECK(file.open("/dev/null") == read_error::cannot_open);
  CHECK(file.open(path.c_str()) == read_error::none);
  CHECK(read_everything(file).records == 64);
  CHECK(file.open("/nowhere") == read_error::cannot_open);
  CHECK(file.count(blackbox::section_kind::rings) == 0);
}

TEST_CASE("a reader that refused a file finds nothing in it") {
  const std::vector<unsigned char> bytes = a_black_box();
  file_of file(bytes);
  file.put(offsetof(blackbox::header, section_count), 0xffffffffU); // of what is no header, any number may stand here
  const auto finds_nothing = [&file](read_error expected) {
    blackbox::reader refused;
    CHECK(refused.open(file.path()) == expected);
    for (std::uint32_t kind = 0; kind <= 64; ++kind) {
      CHECK(refused.count(static_cast<blackbox::section_kind>(kind)) == 0);
    }
  };
  file.put(0, 0x20202020U);
  finds_nothing(read_error::not_a_black_box);
  file.put(0, bytes.data(), 8);
  file.put(offsetof(blackbox::header, endian), 0x04030201U);
  finds_nothing(read_error::foreign_endian);
  file.put(offsetof(blackbox::header, endian), blackbox::endian_tag);
  file.put(offsetof(blackbox::header, version), blackbox::format_version + 1);
  finds_nothing(read_error::newer_version);
  file.put(offsetof(blackbox::header, version), blackbox::format_version);
  const unsigned char untouched[8] = {};
  file.put(0, untouched, sizeof untouched);
  finds_nothing(read_error::not_ready);
}

TEST_CASE("entries of an older, shorter and of a newer, longer layout are read as far as both know them") {
  std::vector<unsigned char> bytes = a_black_box();
  blackbox::header head;
  std::memcpy(&head, bytes.data(), sizeof head);
  const auto change = [&](blackbox::section_kind kind, std::uint32_t entry_bytes, std::uint64_t entries) {
    for (std::uint32_t i = 0; i < head.section_count; ++i) {
      if (head.sections[i].kind == static_cast<std::uint32_t>(kind)) {
        head.sections[i].entry_bytes = entry_bytes;
        head.sections[i].entries = entries;
      }
    }
    std::vector<unsigned char> out = bytes;
    std::memcpy(out.data(), &head, sizeof head);
    return out;
  };
  const auto first_label = [](const std::vector<unsigned char> &with) {
    const temporary_path path;
    const int fd = ::open(path.c_str(), O_CREAT | O_RDWR, 0600);
    REQUIRE(::write(fd, with.data(), with.size()) == static_cast<ssize_t>(with.size()));
    ::close(fd);
    blackbox::reader file;
    REQUIRE(file.open(path.c_str()) == read_error::none);
    blackbox::label_slot slot;
    std::memset(&slot, 0x55, sizeof slot);
    REQUIRE(file.copy(blackbox::section_kind::labels, 0, slot));
    return slot;
  };
  const blackbox::label_slot older = first_label(change(blackbox::section_kind::labels, 16, 8));
  CHECK(older.text[8] == 0); // beyond what the writer knew
  CHECK(older.text[55] == 0);
  const blackbox::label_slot newer = first_label(change(blackbox::section_kind::labels, 128, 4));
  CHECK(newer.key == first_label(bytes).key);
}
