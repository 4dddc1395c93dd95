"""Succeeds when a run of MANY steps allocates exactly as often as one of FEW steps, in all threads of all ranks together.

usage: step-allocations.py COUNTER.so FEW MANY COMMAND...
"""

import os
import subprocess
import sys
import tempfile

counter, few, many, command = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]


def allocations(steps):
    with tempfile.NamedTemporaryFile("r") as file:
        environment = dict(os.environ, LD_PRELOAD=counter, ALLOCATIONS=file.name)
        subprocess.run([*command, "--steps", str(steps)], check=True, env=environment)
        return int(open(file.name).read())


counts = [allocations(steps) for steps in (few, many)]
print(f"{counts[0]} allocations in {few} steps, {counts[1]} in {many}")
sys.exit(counts[0] < 100 or counts[0] != counts[1])
