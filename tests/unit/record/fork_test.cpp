// A rank that forks a child, as data loaders do: the black box stays the parent's.
#include "recording_session.hpp"

#include <dtdebug/watch/last_words.hpp>

#include <doctest/doctest.h>

#include <cstdio>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include <sys/wait.h>

using namespace dtdebug;
using namespace dtdebug::testing;

namespace {

/// Exit status of a forked child that runs `work`; -1 when it was killed.
template <typename Work>
int in_child(Work work) {
  static std::once_flag once;
  std::call_once(once, [] { watch::forget_in_children(); });
  std::fflush(stdout); // or the child writes it once more
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    work();
    ::_exit(7);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::vector<unsigned char> bytes_of(const blackbox::box &box) {
  return std::vector<unsigned char>(box.file.base, box.file.base + box.head->file_bytes);
}

/// Everything that a program may say to dtdebug.
void use_everything(const record::record_ref &of_parent) {
  record::end_call(of_parent);
  record::end_call(of_parent, call_state::failed, 5);
  record::resolve_wildcard(of_parent, 3, 9);
  static call_site site{"child.cpp", 1, "call"};
  if (record::recording()) {
    record::end_call(record::begin_call(record::id_of(site, "f"), sum_of(1)));
  }
  record::end_call(record::begin_call(0, sum_of(2))); // an adapter that had looked at recording() before the fork
  float data[4] = {};
  try {
    DT_SCOPE_COLLECTIVE(dtdebug::all_reduce("in the child", data, dtdebug::sum));
    throw std::runtime_error("thrown");
  } catch (const std::runtime_error &) {
  }
  DT_STEP(9);
  DT_PHASE("loading");
  DT_DECISION("more", 1);
  DT_DIAGNOSE("why");
  swallowed_error("e");
  fact("a", "b");
  DT_GROUP("of the child", "of the child", 0, 1);
  std::thread([] { record::end_call(record::begin_call(0, sum_of(3))); }).join();
}

} // namespace

TEST_CASE("a forked child changes no byte of its parent's black box") {
  blackbox::capacities sizes;
  sizes.ring_records = 64;
  sizes.rings = 4;
  const recording_session session(sizes);
  const record::record_ref open_call = record::begin_call(0, sum_of(1));
  DT_SCOPE_COLLECTIVE(dtdebug::barrier("world"));
  const std::vector<unsigned char> before = bytes_of(record::box());
  CHECK(in_child([&] { use_everything(open_call); }) == 7);
  CHECK(bytes_of(record::box()) == before);
}

TEST_CASE("a scope that was open at the fork and ends in the child stays open in the parent") {
  const recording_session session;
  {
    DT_SCOPE_COLLECTIVE(dtdebug::barrier("world"));
    CHECK(in_child([] {
            try {
              DT_SCOPE_COLLECTIVE(dtdebug::barrier("world"));
              throw std::runtime_error("in the child");
            } catch (const std::runtime_error &) {
            }
          }) == 7);
    REQUIRE(records_of(session).size() == 1);
    CHECK(static_cast<call_state>(records_of(session)[0].state) == call_state::entered);
  }
  CHECK(static_cast<call_state>(records_of(session)[0].state) == call_state::done);
}

TEST_CASE("the parent goes on recording while its child lives and after it has ended") {
  const recording_session session;
  int pipe_ends[2];
  REQUIRE(::pipe(pipe_ends) == 0);
  watch::forget_in_children();
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    char byte = 0;
    ::close(pipe_ends[1]);
    while (::read(pipe_ends[0], &byte, 1) > 0) {
    }
    record::end_call(record::begin_call(0, sum_of(99)));
    ::_exit(0);
  }
  ::close(pipe_ends[0]);
  record::end_call(record::begin_call(0, sum_of(1)));
  ::close(pipe_ends[1]);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  record::end_call(record::begin_call(0, sum_of(2)));
  const std::vector<blackbox::record> calls = records_of(session);
  REQUIRE(calls.size() == 2);
  CHECK(calls[0].seq == 0);
  CHECK(calls[1].seq == 1);
  CHECK(calls[1].count == 2);
  CHECK(session.live().calls_unrecorded == 0);
}

TEST_CASE("a thread that ends in a child does not give its parent's ring away") {
  const recording_session session;
  record::end_call(record::begin_call(0, sum_of(1)));
  CHECK(in_child([] { std::exit(3); }) == 3); // runs the destructors of the thread
  CHECK(record::this_thread_slot.ring->used == static_cast<std::uint32_t>(blackbox::ring_use::owned));
}
