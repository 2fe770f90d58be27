#include "optimizer.hpp"

#include <cmath>
#include <cstddef>

namespace trainer {

adamw::adamw(const std::vector<parameter> &parameters) {
  for (const parameter &each : parameters) {
    first_.emplace_back(each.value.size(), 0.0F);
    second_.emplace_back(each.value.size(), 0.0F);
  }
}

void adamw::update(std::vector<parameter> &parameters, double learning_rate) {
  constexpr float beta1 = 0.9F;
  constexpr float beta2 = 0.99F;
  constexpr float epsilon = 1e-8F;
  constexpr float weight_decay = 0.01F;
  ++steps_;
  const auto rate = static_cast<float>(learning_rate);
  const float correction1 = 1.0F - std::pow(beta1, static_cast<float>(steps_));
  const float correction2 = 1.0F - std::pow(beta2, static_cast<float>(steps_));
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    parameter &each = parameters[p];
    for (std::size_t i = 0; i < each.value.size(); ++i) {
      const float gradient = each.gradient[i];
      first_[p][i] = beta1 * first_[p][i] + (1 - beta1) * gradient;
      second_[p][i] = beta2 * second_[p][i] + (1 - beta2) * gradient * gradient;
      const float step = first_[p][i] / correction1 / (std::sqrt(second_[p][i] / correction2) + epsilon);
      each.value[i] -= rate * (step + weight_decay * each.value[i]);
    }
  }
}

} // namespace trainer
