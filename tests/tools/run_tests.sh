#!/usr/bin/env bash
# Installs what is missing, builds, runs all tests. Exit status 0: all passed.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=${BUILD_DIR:-build}

tests/tools/install_packages.sh
source tests/tools/mpi_environment.sh
cmake -S . -B "$build" -G Ninja -DDTDEBUG_BUILD_TESTS=ON -DDTDEBUG_BUILD_BENCH=ON
cmake --build "$build" --parallel "$(nproc)"
ctest --test-dir "$build" --output-on-failure --parallel "$(nproc)"
