"""Sets elements of a tensor in a safetensors file to a value, NaN if none is given.

usage: poison.py FILE TENSOR FIRST COUNT [VALUE]
"""

import json
import struct
import sys

path, name, first, count = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
value = float(sys.argv[5] if len(sys.argv) > 5 else "nan")
data = bytearray(open(path, "rb").read())
(length,) = struct.unpack("<Q", data[:8])
entry = json.loads(data[8 : 8 + length])[name]
assert entry["dtype"] == "F32"
begin = 8 + length + entry["data_offsets"][0] + 4 * first
data[begin : begin + 4 * count] = struct.pack("<f", value) * count
open(path, "wb").write(data)
