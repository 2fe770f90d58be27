#!/usr/bin/env bash
# Installs the Debian packages that dtdebug's own programs need. Root or sudo; asks nothing; does nothing if all is there.
#   install_packages.sh            everything that the tests use
#   install_packages.sh --minimal  what the command and the MPI example need
# The library itself needs only a compiler and the headers of fmt and Boost.
set -euo pipefail

packages=(
  g++ cmake ninja-build
  binutils              # addr2line: source lines in stacks
  libfmt-dev            # text of reports (header-only form)
  libboost-dev          # Stacktrace, Asio: headers only
  libopenmpi-dev openmpi-bin
  wamerican             # the text that the example trains on
)
case "${1:-}" in
  --minimal) ;;
  "")
    packages+=(
      doctest-dev nlohmann-json3-dev python3 python3-jsonschema procps git
      mpich libmpich-dev  # the same programs with a second MPI
      clang clang-tidy clang-format
      redis-server
    )
    ;;
  *)
    echo "usage: $0 [--minimal]" >&2
    exit 2
    ;;
esac

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f='${Status}' "$package" 2>/dev/null || true)
  [ "$status" = "install ok installed" ] || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
  echo "packages: all ${#packages[@]} are installed"
  exit 0
fi

root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || { echo "needs root or sudo to install: ${missing[*]}" >&2; exit 1; }
  root=(sudo)
fi
echo "packages: installing ${missing[*]}"
"${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -qq
"${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
