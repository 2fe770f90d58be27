#include "train.hpp"

#include "checkpoint.hpp"
#include "evaluate.hpp"
#include "loader.hpp"
#include "macros.hpp"
#include "model.hpp"
#include "mpi_check.hpp"
#include "optimizer.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <vector>

namespace trainer {

namespace {

using clock = std::chrono::steady_clock;

/// Sums over one step, of interest to rank 0 alone.
struct metrics {
  double values[4] = {0, 0, 0, 0}; // loss, correct, samples, and one that is not used yet
};

/// One training run: what the steps share.
class run {
public:
  run(const options &options, const corpus &corpus, const mesh &mesh)
      : options_(options), corpus_(corpus), mesh_(mesh), model_(options, mesh, corpus.symbols),
        optimizer_(model_.parameters()),
        loader_(corpus.train, my_share(), options.batch, options.context, options.bug, mesh.rank) {}

  void train() {
    broadcast_weights();
    for (int step = 0; step < options_.steps; ++step) {
      DT_STEP(step);
      if (!do_step(step))
        break;
      if ((step + 1) % options_.eval_every == 0) {
        const double loss = evaluate(model_, corpus_, options_, mesh_);
        if (mesh_.rank == 0)
          std::printf("step %4d  held-out loss %.3f\n", step + 1, loss);
      }
      if (!options_.checkpoint_dir.empty() && (step + 1) % options_.checkpoint_every == 0)
        write_checkpoint(options_.checkpoint_dir, step + 1, model_, mesh_);
    }
    DT_PHASE("end");
    if (mesh_.rank == 0) {
      const loader::statistics batches = loader_.so_far();
      std::printf("done: %ld batches used of %ld prepared\n", batches.used, batches.prepared);
    }
  }

private:
  bool buggy(bug kind, int step) const { return options_.bug.strikes(kind, mesh_.rank, step); }

  /// Every dp rank reads every dp_size-th sample. With bug::uneven_data the share of one rank is cut short.
  share my_share() const {
    share result;
    result.begin = static_cast<std::size_t>(mesh_.dp_index);
    result.end = corpus_.train.size();
    result.stride = static_cast<std::size_t>(mesh_.dp_size);
    if (options_.bug.kind == bug::uneven_data && options_.bug.rank == mesh_.rank) {
      const auto samples = static_cast<std::size_t>(options_.bug.step) * static_cast<std::size_t>(options_.batch);
      result.end = result.begin + samples * result.stride + static_cast<std::size_t>(options_.context);
    }
    return result;
  }

  void broadcast_weights() {
    DT_PHASE("broadcast of the weights");
    for (parameter &each : model_.parameters()) {
      float *const value = each.value.data();
      MPI_CHECK(DT_COLLECTIVE(MPI_Bcast, DT_SHAPED(value, each.name.c_str(), each.rows, each.columns), each.count(),
                              MPI_FLOAT, 0, mesh_.dp));
    }
  }

  /// Returns false if the data is used up.
  bool do_step(int step) {
    DT_PHASE("data");
    if (!all_have_data(step))
      return false;
    const clock::time_point begin = clock::now();
    const batch batch = loader_.next(step);

    DT_PHASE("forward");
    meet_your_fate(options_.bug, mesh_.rank, step);
    const batch_result result = model_.forward(batch);
    DT_PHASE("backward");
    model_.backward(batch);
    const double seconds = std::chrono::duration<double>(clock::now() - begin).count();
    reduce_gradients(step, batch.samples);

    DT_PHASE("update");
    gather_times(step, seconds);
    const metrics mine{{result.loss_sum, static_cast<double>(result.correct), static_cast<double>(batch.samples)}};
    double learning_rate = 0;
    if (buggy(bug::swap_order, step)) { // bug: swap-order
      report_metrics(step, mine);
      learning_rate = fetch_learning_rate(step);
    } else {
      learning_rate = fetch_learning_rate(step);
      report_metrics(step, mine);
    }
    optimizer_.update(model_.parameters(), learning_rate);
    return true;
  }

  /// A step is made when every rank has a batch for it.
  bool all_have_data(int step) {
    int some = loader_.has_next() ? 1 : 0;
    DT_DECISION("data left", some);
    if (some == 0 && options_.bug.kind == bug::uneven_data)
      return false; // bug: uneven-data
    // call: data left
    MPI_CHECK(
        DT_COLLECTIVE(MPI_Allreduce, MPI_IN_PLACE, DT_SHAPED(&some, "data left"), 1, MPI_INT, MPI_MIN, mesh_.world));
    if (some == 0 && mesh_.rank == 0)
      std::printf("step %4d  the data is used up\n", step);
    return some != 0;
  }

