// Loss on text that was held out.
#pragma once

#include "model.hpp"
#include "text.hpp"

namespace trainer {

/// Mean loss over a fixed sample of the held-out text, the same on all ranks. Collective over dp and tp.
double evaluate(model &model, const corpus &corpus, const options &options, const mesh &mesh);

} // namespace trainer
