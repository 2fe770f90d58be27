// plain.cpp without dtdebug.
#include <array>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

int volatile sink = 0;

extern "C" int exchange(float *data, int count, int peer);

namespace {

template <typename Number>
Number sum_of(const std::vector<Number> &values) {
  Number total{};
  for (const Number &value : values) {
    total += value;
  }
  return total;
}

struct trainer {
  std::vector<float> gradient = std::vector<float>(64);
  std::array<double, 4> loss{};
  int step = 0;

  void start(int) {}

  int exchange_gradient(int peer) {
    const auto count = static_cast<int>(gradient.size());
    if (peer < 0)
      ;
    else
      return exchange(gradient.data(), count, peer);
    return 0;
  }

  double run() {
    for (step = 0; step < 3; ++step) {
      const auto &[first, second, third, fourth] = loss;
      { sink = sink + static_cast<int>(third + fourth); }
      const auto later = [this] { return gradient.back(); };
      sink = sink + static_cast<int>(later());
      try {
        if (sum_of(gradient) > 1e9F) {
          throw std::runtime_error("diverged");
        }
      } catch (const std::runtime_error &error) {
        std::puts(error.what());
      }
    }
    return loss[0];
  }
};

} // namespace

int main() {
  trainer all;
  all.start(1);
  float *const weights = all.gradient.data();
  weights[0] = 1;
  const int failed = all.exchange_gradient(sink);
  return failed + static_cast<int>(all.run());
}
