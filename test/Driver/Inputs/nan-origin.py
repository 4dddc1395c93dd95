"""Plants a NaN at each SITE (STEP:RANK:INSTANCE:TENSOR) and demands that the run names exactly that place.

usage: nan-origin.py stop|skip LOSS EXECUTABLE SITE...

LOSS begins what the loss is printed as. Under skip, the run also has to go on to its last step, count the same bytes per
step, and end well.
"""

import json
import os
import re
import subprocess
import sys

policy, loss, executable, *sites = sys.argv[1:]
text = os.path.join(os.path.dirname(executable), "text")
failures = 0


def run(*options):
    command = [executable, "--data", text, "--quiet", "--print-bytes", "--peak-gflops", "1", *options]
    return subprocess.run(command, capture_output=True, text=True)


def expected(step, rank, instance, tensor):
    place = rf"'{tensor}' of '{instance}' became nan at element 0 in [\w.]+:\w+@model.mlir:\d+, micro-batch 0, from finite operands$"
    numbers = rf"loss -?{loss}[^ ]*, gradient norm [^ ;]+; "
    if policy == "skip":
        return rf"^warning: step {step} skipped: {numbers}rank {rank}: {place}"
    return rf"^error: rank {rank}: step {step}: {numbers}{place}"


for site in sites:
    done = run("--inject-nan", site)
    problems = []
    if done.returncode != (5 if policy == "stop" else 0):
        problems.append(f"exit code {done.returncode}")
    if not re.search(expected(*site.split(":")), done.stderr, re.M) or done.stderr.count("\n") != 1:
        problems.append("says something else")
    if policy == "skip" and json.loads(done.stdout) != json.loads(run().stdout):
        problems.append("counts the bytes of the second look")
    if problems:
        failures += 1
        print(f"{site}: {', '.join(problems)}\n{done.stderr}")
print(f"{len(sites)} places, {failures} wrong")
sys.exit(failures > 0 or not sites)
