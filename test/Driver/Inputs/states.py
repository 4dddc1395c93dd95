"""Compares what `stretto plan --json` says a rank holds, when it holds most, of a Llama with 32 layers, width 4096, 11008 in the
MLP and 32000 words with so many bytes per parameter. Every tensor begins at a multiple of 64 bytes, and a few scalars lie beside
the gradients. WORKING, copies of parameters and gradients on their way, is in bytes per parameter too, or, as "3units", in
tensors of the size of all parameters of a layer, which are exact.

usage: states.py PLAN.json PARAMETER GRADIENT OPTIMIZER [WORKING]
"""

import json
import sys

embed, ffn, vocab, layers = 4096, 11008, 32000, 32
unit = 4 * embed * embed + 3 * embed * ffn + 2 * embed
elements = 2 * vocab * embed + layers * unit + embed
memory = json.load(open(sys.argv[1]))["memory"]
good = True
for region, wanted in zip(("parameters", "gradients", "optimizer", "working"), sys.argv[2:]):
    units = wanted.endswith("units")
    expected = int(wanted[: -len("units")]) * 4 * unit if units else elements * float(wanted)
    got = memory[region]["bytes"]
    good &= 0 <= got - expected <= (0 if units else embed * 4)
    print(f"{region}: {got} B, {expected:.0f} B expected for {elements} elements")
sys.exit(not good)
