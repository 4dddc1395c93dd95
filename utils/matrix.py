#!/usr/bin/env python3
"""Proves models equal to one device on many plans with `stretto check`.

One line per case: both halves of the check (virtual ranks in f64, the compiled
executable in f32 or bf16) with their worst tensor, as its error over its bound times the
tolerance; the last line counts. Cases called bug-… break the program first and
hold when both halves notice. Exit code 0 when all cases hold.
"""

import argparse
import fnmatch
import itertools
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

PLANS = {
    "dp4": ("dp: 4", False),
    "tp4": ("tp: 4", False),
    "tp2": ("tp: 2", False),
    "dp2-tp2": ("dp: 2, tp: 2", False),
    "tp2-sp": ("tp: 2", True),
    "tp4-sp": ("tp: 4", True),
    "dp2-tp2-sp": ("dp: 2, tp: 2", True),
    "dp3-tp2": ("dp: 3, tp: 2", False),
    "tp3-sp": ("tp: 3", True),
    "tp3": ("tp: 3", False),
    "tp6": ("tp: 6", False),
    "dp2-tp4-sp": ("dp: 2, tp: 4", True),
    "cp2": ("cp: 2", False),
    "cp3": ("cp: 3", False),
    "dp2-cp2": ("dp: 2, cp: 2", False),
    "cp2-tp2": ("cp: 2, tp: 2", False),
    "dp3": ("dp: 3", False),
    "node2-dp2": ("node: 2, dp: 2", False),
    "node2-dp2-tp2": ("node: 2, dp: 2, tp: 2", False),
}
REQUIRED = ["dp4", "tp4", "dp2-tp2", "tp2-sp", "dp2-tp2-sp"]

GPT = {"layers": 2, "embed": 16, "heads": 4, "ffn": 32, "vocab": 32, "max-seq": 17}
LLAMA = {"layers": 2, "embed": 16, "heads": 4, "kv-heads": 4, "ffn": 32, "vocab": 32}
COMMON = {"dropout": 0.1, "label-smoothing": 0.1}


@dataclass
class Case:
    """A model, a plan and a recipe. With `bug` the check breaks the localized
    program first and must notice; with `error` the input must be refused."""

    name: str
    kind: str
    plan: str  # of PLANS, or (mesh, sequence parallelism)
    microbatches: int = 1
    batch: int = 16
    sequence: int = 16
    model: dict = field(default_factory=dict)
    flags: tuple = ()
    clip: float = 0.05
    optimizer: str = "adamw"
    recompute: str = "none"
    zero: str = "0"
    precision: str = ""  # of the recipe
    more: str = ""  # lines of the plan
    bug: str = ""
    error: str = ""

    @property
    def lr(self):
        """Without q/k norm a key bias has no gradient but rounding noise, which
        AdamW turns into steps; the examples' rate keeps those in bounds."""
        return 1.0e-2 if "qk-norm" in self.flags else 1.0e-3

    def write(self, folder, stretto):
        sizes = {**COMMON, **(GPT if self.kind == "gpt" else LLAMA), **self.model}
        words = [stretto, "model", self.kind, "-o", os.path.join(folder, "model.mlir")]
        for key, value in sizes.items():
            words += ["--" + key, str(value)]
        words += ["--" + flag for flag in self.flags]
        made = subprocess.run(words, capture_output=True, text=True)
        if made.returncode:
            return made.stderr
        mesh, sequence_parallel = PLANS.get(self.plan) or self.plan
        replicas = "[node, dp]" if "node" in mesh else "dp"
        rules = [f"batch: {replicas}"] if "dp" in mesh else []
        rules += ["seq: cp"] if "cp" in mesh else []
        if "tp" in mesh:
            rules += ["heads: tp", "kv_heads: tp", "ffn: tp", "vocab: tp"]
            rules += ["seq: { residual: tp }"] if sequence_parallel else []
        dimensions = ", ".join(rules)
        with open(os.path.join(folder, "plan.yaml"), "w") as file:
            file.write(
                f"plan: 1\nmesh: {{ {mesh} }}\n"
                f'shard:\n  - {{ match: "*", {dimensions} }}\n'
                f"microbatches: {self.microbatches}\n"
                f"recompute: {self.recompute}\nzero: {self.zero}\n{self.more}"
            )
        with open(os.path.join(folder, "recipe.yaml"), "w") as file:
            file.write(
                f"recipe: 1\nbatch: {{ global: {self.batch} }}\n"
                f"sequence: {self.sequence}\nsteps: 5\nseed: 7\n"
                f"optimizer: {{ kind: {self.optimizer}, lr: {self.lr}, "
                f"weight_decay: 0.1, clip: {self.clip} }}\n"
                "schedule: { warmup: 2, decay: cosine, min_lr: 1.0e-4 }\n"
                f"precision: {{ {self.precision} }}\n"
            )
        return ""


