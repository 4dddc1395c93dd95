"""Compares the bytes that every rank sends in a training step: predicted from the Program, counted by the run and,
for a GPT whose sizes divide, the closed forms of the field.

usage: traffic.py COUNTED PREDICTED... [-- layers=3 embed=32 ffn=128 vocab=64 positions=16 batch=8 sequence=16
                                           microbatches=1 dp=2 tp=2 sp=1 cp=1 node=1 zero=3
                                           reduce_once=1 gather_once=1 regather=0 compute=4 reduce=4]

zero: the stage; reduce_once, gather_once: 1 where gradients are reduced and parameters gathered once a step, 0 in every
pass that makes or needs them; node: replicas that keep copies of what dp ranks share; regather: 1 where backward gathers
again what forward gathered, in all layers but the last, the head; compute, reduce: bytes of an activation or of a
parameter's copy, and of a gradient that ranks add.

COUNTED is what --print-bytes printed, PREDICTED what `verify --json` says of ranks 0, 1, ...
"""

import collections
import json
import sys

F32 = 4


def table_of(rows):
    table = collections.Counter()
    for row in rows:
        if row["function"] == "train":
            table[row["rank"], row["kind"], tuple(row["group"].split("*"))] += row["bytes"]
    return table


def counted(path):
    return table_of(json.loads(open(path).read().strip().splitlines()[-1])["bytes_per_step"])


def predicted(paths):
    return table_of(row for path in paths for row in json.load(open(path))["traffic"])


def closed_forms(
    layers, embed, ffn, vocab, positions, batch, sequence, microbatches, dp, tp, sp=0, cp=1, node=1, zero=0,
    reduce_once=1, gather_once=1, regather=0, compute=F32, reduce=F32
):
    table = collections.Counter()
    ranks = node * dp * cp * tp
    size = {"node": node, "dp": dp, "cp": cp, "tp": tp}

    def add(kind, axes, elements, times, width):
        axes = tuple(axis for axis in axes if size[axis] > 1)
        members = 1
        for axis in axes:
            members *= size[axis]
        passes = 2 if kind == "AllReduce" else 1
        sent = passes * (members - 1) * elements * width * times // members
        for rank in range(ranks if members > 1 else 0):
            table[rank, kind, axes] += sent

    samples = batch // (microbatches * node * dp)
    activation = samples * sequence * embed
    # Tensor parallelism: after attention and MLP, forward and backward, and around embedding and head.
    if sp:
        add("ReduceScatter", ["tp"], activation, microbatches * (4 * layers + 2), compute)
        # The inputs of attention and MLP are gathered again in backward, or saved so.
        add("AllGather", ["tp"], activation, microbatches * (4 * layers + 2 + 2 * layers * regather), compute)
    else:
        add("AllReduce", ["tp"], activation, microbatches * (4 * layers + 2), compute)
    # Cross-entropy over the vocabulary: largest logit, sum of exponentials, logit of the label.
    add("AllReduce", ["tp"], samples * sequence, microbatches * 3, F32)
    # Context parallelism: keys and values of every layer, once or in each pass, and their cotangents back.
    add("AllGather", ["cp"], activation, microbatches * 2 * layers * (1 + regather), compute)
    add("ReduceScatter", ["cp"], activation, microbatches * 2 * layers, compute)
    # Gradients: those of split weights over the data replicas, those of whole ones also over what saw parts of the
    # sequence.
    split = vocab * embed + layers * (3 * (embed + 1) * embed + embed * embed + 2 * embed * ffn + ffn)
    whole = positions * embed + layers * 6 * embed + 2 * embed
    if zero:
        own = split // tp + whole
        # The table is tied: it has two uses, in embedding and head.
        table_use = vocab * embed // tp
        # Backward needs matrices, scales of norms and the table again.
        backward = layers * (4 * embed * embed + 2 * embed * ffn) // tp + (2 * layers + 1) * embed + table_use
        if reduce_once:
            add("ReduceScatter", ["dp"], own, 1, reduce)
        else:
            add("ReduceScatter", ["dp"], own + table_use, microbatches, reduce)
        if zero < 3 or gather_once:
            add("AllGather", ["dp"], own, 1, compute)
        else:
            add("AllGather", ["dp"], own + table_use + backward, microbatches, compute)
        # Copies of shards meet once a step.
        add("AllReduce", ["node"], own // dp, 1, reduce)
    else:
        add("AllReduce", ["node", "dp", "cp"], split // tp, 1, reduce)
        add("AllReduce", ["node", "dp", "cp", "tp"] if sp else ["node", "dp", "cp"], whole, 1, reduce)
    # Token count, loss and norm: the last member reduces the one element.
    # Between pairs of nodes apart from those of ranks, where the links differ.
    axes = tuple(axis for axis in ("node", "dp", "cp", "tp") if size[axis] > 1)
    for rank in range(ranks):
        if node == dp == 2:
            table[rank, "AllReduce", ("node",)] += 3 * F32
            table[rank, "AllReduce", ("dp",)] += 3 * F32
        else:
            table[rank, "AllReduce", axes] += 3 * F32 * (ranks - 1 if rank == ranks - 1 else 1)
    return table


def compare(what, one, other):
    wrong = sorted(key for key in one.keys() | other.keys() if one[key] != other[key])
    for key in wrong:
        print(f"rank {key[0]} {key[1]} over {key[2]}: {one[key]} B {what[0]}, {other[key]} B {what[1]}")
    return not wrong


def main(arguments):
    cut = arguments.index("--") if "--" in arguments else len(arguments)
    count, predict = counted(arguments[0]), predicted(arguments[1:cut])
    good = compare(("counted", "predicted"), count, predict)
    if cut < len(arguments):
        sizes = {key: int(value) for key, value in (word.split("=") for word in arguments[cut + 1 :])}
        good &= compare(("counted", "in closed form"), count, closed_forms(**sizes))
    ranks = {key[0] for key in count}
    print(f"{sum(count.values())} B by {len(ranks)} ranks")
    return good and len(ranks) > 0


sys.exit(not main(sys.argv[1:]))
