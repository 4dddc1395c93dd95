"""Succeeds when a run of MANY steps allocates no more often than one of FEW steps but for one in two steps, the least of
RUNS runs each.

usage: step-allocations.py COUNTER.so RUNS FEW MANY COMMAND...
"""

import os
import subprocess
import sys
import tempfile

counter, runs, few, many, command = sys.argv[1], *map(int, sys.argv[2:5]), sys.argv[5:]


def allocations(steps):
    with tempfile.NamedTemporaryFile("r") as file:
        environment = dict(os.environ, LD_PRELOAD=counter, ALLOCATIONS=file.name)
        subprocess.run([*command, "--steps", str(steps)], check=True, env=environment)
        return int(open(file.name).read())


counts = [min(allocations(steps) for _ in range(runs)) for steps in (few, many)]
print(f"{counts[0]} allocations in {few} steps, {counts[1]} in {many}")
sys.exit(counts[0] < 100 or counts[1] - counts[0] >= (many - few) // 2)
