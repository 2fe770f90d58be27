// Every macro that needs no library, as a trainer uses them. plain_stripped.cpp is this file with the macros taken out
// by hand: off, both must compile to the same code.
#include <dtdebug/dtdebug.hpp>

#include <array>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

int volatile sink = 0;
int expensive(const char *what); // defined nowhere: an evaluation would not link

extern "C" int exchange(float *data, int count, int peer);

namespace {

template <typename Number>
Number sum_of(const std::vector<Number> &values) {
  DT_SCOPE_COLLECTIVE(dtdebug::all_reduce("dp", values, dtdebug::sum));
  Number total{};
  for (const Number &value : values) {
    DT_STEP(expensive("step"));
    total += value;
  }
  DT_DECISION("total", static_cast<int>(total));
  return total;
}

struct trainer {
  std::vector<float> gradient = std::vector<float>(64);
  std::array<double, 4> loss{};
  int step = 0;

  void start(int rank) {
    DT_START();
    DT_START({});
    DT_GROUP("dp", "data parallel");
    DT_GROUP("tp", "tensor parallel", 0, rank, expensive("rank"));
  }

  int exchange_gradient(int peer) {
    DT_PHASE("exchange");
    const auto count = static_cast<int>(gradient.size());
    if (peer < 0)
      DT_DECISION("no peer", 1);
    else
      return DT_COLLECTIVE(exchange, DT_SHAPED(gradient.data(), "gradient", 8, 8), count, peer);
    return 0;
  }

  double run() {
    for (step = 0; step < 3; ++step) {
      DT_STEP(step);
      const auto &[first, second, third, fourth] = loss;
      DT_DECISION("first", first > second);
      {
        DT_SCOPE_COLLECTIVE(
            dtdebug::all_reduce("dp", gradient.data(), gradient.size(), dtdebug::dtype::f32, dtdebug::avg));
        sink = sink + static_cast<int>(third + fourth);
      }
      DT_SCOPE_COLLECTIVE(dtdebug::broadcast("dp", dtdebug::tensor(gradient.data(), 8, 8).named("gradient"), 0));
      const auto later = [this] {
        DT_PHASE("later");
        return gradient.back();
      };
      sink = sink + static_cast<int>(later());
      try {
        if (sum_of(gradient) > 1e9F) {
          throw std::runtime_error("diverged");
        }
      } catch (const std::runtime_error &error) {
        DT_DIAGNOSE(error.what());
        std::puts(error.what());
      }
    }
    DT_DIAGNOSE(expensive("diagnose") != 0 ? "a" : "b");
    return loss[0];
  }
};

} // namespace

int main() {
  trainer all;
  all.start(1);
  float *const weights = DT_SHAPED(all.gradient.data(), expensive("dim"), 8);
  weights[0] = 1;
  const int failed = all.exchange_gradient(sink);
  return failed + static_cast<int>(all.run());
}
