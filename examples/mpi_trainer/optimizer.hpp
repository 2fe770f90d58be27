// AdamW: Loshchilov and Hutter 2019, "Decoupled Weight Decay Regularization", algorithm 2.
#pragma once

#include "model.hpp"

#include <vector>

namespace trainer {

class adamw {
public:
  explicit adamw(const std::vector<parameter> &parameters);

  /// One step with gradients that have been averaged already.
  void update(std::vector<parameter> &parameters, double learning_rate);

private:
  std::vector<std::vector<float>> first_;
  std::vector<std::vector<float>> second_;
  int steps_ = 0;
};

} // namespace trainer
