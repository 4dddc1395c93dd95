"""Writes a file for --tokens: tokens, labels and a ragged mask [STEPS, BATCH, SEQUENCE], the same for the same numbers.

usage: batches.py FILE STEPS BATCH SEQUENCE VOCAB [drop=LIST] [masked=LIST] [other=LIST] [keep=LIST]

drop: batches that are left out, counted from 1. masked: samples of every second batch, from the first on, in which nothing
counts, counted from 0; other: these have other tokens; keep: only these samples are written.
"""

import random
import struct
import sys
import json


def sample(length, vocab, seed, masked):
    draw = random.Random(seed)
    text = [draw.randrange(vocab) for _ in range(length + 1)]
    counted = 0 if masked else draw.randrange(length // 2, length + 1)
    return text[:-1], text[1:], [1.0] * counted + [0.0] * (length - counted)


path, steps, batch, length, vocab = sys.argv[1], *map(int, sys.argv[2:6])
options = {key: {int(i) for i in value.split(",")} for key, value in (word.split("=") for word in sys.argv[6:])}
kept = sorted(options.get("keep", range(batch)))
columns = {"tokens": [], "labels": [], "mask": []}
numbers = [step for step in range(1, steps + 1) if step not in options.get("drop", ())]
for step in numbers:
    for i in kept:
        masked = step % 2 == 1 and i in options.get("masked", ())
        seed = 1000 * step + i + (10**6 if i in options.get("other", ()) and step % 2 == 1 else 0)
        for column, values in zip(columns.values(), sample(length, vocab, seed, masked)):
            column.extend(values)
bytes_each = 4 * len(columns["mask"])
header = {
    name: {
        "dtype": "F32" if name == "mask" else "I32",
        "shape": [len(numbers), len(kept), length],
        "data_offsets": [at * bytes_each, (at + 1) * bytes_each],
    }
    for at, name in enumerate(columns)
}
text = json.dumps(header).encode()
text += b" " * (-len(text) % 8)
with open(path, "wb") as file:
    file.write(struct.pack("<Q", len(text)) + text)
    for name, values in columns.items():
        file.write(struct.pack(f"<{len(values)}{'f' if name == 'mask' else 'i'}", *values))
