"""`stretto plan` says what the executable takes and what recomputation costs.

usage: plan.py FOLDER
"""

import json
import os
import subprocess
import sys
import xml.etree.ElementTree

folder = sys.argv[1]


def json_of(*words):
    return json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)


picture = os.path.join(folder, "memory.svg")
full = json_of("stretto", "plan", folder, "--json", "--rank", "1", "--svg", picture)
subprocess.run(["stretto", "compile", folder, "-o", os.path.join(folder, "gpt")], check=True)
verified = json_of("stretto", "verify", os.path.join(folder, "gpt"), "--json", "--rank", "1")
plain = os.path.join(folder, "plain.yaml")
with open(plain, "w") as file:
    file.write("plan: 1\nmesh: { dp: 2, tp: 2 }\nmicrobatches: 2\n")
none = json_of("stretto", "plan", folder, "--json", "--plan", plain)

wrong = []
for name, entry in verified["memory"].items():
    promised = full["memory"][name]
    if (promised["bytes"], entry["bytes"]) != (entry["bytes"],) * 2 if name != "arena" else promised != entry:
        wrong.append(f"{name}: plan says {promised}, the executable {entry}")
if full["traffic"] != verified["traffic"]:
    wrong.append("traffic differs")


def total(moment):
    return sum(moment["bytes"].values())


for report in (full, none):
    if not max(map(total, report["curve"])) <= report["memory"]["arena"]:
        wrong.append("more is alive than the arena holds")
    # Largest regions are not all full at once, but nearly.
    if not max(map(total, report["curve"])) >= 0.9 * report["memory"]["arena"]:
        wrong.append("the curve stays far below the arena")
# Without recomputation a micro-batch's forward passes keep more and more, layer by layer.
climb = [m["bytes"]["activations"] for m in none["curve"] if m["segment"] == "decoder.fwd" and m["microbatch"] == 0]
steps = [b - a for a, b in zip(climb, climb[1:])]
if len(climb) != 4 or len(set(steps)) != 1 or steps[0] <= 0:
    wrong.append(f"activations of successive layers: {climb}")
# The forward of a layer but its last product and residual (nobody reads them) and its second dropout (repeated anyway):
# products 4 x 2 b s e^2 (q, k, v, out) and 1 x 2 b s e f of two, over all samples of the step.
b, s, e, f, layers = 8, 32, 64, 256, 4
products = layers * (4 * 2 * b * s * e * e + 2 * b * s * e * f)
repeated = full["flops"]["repeated"]
if abs(repeated - (full["flops"]["backward"] - none["flops"]["backward"])) > 1 or none["flops"]["repeated"]:
    wrong.append(f"repeated {repeated}, {full['flops']['backward']} against {none['flops']['backward']}")
if not products < repeated < 1.2 * products:
    wrong.append(f"repeated {repeated}, of which products {products}")
root = xml.etree.ElementTree.parse(picture).getroot()
words = " ".join(t.text for t in root.iter("{http://www.w3.org/2000/svg}text"))
if "arena" not in words or "peak" not in words or "layers.3" not in words:
    wrong.append(f"the picture says: {words}")
print(*wrong, sep="\n")
sys.exit(bool(wrong))