def required_cases():
    """Every plan with 1 and 4 micro-batches, both families, tied and untied."""
    for kind, head, plan, m in itertools.product(
        ("gpt", "llama"), ("tied", "untied"), REQUIRED, (1, 4)
    ):
        flags = (head, "qk-norm")
        yield Case(f"{kind}-{head}-{plan}-m{m}", kind, plan, m, flags=flags)


def plain_cases():
    """The same without q/k norm (a key bias then has no gradient) and dropout,
    and Llama with grouped queries."""
    for kind, head, plan, m in itertools.product(
        ("gpt", "llama"), ("tied", "untied"), REQUIRED, (1, 4)
    ):
        model = {"dropout": 0}
        if kind == "llama":
            model["kv-heads"] = 2
        yield Case(
            f"plain-{kind}-{head}-{plan}-m{m}", kind, plan, m, model=model, flags=(head,)
        )


def uneven_cases():
    """Sizes that do not divide."""

    def case(name, kind, plan, m=1, **more):
        return Case(f"uneven-{name}-{kind}-{plan}-m{m}", kind, plan, m, **more)

    qk = ("qk-norm",)
    for kind, head in itertools.product(("gpt", "llama"), ("tied", "untied")):
        flags = (head, "qk-norm")
        yield case(f"vocab97-{head}", kind, "tp4", model={"vocab": 97}, flags=flags)
        yield case(
            f"vocab97-{head}", kind, "dp2-tp2-sp", 2, model={"vocab": 97}, flags=flags
        )
        yield case(f"ffn33-{head}", kind, "tp4", 2, model={"ffn": 33}, flags=flags)
    for kind in ("gpt", "llama"):
        yield case("batch6", kind, "dp4", batch=6, flags=qk)
        yield case("batch6", kind, "dp4", 2, batch=12, flags=qk)
        yield case("batch3", kind, "dp4", 2, batch=6, flags=qk)
        yield case("batch7", kind, "dp2-tp2-sp", batch=7, flags=qk)
        yield case("kv2", kind, "tp4", model={"kv-heads": 2}, flags=qk)
        yield case("kv2", kind, "dp2-tp4-sp", 2, model={"kv-heads": 2}, flags=qk)
        yield case("kv1", kind, "tp4", model={"kv-heads": 1}, flags=())
        yield case("kv1", kind, "tp2-sp", sequence=15, model={"kv-heads": 1})
        yield case("kv2", kind, "tp6", model={"kv-heads": 2}, flags=qk)
        yield case("seq17", kind, "tp2-sp", sequence=17, flags=qk)
        yield case("seq17", kind, "dp2-tp2-sp", 4, sequence=17, flags=qk)
        yield case("seq13", kind, "tp4-sp", sequence=13, flags=qk)
        # Attention over one position has no gradient for q and k but rounding
        # noise, which an optimizer with normalised steps would amplify.
        yield case("seq1", kind, "tp2-sp", sequence=1, flags=qk, optimizer="sgd")
        yield case(
            "kv3heads6", kind, "tp2", model={"heads": 6, "kv-heads": 3, "head-dim": 4}
        )
        yield case(
            "heads3", kind, "tp2-sp", model={"heads": 3, "kv-heads": 3, "head-dim": 4}
        )
        yield case(
            "heads2", kind, "tp4", model={"heads": 2, "kv-heads": 2, "head-dim": 4}
        )
        yield case(
            "heads6kv2", kind, "tp4", model={"heads": 6, "kv-heads": 2, "head-dim": 4}
        )
        primes = {"embed": 14, "heads": 7, "kv-heads": 7, "head-dim": 6}
        primes.update({"ffn": 29, "vocab": 31})
        yield case(
            "primes", kind, "dp2-tp2-sp", 3, batch=15, sequence=11, model=primes
        )
        yield case("primes", kind, "tp4", 1, batch=5, sequence=7, model=primes)
        yield case("primes", kind, "dp3-tp2", 1, batch=11, sequence=7, model=primes)
        yield case("primes", kind, "tp3-sp", 1, batch=2, sequence=7, model=primes)
        yield case("sgd", kind, "dp2-tp2-sp", 2, optimizer="sgd", batch=7 * 2)
        few = {"ffn": 3, "vocab": 3}
        yield case("fewer-than-ranks", kind, "tp4", 1, batch=2, model=few)


