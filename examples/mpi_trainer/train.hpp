// The training loop.
#pragma once

#include "options.hpp"
#include "parallel.hpp"
#include "text.hpp"

namespace trainer {

/// Trains and reports progress from rank 0. Collective over the world.
void train(const options &options, const corpus &corpus, const mesh &mesh);

} // namespace trainer
