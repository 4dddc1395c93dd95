"""A trace file is what Perfetto reads and agrees with what the Program promises.

usage: trace.py TRACE VERIFIED RANKS STEPS RANK

VERIFIED is `stretto verify --json --rank RANK`; the trace is of STEPS steps on RANKS ranks.
"""

import collections
import json
import sys

events = json.load(open(sys.argv[1]))["traceEvents"]
traffic = json.load(open(sys.argv[2]))["traffic"]
ranks, steps, rank = map(int, sys.argv[3:])
wrong = []
slices = [e for e in events if e["ph"] == "X"]
names = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
if names != {r: f"rank {r}" for r in range(ranks)}:
    wrong.append(f"processes {names}")
for pid in range(ranks):
    calls = [e for e in slices if e["pid"] == pid and e["cat"] == "call"]
    commands = [e for e in slices if e["pid"] == pid and e["cat"] != "call"]
    if not calls or len(commands) <= len(calls):
        wrong.append(f"rank {pid}: {len(calls)} calls, {len(commands)} commands")
    if len({e["args"]["step"] for e in commands}) != steps:
        wrong.append(f"rank {pid}: steps {sorted({e['args']['step'] for e in commands})}")
    per_step = collections.Counter(e["args"]["step"] for e in commands)
    if len(set(per_step.values())) != 1:
        wrong.append(f"rank {pid}: commands per step {per_step}")
    for stream in {e["tid"] for e in commands}:
        # One stream does one thing after the other, each inside its call.
        mine = sorted((e for e in commands if e["tid"] == stream), key=lambda e: e["ts"])
        for one, other in zip(mine, mine[1:]):
            if one["ts"] + one["dur"] > other["ts"] + 0.01:
                wrong.append(f"rank {pid}: {one['name']} overlaps {other['name']}")
        around = sorted((e for e in calls if e["tid"] == stream), key=lambda e: e["ts"])
        place = 0
        for command in mine:
            if not command["args"]["operation"] and not command["args"]["instance"]:
                continue  # the end of the function
            while around[place]["ts"] + around[place]["dur"] + 0.01 < command["ts"] + command["dur"]:
                place += 1
            if command["ts"] + 0.01 < around[place]["ts"]:
                wrong.append(f"rank {pid}: {command['name']} is outside its call")
                break
    if not any(e["name"].startswith("layers.1 decoder.bwd") for e in calls):
        wrong.append(f"rank {pid}: no call is named after its layer")
sent = sum(e["args"]["bytes"] for e in slices if e["pid"] == rank and e["cat"] == "collective")
promised = steps * sum(row["bytes"] for row in traffic if row["function"] == "train")
if sent != promised or not sent:
    wrong.append(f"sent {sent} B, promised {promised}")
print(*wrong[:10], sep="\n")
sys.exit(bool(wrong))
