#!/usr/bin/env bash
# What compiling costs, as ratios that should not grow: depth (4 -> 64 layers), devices (dp 2 -> dp 65536), and the
# seconds of the shipped example. Times are the CPU time of `stretto`, best of several runs; to /dev/null.
# usage: utils/bench-compile.sh [RUNS]
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
build=${STRETTO_BUILD:-$root/build}
"$root/utils/build.sh" stretto stretto-runner >&2
work=$(mktemp -d "${TMPDIR:-/tmp}/stretto-bench.XXXXXX")
trap 'rm -rf "$work"' EXIT
python3 - "$build/bin/stretto" "$root/examples/gpt-bytes" "$work" "${1:-15}" <<'PY'
import collections, os, re, resource, subprocess, sys

stretto, example, work, runs = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
rule = '{ match: "*", batch: dp, heads: tp, ffn: tp, vocab: tp, seq: { residual: tp } }'


def write(name, text):
    path = os.path.join(work, name)
    open(path, "w").write(text)
    return path


def cpu_seconds(words):
    """Best total without printing the IR, and best of each phase (`--time`)."""
    total, phases = float("inf"), collections.defaultdict(lambda: float("inf"))
    for _ in range(runs):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run([stretto, *words, "--time"], check=True, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = {name: float(value) for name, value in re.findall(r"^(\w+) +([\d.]+) s$", done.stderr, re.M)}
        printing = seconds.pop("print", 0.0)
        total = min(total, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime - printing)
        for name, value in seconds.items():
            phases[name] = min(phases[name], value)
    return total, sum(phases.values()), phases


def localized(layers, replicas):
    model = os.path.join(work, f"{layers}.mlir")
    subprocess.run([stretto, "model", "gpt", "--layers", str(layers), "--embed", "64", "--vocab", "256", "-o", model],
                   check=True)
    recipe = write("recipe.yaml", f"recipe: 1\nbatch: {{ global: {2 * replicas} }}\nsequence: 64\n")
    plan = write("plan.yaml", f"plan: 1\nmesh: {{ dp: {replicas}, tp: 2 }}\nshard: [{rule}]\n")
    return cpu_seconds(["compile", model, "--recipe", recipe, "--plan", plan, "--stop-after", "localize"])


def compare(what, small, large, bound):
    print(f"{what}: {1e3 * small[0]:.1f} -> {1e3 * large[0]:.1f} ms with start, x {large[0] / small[0]:.2f}"
          f" (at most {bound}); passes alone {1e3 * small[1]:.1f} -> {1e3 * large[1]:.1f} ms")


base = localized(4, 2)
compare("4 -> 64 layers, to localized", base, localized(64, 2), 1.5)
compare("dp 2 -> dp 65536, to localized", base, localized(4, 65536), 1.1)
total, _, phases = cpu_seconds(["compile", example, "-o", os.path.join(work, "gpt")])
print(f"examples/gpt-bytes to an executable: {total:.2f} s (at most 3): "
      + ", ".join(f"{name} {1e3 * seconds:.1f} ms" for name, seconds in phases.items()))
PY
