// Weights on disk.
#pragma once

#include "model.hpp"

#include <string>

namespace trainer {

/// The first replica writes one file per tensor-parallel shard into `directory`; all ranks wait until it is complete.
/// Throws std::runtime_error where a file cannot be written. Collective over the world.
void write_checkpoint(const std::string &directory, int step, model &model, const mesh &mesh);

} // namespace trainer
