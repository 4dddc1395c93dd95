"""Questions to metrics files, answered by the exit code.

usage: metrics.py beats METRICS LOSS-FILE      the last held-out loss is less than the number in LOSS-FILE
       metrics.py agree METRICS METRICS BOUND  the loss of every step differs by at most BOUND
       metrics.py falls METRICS FACTOR         the last loss is at most FACTOR times the first
"""

import json
import sys


def column(path, key):
    return [row[key] for row in map(json.loads, open(path)) if key in row]


def beats(metrics, file):
    ours, theirs = column(metrics, "eval_loss")[-1], float(open(file).read())
    print(f"held-out loss {ours:.4f}, to beat {theirs:.4f}")
    return ours < theirs


def agree(first, second, bound):
    first, second = column(first, "loss"), column(second, "loss")
    worst = max(abs(a - b) for a, b in zip(first, second))
    print(f"{len(first)} and {len(second)} steps, at most {worst:.2g} apart")
    return len(first) == len(second) > 0 and worst <= float(bound)


def falls(path, factor):
    losses = column(path, "loss")
    print(f"{len(losses)} steps, from {losses[0]:.4g} to {losses[-1]:.4g}")
    return losses[-1] <= float(factor) * losses[0]


sys.exit(not {"beats": beats, "agree": agree, "falls": falls}[sys.argv[1]](*sys.argv[2:]))
