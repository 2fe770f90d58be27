// The reader on a file that another process writes at this moment.
#include "../record/recording_session.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include <csignal>
#include <sys/mman.h>
#include <sys/wait.h>

using namespace dtdebug;
using namespace dtdebug::testing;
using blackbox::read_error;
using blackbox::section_kind;

namespace {

/// A flag that a forked process sees.
struct shared_flag {
  std::uint32_t *word =
      static_cast<std::uint32_t *>(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ~shared_flag() { ::munmap(word, 4096); }
  bool is_set() const { return __atomic_load_n(word, __ATOMIC_ACQUIRE) != 0; }
  void set() const { __atomic_store_n(word, 1U, __ATOMIC_RELEASE); }
};

/// A process that runs `work` until the end of the test; killed if the test fails before it ends by itself.
class process {
public:
  template <typename Work>
  explicit process(Work work) : pid_(::fork()) {
    REQUIRE(pid_ >= 0);
    if (pid_ == 0) {
      work();
      ::_exit(0);
    }
  }
  ~process() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
  }
  process(const process &) = delete;
  process &operator=(const process &) = delete;
  int join() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return status;
  }

private:
  pid_t pid_;
};

/// A record all of whose fields follow from one number.
blackbox::record record_of(std::uint64_t n) {
  blackbox::record out{};
  out.hard = mix(n, 1);
  out.entered = n + 1000;
  out.count = n;
  out.seq = ~n;
  for (std::uint32_t i = 0; i < max_dims; ++i) {
    out.dims[i] = static_cast<std::uint32_t>(n) + i;
  }
  out.soft = static_cast<std::uint32_t>(mix(n, 2));
  out.site = static_cast<std::uint32_t>(n * 3);
  out.tag = static_cast<std::int32_t>(static_cast<std::uint32_t>(n));
  out.state = static_cast<std::uint8_t>(call_state::entered);
  out.flags = static_cast<std::uint8_t>(n);
  return out;
}

/// True when the record is that of its number, and its end fits its state.
bool is_whole(const blackbox::record &seen, std::uint64_t n) {
  blackbox::record expected = record_of(n);
  expected.ticket = 2 * (n + 1);
  expected.extra = seen.extra;
  expected.state = seen.state;
  expected.left = seen.left;
  const auto state = static_cast<call_state>(seen.state);
  const bool end_fits = state == call_state::done ? seen.left == n + 5000 : seen.left == 0;
  return std::memcmp(&seen, &expected, sizeof seen) == 0 && end_fits &&
         (state == call_state::done || state == call_state::entered);
}

blackbox::capacities small_ring() {
  blackbox::capacities sizes;
  sizes.ring_records = 64;
  sizes.ring_extra_words = 256;
  sizes.rings = 4;
  sizes.notes = 8;
  sizes.groups = 4;
  sizes.member_runs = 64;
  return sizes;
}

struct file_under_test {
  temporary_path path;
  blackbox::box box = blackbox::create(path.c_str(), small_ring());
  file_under_test() {
    REQUIRE(box.file.base != nullptr);
    blackbox::publish(box);
  }
  ~file_under_test() { os::unmap(box.file); }
};

} // namespace

