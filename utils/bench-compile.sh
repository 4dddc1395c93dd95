#!/usr/bin/env bash
# What compiling costs, as ratios that should not grow: depth (4 -> 64 layers), devices (dp 2 -> dp 65536), and the
# seconds of the shipped example. "whole" is the CPU time of the whole command, process start and printing of the IR
# included; "passes" is what `--time` says of the phases alone. Medians of several runs; to /dev/null.
# usage: utils/bench-compile.sh [RUNS]
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
build=${STRETTO_BUILD:-$root/build}
"$root/utils/build.sh" stretto stretto-runner >&2
work=$(mktemp -d "${TMPDIR:-/tmp}/stretto-bench.XXXXXX")
trap 'rm -rf "$work"' EXIT
python3 - "$build/bin/stretto" "$root/examples/gpt-bytes" "$work" "${1:-15}" <<'PY'
import collections, os, re, resource, statistics, subprocess, sys

stretto, example, work, runs = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
rule = '{ match: "*", batch: dp, heads: tp, ffn: tp, vocab: tp, seq: { residual: tp } }'


def write(name, text):
    path = os.path.join(work, name)
    open(path, "w").write(text)
    return path


def cpu_seconds(words):
    """Medians of the whole command, of all passes together, and of each phase (`--time`)."""
    whole, phases = [], collections.defaultdict(list)
    for _ in range(runs):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run([stretto, *words, "--time"], check=True, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        whole.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        for name, value in re.findall(r"^(\w+) +([\d.]+) s$", done.stderr, re.M):
            phases[name].append(float(value))
    phases = {name: statistics.median(values) for name, values in phases.items()}
    return statistics.median(whole), sum(phases.values()) - phases.get("print", 0.0), phases


def localized(layers, replicas):
    model = os.path.join(work, f"{layers}.mlir")
    subprocess.run([stretto, "model", "gpt", "--layers", str(layers), "--embed", "64", "--vocab", "256", "-o", model],
                   check=True)
    recipe = write("recipe.yaml", f"recipe: 1\nbatch: {{ global: {2 * replicas} }}\nsequence: 64\n")
    plan = write("plan.yaml", f"plan: 1\nmesh: {{ dp: {replicas}, tp: 2 }}\nshard: [{rule}]\n")
    return cpu_seconds(["compile", model, "--recipe", recipe, "--plan", plan, "--stop-after", "localize"])


def compare(what, small, large, bound):
    print(f"{what}: whole {1e3 * small[0]:.1f} -> {1e3 * large[0]:.1f} ms, x {large[0] / small[0]:.2f}"
          f" (at most {bound}); passes {1e3 * small[1]:.1f} -> {1e3 * large[1]:.1f} ms, x {large[1] / small[1]:.2f}")
    for name in small[2]:
        print(f"    {name:10} {1e3 * small[2][name]:6.1f} -> {1e3 * large[2][name]:6.1f} ms")


base = localized(4, 2)
compare("4 -> 64 layers, to localized", base, localized(64, 2), 1.5)
compare("dp 2 -> dp 65536, to localized", base, localized(4, 65536), 1.1)
total, _, phases = cpu_seconds(["compile", example, "-o", os.path.join(work, "gpt")])
print(f"examples/gpt-bytes to an executable: {total:.2f} s (at most 3): "
      + ", ".join(f"{name} {1e3 * seconds:.1f} ms" for name, seconds in phases.items()))

# Shapes only: nothing is allocated. The static verifier is part of the phase program.
model = os.path.join(work, "70b.mlir")
subprocess.run([stretto, "model", "llama", "--layers", "80", "--embed", "8192", "--heads", "64", "--kv-heads", "8", "--ffn",
                "28672", "--vocab", "32000", "-o", model], check=True)
recipe = write("recipe.yaml", "recipe: 1\nbatch: { global: 128 }\nsequence: 4096\n")
runs = min(runs, 3)
for stage in (1, 3):
    rules = '{ match: "*", batch: dp, heads: tp, kv_heads: tp, ffn: tp, vocab: tp, seq: { residual: tp } }'
    plan = write("plan.yaml", f"plan: 1\nmesh: {{ dp: 16, tp: 8 }}\nshard: [{rules}]\nmicrobatches: 8\nzero: {stage}\n")
    total, _, phases = cpu_seconds(["compile", model, "--recipe", recipe, "--plan", plan, "--stop-after", "program"])
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"Llama-70B shape, tp 8 x dp 16, zero {stage}, 8 micro-batches, to a verified Program: {total:.2f} s (at most 3), "
          f"of it program {phases['program']:.2f} s; at most {peak:.0f} MiB (at most 1024)")
PY
