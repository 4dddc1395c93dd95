"""Compares what `stretto explain --json` says of the collectives of a step with what the Program promises: calls and
bytes of rank 0 by kind and group. Every collective needs a value, a cause, and a way to be without it.

usage: explained.py EXPLAIN.json VERIFY.json"""
import collections
import json
import sys


def explained(path):
    table = collections.Counter()
    for row in json.load(open(path))["collectives"]:
        kind = "".join(word.capitalize() for word in row["kind"].split("_"))
        group = row["axes"].strip("{}").replace(", ", "*").replace("(", "").replace(")", ":")
        table[kind, group, "calls"] += row["calls_per_step"]
        table[kind, group, "bytes"] += row["bytes_sent_per_step"]
        for key in ("segment", "value", "cause", "avoid"):
            if not row[key]:
                sys.exit(f"{row['segment']}: {row['kind']} of {row['value']} has no {key}")
    return table


def promised(path):
    table = collections.Counter()
    for row in json.load(open(path))["traffic"]:
        if row["rank"] == 0 and row["function"] == "train":
            table[row["kind"], row["group"], "calls"] += row["calls"]
            table[row["kind"], row["group"], "bytes"] += row["bytes"]
    return table


one, other = explained(sys.argv[1]), promised(sys.argv[2])
for key in sorted(one.keys() | other.keys()):
    if one[key] != other[key]:
        sys.exit(f"{key}: explained {one[key]}, promised {other[key]}")
print(f"{sum(n for key, n in one.items() if key[2] == 'bytes')} B explained")
