#include "evaluate.hpp"

#include "macros.hpp"
#include "mpi_check.hpp"

#include <cstddef>

namespace trainer {

double evaluate(model &model, const corpus &corpus, const options &options, const mesh &mesh) {
  DT_PHASE("evaluation");
  constexpr std::size_t batches = 4;
  const auto context = static_cast<std::size_t>(options.context);
  const auto samples = static_cast<std::size_t>(options.batch);
  const std::size_t places = corpus.held_out.size() - context;

  double sums[2] = {0, 0}; // loss, samples
  for (std::size_t number = 0; number < batches; ++number) {
    batch batch;
    for (std::size_t s = 0; s < samples; ++s) {
      const std::size_t index = (number * samples + s) * static_cast<std::size_t>(mesh.dp_size);
      const std::size_t at = (index + static_cast<std::size_t>(mesh.dp_index)) % places;
      const std::uint8_t *const first = &corpus.held_out[at];
      batch.inputs.insert(batch.inputs.end(), first, first + context);
      batch.targets.push_back(first[context]);
    }
    batch.samples = options.batch;
    sums[0] += model.forward(batch).loss_sum;
    sums[1] += batch.samples;
  }
  // call: evaluation
  MPI_CHECK(
      DT_COLLECTIVE(MPI_Allreduce, MPI_IN_PLACE, DT_SHAPED(sums, "evaluation", 2), 2, MPI_DOUBLE, MPI_SUM, mesh.dp));
  return sums[0] / sums[1];
}

} // namespace trainer
