// Minimal repro programs in one file: N local ranks by fork, a communicator on host memory, and dtdebug watching them.
//
//   #include <dtdebug/repro.hpp>
//   int main() {
//     return dtdebug::run_ranks(4, [](dtdebug::host_comm &world) { … world.all_reduce(data, 16, dtdebug::redop::sum); …
//     });
//   }
#pragma once

#include <dtdebug/dtdebug.hpp>
#include <dtdebug/repro/host_comm.hpp>
#include <dtdebug/repro/local_ranks.hpp>

#include <memory>

namespace dtdebug {
inline namespace DTDEBUG_ABI {

/// Forks `count` ranks, starts dtdebug in each (with -DDTDEBUG), and runs `body(world)` in each. Returns 0 when every
/// rank ended well, else 1, and says which ranks did not, and how. See local_ranks for the rules: before any thread is
/// started.
template <typename Body>
int run_ranks(int count, Body &&body, const local_options &options = {}) {
  repro::arena memory;
  if (!memory.ready()) {
    std::perror("run_ranks: shared memory");
    return 1;
  }
  const local_result result = local_ranks(
      count,
      [&memory, &body](int rank, int size) {
        DT_START();
        repro::exchange with(memory);
        std::vector<std::int32_t> everybody;
        for (int r = 0; r < size; ++r) {
          everybody.push_back(r);
        }
        host_comm world(with, repro::host_group("world", everybody, rank));
        body(world);
      },
      options);
  std::fputs(how_it_ended(result).c_str(), stderr);
  return result.ok() ? 0 : 1;
}

} // namespace DTDEBUG_ABI
} // namespace dtdebug
