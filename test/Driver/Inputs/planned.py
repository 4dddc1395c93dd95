"""What `stretto plan` says of the model and recipe in a folder under a plan; imported by tests that compare plans."""

import json
import subprocess


def planned(folder, plan):
    """(arena, bytes that rank 0 sends in a step), or the exit code. `plan`: the lines after its version."""
    with open(f"{folder}/plan.yaml", "w") as file:
        file.write(f"plan: 1\n{plan}")
    done = subprocess.run(["stretto", "plan", folder, "--json"], capture_output=True, text=True)
    if done.returncode:
        return done.returncode
    report = json.loads(done.stdout)
    sent = sum(row["bytes"] for row in report["traffic"] if row["function"] == "train" and row["rank"] == 0)
    return report["memory"]["arena"], sent
