"""What a run under the adversary finds alive, command by command, is what `stretto plan` predicts, call by call: never more, and
less only by scratch and arguments of which the command has no more need.

usage: alive.py TRACE PLAN   (a trace of one step of a Program without overlap; `stretto plan --json`)
"""

import json
import sys

TRANSIENT = ("gradients", "activations", "working", "scratch")
events = [e for e in json.load(open(sys.argv[1]))["traceEvents"] if e["pid"] == 0 and e["ph"] == "X"]
curve = json.load(open(sys.argv[2]))["curve"]
calls = sorted((e for e in events if e["cat"] == "call"), key=lambda e: e["ts"])
commands = sorted((e for e in events if "alive" in e["args"]), key=lambda e: e["ts"])
# A call of nothing but collectives that went with those of the call before is not in the trace.
moments = []
for moment in curve:
    if len(moments) < len(calls) and calls[len(moments)]["name"] == f"{moment['instance']} {moment['segment']}":
        moments.append([moment])
    else:
        moments[-1].append(moment)
assert len(moments) == len(calls), "the calls of the trace are those of the plan"
measured = []
for call in calls:
    mine = [e for e in commands if call["ts"] - 0.01 <= e["ts"] and e["ts"] + e["dur"] <= call["ts"] + call["dur"] + 0.01]
    measured.append(max(e["args"]["alive"] for e in mine))
wrong = 0
for call, got, together in zip(calls, measured, moments):
    totals = [sum(moment["bytes"][region] for region in TRANSIENT) for moment in together]
    least = min(totals) - max(moment["bytes"]["scratch"] for moment in together)
    # A line of 64 bytes per value may be counted that the prediction counts in bytes.
    if not 0.8 * least <= got <= max(totals) + 64 * 200:
        print(f"{call['name']}: {got} B measured, {totals} B predicted")
        wrong += 1
peak, predicted = max(measured), max(sum(m["bytes"][r] for r in TRANSIENT) for m in curve)
print(f"{len(calls)} calls, peak {peak} B measured, {predicted} B predicted, {100 * peak / predicted:.1f} %")
sys.exit(wrong != 0 or not 0.8 <= peak / predicted <= 1.01)
