#!/usr/bin/env bash
# Measures how much of the machine's matrix-product rate training reaches, and prints the ratios and where the time goes.
# Every figure is a ratio of two rates of the same run; rounds are interleaved, medians taken. Best on an idle machine.
# usage: utils/bench.sh [--rounds N] [--steps N] [--rows N] [--model FOLDER]
#   --model   only this model folder: its share of the peak and its table
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
build=${STRETTO_BUILD:-$root/build}
rounds=3 steps=6 rows=15 model=
while [ $# -gt 0 ]; do
  case $1 in
    --rounds) rounds=${2:?--rounds takes a number}; shift 2 ;;
    --steps) steps=${2:?--steps takes a number}; shift 2 ;;
    --rows) rows=${2:?--rows takes a number}; shift 2 ;;
    --model) model=${2:?--model takes a folder}; shift 2 ;;
    *) sed -n '4,5s/^# //p' "$0" >&2; exit 2 ;;
  esac
done
"$root/utils/build.sh" stretto stretto-runner >&2
export PATH="$build/bin:$PATH"
out=$(mktemp -d "${TMPDIR:-/tmp}/stretto-bench.XXXXXX")
trap 'rm -rf "$out"' EXIT
cat /usr/share/common-licenses/* >"$out/text"

# variant NAME MODEL [MESH RULE [MORE]]: a folder with the model and recipe of MODEL on another plan, compiled to
# $out/NAME/run; MORE: further lines of the plan
variant() {
  mkdir -p "$out/$1"
  cp "$2/model.mlir" "$2/recipe.yaml" "$out/$1"
  if [ $# -gt 2 ]; then
    printf 'plan: 1\nmesh: { %s }\nshard:\n  - { match: "*", %s }\n%s\n' "$3" "$4" "${5:-}" >"$out/$1/plan.yaml"
  else
    cp "$2/plan.yaml" "$out/$1"
  fi
  stretto compile "$out/$1" -o "$out/$1/run"
}

# The reference model: 4 layers, width 512, 8 heads, batch 8 of 256 bytes.
reference() {
  mkdir -p "$out/reference"
  stretto model gpt --layers 4 --embed 512 --heads 8 --ffn 2048 --vocab 256 --max-seq 256 -o "$out/reference/model.mlir"
  printf '%s\n' 'recipe: 1' 'batch: { global: 8 }' 'sequence: 256' 'steps: 100' 'eval: { every: 0, fraction: 0.05 }' \
    >"$out/reference/recipe.yaml"
}

# sixteen MODEL: MODEL-bf16, the same with layers that compute in bf16
sixteen() {
  mkdir -p "$1-bf16"
  cp "$1/model.mlir" "$1-bf16"
  { cat "$1/recipe.yaml"; echo 'precision: { compute: bf16 }'; } >"$1-bf16/recipe.yaml"
}

# Runs a variant before other work of the machine, as far as the system lets us.
run() {
  local name=$1; shift
  setsid -w bash -c '{ echo -20 >/proc/self/autogroup; } 2>/dev/null; exec "$@"' first \
    "$out/$name/run" --data "$out/text" --steps "$steps" --eval-every 0 --eval-batches 1 --quiet "$@"
}

if [ -n "$model" ]; then
  variant given "$model"
  names=(given)
else
  reference
  variant one "$out/reference" 'dp: 1' 'batch: dp'
  sixteen "$out/reference"
  variant bf16 "$out/reference-bf16" 'dp: 1' 'batch: dp'
  variant dp2 "$out/reference" 'dp: 2' 'batch: dp'
  variant dp2tp2 "$out/reference" 'dp: 2, tp: 2' 'batch: dp, heads: tp, ffn: tp, vocab: tp, seq: { residual: tp }'
  variant example "$root/examples/gpt-bytes"
  variant example1 "$root/examples/gpt-bytes" 'dp: 1' 'batch: dp'
  variant selective "$out/reference" 'dp: 1' 'batch: dp' 'recompute: selective'
  variant full "$out/reference" 'dp: 1' 'batch: dp' 'recompute: full'
  variant zero1 "$out/reference" 'dp: 2' 'batch: dp' 'zero: 1'
  variant zero3 "$out/reference" 'dp: 2' 'batch: dp' 'zero: 3'
  names=(one bf16 selective full dp2 zero1 zero3 dp2tp2 example example1)
fi

echo "$(nproc) cores, load $(cut -d' ' -f1 /proc/loadavg); $rounds rounds of $steps steps each" >&2
for ((round = 0; round < rounds; round++)); do
  for name in "${names[@]}"; do run "$name" --json >>"$out/$name.jsonl"; done
done

python3 - "$out" "${names[@]}" <<'PY'
import json, statistics, sys

out, names = sys.argv[1], sys.argv[2:]
runs = {name: [json.loads(line) for line in open(f"{out}/{name}.jsonl")] for name in names}

def median(name, field):
    return statistics.median(run[field] for run in runs[name])

def share(name, what, goal=None):
    mfu, cores_peak = 100 * median(name, "mfu"), median(name, "peak_gflops")
    spread = [round(100 * run["mfu"], 1) for run in runs[name]]
    aim = "" if goal is None else f" (goal {goal} %: {'reached' if mfu >= goal else 'missed'})"
    print(f"{what}: {mfu:.1f} % of {cores_peak:.0f} GFLOP/s{aim}; {median(name, 'tokens_per_s'):.0f} tokens/s, "
          f"causal {100 * median(name, 'mfu_causal'):.1f} %, rounds {spread}")

if names == ["given"]:
    share("given", "model")
    sys.exit()
share("one", "4 layers x 512, 1 rank", 55)
share("example", "examples/gpt-bytes, 4 ranks", 35)
share("example1", "examples/gpt-bytes, 1 rank", 35)
kept = [100 * wide["tokens_per_s"] / narrow["tokens_per_s"] for wide, narrow in zip(runs["dp2tp2"], runs["dp2"])]
value = statistics.median(kept)
print(f"4 ranks (dp 2 x tp 2) keep {value:.1f} % of dp 2 on 2 ranks (goal 85 %: "
      f"{'reached' if value >= 85 else 'missed'}); rounds {[round(k, 1) for k in kept]}")

def slower(name, than, what, most):
    """Time of a step against another plan of the same model, round by round."""
    more = [100 * (base["tokens_per_s"] / run["tokens_per_s"] - 1) for run, base in zip(runs[name], runs[than])]
    value = statistics.median(more)
    aim = "" if most is None else f" (at most {most} %: {'reached' if value <= most else 'missed'})"
    print(f"{what}: {value:+.1f} % of the step{aim}; rounds {[round(m, 1) for m in more]}")

faster = [run["tokens_per_s"] / base["tokens_per_s"] for run, base in zip(runs["bf16"], runs["one"])]
value = statistics.median(faster)
print(f"compute: bf16: {value:.2f} x the tokens of f32 (goal 1.5: {'reached' if value >= 1.5 else 'missed'}); "
      f"rounds {[round(f, 2) for f in faster]}")
slower("selective", "one", "recompute: selective", 6)
slower("full", "one", "recompute: full", 38)
slower("zero1", "dp2", "zero 1 against dp 2", 5)
slower("zero3", "dp2", "zero 3 against dp 2", None)
PY
for name in "${names[@]}"; do
  case $name in one | bf16 | dp2tp2 | example | given)
    echo; echo "$name:"
    run "$name" --profile 2>&1 >/dev/null | head -n $((rows + 2)) ;;
  esac
done
