#!/usr/bin/env bash
# Installs what is missing and builds everything (or the named targets) into build/ (or $STRETTO_BUILD).
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
build=${STRETTO_BUILD:-$root/build}
"$root/utils/setup.sh"
[ -f "$build/build.ninja" ] || cmake -G Ninja -S "$root" -B "$build" \
  -DCMAKE_C_COMPILER=clang-22 -DCMAKE_CXX_COMPILER=clang++-22 >&2
ninja -C "$build" "$@"
