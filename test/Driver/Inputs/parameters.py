"""Compares two exported files of f32 parameters: exit 0 when no element differs by more than BOUND.

usage: parameters.py ONE OTHER BOUND
"""

import json
import struct
import sys


def read(path):
    data = open(path, "rb").read()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8 : 8 + size])
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        tensors[name] = struct.unpack(f"<{(end - begin) // 4}f", data[8 + size + begin : 8 + size + end])
    return tensors


one, other = read(sys.argv[1]), read(sys.argv[2])
worst = max(abs(x - y) for name in one for x, y in zip(one[name], other[name]))
same = one.keys() == other.keys() and all(len(one[name]) == len(other[name]) for name in one)
print(f"largest difference {worst}")
sys.exit(0 if same and worst <= float(sys.argv[3]) else 1)
