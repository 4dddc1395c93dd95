#!/usr/bin/env bash
# The main job on real input: builds, compiles examples/gpt-bytes for 4 ranks, trains it on text, saves a
# checkpoint, samples a few bytes and proves the plan equal to one device.
# usage: utils/demo.sh [--data FILE…] [--steps N]     default text: the licences that every Debian carries
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
build=${STRETTO_BUILD:-$root/build}
data=() steps=200
while [ $# -gt 0 ]; do
  case $1 in
    --data) shift; while [ $# -gt 0 ] && [[ $1 != --* ]]; do data+=("$1"); shift; done ;;
    --steps) steps=${2:?--steps takes a number}; shift 2 ;;
    *) echo "usage: utils/demo.sh [--data FILE…] [--steps N]" >&2; exit 2 ;;
  esac
done
if [ ${#data[@]} -eq 0 ]; then
  for file in /usr/share/common-licenses/*; do [ -L "$file" ] || data+=("$file"); done
fi
"$root/utils/build.sh" stretto stretto-runner
out=$(mktemp -d "${TMPDIR:-/tmp}/stretto-demo.XXXXXX")
export PATH="$build/bin:$PATH"
model=$root/examples/gpt-bytes

echo "== compile $model for 4 ranks (dp 2 x tp 2)" >&2
stretto compile "$model" -o "$out/gpt"
echo "== train on ${#data[@]} files, $steps steps" >&2
(cd "$out" && ./gpt --data "${data[@]}" --steps "$steps" --save "$out/checkpoint" --metrics "$out/metrics.jsonl" \
  --sample 200 --prompt "The license ")
echo "== the plan computes what one device computes" >&2
stretto check "$model"
echo "executable, checkpoint and metrics are in $out; to train on from there:" >&2
echo "  cd $out && ./gpt --data FILE... --resume checkpoint --steps $((steps * 2)) --save checkpoint" >&2
