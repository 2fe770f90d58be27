// What the command line says.
#pragma once

#include "bugs.hpp"

#include <string>

namespace trainer {

struct options {
  int steps = 60;
  int batch = 32;  ///< samples per rank and step
  int context = 6; ///< characters that the model sees
  int width = 32;  ///< of the residual stream
  int hidden = 64; ///< of each block, over all tensor-parallel ranks
  int blocks = 2;
  int tensor_parallel = 1;
  double learning_rate = 0.01;
  int log_every = 10;
  int eval_every = 20;
  int checkpoint_every = 20;
  std::string checkpoint_dir; ///< empty: none are written
  std::string text;           ///< empty: the first of the well-known files that exists
  unsigned seed = 1;
  bug_plan bug;
};

enum class parsed { run, help, error };

/// `message` is the help text or the error.
parsed parse_options(int argc, char **argv, options &result, std::string &message);

} // namespace trainer
