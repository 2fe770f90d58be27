#include "model.hpp"

#include "macros.hpp"
#include "matrix.hpp"
#include "mpi_check.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>

namespace trainer {

namespace {

std::size_t size(int n) { return static_cast<std::size_t>(n); }

parameter make_parameter(const std::string &name, int rows, int columns, float scale, unsigned seed) {
  parameter result;
  result.name = name;
  result.rows = rows;
  result.columns = columns;
  result.value.resize(size(rows) * size(columns));
  result.gradient.resize(result.value.size());
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0F, scale);
  for (float &value : result.value)
    value = normal(random);
  return result;
}

} // namespace

model::model(const options &options, const mesh &mesh, int symbols)
    : mesh_(mesh), context_(options.context), width_(options.width), local_hidden_(options.hidden / mesh.tp_size),
      blocks_(options.blocks), symbols_(symbols) {
  // Tensors that every rank of a tp group holds have one seed, shards have one each.
  const unsigned seed = options.seed * 1000;
  const float scale = 1.0F / std::sqrt(static_cast<float>(width_));
  parameters_.push_back(make_parameter("embedding", context_ * symbols_, width_, 0.3F, seed));
  parameters_.push_back(make_parameter("output", width_ + 1, symbols_, 0.5F * scale, seed + 1));
  for (int block = 0; block < blocks_; ++block) {
    const std::string name = "block" + std::to_string(block + 1);
    const unsigned shard = seed + static_cast<unsigned>(10 * (block + 1) + 100 * mesh.tp_index);
    parameters_.push_back(make_parameter(name + ".up", width_, local_hidden_, scale, shard));
    parameters_.push_back(make_parameter(name + ".down", local_hidden_, width_, 0.5F * scale, shard + 1));
  }
}

void model::sum_over_tp(std::vector<float> &values, [[maybe_unused]] const char *label) {
  if (mesh_.tp_size == 1)
    return;
  const int count = static_cast<int>(values.size());
  float *const data = values.data();
  // call: tensor parallel
  MPI_CHECK(DT_COLLECTIVE(MPI_Allreduce, MPI_IN_PLACE, DT_SHAPED(data, label, count / width_, width_), count, MPI_FLOAT,
                          MPI_SUM, mesh_.tp));
}

batch_result model::forward(const batch &batch) {
  const std::size_t samples = size(batch.samples);
  const std::size_t width = size(width_);
  const std::size_t hidden = size(local_hidden_);
  const std::size_t symbols = size(symbols_);
  stream_.assign(size(blocks_) + 1, {});
  activation_.assign(size(blocks_), {});

  const parameter &embedding = parameters_[0];
  stream_[0].assign(samples * width, 0.0F);
  for (std::size_t s = 0; s < samples; ++s) {
    for (std::size_t position = 0; position < size(context_); ++position) {
      const std::size_t row = position * symbols + batch.inputs[s * size(context_) + position];
      for (std::size_t j = 0; j < width; ++j)
        stream_[0][s * width + j] += embedding.value[row * width + j];
    }
  }

  for (int block = 0; block < blocks_; ++block) {
    const std::vector<float> &x = stream_[size(block)];
    std::vector<float> &activation = activation_[size(block)];
    activation.assign(samples * hidden, 0.0F);
    multiply_add(x.data(), up(block).value.data(), activation.data(), samples, width, hidden);
    for (float &value : activation)
      value = std::max(value, 0.0F);
    std::vector<float> sum(samples * width, 0.0F);
    multiply_add(activation.data(), down(block).value.data(), sum.data(), samples, hidden, width);
    sum_over_tp(sum, "block output");
    for (std::size_t i = 0; i < sum.size(); ++i)
      sum[i] += x[i];
    stream_[size(block) + 1] = std::move(sum);
  }

  const parameter &output = parameters_[1];
  const float *bias = &output.value[width * symbols];
  probability_.resize(samples * symbols);
  for (std::size_t s = 0; s < samples; ++s)
    std::copy(bias, bias + symbols, &probability_[s * symbols]);
  multiply_add(stream_.back().data(), output.value.data(), probability_.data(), samples, width, symbols);

  batch_result result;
  for (std::size_t s = 0; s < samples; ++s) {
    float *const row = &probability_[s * symbols];
    float *const best = std::max_element(row, row + symbols);
    const float largest = *best;
    result.correct += best - row == batch.targets[s] ? 1 : 0;
    float sum = 0;
    for (std::size_t j = 0; j < symbols; ++j)
      sum += row[j] = std::exp(row[j] - largest);
    for (std::size_t j = 0; j < symbols; ++j)
      row[j] /= sum;
    result.loss_sum -= std::log(std::max(row[batch.targets[s]], 1e-30F));
  }
  return result;
}

void model::backward(const batch &batch) {
  const std::size_t samples = size(batch.samples);
  const std::size_t width = size(width_);
  const std::size_t hidden = size(local_hidden_);
  const std::size_t symbols = size(symbols_);
  for (parameter &each : parameters_)
    std::fill(each.gradient.begin(), each.gradient.end(), 0.0F);

  std::vector<float> logits = probability_; // from here on the gradient of the logits
  for (std::size_t s = 0; s < samples; ++s)
    logits[s * symbols + batch.targets[s]] -= 1.0F;

  parameter &output = parameters_[1];
  multiply_add_left_transposed(stream_.back().data(), logits.data(), output.gradient.data(), samples, width, symbols);
  float *const bias = &output.gradient[width * symbols];
  for (std::size_t s = 0; s < samples; ++s) {
    for (std::size_t j = 0; j < symbols; ++j)
      bias[j] += logits[s * symbols + j];
  }
  std::vector<float> dx(samples * width, 0.0F);
  multiply_add_right_transposed(logits.data(), output.value.data(), dx.data(), samples, symbols, width);

  for (int block = blocks_ - 1; block >= 0; --block) {
    const std::vector<float> &activation = activation_[size(block)];
    multiply_add_left_transposed(activation.data(), dx.data(), down(block).gradient.data(), samples, hidden, width);
    std::vector<float> dz(samples * hidden, 0.0F);
    multiply_add_right_transposed(dx.data(), down(block).value.data(), dz.data(), samples, width, hidden);
    for (std::size_t i = 0; i < dz.size(); ++i)
      dz[i] = activation[i] > 0.0F ? dz[i] : 0.0F;
    multiply_add_left_transposed(stream_[size(block)].data(), dz.data(), up(block).gradient.data(), samples, width,
                                 hidden);
    std::vector<float> through(samples * width, 0.0F);
    multiply_add_right_transposed(dz.data(), up(block).value.data(), through.data(), samples, hidden, width);
    sum_over_tp(through, "block input gradient");
    for (std::size_t i = 0; i < dx.size(); ++i)
      dx[i] += through[i];
  }

  parameter &embedding = parameters_[0];
  for (std::size_t s = 0; s < samples; ++s) {
    for (std::size_t position = 0; position < size(context_); ++position) {
      const std::size_t row = position * symbols + batch.inputs[s * size(context_) + position];
      for (std::size_t j = 0; j < width; ++j)
        embedding.gradient[row * width + j] += dx[s * width + j];
    }
  }
}

} // namespace trainer
