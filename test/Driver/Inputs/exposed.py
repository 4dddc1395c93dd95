"""What a run says about its communication is what its trace shows.

usage: exposed.py TRACE SUMMARY

SUMMARY is the last line of stdout with --json. Exposed is a collective on stream 0, and one on another stream for as long
as stream 0 waits for that stream meanwhile.
"""

import json
import sys

events = json.load(open(sys.argv[1]))["traceEvents"]
told = json.loads(open(sys.argv[2]).read().strip().splitlines()[-1])["communication"]
slices = [e for e in events if e["ph"] == "X" and e["pid"] == 0]
collectives = [e for e in slices if e["cat"] == "collective"]
waits = [e for e in slices if e["cat"] == "wait" and e["tid"] == 0]


def shared(a, b):
    return max(0, min(a["ts"] + a["dur"], b["ts"] + b["dur"]) - max(a["ts"], b["ts"]))


def exposed(e):
    return e["dur"] if e["tid"] == 0 else sum(shared(e, w) for w in waits if e["tid"] in w["args"]["streams"])


seconds = 1e-6 * sum(e["dur"] for e in collectives)
hidden = 1e-6 * sum(exposed(e) for e in collectives)
rows = told["collectives"]
wrong = []
for what, one, other in [
    ("seconds", told["seconds"], seconds),
    ("exposed", told["exposed_seconds"], hidden),
    ("seconds of the rows", sum(r["seconds"] for r in rows), seconds),
    ("exposed of the rows", sum(r["exposed_seconds"] for r in rows), hidden),
    ("bytes", sum(r["bytes"] for r in rows), sum(e["args"]["bytes"] for e in collectives)),
    ("collectives", sum(r["count"] for r in rows), len(collectives)),
    ("steps", told["steps"], len({e["args"]["step"] for e in slices})),
]:
    if abs(one - other) > 1e-6 * len(slices) + 1e-9 * abs(other):
        wrong.append(f"{what}: {one} and {other}")
if not all(0 <= r["exposed_seconds"] <= r["seconds"] + 1e-9 for r in rows):
    wrong.append("more is exposed than takes place")
if not rows or seconds <= 0:
    wrong.append("nothing is communicated")
print(f"exposed {100 * hidden / max(seconds, 1e-12):.0f} %", *wrong, sep="\n")
sys.exit(bool(wrong))
