// A small character-level language model with gradients written by hand.
//
// x0 = sum over the context of embedding[position][symbol]; x(b+1) = x(b) + relu(x(b) up(b)) down(b);
// logits = [x, 1] output; loss = mean cross-entropy of the next symbol.
// Tensor parallel as in Shoeybi et al. 2019 (Megatron-LM, §3): `up` is cut by columns, `down` by rows, so that one sum
// over the tp group is needed per block in each direction. Embedding and output are held by every rank.
#pragma once

#include "loader.hpp"
#include "options.hpp"
#include "parallel.hpp"

#include <string>
#include <vector>

namespace trainer {

struct parameter {
  std::string name;
  int rows = 0;
  int columns = 0;
  std::vector<float> value;
  std::vector<float> gradient;

  int count() const { return rows * columns; }
};

struct batch_result {
  double loss_sum = 0; ///< over the samples of the batch
  int correct = 0;
};

class model {
public:
  model(const options &options, const mesh &mesh, int symbols);

  std::vector<parameter> &parameters() { return parameters_; }

  /// Losses of a batch. Collective over the tp group.
  batch_result forward(const batch &batch);

  /// Gradients of the sum of the losses of the last forward() into parameters(). Collective over the tp group.
  void backward(const batch &batch);

private:
  parameter &up(int block) { return parameters_[static_cast<std::size_t>(2 + 2 * block)]; }
  parameter &down(int block) { return parameters_[static_cast<std::size_t>(3 + 2 * block)]; }
  void sum_over_tp(std::vector<float> &values, const char *label);

  const mesh &mesh_;
  int context_;
  int width_;
  int local_hidden_;
  int blocks_;
  int symbols_;
  std::vector<parameter> parameters_;          // embedding, output, then up and down of each block
  std::vector<std::vector<float>> stream_;     // x before each block and after the last: [samples, width]
  std::vector<std::vector<float>> activation_; // relu(x up) of each block: [samples, local_hidden]
  std::vector<float> probability_;             // [samples, symbols]
};

} // namespace trainer
