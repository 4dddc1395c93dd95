"""The bytes that explain lists are those that plan reads off the Program, under every recompute policy.

usage: explain-exact.py FOLDER
"""

import json
import os
import subprocess
import sys

folder = sys.argv[1]
path = os.path.join(folder, "some.yaml")
wrong = []
for mesh, rule in (("tp: 2", "embed: tp"), ("dp: 2, tp: 2", "batch: dp, heads: tp, ffn: tp, vocab: tp, seq: { residual: tp }")):
    for policy in ("none", "norms", "activations", "selective", "full"):
        with open(path, "w") as file:
            file.write(f'plan: 1\nmesh: {{ {mesh} }}\nshard: {{ match: "*", {rule} }}\n')
            file.write(f'recompute: [{{ layers: "*", what: {policy} }}]\n')

        def ask(command):
            words = ["stretto", command, folder, "--plan", path, "--json"]
            return json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)

        listed = sum(row["bytes_sent_per_step"] for row in ask("explain")["collectives"])
        sent = sum(row["bytes"] for row in ask("plan")["traffic"] if row["function"] == "train")
        if listed != sent or not sent:
            wrong.append(f"{mesh}, {policy}: explained {listed} B, sent {sent} B")
print(*wrong, sep="\n")
sys.exit(bool(wrong))
