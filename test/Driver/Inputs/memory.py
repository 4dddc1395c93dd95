"""The memory that a run reports, the one that its Program promises and the sizes of the parameters agree.

usage: memory.py REPORTED VERIFIED EXPLAINED MOMENTS

REPORTED is what --print-memory printed, VERIFIED what `stretto verify --json` did, EXPLAINED `stretto explain --json`;
every parameter has MOMENTS moments.
"""

import json
import sys

reported = json.loads(open(sys.argv[1]).read().strip().splitlines()[0])["memory"]
promised = json.load(open(sys.argv[2]))["memory"]
tensors = json.load(open(sys.argv[3]))["tensors"]
moments = int(sys.argv[4])


def aligned(size):
    return (size + 63) // 64 * 64


checks = {name: (reported[name.capitalize()], entry["bytes"]) for name, entry in promised.items() if name != "arena"}
checks["arena"] = (reported["total"], promised["arena"])
checks["sum of categories"] = (sum(size for name, size in reported.items() if name != "total"), promised["arena"])
parameters = sum(aligned(tensor["local_bytes"]) for tensor in tensors if tensor["binding"].startswith("param:"))
checks["shards of parameters"] = (reported["Parameters"], parameters)
checks["their moments"] = (reported["Optimizer"], moments * parameters)
wrong = [f"{what}: {one} and {other}" for what, (one, other) in checks.items() if one != other]
print(f"arena {reported['total']} B", *wrong, sep="\n")
sys.exit(bool(wrong) or reported["total"] == 0)
