#!/usr/bin/env bash
# Builds the parts of the runtime that use threads with ThreadSanitizer and runs their tests.
# usage: utils/check-threads.sh [BUILD]     (default: build-threads)
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
build=${1:-$root/build-threads}
flags="-fsanitize=thread -g"
tests="StrettoRuntimeExecutorTests StrettoRuntimeCommTests"
cmake -G Ninja -S "$root" -B "$build" -DCMAKE_C_COMPILER=clang-22 -DCMAKE_CXX_COMPILER=clang++-22 \
  -DCMAKE_C_FLAGS="$flags" -DCMAKE_CXX_FLAGS="$flags" -DCMAKE_EXE_LINKER_FLAGS=-fsanitize=thread > /dev/null
# shellcheck disable=SC2086
ninja -C "$build" -j2 $tests
for test in $tests; do
  # oneDNN and its OpenMP are not instrumented: what they do inside is theirs.
  TSAN_OPTIONS="halt_on_error=1 ignore_noninstrumented_modules=1" "$build/test/unit/$test" --gtest_brief=1
done
echo "no data race found"
