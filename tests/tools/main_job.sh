#!/usr/bin/env bash
# A real MPI training run hangs and is explained: installs what is missing, builds, runs, and ends with the report.
# Exit status 0: the report was printed and names the skipped call.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=${BUILD_DIR:-build}

tests/tools/install_packages.sh --minimal
if [ ! -e "$build/CMakeCache.txt" ]; then
  cmake -S . -B "$build" -G Ninja -DDTDEBUG_BUILD_TESTS=OFF -DDTDEBUG_BUILD_BENCH=OFF
fi
cmake --build "$build" --parallel "$(nproc)" --target mpi_trainer dtdebug_command

source tests/tools/mpi_environment.sh
run_dir=$(mktemp -d "${TMPDIR:-/tmp}/dtdebug-main-job.XXXXXX")
export DTDEBUG_DIR=$run_dir DTDEBUG_ON_HANG=abort
program=$build/bin/mpi_trainer
printf '\n$ mpirun -n 4 %s --bug skip-allreduce\n' "$program"
status=0
timeout -k 10 120 mpirun.openmpi -n 4 "$program" --bug skip-allreduce || status=$?
printf '\nmpirun ended with status %s; the run directory is %s\n' "$status" "$run_dir"
grep -q '"missing_call"' "$run_dir/report.json"
