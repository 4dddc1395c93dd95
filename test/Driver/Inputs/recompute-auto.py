"""Under a limit halfway between no recomputation and all of it, the compiler meets the limit, repeats less than everything
and as much as needed, and `stretto check` finds the program equal to one device.

usage: recompute-auto.py FOLDER
"""

import json
import os
import subprocess
import sys

folder = sys.argv[1]
name = os.path.join(folder, "gpt")


def arena(rest):
    with open(os.path.join(folder, "plan.yaml"), "w") as file:
        file.write("plan: 1\nmesh: { dp: 2, tp: 2 }\n" + rest)
    subprocess.run(["stretto", "compile", folder, "-o", name], check=True)
    done = subprocess.run(["stretto", "verify", name, "--json"], check=True, capture_output=True, text=True)
    memory = json.loads(done.stdout)["memory"]
    return memory["arena"], memory["activations"]["bytes"]


nothing, kept = arena("")
everything, _ = arena("recompute: full\n")
wrong = []
previous = None
for limit in (nothing, (3 * nothing + everything) // 4, (nothing + everything) // 2, (nothing + 3 * everything) // 4):
    found, activations = arena(f"recompute: auto\nmemory: {limit}\n")
    print(f"limit {limit}: arena {found}, activations {activations}")
    if found > limit:
        wrong.append(f"{found} B is more than the limit {limit}")
    # One instance less would not have fitted: the slack is less than what a layer can give up.
    if limit < nothing and limit - found > (nothing - everything) // 6 + 4096:
        wrong.append(f"{limit - found} B of the limit {limit} are left unused")
    if limit == nothing and activations != kept:
        wrong.append("something is repeated although everything fits")
    if previous is not None and activations >= previous:
        wrong.append("a tighter limit keeps no less")
    previous = activations
check = subprocess.run(["stretto", "check", folder])
print(*wrong, sep="\n")
sys.exit(bool(wrong) or check.returncode)
