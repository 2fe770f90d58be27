// A rank that skips one all_reduce: the smallest program that hangs like a trainer with a data-dependent branch.
//
//   g++ -std=c++17 -DDTDEBUG -Iinclude examples/01_skip_all_reduce.cpp -o skip && DTDEBUG_TIMEOUT=2s ./skip
#include <dtdebug/repro.hpp>

int main() {
  dtdebug::local_options options;
  options.deadline = std::chrono::seconds(10);
  return dtdebug::run_ranks(
      4,
      [](dtdebug::host_comm &world) {
        float gradient[1024] = {};
        float loss[1] = {};
        for (int step = 0; step < 3; ++step) {
          DT_STEP(step);
          const bool has_gradient = !(world.rank() == 3 && step == 1); // rank 3 saw an empty batch
          if (has_gradient) {
            world.all_reduce(gradient, 1024, dtdebug::redop::avg, "gradient");
          }
          world.all_reduce(loss, 1, dtdebug::redop::sum, "loss");
        }
      },
      options);
}