TEST_CASE("every record and every split that the reader accepts of a running writer is whole") {
  const file_under_test file;
  const shared_flag stop;
  process writer([&] {
    blackbox::ring_header *ring = blackbox::claim_ring(file.box);
    for (std::uint64_t n = 0; !stop.is_set(); ++n) {
      blackbox::record call = record_of(n);
      std::int64_t splits[40];
      const auto members = static_cast<std::uint32_t>(1 + n % 40);
      for (std::uint32_t i = 0; i < members; ++i) {
        splits[i] = static_cast<std::int64_t>(n * 100 + i);
      }
      call.extra = blackbox::append_splits(ring, splits, n % 2 == 0 ? splits : nullptr, members);
      const blackbox::record_ref ref = blackbox::append(ring, call);
      if (n % 3 != 0) {
        blackbox::set_state(ref, call_state::done, n + 5000);
      }
    }
  });
  blackbox::reader reader;
  REQUIRE(reader.open(file.path.c_str()) == read_error::none);
  std::uint64_t accepted = 0;
  std::uint64_t refused = 0;
  std::uint64_t with_splits = 0;
  std::uint64_t broken = 0;
  const std::uint64_t deadline = os::monotonic_ns() + 20'000'000'000ULL;
  while ((accepted < 300'000 || with_splits < 20'000) && os::monotonic_ns() < deadline) {
    blackbox::ring_header ring;
    if (!reader.ring(0, ring)) {
      continue;
    }
    for (std::uint64_t n = ring.head > ring.capacity ? ring.head - ring.capacity : 0; n < ring.head; ++n) {
      blackbox::record call;
      if (!reader.record_at(0, ring, n, call)) {
        ++refused;
        continue;
      }
      ++accepted;
      broken += is_whole(call, n) ? 0U : 1U;
      std::int64_t sent[64];
      std::int64_t received[64];
      std::uint32_t sends = 0;
      std::uint32_t receives = 0;
      if (reader.splits_of(0, ring, call, sent, sends, received, receives, 64)) {
        ++with_splits;
        broken += sends == 1 + n % 40 && receives == (n % 2 == 0 ? sends : 0) ? 0U : 1U;
        for (std::uint32_t i = 0; i < sends; ++i) {
          broken += sent[i] == static_cast<std::int64_t>(n * 100 + i) ? 0U : 1U;
          broken += receives == 0 || received[i] == sent[i] ? 0U : 1U;
        }
      }
    }
  }
  stop.set();
  CHECK(writer.join() == 0);
  CHECK(broken == 0);
  CHECK(accepted >= 300'000);
  CHECK(with_splits >= 20'000);
  CHECK(refused > 0); // the writer did overtake the reader
}

TEST_CASE("a record that is overwritten or ended at this moment is refused or whole") {
  const file_under_test file;
  const shared_flag stop;
  process writer([&] {
    blackbox::ring_header *ring = blackbox::claim_ring(file.box);
    for (std::uint64_t n = 0; !stop.is_set(); ++n) {
      blackbox::set_state(blackbox::append(ring, record_of(n)), call_state::done, n + 5000);
    }
  });
  blackbox::reader reader;
  REQUIRE(reader.open(file.path.c_str()) == read_error::none);
  std::uint64_t oldest = 0;
  std::uint64_t newest = 0;
  std::uint64_t broken = 0;
  const std::uint64_t deadline = os::monotonic_ns() + 20'000'000'000ULL;
  while ((oldest < 60'000 || newest < 60'000) && os::monotonic_ns() < deadline) {
    blackbox::ring_header ring;
    if (!reader.ring(0, ring) || ring.head < ring.capacity) {
      continue;
    }
    const std::uint64_t first = ring.head - ring.capacity;
    for (std::uint64_t ahead = 0; ahead < 12; ++ahead) { // the writer comes to these next
      blackbox::record call;
      if (reader.record_at(0, ring, first + ahead, call)) {
        ++oldest;
        broken += is_whole(call, first + ahead) ? 0U : 1U;
      }
    }
    for (std::uint64_t ahead = 0; ahead < 12; ++ahead) { // and ends these, which it has begun since
      blackbox::record call;
      if (reader.record_at(0, ring, ring.head + ahead, call)) {
        ++newest;
        broken += is_whole(call, ring.head + ahead) ? 0U : 1U;
      }
    }
  }
  stop.set();
  CHECK(writer.join() == 0);
  CHECK(broken == 0);
  CHECK(oldest >= 60'000);
  CHECK(newest >= 60'000);
}

TEST_CASE("every note that the reader accepts of running writers is whole") {
  const file_under_test file;
  const shared_flag stop;
  std::string texts[26]; // made beforehand: the writers are to do nothing but write
  for (std::size_t i = 0; i < std::size(texts); ++i) {
    texts[i] = std::string(127, static_cast<char>('a' + i));
  }
  process writers([&] {
    const auto write = [&](std::uint64_t first) {
      for (std::uint64_t n = first; !stop.is_set(); n += 2) {
        blackbox::note_desc note;
        note.name = texts[n % 26].c_str() + 64;
        note.text = texts[n % 26].c_str();
        note.value = n;
        note.value2 = ~n;
        note.ordinal = n * 3;
        note.order = n * 5;
        blackbox::append_note(file.box, note);
      }
    };
    std::thread second(write, 1);
    write(0);
    second.join();
  });
  blackbox::reader reader;
  REQUIRE(reader.open(file.path.c_str()) == read_error::none);
  std::uint64_t accepted = 0;
  std::uint64_t broken = 0;
  const std::uint64_t deadline = os::monotonic_ns() + 20'000'000'000ULL;
  while (accepted < 400'000 && os::monotonic_ns() < deadline) {
    const std::uint64_t head = __atomic_load_n(&file.box.live->note_head, __ATOMIC_ACQUIRE);
    for (std::uint64_t n = head > 8 ? head - 8 : 0; n < head; ++n) { // the writers come to the first of these next
      blackbox::note_slot note;
      if (reader.note_at(n, note)) {
        ++accepted;
        const std::uint64_t v = note.value;
        broken += note.value2 == ~v && note.ordinal == v * 3 && note.order == v * 5 &&
                          texts[v % 26].compare(64, 63, note.name) == 0 && texts[v % 26] == note.text
                      ? 0U
                      : 1U;
      }
    }
  }
  stop.set();
  CHECK(writers.join() == 0);
  CHECK(broken == 0);
  CHECK(accepted >= 400'000);
}

TEST_CASE("a group slot that is given away at this moment is never read as a mixture of two groups") {
  const file_under_test file;
  const shared_flag stop;
  process writer([&] {
    for (std::uint64_t n = 1; !stop.is_set(); ++n) {
      const auto rank = static_cast<std::int32_t>(n % 1000);
      const std::int32_t members[] = {rank, rank + 1, rank + 5, rank + 6};
      world::group_desc what;
      what.id = n;
      const std::string name = "group " + std::to_string(n);
      what.name = name.c_str();
      what.members = members;
      what.size = static_cast<std::uint32_t>(2 + n % 3);
      what.my_index = static_cast<std::int32_t>(n);
      const std::uint16_t slot = world::add_group(file.box, what);
      world::set_state(file.box, slot, world::slot_state::freed);
    }
  });
  blackbox::reader reader;
  REQUIRE(reader.open(file.path.c_str()) == read_error::none);
  std::uint64_t accepted = 0;
  std::uint64_t broken = 0;
  const std::uint64_t deadline = os::monotonic_ns() + 20'000'000'000ULL;
  while (accepted < 20'000 && os::monotonic_ns() < deadline) {
    for (std::uint64_t i = 1; i < 4; ++i) {
      blackbox::group_slot group;
      if (!reader.group_at(i, group)) {
        continue;
      }
      for (int pause = 0; pause < 20; ++pause) { // the writer gets on meanwhile
        blackbox::identity who;
        REQUIRE(reader.copy(section_kind::identity, 0, who));
      }
      std::vector<std::int32_t> members;
      for (std::uint32_t run = 0; run < group.run_count; ++run) {
        blackbox::member_run part;
        REQUIRE(reader.copy(section_kind::members, std::uint64_t{group.first_run} + run, part));
        for (std::uint32_t k = 0; k < part.count && k < 10; ++k) {
          members.push_back(part.first + static_cast<std::int32_t>(k) * part.stride);
        }
      }
      if (!reader.still_is(i, group)) {
        continue;
      }
      ++accepted;
      const auto rank = static_cast<std::int32_t>(group.id % 1000);
      std::vector<std::int32_t> expected{rank, rank + 1, rank + 5, rank + 6};
      expected.resize(2 + group.id % 3);
      broken += group.name == "group " + std::to_string(group.id) && group.size == expected.size() &&
                        group.my_index == static_cast<std::int32_t>(group.id) && members == expected
                    ? 0U
                    : 1U;
    }
  }
  stop.set();
  CHECK(writer.join() == 0);
  CHECK(broken == 0);
  CHECK(accepted >= 20'000);
}

TEST_CASE("a file is refused until it is finished and read completely from then on") {
  const temporary_path path;
  const shared_flag stop;
  process writer([&] {
    while (!stop.is_set()) {
      blackbox::box made = blackbox::create(path.c_str(), small_ring());
      if (made.file.base == nullptr) {
        ::_exit(1);
      }
      made.who->rank = 7;
      blackbox::label_id(made, "early", hash_string("early"));
      blackbox::publish(made);
      os::unmap(made.file);
      ::unlink(path.c_str());
    }
  });
  std::uint64_t read = 0;
  std::uint64_t refused = 0;
  std::uint64_t wrong = 0;
  const std::uint64_t deadline = os::monotonic_ns() + 20'000'000'000ULL;
  while ((read < 300 || refused < 300) && os::monotonic_ns() < deadline) {
    blackbox::reader reader;
    const read_error error = reader.open(path.c_str());
    if (error == read_error::none) {
      ++read;
      blackbox::identity who;
      wrong += reader.copy(section_kind::identity, 0, who) && who.rank == 7 && reader.count(section_kind::rings) == 4
                   ? 0U
                   : 1U;
    } else {
      ++refused;
      wrong += error == read_error::cannot_open || error == read_error::too_short || error == read_error::not_ready
                   ? 0U
                   : 1U;
    }
  }
  stop.set();
  CHECK(writer.join() == 0);
  CHECK(wrong == 0);
  CHECK(read >= 300);
  CHECK(refused >= 300);
}

TEST_CASE("a writer that is killed in the middle of its work leaves a file that is whole") {
  for (int round = 0; round < 20; ++round) {
    const file_under_test file;
    {
      const process writer([&] {
        blackbox::ring_header *ring = blackbox::claim_ring(file.box);
        for (std::uint64_t n = 0;; ++n) {
          blackbox::set_state(blackbox::append(ring, record_of(n)), call_state::done, n + 5000);
        }
      });
      const std::uint64_t deadline = os::monotonic_ns() + 10'000'000'000ULL;
      while (__atomic_load_n(&file.box.ring(0)->head, __ATOMIC_ACQUIRE) < 1000U + 97U * static_cast<unsigned>(round) &&
             os::monotonic_ns() < deadline) {
      }
    } // SIGKILL
    blackbox::reader reader;
    REQUIRE(reader.open(file.path.c_str()) == read_error::none);
    blackbox::ring_header ring;
    REQUIRE(reader.ring(0, ring));
    std::uint64_t accepted = 0;
    for (std::uint64_t n = ring.head - ring.capacity; n < ring.head; ++n) {
      blackbox::record call;
      if (reader.record_at(0, ring, n, call)) {
        ++accepted;
        CHECK(is_whole(call, n));
      }
    }
    CHECK(accepted >= ring.capacity - 1);
  }
}
