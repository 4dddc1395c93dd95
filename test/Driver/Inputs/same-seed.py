"""Compiles one model for several plans and compares what their executables do.

usage: same-seed.py initial|masks|runs FOLDER MODEL

initial: the parameters of step 0 have the same bytes on every plan, other ones
         with another seed
masks:   the gradient of dropout-mask.mlir, which is the mask, has the same bytes
         on every plan, and another step and another seed have other masks
runs:    two runs give the same bits of loss, norm and parameters, also when
         ranks are delayed at random
"""

import json
import os
import struct
import subprocess
import sys

DATA = "The quick brown fox jumps over the lazy dog. " * 200
BATCH, SEQUENCE, STEPS = 16, 8, 3
ALL = "heads: tp, kv_heads: tp, ffn: tp, vocab: tp"
PLANS = {
    "one device": ("dp: 1", "batch: dp", 1),
    "dp 4": ("dp: 4", "batch: dp", 1),
    "dp 3, 4 micro-batches": ("dp: 3", "batch: dp", 4),
    "tp 4": ("tp: 4", ALL, 1),
    "tp 3, sequence": ("tp: 3", ALL + ", seq: { residual: tp }", 2),
    "dp 2, tp 2, sequence": (
        "dp: 2, tp: 2",
        "batch: dp, " + ALL + ", seq: { residual: tp }",
        4,
    ),
    "width on tp 4": ("tp: 4", "embed: tp", 2),
}


def fail(message):
    print("error:", message)
    sys.exit(1)


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        fail(f"{' '.join(words)}: exit {done.returncode}\n{done.stderr}")


def write(path, text):
    with open(path, "w") as file:
        file.write(text)
    return path


def compile_for(folder, model, name):
    """Compiles for plan `name`; the path of the executable."""
    mesh, shard, microbatches = PLANS[name]
    stem = os.path.join(folder, name.replace(" ", "-").replace(",", ""))
    recipe = write(
        stem + ".recipe.yaml",
        f"recipe: 1\nbatch: {{ global: {BATCH} }}\nsequence: {SEQUENCE}\n"
        f"steps: {STEPS}\nseed: 5\n",
    )
    plan = write(
        stem + ".plan.yaml",
        f"plan: 1\nmesh: {{ {mesh} }}\nshard:\n"
        f'  - {{ match: "*", {shard} }}\nmicrobatches: {microbatches}\n',
    )
    run("stretto", "compile", model, "--recipe", recipe, "--plan", plan, "-o", stem)
    return stem


def tensors(path):
    """Bytes of the tensors of a safetensors file by name."""
    with open(path, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(size))
        data = file.read()
    header.pop("__metadata__", None)
    return {
        name: data[slice(*entry["data_offsets"])] for name, entry in header.items()
    }


def text_file(folder):
    return write(os.path.join(folder, "data.txt"), DATA)


def initial(folder, model):
    data = text_file(folder)

    def parameters(executable, *more):
        out = executable + ".safetensors"
        run(executable, "--data", data, "--steps", "0", "--export", out, *more)
        return tensors(out)

    reference = None
    for name in PLANS:
        executable = compile_for(folder, model, name)
        got = parameters(executable)
        reference = reference or got
        if got.keys() != reference.keys():
            fail(f"{name}: other parameters")
        for parameter, bytes in got.items():
            if bytes != reference[parameter]:
                fail(f"{name}: {parameter} starts with other bits")
    other = parameters(executable, "--seed", "6")
    drawn = [name for name in reference if any(reference[name])]
    same = [name for name in drawn if other[name] == reference[name]]
    constant = [name for name in same if len(set(struct.iter_unpack("<f", other[name]))) > 1]
    if constant:
        fail(f"{constant[0]} does not depend on the seed")
    print(f"{len(reference)} parameters start with the same bits on {len(PLANS)} plans")


def tokens_file(folder):
    """Every token once a step, in another order each time."""
    shape = [STEPS, BATCH, SEQUENCE]
    count = BATCH * SEQUENCE
    order = [(5 * i + step) % count for step in range(STEPS) for i in range(count)]
    parts = {
        "tokens": ("I32", struct.pack(f"<{len(order)}i", *order)),
        "labels": ("I32", struct.pack(f"<{len(order)}i", *order)),
        "mask": ("F32", struct.pack(f"<{len(order)}f", *[1.0] * len(order))),
    }
    header, data = {}, b""
    for name, (dtype, bytes) in parts.items():
        offsets = [len(data), len(data) + len(bytes)]
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": offsets}
        data += bytes
    text = json.dumps(header).encode()
    path = os.path.join(folder, "tokens.safetensors")
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)
    return path, order[:count]


def masks(folder, model):
    tokens, order = tokens_file(folder)

    def gradients(executable, *more):
        out = executable + ".dump"
        run(executable, "--tokens", tokens, "--dump-state", out, "--dump-every-step", *more)
        return [
            tensors(os.path.join(out, f"step-{step:06d}.safetensors"))["grad/embed.table"]
            for step in range(1, STEPS + 1)
        ]

    reference = None
    for name in PLANS:
        executable = compile_for(folder, model, name)
        got = gradients(executable)
        reference = reference or got
        for step, (mine, first) in enumerate(zip(got, reference), 1):
            if mine != first:
                fail(f"{name}: another dropout mask at step {step}")
    values = [value for (value,) in struct.iter_unpack("<f", reference[0])]
    kept = 2.0 / (BATCH * SEQUENCE)
    if not set(values) <= {0.0, kept}:
        fail(f"a gradient is neither 0 nor {kept}")
    share = values.count(kept) / len(values)
    if not 0.4 < share < 0.6:
        fail(f"dropout kept {share} of the elements instead of a half")

    def by_position(bytes):
        width = len(bytes) // len(order)
        return [bytes[token * width : (token + 1) * width] for token in order]

    seen = {tuple(by_position(reference[0]))}
    # Step 2 shifts all tokens by one; positions are compared, not tokens.
    order = [(token + 1) % len(order) for token in order]
    seen.add(tuple(by_position(reference[1])))
    if len(seen) < 2:
        fail("two steps have the same mask")
    if gradients(executable, "--seed", "6")[0] == reference[0]:
        fail("another seed has the same mask")
    print(f"{len(values)} elements are dropped alike on {len(PLANS)} plans")


def runs(folder, model):
    data = text_file(folder)

    def results(executable, *more):
        metrics, out = executable + ".jsonl", executable + ".safetensors"
        run(executable, "--data", data, "--metrics", metrics, "--export", out, *more)
        with open(metrics) as file:
            lines = [json.loads(line) for line in file]
        for line in lines:
            for timing in ("tokens_per_s", "mfu", "time"):
                line.pop(timing, None)
        return lines, tensors(out)

    for name in ("dp 4", "dp 2, tp 2, sequence"):
        executable = compile_for(folder, model, name)
        first = results(executable)
        if len([line for line in first[0] if "loss" in line]) != STEPS:
            fail(f"{name}: expected {STEPS} losses, got {first[0]}")
        for more in ((), ("--inject-delays", "1"), ("--inject-delays", "2")):
            if results(executable, *more) != first:
                fail(f"{name} {' '.join(more)}: another run, other bits")
    print("every run gives the same bits")


if __name__ == "__main__":
    os.makedirs(sys.argv[2], exist_ok=True)
    {"initial": initial, "masks": masks, "runs": runs}[sys.argv[1]](*sys.argv[2:])
