// MPI_CHECK(call): ends the job with the place and the text of the error when an MPI call fails.
#pragma once

#include <mpi.h>

#include <cstdio>

namespace trainer {

inline void check_mpi(int result, const char *call, const char *file, int line) {
  if (result == MPI_SUCCESS)
    return;
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(result, text, &length);
  std::fprintf(stderr, "%s:%d: %s\n  in %s\n", file, line, text, call);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

} // namespace trainer

#define MPI_CHECK(...) ::trainer::check_mpi((__VA_ARGS__), #__VA_ARGS__, __FILE__, __LINE__)
