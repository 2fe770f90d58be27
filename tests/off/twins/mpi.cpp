// The macros around MPI. mpi_stripped.cpp is this file without them.
#include <dtdebug/dtdebug.hpp>
#include <dtdebug/mpi.hpp>
#include <dtdebug/mpi_hooks.hpp>

#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#define MPI_CHECK(call)                                                                                                \
  do {                                                                                                                 \
    const int status = (call);                                                                                         \
    if (status != MPI_SUCCESS) {                                                                                       \
      std::fprintf(stderr, "%s failed: %d\n", "MPI", status);                                                          \
      std::abort();                                                                                                    \
    }                                                                                                                  \
  } while (false)

int expensive(); // defined nowhere

int main(int argc, char **argv) {
  MPI_CHECK(MPI_Init(&argc, &argv));
  DT_START();
  MPI_Comm dp = MPI_COMM_NULL;
  MPI_CHECK(DT_COLLECTIVE(MPI_Comm_split, MPI_COMM_WORLD, argc, 0, &dp));
  DT_GROUP(dp, "dp");
  std::vector<float> gradient(256, 1.0F);
  const auto count = static_cast<int>(gradient.size());
  for (int step = 0; step < 3; ++step) {
    DT_STEP(step);
    DT_SCOPE_COLLECTIVE(dtdebug::all_reduce(dp, gradient, dtdebug::sum));
    MPI_CHECK(DT_COLLECTIVE(MPI_Allreduce, MPI_IN_PLACE, DT_SHAPED(gradient.data(), "gradient", 16, expensive()), count,
                            MPI_FLOAT, MPI_SUM, dp));
    if (step > 1)
      MPI_CHECK(DT_COLLECTIVE(MPI_Bcast, gradient.data(), 1, MPI_FLOAT, 0, dp));
    else
      MPI_CHECK(DT_COLLECTIVE(MPI_Barrier, dp));
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_CHECK(DT_COLLECTIVE(MPI_Ibarrier, dp, &request));
    MPI_CHECK(DT_COLLECTIVE(MPI_Wait, &request, MPI_STATUS_IGNORE));
  }
  MPI_CHECK(DT_COLLECTIVE(MPI_Comm_free, &dp));
  DT_PHASE("end");
  return DT_COLLECTIVE(MPI_Finalize);
}
