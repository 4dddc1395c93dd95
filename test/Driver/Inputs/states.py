"""Compares what `stretto plan --json` says a rank holds of a Llama with 32 layers, width 4096, 11008 in the MLP and 32000 words
with so many bytes per parameter. Every tensor begins at a multiple of 64 bytes, and a few scalars lie beside the gradients.

usage: states.py PLAN.json PARAMETER GRADIENT OPTIMIZER
"""

import json
import sys

embed, ffn, vocab, layers = 4096, 11008, 32000, 32
elements = 2 * vocab * embed + layers * (4 * embed * embed + 3 * embed * ffn + 2 * embed) + embed
memory = json.load(open(sys.argv[1]))["memory"]
good = True
for region, wanted in zip(("parameters", "gradients", "optimizer"), sys.argv[2:5]):
    expected = elements * float(wanted)
    got = memory[region]["bytes"]
    good &= 0 <= got - expected <= 4096
    print(f"{region}: {got} B, {expected:.0f} B expected for {elements} elements")
sys.exit(not good)
