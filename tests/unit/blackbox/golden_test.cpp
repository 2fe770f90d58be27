// A black box of format version 1, kept in golden/: later code must read from it what it says here, and must write the
// same bytes. GOLDEN_COLLECT=1 writes golden/version_1.txt anew, which is right only for a new version of the format.
#include "../record/recording_session.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <fcntl.h>

using namespace dtdebug;
using namespace dtdebug::testing;
using blackbox::section_kind;

namespace {

using bytes = std::vector<unsigned char>;

std::string golden_path() {
  const std::string here = __FILE__;
  return here.substr(0, here.rfind('/')) + "/golden/version_1.txt";
}

constexpr std::size_t row_bytes = 32;

/// "size", then one row "offset hex" for each 32 bytes that are not all zero.
std::string text_of(const bytes &file) {
  std::ostringstream out;
  out << file.size() << "\n";
  for (std::size_t at = 0; at < file.size(); at += row_bytes) {
    std::string hex;
    bool any = false;
    for (std::size_t i = at; i < at + row_bytes && i < file.size(); ++i) {
      constexpr char digits[] = "0123456789abcdef";
      hex += digits[file[i] >> 4];
      hex += digits[file[i] & 15];
      any |= file[i] != 0;
    }
    if (any) {
      out << at << " " << hex << "\n";
    }
  }
  return out.str();
}

bytes bytes_of(const std::string &text) {
  std::istringstream in(text);
  std::size_t size = 0;
  in >> size;
  bytes out(size);
  std::size_t at = 0;
  for (std::string hex; in >> at >> hex;) {
    for (std::size_t i = 0; 2 * i + 1 < hex.size(); ++i) {
      out.at(at + i) = static_cast<unsigned char>(std::stoi(hex.substr(2 * i, 2), nullptr, 16));
    }
  }
  return out;
}

std::string golden_text() {
  std::ifstream file(golden_path());
  std::stringstream out;
  out << file.rdbuf();
  return out.str();
}

blackbox::capacities smallest() {
  blackbox::capacities sizes;
  sizes.ring_records = 64;
  sizes.ring_extra_words = 64;
  sizes.rings = 1;
  sizes.groups = 3;
  sizes.member_runs = 4;
  sizes.sites = 4;
  sizes.labels = 4;
  sizes.string_bytes = 128;
  sizes.notes = 4;
  sizes.messages = 4;
  sizes.modules = 1;
  sizes.stacks = 1;
  return sizes;
}

/// The same box in every process: what depends on the machine is set by hand.
bytes write_box() {
  const recording_session session(smallest());
  const blackbox::box &box = record::box();
  *box.who = {};
  box.who->rank = 3;
  box.who->world_size = 4;
  box.who->local_rank = 1;
  box.who->pid = 4321;
  box.who->process_start = 1111;
  box.who->start_wall_ns = 2222;
  box.who->start_mono_ns = 3333;
  box.who->start_ticks = 4444;
  std::strcpy(box.who->host, "node7");
  std::strcpy(box.who->job, "job");
  std::strcpy(box.who->program, "/bin/train");
  std::strcpy(box.who->library_version, "0.1.0");
  const std::int32_t members[] = {1, 3};
  const std::uint16_t dp = world::add_group(box, {0xabcdef, "dp", members, 2, 1});
  box.groups[1].created_ticks = 4500;
  box.groups[dp].created_ticks = 4600;
  DT_STEP(6);
  DT_PHASE("backward");
  box.live->step_ticks = 4700;
  box.live->phase_ticks = 4800;
  DT_DECISION("more", 1);
  box.notes[0].ticks = 4900;
  call_desc call = sum_of(1000, dp);
  call.label_text = "w";
  call.label = hash_string(call.label_text);
  call.has_dims = true;
  call.dim_count = 2;
  call.dims[0] = 10;
  call.dims[1] = 100;
  static call_site site{"train.cpp", 42, "MPI_Allreduce"};
  site.id = 0;
  record::end_call(record::begin_call(record::id_of(site, "step"), call));
  record::begin_call(0, message(op_kind::send, 2, 9));
  const std::int64_t splits[] = {5, 0, 7, 1};
  call_desc uneven = sum_of(13);
  uneven.op = op_kind::all_to_all_v;
  uneven.splits = splits;
  uneven.recv_splits = splits;
  uneven.split_count = 4;
  record::end_call(record::begin_call(0, uneven), call_state::done, 15);
  blackbox::ring_header *ring = box.ring(0);
  ring->tid = 4322;
  std::memset(ring->thread_name, 0, sizeof ring->thread_name);
  std::strcpy(ring->thread_name, "main");
  for (std::uint64_t i = 0; i < 3; ++i) {
    blackbox::record &each = blackbox::records_of(ring)[i];
    each.entered = 5000 + 100 * i;
    each.left = each.left != 0 ? 5050 + 100 * i : 0;
  }
  box.live->heartbeat_ticks = 6000;
  box.live->heartbeat_mono_ns = 4000;
  return bytes(box.file.base, box.file.base + box.head->file_bytes);
}

/// The golden file, opened.
class golden_box {
public:
  golden_box() {
    const bytes content = bytes_of(golden_text());
    const int fd = ::open(path_.c_str(), O_CREAT | O_WRONLY, 0600);
    REQUIRE(::write(fd, content.data(), content.size()) == static_cast<ssize_t>(content.size()));
    ::close(fd);
    REQUIRE(file.open(path_.c_str()) == blackbox::read_error::none);
  }
  template <typename Entry>
  Entry entry(section_kind kind, std::uint64_t index) const {
    Entry out;
    REQUIRE(file.copy(kind, index, out));
    return out;
  }
  std::string string(std::uint32_t offset) const {
    char text[64];
    file.string(offset, text, sizeof text);
    return text;
  }
  blackbox::reader file;

private:
  temporary_path path_;
};

} // namespace

