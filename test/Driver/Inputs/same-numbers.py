"""Succeeds when two safetensors files hold the same tensors, bit for bit, in any order.

usage: same-numbers.py FILE FILE
"""

import json
import struct
import sys


def tensors(path):
    data = open(path, "rb").read()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    header.pop("__metadata__", None)
    start = 8 + length
    return {
        name: (entry["dtype"], entry["shape"], data[start + entry["data_offsets"][0] : start + entry["data_offsets"][1]])
        for name, entry in header.items()
    }


one, other = tensors(sys.argv[1]), tensors(sys.argv[2])
different = [name for name in one.keys() | other.keys() if one.get(name) != other.get(name)]
print(f"{len(one)} tensors, {len(different)} differ", *sorted(different)[:5])
sys.exit(bool(different) or not one)
