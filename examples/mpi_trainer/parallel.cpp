#include "parallel.hpp"

#include "macros.hpp"
#include "mpi_check.hpp"

namespace trainer {

mesh make_mesh(int tensor_parallel) {
  mesh result;
  result.world = MPI_COMM_WORLD;
  MPI_CHECK(MPI_Comm_rank(result.world, &result.rank));
  MPI_CHECK(MPI_Comm_size(result.world, &result.size));
  result.tp_size = tensor_parallel;
  result.dp_size = result.size / tensor_parallel;
  result.tp_index = result.rank % tensor_parallel;
  result.dp_index = result.rank / tensor_parallel;
  MPI_CHECK(DT_COLLECTIVE(MPI_Comm_split, result.world, result.tp_index, result.rank, &result.dp));
  MPI_CHECK(DT_COLLECTIVE(MPI_Comm_split, result.world, result.dp_index, result.rank, &result.tp));
  DT_GROUP(result.world, "world");
  DT_GROUP(result.dp, "dp");
  DT_GROUP(result.tp, "tp");
  return result;
}

} // namespace trainer
