"""Sequence parallelism at s = h = 8192, b = 1, t = 8 (Korthikanti et al., arXiv 2205.05198), compiled from shapes: what a layer
keeps and what twenty layers send when the gathered inputs are saved and when they are gathered again in backward.

usage: saved-gathers.py FOLDER
"""

import itertools
import json
import os
import subprocess
import sys

folder = sys.argv[1]
LAYERS, S, H, A, T, F32 = 20, 8192, 8192, 64, 8, 4
PRECISION = {4: "{ compute: f32 }", 2: "{ compute: bf16, gradients: bf16, reduce: bf16 }"}


def report(width, layers, policy):
    """Bytes of activations, and of gathers and scatters over tp that rank 0 sends."""
    with open(os.path.join(folder, "recipe.yaml"), "w") as file:
        file.write(f"recipe: 1\nbatch: {{ global: 1 }}\nsequence: {S}\nprecision: {PRECISION[width]}\n")
    model = f"--layers {layers} --embed {H} --heads {A} --vocab 256 --max-seq {S}".split()
    subprocess.run(["stretto", "model", "gpt", *model, "-o", os.path.join(folder, "model.mlir")], check=True)
    with open(os.path.join(folder, "plan.yaml"), "w") as file:
        file.write(
            f"plan: 1\nmesh: {{ tp: {T} }}\nrecompute: {policy}\n"
            'shard: [{ match: "*", heads: tp, ffn: tp, vocab: tp, seq: { residual: tp } }]\n'
        )
    done = subprocess.run(["stretto", "plan", folder, "--json"], check=True, capture_output=True, text=True)
    result = json.loads(done.stdout)
    moved = sum(
        row["bytes"]
        for row in result["traffic"]
        if row["function"] == "train" and row["group"] == "tp" and row["kind"] in ("AllGather", "ReduceScatter")
    )
    return result["memory"]["activations"]["bytes"], moved


def explained():
    """What explain says of the present plan's decoders: kept or not, bytes held when kept, bytes sent when repeated."""
    done = subprocess.run(["stretto", "explain", folder, "--json"], check=True, capture_output=True, text=True)
    copies = [copy for copy in json.loads(done.stdout)["saved_copies"] if copy["layer"] == "decoder"]
    return (
        {copy["kept"] for copy in copies},
        sum(copy["bytes_held_more_when_kept"] for copy in copies),
        sum(copy["bytes_sent_more_per_step_when_repeated"] for copy in copies),
    )


wrong = []


def compare(what, found, expected):
    print(f"{what}: {found}")
    if found != expected:
        wrong.append(f"{what}: {found}, expected {expected}")


exchange = S * H * (T - 1) // T  # elements that a rank sends in a gather or a scatter of s x h
for width, (policy, gathered, again) in itertools.product((4, 2), (("none", 2, 0), ("gathers", 0, 2))):
    kept, sent = report(width, LAYERS, policy)
    kept_less, sent_less = report(width, LAYERS - 1, policy)
    what = f"{8 * width} bit, {policy}"
    # Input, its norm, q, k, v, attention's result, the second norm's input, its norm, 4 + 4 of the MLP; log-sums in f32.
    layer = width * (16 * S * H // T + gathered * exchange) + F32 * A * S // T
    compare(f"{what}: bytes that a layer keeps", kept - kept_less, layer)
    # Four gathers and four scatters a layer; two and two around embedding and head.
    compare(f"{what}: bytes sent in a step", sent, width * exchange * ((8 + again) * LAYERS + 4))
    compare(f"{what}: bytes sent for a layer", sent - sent_less, width * exchange * (8 + again))
    # The last plan has a layer less.
    compare(f"{what}: explained", explained(), ({not again}, *[width * 2 * exchange * (LAYERS - 1)] * 2))
    if width == 2:
        # The reference: 34 sbh/t, and what is gathered whole. Masks of dropout (2 sbh/t) are never stored here.
        reference = 34 * S * H // T + 2 * gathered * exchange
        compare(f"{what}: less than the reference", reference - layer, 2 * S * H // T - F32 * A * S // T)
        print(f"reference: {reference / 1e6:.0f} MB, here {layer / 1e6:.0f} MB, {(sent - sent_less) * LAYERS / 1e9:.1f} GB")
print(*wrong, sep="\n")
sys.exit(bool(wrong))
