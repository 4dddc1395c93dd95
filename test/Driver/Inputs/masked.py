"""Trains on batches of which a whole micro-batch, or all samples of a rank, count nothing, with ZeRO 0 to 3.

usage: masked.py MODEL COMPUTE LOSS-BOUND PARAMETER-BOUND      (COMPUTE: f32 or bf16)

On two ranks with two micro-batches of 4 samples: what stands in masked samples changes no bit of the parameters, which are
those of one device up to the bound, and of one device that never saw the masked samples.
"""

import json
import os
import subprocess
import sys

model, compute, *bounds = sys.argv[1:]
loss_bound, parameter_bound = map(float, bounds)
here, folder = os.path.dirname(__file__), os.path.dirname(model)
STEPS, BATCH, LENGTH, VOCAB = 4, 8, 16, 64
SAMPLES = {"micro-batch 0": "0,1,2,3", "micro-batch 1": "4,5,6,7", "rank 0": "0,1,4,5", "rank 1": "2,3,6,7",
           "everything": "0,1,2,3,4,5,6,7"}
RECIPE = """recipe: 1
batch: {{ global: {batch} }}
sequence: {length}
precision: {{ compute: {compute} }}
optimizer: {{ kind: sgd, lr: 0.1, momentum: 0.9, weight_decay: 0, clip: 1 }}
schedule: {{ warmup: 0, decay: constant }}
eval: {{ every: 0, fraction: 0 }}
"""
PLAN = "plan: 1\nmesh: {{ dp: {dp} }}\nmicrobatches: {microbatches}\nzero: {stage}\n"
failures = 0


def path(name):
    return os.path.join(folder, f"{compute}-{name}")


def write(name, text):
    with open(path(name), "w") as file:
        file.write(text)
    return path(name)


def compiled(name, dp, microbatches, stage, batch=BATCH):
    recipe = write(name + ".recipe", RECIPE.format(batch=batch, length=LENGTH, compute=compute))
    plan = write(name + ".plan", PLAN.format(dp=dp, microbatches=microbatches, stage=stage))
    subprocess.run(["stretto", "compile", model, "--recipe", recipe, "--plan", plan, "-o", path(name)], check=True)
    return name


def batches(name, *options):
    maker = os.path.join(here, "batches.py")
    numbers = map(str, (STEPS, BATCH, LENGTH, VOCAB))
    subprocess.run([sys.executable, maker, path(name), *numbers, *options], check=True)
    return path(name)


def train(executable, data, name, steps=STEPS):
    for old in (".metrics", ".end"):
        if os.path.exists(path(name + old)):
            os.remove(path(name + old))
    command = [path(executable), "--tokens", data, "--steps", str(steps), "--quiet", "--peak-gflops", "1"]
    subprocess.run([*command, "--metrics", path(name + ".metrics"), "--export", path(name + ".end")], check=True)
    losses = [json.loads(line)["loss"] for line in open(path(name + ".metrics"))]
    return losses, path(name + ".end")


def compare(what, one, other, wanted=True):
    """Both bounds hold, which a loss that is not finite (null) never does."""
    global failures
    losses = max((abs(a - b) if None not in (a, b) else float("inf")) for a, b in zip(one[0], other[0]))
    script = os.path.join(here, "parameters.py")
    done = subprocess.run([sys.executable, script, one[1], other[1], str(parameter_bound)], capture_output=True, text=True)
    good = losses <= loss_bound and done.returncode == 0
    failures += good != wanted
    print(f"{what}: {'equal' if good else 'not equal'}{'' if good == wanted else ' (WRONG)'}, losses at most {losses:.2g} apart, {done.stdout.strip()}")


one, four = compiled("one", 1, 1, 0), compiled("four", 1, 1, 0, batch=4)
runs = {stage: compiled(f"zero{stage}", 2, 2, stage) for stage in range(4)}
plain = train(one, batches("plain"), "plain")
for what, samples in SAMPLES.items():
    masked = batches("masked", "masked=" + samples)
    other = batches("other", "masked=" + samples, "other=" + samples)
    expected = train(one, masked, "expected")
    compare(f"{what} not masked", expected, plain, False)
    # One step from the same parameters: only the first batch is masked, and the rest of it is a batch of its own.
    first = train(one, masked, "first", steps=1)
    rest = ",".join(str(i) for i in range(BATCH) if str(i) not in samples.split(","))
    if rest:
        compare(f"{what} left out", first, train(four, batches("rest", "keep=" + rest), "alone", steps=1))
    else:
        compare(f"{what} left out", first, ([0.0], train(one, masked, "start", steps=0)[1]))
    for stage, executable in runs.items():
        got = train(executable, masked, "got")
        compare(f"{what} masked, zero {stage}", got, expected)
        blind = train(executable, other, "blind")
        if blind[0] != got[0] or open(blind[1], "rb").read() != open(got[1], "rb").read():
            failures += 1
            print(f"{what} masked, zero {stage}: what is masked counts")
print(f"{failures} failures")
sys.exit(failures > 0)
