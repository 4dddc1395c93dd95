"""Under a memory limit the compiler chooses which layers gather again in backward and when state that rests sharded is gathered
and reduced, such that a step sends the least within it: as trying all that could be pinned says.

usage: gathers-choice.py FOLDER   (with model.mlir of LAYERS layers and recipe.yaml)
"""

import itertools
import sys

from planned import planned

folder, LAYERS = sys.argv[1], 3
SHARD = 'shard: [{ match: "*", batch: dp, heads: tp, ffn: tp, vocab: tp, seq: { residual: tp } }]\n'


def compiled(mesh, more):
    """(arena, bytes that rank 0 sends), or the exit code."""
    shard = SHARD if "dp" in mesh else SHARD.replace("batch: dp, ", "")
    return planned(folder, f"mesh: {{ {mesh} }}\n{shard}{more}")


def pinned(layers):
    rules = "".join(f'  - {{ layers: "layers.{i}", what: gathers }}\n' for i in layers)
    return f"recompute:\n{rules}" if layers else ""


def search(mesh, fixed, left_open, pins):
    """How often the choice under an interesting limit is not that of the best pins."""
    tried = [compiled(mesh, fixed + pin) for pin in pins]
    assert not any(isinstance(result, int) for result in tried)
    arenas = sorted({arena for arena, _ in tried})
    print(f"{mesh}: {len(tried)} ways, {len(arenas)} arenas, {arenas[0]} to {arenas[-1]} B")
    wrong = len(arenas) < 3
    for limit in arenas[:: 1 + len(arenas) // 6] + arenas[-1:]:
        best = min(sent for arena, sent in tried if arena <= limit)
        got = compiled(mesh, f"{fixed}{left_open}memory: {limit}\n")
        good = not isinstance(got, int) and got[0] <= limit and got[1] == best
        wrong += not good
        print(f"limit {limit}: {got}, {best} B at best{'' if good else ' WRONG'}")
    return wrong + (compiled(mesh, f"{fixed}{left_open}memory: {arenas[0] - 64}\n") != 4)


subsets = [subset for n in range(LAYERS + 1) for subset in itertools.combinations(range(LAYERS), n)]
wrong = search("tp: 4", "", "", [pinned(layers) for layers in subsets])
times = itertools.product(("step", "microbatch", "pass"), ("step", "microbatch"), range(LAYERS + 1))
wrong += search(
    "dp: 2, tp: 2",
    "microbatches: 2\n",
    "zero: 3\n",
    [f"zero: {{ stage: 3, gather: {g}, reduce: {r} }}\n" + pinned(range(k)) for g, r, k in times],
)
sys.exit(wrong != 0)
