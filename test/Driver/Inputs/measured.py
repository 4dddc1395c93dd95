"""What was measured stands beside every moment of the predicted curve, and below it.

usage: measured.py PLAN   (`stretto plan --measured TRACE --json`)
"""

import itertools
import json
import sys

plan = json.load(open(sys.argv[1]))
totals = [sum(moment["bytes"].values()) for moment in plan["curve"]]
measured = plan["measured"]
assert len(measured) == len(totals) > 10
# Calls of nothing but collectives that went together have one number.
for got, together in itertools.groupby(zip(measured, totals), key=lambda pair: pair[0]):
    assert got <= max(predicted for _, predicted in together) + 64 * 200
assert max(measured) > 0.9 * max(totals), (max(measured), max(totals))
