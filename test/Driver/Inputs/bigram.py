"""Held-out loss of a byte bigram with add-one smoothing, in nats per byte.

usage: bigram.py FRACTION SEQUENCE FILE...

Counts the training split and scores the held-out one, cut as the data contract says: the last FRACTION of the
bytes, as many whole windows of SEQUENCE predictions as fit.
"""

import collections
import math
import sys


def main(fraction, sequence, files):
    text = b"".join(open(file, "rb").read() for file in files)
    held_out = int(len(text) * float(fraction))
    train, test = text[: len(text) - held_out], text[len(text) - held_out :]
    predictions = (held_out - 1) // int(sequence) * int(sequence)
    pairs = collections.Counter(zip(train, train[1:]))
    firsts = collections.Counter(train[:-1])
    loss = -sum(
        math.log((pairs[a, b] + 1) / (firsts[a] + 256))
        for a, b in zip(test[:predictions], test[1:])
    )
    print(loss / predictions)


main(sys.argv[1], sys.argv[2], sys.argv[3:])
