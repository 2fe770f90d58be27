// What recording one collective costs: begin_call + end_call with everything that DT_COLLECTIVE records (fingerprints,
// rolling hash, dims, call site, step), beside two reads of a clock and a mutex-guarded push of the same record.
//
//   bench_guard [repetitions]
//
// The variants take turns within each repetition, so that a change of the machine's speed meets all of them; ratios are
// taken within a repetition. Prints the median, the least and the greatest.
#include <dtdebug/record.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

#include <unistd.h>

namespace {

using namespace dtdebug;

constexpr int calls_per_turn = 20'000; // about a millisecond: on a busy machine many turns are undisturbed

/// Keeps the compiler from dropping or moving what was computed.
template <typename Value>
void keep(const Value &value) {
  asm volatile("" : : "r,m"(value) : "memory");
}

call_desc gradient_all_reduce(std::uint64_t count) {
  call_desc call;
  call.op = op_kind::all_reduce;
  call.type = dtype::f32;
  call.reduce = redop::sum;
  call.element_size = 4;
  call.count = count;
  call.group = world::world_group;
  call.has_dims = true;
  call.dim_count = 2;
  call.dims[0] = 1024;
  call.dims[1] = 4096;
  return call;
}

call_site site{"train.cpp", 42, "MPI_Allreduce"};

void guard(int n) {
  if (record::recording()) {
    record::end_call(
        record::begin_call(record::id_of(site, "step"), gradient_all_reduce(static_cast<std::uint64_t>(n))));
  }
}

void guard_with_label(int n) {
  if (record::recording()) {
    call_desc call = gradient_all_reduce(static_cast<std::uint64_t>(n));
    call.label_text = "layer3.weight";
    call.label = hash_string(call.label_text);
    record::end_call(record::begin_call(record::id_of(site, "step"), call));
  }
}

void scope_by_name(int) {
  static float data[64];
  DT_SCOPE_COLLECTIVE(dtdebug::all_reduce("world", dtdebug::tensor(&data[0], 8, 8), dtdebug::sum));
}

void guard_switched_off(int n) {
  record::the_session.level = 0;
  guard(n);
  record::the_session.level = 2;
}

void two_counters(int) {
  keep(record::now_ticks());
  keep(record::now_ticks());
}

void two_clocks(int) {
  keep(os::monotonic_ns());
  keep(os::monotonic_ns());
}

std::mutex log_lock;
std::vector<blackbox::record> call_log;

/// The plain way to keep such a record: the same fields, the same two time stamps.
void locked_push(int n) {
  const call_desc call = gradient_all_reduce(static_cast<std::uint64_t>(n));
  blackbox::record out{};
  out.hard = hard_fingerprint(call);
  out.soft = record::detail::fold(soft_fingerprint(call));
  out.count = call.count;
  std::memcpy(out.dims, call.dims, sizeof out.dims);
  out.entered = record::now_ticks();
  const std::lock_guard<std::mutex> hold(log_lock);
  out.seq = call_log.size();
  out.left = record::now_ticks();
  if (call_log.size() == call_log.capacity()) {
    call_log.clear(); // no growth inside the figure
  }
  call_log.push_back(out);
}

struct variant {
  const char *name;
  void (*run)(int);
  std::vector<double> ns;
};

double ns_per_call(void (*run)(int)) {
  const std::uint64_t begin = os::monotonic_ns();
  for (int i = 0; i < calls_per_turn; ++i) {
    run(i);
  }
  return static_cast<double>(os::monotonic_ns() - begin) / calls_per_turn;
}

struct spread {
  double median, least, greatest;
};

spread spread_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return {values[values.size() / 2], values.front(), values.back()};
}

bool start_recording(std::string &path) {
  path = (::access("/dev/shm", W_OK) == 0 ? "/dev/shm/" : "/tmp/") + ("dtdebug-bench-" + std::to_string(::getpid()));
  record::the_session.box = blackbox::create(path.c_str(), {});
  ::unlink(path.c_str());
  if (record::box().file.base == nullptr) {
    return false;
  }
  world::group_desc everybody;
  everybody.id = 1;
  everybody.name = "world";
  everybody.size = 8;
  world::add_group(record::box(), everybody);
  record::the_session.pid = static_cast<std::uint32_t>(::getpid());
  record::the_session.level = 2;
  return true;
}

} // namespace

int main(int argc, char **argv) {
  const int repetitions = std::max(7, argc > 1 ? std::atoi(argv[1]) : 201);
  std::string path;
  if (!start_recording(path)) {
    std::fprintf(stderr, "bench_guard: cannot make %s: %s\n", path.c_str(), std::strerror(record::box().file.error));
    return 1;
  }
  call_log.reserve(4096); // as large as a ring
  variant variants[] = {
      {"guard", guard, {}},
      {"guard with a label", guard_with_label, {}},
      {"scope, group by name", scope_by_name, {}},
      {"guard at level off", guard_switched_off, {}},
      {"two time stamp counters", two_counters, {}},
      {"two clock_gettime", two_clocks, {}},
      {"mutex and vector push", locked_push, {}},
  };
  for (variant &each : variants) {
    ns_per_call(each.run); // warm
  }
  for (int i = 0; i < repetitions; ++i) {
    for (variant &each : variants) {
      each.ns.push_back(ns_per_call(each.run));
    }
  }
  std::printf("%d repetitions of %d calls each, time stamps from %s\n\n", repetitions, calls_per_turn,
              record::box().steady_counter ? "the time stamp counter" : "CLOCK_MONOTONIC");
  std::printf("%-26s %10s %10s %10s   ns per call\n", "", "median", "least", "greatest");
  for (const variant &each : variants) {
    const spread s = spread_of(each.ns);
    std::printf("%-26s %10.2f %10.2f %10.2f\n", each.name, s.median, s.least, s.greatest);
  }
  std::printf("\n%-26s %10s %10s %10s\n", "guard, ratio to", "median", "least", "greatest");
  for (std::size_t v = 4; v < std::size(variants); ++v) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < variants[0].ns.size(); ++i) {
      ratios.push_back(variants[0].ns[i] / variants[v].ns[i]);
    }
    const spread s = spread_of(ratios);
    std::printf("%-26s %10.2f %10.2f %10.2f\n", variants[v].name, s.median, s.least, s.greatest);
  }
  return 0;
}
