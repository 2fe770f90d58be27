// A data-parallel trainer as people write them with plain MPI; see --help. Its --bug option makes it go wrong.
#if !defined(TRAINER_WITHOUT_DTDEBUG)
#include <dtdebug/dtdebug.hpp>
#endif

#include "macros.hpp"
#include "mpi_check.hpp"
#include "options.hpp"
#include "parallel.hpp"
#include "text.hpp"
#include "train.hpp"

#include <mpi.h>

#include <cstdio>
#include <exception>
#include <string>

int main(int argc, char **argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0); // a pipe would hide the last lines of a job that hangs
  // The loader has a thread of its own, which makes no MPI calls.
  int provided = MPI_THREAD_SINGLE;
  MPI_CHECK(MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided));
  MPI_CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)); // MPI_CHECK says more
  DT_START();
  int rank = 0;
  int size = 1;
  MPI_CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  MPI_CHECK(MPI_Comm_size(MPI_COMM_WORLD, &size));

  trainer::options options;
  std::string message;
  trainer::parsed parsed = trainer::parse_options(argc, argv, options, message);
  if (parsed == trainer::parsed::run) {
    if (options.bug.rank < 0)
      options.bug.rank = size - 1;
    if (size % options.tensor_parallel != 0 || options.hidden % options.tensor_parallel != 0) {
      parsed = trainer::parsed::error;
      message = "--tp must divide the number of ranks and " + std::to_string(options.hidden);
    } else if (options.bug.rank >= size) {
      parsed = trainer::parsed::error;
      message = "--bug-rank must be below the number of ranks";
    }
  }
  int status = 0;
  if (parsed != trainer::parsed::run) {
    if (rank == 0)
      std::fprintf(parsed == trainer::parsed::help ? stdout : stderr, "%s\n", message.c_str());
    status = parsed == trainer::parsed::help ? 0 : 2;
  } else {
    try {
      const trainer::corpus corpus = trainer::read_corpus(options.text);
      const trainer::mesh mesh = trainer::make_mesh(options.tensor_parallel);
      if (rank == 0) {
        std::printf("%d ranks (dp %d, tp %d), %zu characters of %s, %d symbols\n", mesh.size, mesh.dp_size,
                    mesh.tp_size, corpus.train.size() + corpus.held_out.size(), corpus.path.c_str(), corpus.symbols);
      }
      trainer::train(options, corpus, mesh);
    } catch (const std::exception &error) {
      std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
  }
  MPI_CHECK(MPI_Finalize());
  return status;
}
