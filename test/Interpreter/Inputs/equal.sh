#!/usr/bin/env bash
# Localizes a model on a mesh and checks it against one device.
# usage: equal.sh PREFIX MODEL "MESH" [key=value...] [-- options of stretto-interpret]
#   PREFIX of temporary files; MODEL.mlir next to this script; MESH as in a plan.
#   keys: M (micro-batches), batch, sequence, rule (more shard rules, comma first),
#   passes (after localize)
set -eo pipefail
inputs=$(dirname "$0") prefix=$1 model=$2 mesh=$3
shift 3
M=1 batch=16 sequence=16 rule= passes=
while [[ $# -gt 0 && $1 != -- ]]; do
  declare "$1"
  shift
done
shift || true
cat > "$prefix.recipe.yaml" <<YAML
recipe: 1
batch: { global: $batch }
sequence: $sequence
steps: 5
optimizer: { kind: adamw, lr: 1.0e-2, weight_decay: 0.1, clip: 1.0 }
schedule: { warmup: 2, decay: cosine, min_lr: 1.0e-3 }
YAML
cat > "$prefix.plan.yaml" <<YAML
plan: 1
mesh: { $mesh }
shard:
  - { match: "*", batch: dp, heads: tp, kv_heads: tp, ffn: tp, vocab: tp$rule }
YAML
stretto-opt "$inputs/$model.mlir" \
  --apply-recipe="file=$prefix.recipe.yaml microbatches=$M" \
  --apply-plan="file=$prefix.plan.yaml" --derive -o "$prefix.derived.mlir"
stretto-opt "$prefix.derived.mlir" --propagate --assign --plan-reshards \
  --localize $passes -o "$prefix.local.mlir"
stretto-interpret --check "$prefix.derived.mlir" "$prefix.local.mlir" "$@"
