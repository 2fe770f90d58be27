// Two ranks that send first: it passes wherever small messages are buffered, and hangs with the first large one.
//
//   g++ -std=c++17 -DDTDEBUG -Iinclude examples/02_send_before_recv.cpp -o ring && DTDEBUG_TIMEOUT=2s ./ring
#include <dtdebug/repro.hpp>

int main() {
  dtdebug::local_options options;
  options.deadline = std::chrono::seconds(10);
  return dtdebug::run_ranks(
      2,
      [](dtdebug::host_comm &world) {
        const int other = 1 - world.rank();
        float mine[256] = {};
        float theirs[256] = {};
        world.send(mine, 256, other, 0, "activations");
        world.recv(theirs, 256, other, 0, "activations");
      },
      options);
}
