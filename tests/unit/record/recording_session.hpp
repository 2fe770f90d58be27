// A recording session of the test process with a black box of its own, and what tests ask of it.
#pragma once

#include <dtdebug/blackbox/reader.hpp>
#include <dtdebug/record.hpp>

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include <unistd.h>

namespace dtdebug::testing {

/// Path in a folder of its own, both removed at the end.
class temporary_path {
public:
  temporary_path() {
    char name[] = "/tmp/dtdebug-test-XXXXXX";
    REQUIRE(::mkdtemp(name) != nullptr);
    folder_ = name;
    path_ = folder_ + "/rank-0.dtbb";
  }
  ~temporary_path() {
    ::unlink(path_.c_str());
    ::rmdir(folder_.c_str());
  }
  temporary_path(const temporary_path &) = delete;
  temporary_path &operator=(const temporary_path &) = delete;
  const char *c_str() const { return path_.c_str(); }
  const std::string &folder() const { return folder_; }

private:
  std::string folder_;
  std::string path_;
};

/// Starts recording into a fresh box; what the process had before is put back at the end.
class recording_session {
public:
  explicit recording_session(const blackbox::capacities &sizes = {}, std::uint32_t world_size = 4) {
    record::the_session = {};
    record::group_names = {};
    record::this_thread_slot = {};
    record::the_session.box = blackbox::create(file.c_str(), sizes);
    REQUIRE(record::the_session.box.file.base != nullptr);
    record::box().who->world_size = world_size;
    record::box().who->start_ticks = record::now_ticks();
    record::box().who->start_mono_ns = os::monotonic_ns();
    world::group_desc everybody;
    everybody.id = 1;
    everybody.name = "world";
    everybody.size = world_size;
    everybody.my_index = 0;
    REQUIRE(world::add_group(record::box(), everybody) == world::world_group);
    record::the_session.pid = static_cast<std::uint32_t>(::getpid());
    blackbox::publish(record::box());
    record::the_session.level = 2;
  }
  ~recording_session() {
    record::the_session.level = 0;
    record::this_thread_slot = {};
    os::unmap(record::the_session.box.file);
    record::the_session = before_;
    record::group_names = names_before_;
  }
  recording_session(const recording_session &) = delete;
  recording_session &operator=(const recording_session &) = delete;

  const blackbox::live_state &live() const { return *record::box().live; }
  const blackbox::group_slot &group(std::uint16_t slot) const { return record::box().groups[slot]; }

  temporary_path file;

private:
  record::session_state before_ = record::the_session;
  record::name_table names_before_ = record::group_names;
};

/// A sum of `count` floats over the group.
inline call_desc sum_of(std::uint64_t count, std::uint16_t group = world::world_group) {
  call_desc call;
  call.op = op_kind::all_reduce;
  call.type = dtype::f32;
  call.reduce = redop::sum;
  call.element_size = 4;
  call.count = count;
  call.group = group;
  return call;
}

inline call_desc message(op_kind op, std::int32_t peer, std::int32_t tag, std::uint16_t group = world::world_group) {
  call_desc call = sum_of(1, group);
  call.op = op;
  call.reduce = redop::none;
  call.root = peer;
  call.tag = tag;
  return call;
}

/// All records that a reader accepts, ring by ring.
inline std::vector<blackbox::record> records_in(const blackbox::reader &file) {
  std::vector<blackbox::record> out;
  for (std::uint64_t r = 0; r < file.count(blackbox::section_kind::rings); ++r) {
    blackbox::ring_header ring;
    if (!file.ring(r, ring)) {
      continue;
    }
    for (std::uint64_t n = ring.head > ring.capacity ? ring.head - ring.capacity : 0; n < ring.head; ++n) {
      blackbox::record call;
      if (file.record_at(r, ring, n, call)) {
        out.push_back(call);
      }
    }
  }
  return out;
}

inline std::vector<blackbox::record> records_of(const recording_session &session) {
  blackbox::reader file;
  REQUIRE(file.open(session.file.c_str()) == blackbox::read_error::none);
  return records_in(file);
}

/// Members on record, in group order.
inline std::vector<std::int32_t> members_of(const blackbox::box &box, std::uint16_t group) {
  std::vector<std::int32_t> out;
  const blackbox::group_slot &slot = box.groups[group];
  for (std::uint32_t r = 0; r < slot.run_count; ++r) {
    const blackbox::member_run &run = box.members[slot.first_run + r];
    for (std::uint32_t i = 0; i < run.count; ++i) {
      out.push_back(run.first + static_cast<std::int32_t>(i) * run.stride);
    }
  }
  return out;
}

} // namespace dtdebug::testing
