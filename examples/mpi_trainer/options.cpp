#include "options.hpp"

#include <cerrno>
#include <climits>
#include <cstdlib>

namespace trainer {

namespace {

const char *const usage =
    R"(mpi_trainer: data-parallel (and tensor-parallel) training of a small character-level language model
usage: mpirun -n N mpi_trainer [options]

  --steps N             optimizer steps (60)
  --batch N             samples per rank and step (32)
  --tp N                tensor-parallel ranks; N ranks in a row share one replica (1)
  --lr X                peak learning rate (0.01)
  --text FILE           text to learn (the word list of the system, else a licence text)
  --log-every N         steps between two lines of training loss (10)
  --eval-every N        steps between two evaluations (20)
  --checkpoint DIR      write checkpoints here (none)
  --checkpoint-every N  steps between two checkpoints (20)
  --seed N              of the initial weights (1)

  --bug NAME            do something wrong on one rank in one step (nothing)
  --bug-rank R          on this world rank (the last one)
  --step N              in this step, counted from 0 (10)
  --slow-ms N           how late a slow rank is (1000)

  bugs:
)";

bool parse_number(const std::string &text, long low, long high, int &result) {
  char *end = nullptr;
  errno = 0;
  const long value = std::strtol(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0' || errno != 0 || value < low || value > high)
    return false;
  result = static_cast<int>(value);
  return true;
}

} // namespace

parsed parse_options(int argc, char **argv, options &result, std::string &message) {
  result.bug.step = 10;
  result.bug.slow_ms = 1000;
  struct number {
    const char *name;
    int *where;
    long low;
  };
  int seed = static_cast<int>(result.seed);
  const number numbers[] = {
      {"--steps", &result.steps, 1},
      {"--batch", &result.batch, 1},
      {"--tp", &result.tensor_parallel, 1},
      {"--log-every", &result.log_every, 1},
      {"--eval-every", &result.eval_every, 1},
      {"--checkpoint-every", &result.checkpoint_every, 1},
      {"--seed", &seed, 0},
      {"--bug-rank", &result.bug.rank, 0},
      {"--step", &result.bug.step, 0},
      {"--slow-ms", &result.bug.slow_ms, 0},
  };

  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--help" || name == "-h") {
      message = usage + list_of_bugs();
      return parsed::help;
    }
    if (i + 1 == argc) {
      message = "unknown option, or option without a value: " + name + " (see --help)";
      return parsed::error;
    }
    const std::string value = argv[++i];
    bool known = false;
    bool good = true;
    for (const number &each : numbers) {
      if (name == each.name) {
        known = true;
        good = parse_number(value, each.low, INT_MAX, *each.where);
      }
    }
    if (name == "--lr") {
      known = true;
      result.learning_rate = std::strtod(value.c_str(), nullptr);
      good = result.learning_rate > 0;
    } else if (name == "--text") {
      known = true;
      result.text = value;
    } else if (name == "--checkpoint") {
      known = true;
      result.checkpoint_dir = value;
    } else if (name == "--bug") {
      known = true;
      good = parse_bug(value, result.bug.kind);
    }
    if (!known || !good) {
      message = (known ? "bad value for " + name + ": " + value : "unknown option " + name) + " (see --help)";
      return parsed::error;
    }
  }
  result.seed = static_cast<unsigned>(seed);
  return parsed::run;
}

} // namespace trainer