def context_cases():
    """Every position-wise value split along the sequence, attention too."""
    qk = ("qk-norm",)
    plans = (("cp2", 1), ("cp2", 4), ("dp2-cp2", 4), ("cp2-tp2", 1), ("cp3", 2))
    for kind, head, (plan, m) in itertools.product(
        ("gpt", "llama"), ("tied", "untied"), plans
    ):
        yield Case(f"context-{kind}-{head}-{plan}-m{m}", kind, plan, m, flags=(head, "qk-norm"))
    primes = {"embed": 14, "heads": 7, "kv-heads": 7, "head-dim": 6, "ffn": 29, "vocab": 31}
    for kind in ("gpt", "llama"):
        yield Case(f"context-seq17-{kind}", kind, "cp3", sequence=17, flags=qk)
        yield Case(f"context-kv2-{kind}", kind, "cp2-tp2", sequence=13, model={"kv-heads": 2}, flags=qk)
        yield Case(f"context-kv1-{kind}", kind, "cp2-tp2", sequence=5, model={"kv-heads": 1}, flags=qk)
        yield Case(f"context-primes-{kind}", kind, "dp2-cp2", 3, batch=15, sequence=11, model=primes)
        # Ranks without a position.
        yield Case(f"context-seq4-{kind}", kind, "cp3", sequence=4, flags=qk)
        yield Case(f"context-seq1-{kind}", kind, "cp2", sequence=1, flags=qk, optimizer="sgd")
        yield Case(f"context-recompute-{kind}", kind, "cp3", 2, sequence=10, flags=qk, recompute="full")


def recompute_cases():
    """What backward repeats changes no result, dropout masks included."""
    policies = (
        ("full", "full"),
        ("selective", "selective"),
        ("kinds", '[{ what: [attention, norms] }, { layers: "layers.1", what: [gelu, silu, rope] }]'),
    )
    for kind, head, (name, policy), (plan, m) in itertools.product(
        ("gpt", "llama"),
        ("tied", "untied"),
        policies,
        (("dp4", 4), ("dp2-tp2-sp", 1), ("tp2-sp", 4)),
    ):
        yield Case(
            f"recompute-{name}-{kind}-{head}-{plan}-m{m}",
            kind,
            plan,
            m,
            flags=(head, "qk-norm"),
            recompute=policy,
        )
    primes = {"embed": 14, "heads": 7, "kv-heads": 7, "head-dim": 6, "ffn": 29, "vocab": 31}
    for kind in ("gpt", "llama"):
        yield Case(
            f"recompute-full-{kind}-primes",
            kind,
            "dp3-tp2",
            2,
            batch=14,
            sequence=7,
            model=primes,
            recompute="full",
        )