TEST_CASE("the file that version 1 writes is the golden file, byte for byte") {
  const std::string written = text_of(write_box());
  if (std::getenv("GOLDEN_COLLECT") != nullptr) {
    std::ofstream(golden_path()) << written;
  }
  CHECK(bytes_of(written) == write_box());
  CHECK(written == golden_text());
}

TEST_CASE("the golden file says who wrote it") {
  const golden_box box;
  const auto who = box.entry<blackbox::identity>(section_kind::identity, 0);
  CHECK(who.rank == 3);
  CHECK(who.world_size == 4);
  CHECK(who.local_rank == 1);
  CHECK(who.pid == 4321);
  CHECK(who.process_start == 1111);
  CHECK(who.start_wall_ns == 2222);
  CHECK(who.start_mono_ns == 3333);
  CHECK(who.start_ticks == 4444);
  CHECK(std::string(who.host) == "node7");
  CHECK(std::string(who.job) == "job");
  CHECK(std::string(who.program) == "/bin/train");
  CHECK(std::string(who.library_version) == "0.1.0");
  const auto live = box.entry<blackbox::live_state>(section_kind::live, 0);
  CHECK(live.heartbeat_ticks == 6000);
  CHECK(live.heartbeat_mono_ns == 4000);
  CHECK(live.step == 7);
  CHECK(live.step_ticks == 4700);
  CHECK(live.phase_ticks == 4800);
  CHECK(live.group_count == 3);
  CHECK(live.group_ordinal == 2);
  CHECK(live.note_head == 1);
  CHECK(live.ring_count == 1);
  CHECK(std::string(box.entry<blackbox::label_slot>(section_kind::labels, live.phase - 1).text) == "backward");
}

TEST_CASE("the golden file has its groups, with members and hashes") {
  const golden_box box;
  blackbox::group_slot world;
  blackbox::group_slot dp;
  REQUIRE(box.file.group_at(1, world));
  REQUIRE(box.file.group_at(2, dp));
  CHECK_FALSE(box.file.group_at(0, world));
  CHECK(dp.id == 0xabcdef);
  CHECK(std::string(dp.name) == "dp");
  CHECK(dp.next_seq == 1);
  CHECK(dp.created_ticks == 4600);
  CHECK(dp.state == 2);
  CHECK(dp.ordinal == 1);
  CHECK(dp.size == 2);
  CHECK(dp.my_index == 1);
  REQUIRE(dp.run_count == 1);
  const auto run = box.entry<blackbox::member_run>(section_kind::members, dp.first_run);
  CHECK(run.first == 1);
  CHECK(run.stride == 2);
  CHECK(run.count == 2);
  CHECK(dp.blocks[0].block == 1);
  CHECK(dp.blocks[0].filled == 1);
  CHECK(dp.blocks[0].sum == dp.rolling);
  CHECK(dp.rolling == 0xf0d044ed28cd9e2fULL);
}

TEST_CASE("the golden file has its calls, with names, dims and splits") {
  const golden_box box;
  blackbox::ring_header ring;
  REQUIRE(box.file.ring(0, ring));
  CHECK(ring.head == 3);
  CHECK(ring.tid == 4322);
  CHECK(std::string(ring.thread_name) == "main");
  blackbox::record call;
  REQUIRE(box.file.record_at(0, ring, 0, call));
  CHECK(call.op == 1);
  CHECK(call.type == 11);
  CHECK(call.reduce == 1);
  CHECK(call.state == 5);
  CHECK(call.count == 1000);
  CHECK(call.group == 2);
  CHECK(call.entered == 5000);
  CHECK(call.left == 5050);
  CHECK(call.step == 7);
  CHECK(call.shape == 0x82);
  CHECK(call.dims[1] == 100);
  CHECK(call.hard == 0x9e20cda28a2dbc84ULL);
  CHECK(call.soft == 0xc7f05911U);
  CHECK(std::string(box.entry<blackbox::label_slot>(section_kind::labels, call.label - 1).text) == "w");
  const auto site = box.entry<blackbox::site_slot>(section_kind::sites, call.site - 1);
  CHECK(box.string(site.file) == "train.cpp");
  CHECK(box.string(site.function) == "step");
  CHECK(box.string(site.text) == "MPI_Allreduce");
  CHECK(site.line == 42);
  REQUIRE(box.file.record_at(0, ring, 1, call));
  CHECK(call.op == 12);
  CHECK(call.root == 2);
  CHECK(call.tag == 9);
  CHECK(call.seq == 0);
  CHECK(call.state == 2);
  CHECK(call.left == 0);
  REQUIRE(box.file.record_at(0, ring, 2, call));
  CHECK(call.op == 9);
  CHECK(call.state == 6);
  CHECK(call.result == 15);
  std::int64_t sent[8];
  std::int64_t received[8];
  std::uint32_t n = 0;
  std::uint32_t m = 0;
  REQUIRE(box.file.splits_of(0, ring, call, sent, n, received, m, 8));
  CHECK(std::vector<std::int64_t>(sent, sent + n) == std::vector<std::int64_t>{5, 0, 7, 1});
  CHECK(std::vector<std::int64_t>(received, received + m) == std::vector<std::int64_t>{5, 0, 7, 1});
}

TEST_CASE("the golden file has its note") {
  const golden_box box;
  blackbox::note_slot note;
  REQUIRE(box.file.note_at(0, note));
  CHECK(std::string(note.name) == "more");
  CHECK(std::string(note.text) == "1");
  CHECK(note.kind == 2);
  CHECK(note.value == 1);
  CHECK(note.ticks == 4900);
  CHECK(note.step == 7);
}
