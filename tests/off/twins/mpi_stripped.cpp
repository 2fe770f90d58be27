// mpi.cpp without dtdebug.
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

int main(int argc, char **argv) {
  MPI_CHECK(MPI_Init(&argc, &argv));
  MPI_Comm dp = MPI_COMM_NULL;
  MPI_CHECK(MPI_Comm_split(MPI_COMM_WORLD, argc, 0, &dp));
  std::vector<float> gradient(256, 1.0F);
  const auto count = static_cast<int>(gradient.size());
  for (int step = 0; step < 3; ++step) {
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, gradient.data(), count, MPI_FLOAT, MPI_SUM, dp));
    if (step > 1)
      MPI_CHECK(MPI_Bcast(gradient.data(), 1, MPI_FLOAT, 0, dp));
    else
      MPI_CHECK(MPI_Barrier(dp));
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_CHECK(MPI_Ibarrier(dp, &request));
    MPI_CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  }
  MPI_CHECK(MPI_Comm_free(&dp));
  return MPI_Finalize();
}