def gather_cases():
    """What forward gathered, saved so or gathered again in backward, beside what
    else is repeated and where state rests: each pair of values in some case."""
    cases = (
        ("tp2-sp", 1, "none", "0"),
        ("dp2-tp2-sp", 4, "none", "3"),
        ("tp2-sp", 4, "gathers", "0"),
        ("dp2-tp2-sp", 1, "gathers", "3"),
        ("dp2-tp2-sp", 4, "gathers", "0"),
        ("dp2-tp2-sp", 1, "[selective, gathers]", "0"),
        ("dp2-tp2-sp", 4, "selective", "3"),
        ("dp2-tp2-sp", 4, "full", "3"),
        ("tp4-sp", 1, "gathers", "0"),
        ("cp2-tp2", 4, "gathers", "0"),
    )
    for index, (plan, m, what, zero) in enumerate(cases):
        yield Case(
            f"gathers-{index}-{plan}-m{m}",
            ("gpt", "llama")[index % 2],
            plan,
            m,
            flags=(("tied", "untied")[index // 2 % 2], "qk-norm"),
            recompute=f"[{{ what: {what} }}]",
            zero=zero,
        )
    # Some layers of each kind, and sizes that do not divide.
    primes = {"embed": 14, "heads": 7, "kv-heads": 7, "head-dim": 6, "ffn": 29, "vocab": 31}
    for kind in ("gpt", "llama"):
        yield Case(
            f"gathers-primes-{kind}",
            kind,
            "tp3-sp",
            2,
            batch=6,
            sequence=11,
            model=primes,
            recompute='[{ layers: "layers.0", what: gathers }]',
        )
    bf16 = (("tp2-sp", 1, "0", "bf16"), ("dp2-tp2-sp", 4, "3", "bf16-all"), ("cp2-tp2", 2, "0", "bf16-sums"))
    for kind, (plan, m, zero, name) in itertools.product(("gpt", "llama"), bf16):
        yield Case(
            f"gathers-{name}-{kind}-{plan}",
            kind,
            plan,
            m,
            flags=("tied", "qk-norm"),
            recompute="gathers",
            zero=zero,
            precision=PRECISIONS[name],
        )


def zero_cases():
    """Stages x tensor and sequence parallelism x micro-batches x recompute, each
    pair of values in some case; and what is awkward on purpose."""
    zeros = {
        "1": "1",
        "2": "2",
        "3": "3",
        "grad-op": "{ stage: 2, reduce: microbatch }",
        "step": "{ stage: 3, gather: step, reduce: step }",
        "each": "{ stage: 3, gather: microbatch, reduce: microbatch }",
    }
    plans = ("dp4", "dp2-tp2", "dp2-tp2-sp", "dp3-tp2")
    policies = ("none", "selective", "full")
    for index, ((name, zero), plan) in enumerate(itertools.product(zeros.items(), plans)):
        m, policy = (1, 4)[(index + index // 4) % 2], policies[(index + index // 4) % 3]
        yield Case(
            f"zero-{name}-{plan}-m{m}-{policy}",
            ("gpt", "llama")[index // 2 % 2],
            plan,
            m,
            batch=12 if "dp3" in plan else 16,
            flags=(("tied", "untied")[index % 2], "qk-norm"),
            recompute=policy,
            zero=zero,
        )
    # Shared over one axis, copied along the other.
    for stage, plan, copies in itertools.product(
        (1, 2, 3), ("node2-dp2", "node2-dp2-tp2"), ("node", "dp")
    ):
        yield Case(
            f"zero-hybrid-{stage}-{plan}-{copies}",
            ("gpt", "llama")[stage % 2],
            plan,
            1 + stage % 2,
            flags=("tied", "qk-norm"),
            zero=f"{{ stage: {stage}, replicate: {copies} }}",
        )
    primes = {"embed": 14, "heads": 7, "kv-heads": 7, "head-dim": 6, "ffn": 29, "vocab": 31}
    for kind, stage in itertools.product(("gpt", "llama"), (1, 2, 3)):
        tied = ("tied", "qk-norm")
        yield Case(
            f"zero-{stage}-vocab97-{kind}", kind, "dp3", stage, batch=12, model={"vocab": 97}, flags=tied, zero=f"{stage}"
        )
        yield Case(
            f"zero-{stage}-primes-{kind}", kind, "dp3-tp2", 3, batch=15, sequence=11, model=primes, flags=tied, zero=f"{stage}"
        )
        yield Case(
            f"zero-{stage}-batch3-{kind}", kind, "dp4", 2, batch=6, flags=tied, optimizer="sgd", zero=f"{stage}"
        )


def pairwise(axes):
    """Few combinations in which every pair of values of two axes occurs: each
    the best of all by the pairs that it adds (Cohen et al., AETG, 1997)."""
    names = list(axes)
    pairs = lambda values: {
        ((a, values[i]), (b, values[j]))
        for (i, a), (j, b) in itertools.combinations(enumerate(names), 2)
    }
    candidates = [(values, pairs(values)) for values in itertools.product(*axes.values())]
    missing = set().union(*(found for _, found in candidates))
    while missing:
        values, found = max(candidates, key=lambda one: len(one[1] & missing))
        missing -= found
        yield dict(zip(names, values))


PRECISIONS = {
    "f32": "",
    "bf16": "compute: bf16",
    "bf16-sums": "compute: bf16, gradients: bf16",
    "bf16-reduce": "compute: bf16, reduce: bf16",
    "bf16-all": "compute: bf16, gradients: bf16, reduce: bf16",
    "f32-reduce": "reduce: bf16",
}


def precision_cases():
    """Types x plans x ZeRO x micro-batches x recompute x models, each pair of
    values in some case; and what is awkward on purpose."""
    axes = {
        "precision": list(PRECISIONS),
        "plan": ["dp4", "tp4", "dp2-tp2-sp", "dp2-cp2", "node2-dp2-tp2"],
        "zero": ["0", "1", "2", "3", "{ stage: 3, gather: step, reduce: step }"],
        "microbatches": [1, 4],
        "recompute": ["none", "selective", "full"],
        "model": [("gpt", "tied"), ("llama", "tied"), ("llama", "untied")],
    }
    for index, chosen in enumerate(pairwise(axes)):
        kind, head = chosen["model"]
        plan, zero = chosen["plan"], chosen["zero"]
        if plan.startswith("tp"):  # no replicas that could share state
            zero = "0"
        elif plan.startswith("node") and zero in "123":
            zero = f"{{ stage: {zero}, replicate: node }}"
        yield Case(
            f"precision-{index}-{chosen['precision']}-{kind}-{plan}-m{chosen['microbatches']}",
            kind,
            plan,
            chosen["microbatches"],
            flags=(head, "qk-norm"),
            recompute=chosen["recompute"],
            zero=zero,
            precision=PRECISIONS[chosen["precision"]],
        )
    primes = {"embed": 14, "heads": 7, "kv-heads": 7, "head-dim": 6, "ffn": 29, "vocab": 31}
    for kind, name in itertools.product(("gpt", "llama"), ("bf16", "bf16-all")):
        common = {"flags": ("tied", "qk-norm"), "precision": PRECISIONS[name]}
        yield Case(f"precision-one-{name}-{kind}", kind, ("dp: 1", False), 2, optimizer="sgd", **common)
        yield Case(
            f"precision-primes-{name}-{kind}", kind, "dp3-tp2", 3, batch=15, sequence=11, model=primes, zero="3", **common
        )


def bug_cases():
    """Mistakes in the localized program; the executable is compiled from it."""
    bugs = [
        ("drop-all-reduce", (0, 2, 4)),
        ("scale-gradient", (0, 5, 20)),
        ("wrong-axis", (0, 3, 6)),
        ("swap-shards", (0, 1, 4)),
    ]
    for bug, places in bugs:
        for place in places:
            for kind, plan in (("gpt", "dp2-tp2-sp"), ("llama", "dp2-tp2")):
                yield Case(
                    f"bug-{bug}-{place}-{kind}-{plan}",
                    kind,
                    plan,
                    2,
                    flags=("qk-norm",),
                    bug=f"{bug}:{place}",
                )


def refused_cases():
    """What cannot be made to fit is an error that says why."""
    error = "16 samples does not split into 3 equal micro-batches"
    yield Case("refused-m3-of-16", "gpt", "dp2-tp2", 3, error=error)
    error = r"'pp: 2': pipeline parallelism is not implemented yet"
    yield Case("refused-pp2", "gpt", ("dp: 2, pp: 2", False), error=error)
    error = r"'overlap' must be none or"
    overlap = "overlap: all\n"
    yield Case("refused-overlap", "gpt", "dp2-tp2", more=overlap, error=error)
    error = "18 positions in a table of 17 rows"
    yield Case("refused-sequence", "gpt", "tp2-sp", sequence=18, error=error)
    error = "'precision.compute: f16' needs dynamic loss scaling"
    yield Case("refused-f16", "gpt", "dp4", precision="compute: f16", error=error)


def random_cases(count, seed):
    """Sizes and meshes drawn at random."""
    draw = random.Random(seed)
    for index in range(count):
        dp, tp = draw.choice([1, 2, 3, 4]), draw.choice([1, 2, 3, 4, 5, 6])
        if dp * tp > 12:
            dp = 1
        sequence_parallel = tp > 1 and draw.random() < 0.5
        axes = [f"{name}: {n}" for name, n in (("dp", dp), ("tp", tp)) if n > 1]
        kv_heads = draw.randint(1, 5)
        model = {
            "layers": draw.randint(1, 2),
            "heads": kv_heads * draw.randint(1, 3),
            "kv-heads": kv_heads,
            "head-dim": 2 * draw.randint(2, 4),
            "embed": draw.randint(3, 24),
            "ffn": draw.randint(1, 40),
            "vocab": draw.randint(2, 70),
            "dropout": draw.choice([0, 0.1, 0.5]),
            "label-smoothing": draw.choice([0, 0.1]),
        }
        microbatches = draw.randint(1, 4)
        flags = [draw.choice(["tied", "untied"]), draw.choice(["bias", "no-bias"])]
        if draw.random() < 0.5:
            flags.append("qk-norm")
        yield Case(
            f"random-{seed}-{index}",
            draw.choice(["gpt", "llama"]),
            (", ".join(axes) or "dp: 1", sequence_parallel),
            microbatches,
            batch=microbatches * draw.randint(1, 6),
            sequence=draw.randint(1, 17),
            model=model,
            flags=tuple(flags),
            optimizer="sgd",
        )


def all_cases():
    return [
        *required_cases(),
        *plain_cases(),
        *uneven_cases(),
        *context_cases(),
        *recompute_cases(),
        *gather_cases(),
        *zero_cases(),
        *precision_cases(),
        *bug_cases(),
        *refused_cases(),
    ]


def worst(report):
    """The worst tensor: its error over its bound, times the tolerance."""
    rows = [
        (
            float("inf")
            if row.get("fault")
            else (row["error"] / row["bound"] if row["bound"] else row["error"]),
            row,
        )
        for row in report["tensors"]
    ]
    ratio, row = max(rows, key=lambda pair: pair[0])
    return ratio * report["tolerance"], row


def judge(case, done):
    """Whether the check went as it must for this case, and a line about it."""
    errors = [line for line in done.stderr.splitlines() if "warning:" not in line]
    first = next((line for line in errors if "rror" in line), "") or "".join(errors[:1])
    said = f"exit {done.returncode}: {first[:300]}"
    if case.error:
        return done.returncode == 3 and bool(re.search(case.error, done.stderr)), said
    if not done.stdout:
        # Ranks that disagree end the run of a broken executable.
        return bool(case.bug) and done.returncode == 5, said
    result = json.loads(done.stdout)
    reports = "; ".join(
        f"{name} {describe(report)}"
        for name, report in zip(("f64", "executable"), result["reports"])
    )
    if case.bug:
        noticed = not any(report["ok"] for report in result["reports"])
        return done.returncode == 5 and noticed, reports
    good = done.returncode == 0 and result["ok"] and not result["shrunk"]
    return good and not errors, reports


def describe(report):
    error, row = worst(report)
    text = f"{error:.1e} ({row['name']} step {row['step']})"
    return text + (f" {row['fault']}" if row.get("fault") else "")


def run(case, options):
    start = time.time()
    with tempfile.TemporaryDirectory(prefix="matrix-") as scratch:
        folder = os.path.join(options.keep, case.name) if options.keep else scratch
        os.makedirs(folder, exist_ok=True)
        message = case.write(folder, options.stretto)
        if message:
            return False, "no model: " + message
        words = [options.stretto, "check", folder, "--json", "--steps", options.steps]
        words += ["--plant-bug", case.bug] if case.bug else []
        words += options.option
        done = subprocess.run(words, capture_output=True, text=True)
    good, text = judge(case, done)
    if not good and options.random:
        text += f"; {case}"
    return good, f"{text}; {time.time() - start:.1f} s"


PAGE = """# Compatibility

Which plans have been compared with one device, written by `utils/matrix.py --write docs/compatibility.md`: for every case five
steps in f64 on virtual ranks (tolerance 1e-10) and as an executable (tolerance 2e-4; where layers compute in bf16 that of
[precision.md](precision.md)) against the reference, parameters, moments, gradients, loss and predictions. The errors are the
worst of a row, as fractions of the tolerance times the tolerance.
Cases cover dropout, label smoothing, tied and own heads, q/k norm, grouped queries, clipping, sizes that do not divide
and sizes smaller than the number of ranks.

"""


def combination(case):
    """What a row is about: the plan without the model."""
    mesh, sequence_parallel = PLANS.get(case.plan) or case.plan
    if case.more:
        mesh += "; " + case.more.strip()
    return (
        mesh + (", sequence parallel" if sequence_parallel else ""),
        case.microbatches,
        case.zero,
        case.recompute,
        case.precision or "f32",
    )


def write_page(path, outcomes):
    """One row per plan; refused ones with the reason, planted bugs as a count."""
    rows = {}
    for case, good, text in outcomes:
        if not case.bug:
            rows.setdefault((bool(case.error), *combination(case)), []).append((case, good, text))
    lines = [
        "| mesh | M | zero | recompute | precision | cases | result | worst f64 | worst executable |",
        "|---|---|---|---|---|---|---|---|---|",
    ]

    def worst_of(entries, half):
        found = [re.search(half + r" ([\d.e+-]+|inf)", text) for _, _, text in entries]
        values = [float(match.group(1)) for match in found if match]
        return f"{max(values):.0e}" if values else ""

    for (refused, mesh, microbatches, zero, recompute, precision), entries in sorted(
        rows.items(), key=lambda row: tuple(map(str, row[0]))
    ):
        kinds = ", ".join(
            f"{kind} {sum(case.kind == kind for case, _, _ in entries)}"
            for kind in ("gpt", "llama")
            if any(case.kind == kind for case, _, _ in entries)
        )
        if refused:
            reason = re.search(r"error: (.*?); [\d.]+ s$", entries[0][2])
            result = "refused: " + (reason.group(1) if reason else entries[0][2])
        else:
            held = sum(good for _, good, _ in entries)
            result = "ok" if held == len(entries) else f"{held} of {len(entries)} hold"
        cells = (mesh, microbatches, zero, recompute, precision, kinds, result)
        cells += (worst_of(entries, "f64"), worst_of(entries, "executable"))
        lines.append("| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |")
    bugs = [good for case, good, _ in outcomes if case.bug]
    lines += ["", f"Mistakes planted in a localized program: {sum(bugs)} of {len(bugs)} noticed by both halves.", ""]
    with open(path, "w") as file:
        file.write(PAGE + "\n".join(lines))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--only", action="append", default=[], metavar="GLOB", help="cases by name"
    )
    parser.add_argument("--list", action="store_true", help="names only")
    parser.add_argument("--stretto", default="stretto", help="the tool")
    parser.add_argument("--steps", default="5", help="steps to compare (5)")
    parser.add_argument("--jobs", type=int, default=1, help="cases at a time (1)")
    parser.add_argument("--write", metavar="FILE", help="write a page of the results")
    parser.add_argument("--keep", metavar="DIR", help="keep the cases' files here")
    parser.add_argument(
        "--option", action="append", default=[], help="one more option of the check"
    )
    parser.add_argument(
        "--random", type=int, default=0, metavar="N", help="N random cases instead"
    )
    parser.add_argument("--seed", type=int, default=1, help="of random cases (1)")
    options = parser.parse_args()
    cases = [
        case
        for case in (
            random_cases(options.random, options.seed) if options.random else all_cases()
        )
        if not options.only
        or any(fnmatch.fnmatchcase(case.name, glob) for glob in options.only)
    ]
    if options.list:
        print("\n".join(case.name for case in cases))
        return 0
    if not cases:
        print("error: no case has such a name; see --list", file=sys.stderr)
        return 2
    passed, outcomes = 0, []
    with ThreadPoolExecutor(options.jobs) as pool:
        for case, (good, text) in zip(
            cases, pool.map(lambda case: run(case, options), cases)
        ):
            line = f"{'ok    ' if good else 'FAILED'} {case.name}: {text}"
            print(line, flush=True)
            if not good and not sys.stdout.isatty():
                print(line, file=sys.stderr)
            passed += good
            outcomes.append((case, good, text))
    if options.write:
        write_page(options.write, outcomes)
    print(f"{passed} of {len(cases)} cases hold")
    return 0 if passed == len(cases) else 5


if __name__ == "__main__":
    sys.exit(main())
