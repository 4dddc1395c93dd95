"""The times that `stretto plan` predicts add up.

usage: plan-time.py FOLDER   (with model.mlir and recipe.yaml)
"""

import json
import subprocess
import sys

folder = sys.argv[1]
PLAN = "plan: 1\nmesh: { dp: 4 }\nzero: 3\nmicrobatches: 2\nlinks: { dp: { latency: %g, bandwidth: %g } }\noverlap: %s\n"


def time(overlap="{ prefetch: 1 }", latency=1e-5, bandwidth=1e9, *options):
    with open(f"{folder}/on.yaml", "w") as file:
        file.write(PLAN % (latency, bandwidth, overlap))
    command = ["stretto", "plan", folder, "--plan", f"{folder}/on.yaml", "--json", *options]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)["time"]


def near(one, other):
    return abs(one - other) <= 1e-9 * abs(other)


alone = time("none")
assert near(alone["exposed_seconds"], alone["communication_seconds"]), alone
assert near(alone["step_seconds"], alone["computed_seconds"] + alone["exposed_seconds"]), alone
late = time("{ prefetch: 0 }")
on = time()
# The sums of accumulators are on the other stream.
assert near(on["communication_seconds"], alone["communication_seconds"])
assert on["exposed_seconds"] < late["exposed_seconds"] < alone["exposed_seconds"], (on, late, alone)
assert on["step_seconds"] < late["step_seconds"] < alone["step_seconds"]
assert sum(row["exposed_seconds"] for row in on["collectives"]) <= on["exposed_seconds"] * (1 + 1e-9)
assert near(sum(row["seconds"] for row in on["collectives"]), on["communication_seconds"])
# Twice the bandwidth and half the latency halve what is sent; twice the rates what is computed.
assert near(time("none", 5e-6, 2e9)["communication_seconds"] * 2, alone["communication_seconds"])
fast = time("none", 1e-5, 1e9, "--flops", "2.2e11", "--memory-bandwidth", "5e10")
assert near(fast["computed_seconds"] * 2, alone["computed_seconds"]), (fast, alone)
on = time()  # leaves the plan
