// Who works with whom: N ranks as rows of `tensor_parallel` neighbours that share one replica of the model.
#pragma once

#include <mpi.h>

namespace trainer {

struct mesh {
  MPI_Comm world = MPI_COMM_NULL;
  MPI_Comm dp = MPI_COMM_NULL; ///< ranks with the same shard of the weights and different data
  MPI_Comm tp = MPI_COMM_NULL; ///< ranks with the same data and different shards
  int rank = 0;
  int size = 1;
  int dp_index = 0;
  int dp_size = 1;
  int tp_index = 0;
  int tp_size = 1;
};

/// Collective over MPI_COMM_WORLD, whose size must be a multiple of `tensor_parallel`. MPI_Finalize frees the groups.
mesh make_mesh(int tensor_parallel);

} // namespace trainer
