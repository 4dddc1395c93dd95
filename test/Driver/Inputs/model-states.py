"""Compares what `stretto plan --json` says a rank holds of a Llama with 32 layers, width 4096, 11008 in the MLP and 32000 words,
at any time of a step, with so many bytes per parameter.

usage: model-states.py PLAN.json parameters=4 gradients=2 optimizer=8 copies=2 sum=16

Every tensor begins at a multiple of 64 bytes. Gradients may exceed their bytes by the shard of one unit (layer, embedding
or head) that is being reduced; copies, where passes reduce gradients or gather, by the two largest consecutive units and one
unreduced gradient.
"""

import json
import sys

EMBED, FFN, VOCAB, LAYERS, RANKS = 4096, 11008, 32000, 32, 8
LAYER = 4 * EMBED * EMBED + 3 * EMBED * FFN + 2 * EMBED
ELEMENTS = 2 * VOCAB * EMBED + LAYERS * LAYER + EMBED
PADDING = 64 * (9 * LAYERS + 3)


def main(path, words):
    wanted = {key: float(value) for key, value in (word.split("=") for word in words)}
    total = wanted.pop("sum")
    assert sum(wanted.values()) == total, words
    plan = json.load(open(path))
    moments = [moment["bytes"] for moment in plan["curve"]]
    shards = wanted["gradients"] < 2  # they are reduced, parameters perhaps gathered, in every pass
    width = 2 if wanted["gradients"] in (2, 0.25) else 4
    passing = 2 * 2 * LAYER + width * LAYER
    got = {
        "parameters": (moments[0]["parameters"], 0),
        "optimizer": (moments[0]["optimizer"], 0),
        "gradients": (max(held["gradients"] for held in moments), width * LAYER // RANKS),
        "copies": (max(held["working"] for held in moments), passing if shards else 0),
    }
    good = True
    for name, (held, more) in got.items():
        expected = int(ELEMENTS * wanted[name])
        holds = 0 <= held - expected <= PADDING + more
        good &= holds
        print(f"{name}: {held} B, {expected} B expected" + ("" if holds else " (WRONG)"))
    print(f"{total} B a parameter: {total * 7:.2f} GB of 7e9 parameters on {RANKS} ranks")
    return good


sys.exit(not main(sys.argv[1], sys.argv[2:]))
