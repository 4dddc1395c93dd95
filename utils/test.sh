#!/usr/bin/env bash
# Installs what is missing, builds, checks the sources and runs every test. Ends with "N passed, N failed".
# usage: utils/test.sh [--filter REGEX]     (or any other option of lit)
set -uo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
build=${STRETTO_BUILD:-$root/build}
"$root/utils/build.sh" || { echo "the build failed"; echo "0 passed, 1 failed"; exit 1; }
checks=0
"$root/utils/check.sh" || checks=1

report=$(mktemp)
trap 'rm -f "$report"' EXIT
/usr/lib/llvm-22/bin/lit -sv --order=lexical --output "$report" "$build/test" "$build/test/unit" "$@"
status=$?
python3 - "$report" "$checks" <<'PY'
import collections, json, sys

try:
    codes = collections.Counter(test["code"] for test in json.load(open(sys.argv[1]))["tests"])
except (OSError, ValueError):
    codes = collections.Counter()
good = codes["PASS"] + codes["FLAKYPASS"] + codes["XFAIL"] + (sys.argv[2] == "0")
skipped = codes["UNSUPPORTED"] + codes["SKIPPED"]
bad = sum(codes.values()) + 1 - good - skipped
print(f"{good} passed, {bad} failed" + (f", {skipped} skipped" if skipped else ""))
PY
[ "$status" -eq 0 ] && [ "$checks" -eq 0 ]
