"""Policies of recomputation on one model: bytes kept by each, and the losses of a run.

usage: recompute.py FOLDER

FOLDER holds a model of five layers and a recipe.
"""

import json
import os
import random
import subprocess
import sys

folder = sys.argv[1]
LAYERS, BATCH, SEQ, EMBED, HEADS, FFN = 5, 8, 32, 64, 4, 256
TENSOR = BATCH * SEQ * EMBED * 4
LSE = BATCH * HEADS * SEQ * 4

with open(os.path.join(folder, "text"), "wb") as file:
    file.write(bytes(random.Random(1).choices(range(96), k=4000)))


def run(policy):
    """Bytes of activations of the Program and the losses of a run."""
    name = os.path.join(folder, "gpt")
    with open(os.path.join(folder, "plan.yaml"), "w") as file:
        file.write(f"plan: 1\nrecompute: {policy}\n")
    subprocess.run(["stretto", "compile", folder, "-o", name], check=True)
    verified = subprocess.run(["stretto", "verify", name, "--json"], check=True, capture_output=True, text=True)
    metrics = os.path.join(folder, "metrics")
    subprocess.run([name, "--data", os.path.join(folder, "text"), "--quiet", "--metrics", metrics], check=True)
    losses = [row["loss"] for row in map(json.loads, open(metrics)) if "loss" in row]
    return json.loads(verified.stdout)["memory"]["activations"]["bytes"], losses


# What a decoder layer keeps besides its input, in tensors of batch x seq x embed:
# attn_norm, q, k, v, the attention's result; the input of mlp_norm and its result; before and after gelu.
# Full: nothing. Selective: products and attention; mlp_norm's input comes from the layer's and one product.
WHOLE = {"none": 7 + 2 * FFN / EMBED, "selective": 5 + FFN / EMBED, "full": 0}
kept, losses = {}, {}
for policy in WHOLE:
    kept[policy], losses[policy] = run(policy)
wrong = []
for policy in ("selective", "full"):
    saved = kept["none"] - kept[policy]
    expected = LAYERS * ((WHOLE["none"] - WHOLE[policy]) * TENSOR + (LSE if policy == "full" else 0))
    if saved != expected:
        wrong.append(f"{policy} keeps {saved} B less, expected {expected}")
    if len(losses[policy]) != 4 or any(abs(a - b) > 1e-6 * a for a, b in zip(losses[policy], losses["none"])):
        wrong.append(f"{policy}: losses {losses[policy]}, without {losses['none']}")
# Of five layers the middle three.
some, _ = run('[{ layers: "layers.[1-3]", what: full }]')
if (kept["none"] - some) * 5 != (kept["none"] - kept["full"]) * 3:
    wrong.append(f"three layers of five save {kept['none'] - some} B, all {kept['none'] - kept['full']} B")
print(kept, *wrong, sep="\n")
sys.exit(bool(wrong))
