#!/usr/bin/env bash
# Proves models equal to one device on many plans and in every precision; see utils/matrix.py.
# usage: utils/matrix.sh [--only GLOB] [--jobs N] [--write FILE]     (or any other option of utils/matrix.py)
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
export PATH="${STRETTO_BUILD:-$root/build}/bin:$PATH"
exec python3 "$root/utils/matrix.py" "$@"