  long long count_samples(int step, int mine) {
    if (buggy(bug::wrong_dtype, step)) {
      double count = mine;
      // bug: wrong-dtype
      MPI_CHECK(
          DT_COLLECTIVE(MPI_Allreduce, MPI_IN_PLACE, DT_SHAPED(&count, "samples"), 1, MPI_DOUBLE, MPI_SUM, mesh_.dp));
      return static_cast<long long>(count);
    }
    long long count = mine;
    // call: samples
    MPI_CHECK(
        DT_COLLECTIVE(MPI_Allreduce, MPI_IN_PLACE, DT_SHAPED(&count, "samples"), 1, MPI_LONG_LONG, MPI_SUM, mesh_.dp));
    return count;
  }

  /// Sums the gradients over the replicas and divides by the number of samples.
  void reduce_gradients(int step, int samples) {
    if (buggy(bug::extra_barrier, step)) {
      const double before = MPI_Wtime();
      // bug: extra-barrier
      MPI_CHECK(DT_COLLECTIVE(MPI_Barrier, mesh_.dp));
      std::printf("rank %d waited %.1f ms for the others\n", mesh_.rank, 1e3 * (MPI_Wtime() - before));
    }
    const auto total = static_cast<float>(count_samples(step, samples));
    for (parameter &each : model_.parameters()) {
      reduce_gradient(step, each);
      for (float &value : each.gradient)
        value /= total;
    }
  }

  void reduce_gradient(int step, parameter &each) {
    const bool target = each.name == "block1.down";
    float *const gradient = each.gradient.data();
    MPI_Comm group = mesh_.dp;
    MPI_Op operation = MPI_SUM;
    if (target && buggy(bug::skip_allreduce, step))
      return; // bug: skip-allreduce
    if (target && buggy(bug::wrong_op, step)) {
      std::vector<float> sum(each.gradient.size());
      // bug: wrong-op
      MPI_CHECK(DT_COLLECTIVE(MPI_Reduce, gradient, sum.data(), each.count(), MPI_FLOAT, MPI_SUM, 0, mesh_.dp));
      return;
    }
    if (target && buggy(bug::wrong_group, step))
      group = mesh_.world; // bug: wrong-group
    if (target && buggy(bug::wrong_redop, step))
      operation = MPI_MAX; // bug: wrong-redop
    const auto shaped = DT_SHAPED(gradient, each.name.c_str(), each.rows, each.columns);
    // call: gradient
    MPI_CHECK(DT_COLLECTIVE(MPI_Allreduce, MPI_IN_PLACE, shaped, each.count(), MPI_FLOAT, operation, group));
  }

  /// Tells everybody how long everybody took to get here; rank 0 names stragglers.
  void gather_times(int step, double seconds) {
    std::vector<double> times(static_cast<std::size_t>(mesh_.dp_size));
    // call: step time
    MPI_CHECK(DT_COLLECTIVE(MPI_Allgather, &seconds, 1, MPI_DOUBLE, times.data(), 1, MPI_DOUBLE, mesh_.dp));
    for (int i = 0; i < mesh_.dp_size; ++i) {
      const double time = times[static_cast<std::size_t>(i)];
      if (mesh_.rank == 0 && time > 0.5 && time > 2 * seconds)
        std::printf("step %4d  replica %d took %.1f s\n", step + 1, i, time);
    }
  }

  /// Warm-up and cosine decay, decided by rank 0 so that all ranks agree to the last bit.
  double fetch_learning_rate(int step) {
    const double progress = static_cast<double>(step + 1) / options_.steps;
    const double warm_up = std::min(1.0, progress * 10);
    double rate = options_.learning_rate * warm_up * (0.1 + 0.45 * (1 + std::cos(3.14159265358979 * progress)));
    int leader = 0;
    if (buggy(bug::wrong_root, step))
      leader = mesh_.dp_index; // bug: wrong-root
    // call: learning rate
    MPI_CHECK(DT_COLLECTIVE(MPI_Bcast, DT_SHAPED(&rate, "learning rate"), 1, MPI_DOUBLE, leader, mesh_.dp));
    return rate;
  }

  void report_metrics(int step, const metrics &mine) {
    int count = 3;
    if (buggy(bug::wrong_count, step))
      count = 2; // bug: wrong-count
    if (buggy(bug::long_count, step))
      count = 4; // bug: long-count
    metrics sum;
    // call: metrics
    MPI_CHECK(DT_COLLECTIVE(MPI_Reduce, DT_SHAPED(mine.values, "metrics", count), sum.values, count, MPI_DOUBLE,
                            MPI_SUM, 0, mesh_.dp));
    if (mesh_.rank == 0 && (step == 0 || (step + 1) % options_.log_every == 0)) {
      const double samples = sum.values[2];
      std::printf("step %4d  training loss %.3f  accuracy %4.1f %%\n", step + 1, sum.values[0] / samples,
                  100 * sum.values[1] / samples);
    }
  }

  const options &options_;
  const corpus &corpus_;
  const mesh &mesh_;
  model model_;
  adamw optimizer_;
  loader loader_;
};

} // namespace

void train(const options &options, const corpus &corpus, const mesh &mesh) {
  run run(options, corpus, mesh);
  run.train();
}

} // namespace trainer
