"""Under a memory limit what the plan left open about gathers and reductions is chosen such that a step sends the least within
it: as trying all that could be pinned says.

usage: zero-choice.py FOLDER   (with model.mlir and recipe.yaml)
"""

import itertools
import sys

from planned import planned

folder = sys.argv[1]


def compiled(zero, memory=""):
    """(arena, bytes that rank 0 sends), or the exit code."""
    return planned(folder, f"mesh: {{ dp: 4 }}\nmicrobatches: 2\n{memory}zero: {zero}\n")


pinned = {}
for gather, reduce in itertools.product(("step", "microbatch", "pass"), ("step", "microbatch")):
    pinned[gather, reduce] = compiled(f"{{ stage: 3, gather: {gather}, reduce: {reduce} }}")
    print(gather, reduce, *pinned[gather, reduce])
arenas = sorted({arena for arena, _ in pinned.values()})
wrong = 0
for limit in [arena + more for arena in arenas for more in (0, 64)]:
    best = min(sent for arena, sent in pinned.values() if arena <= limit)
    got = compiled("3", f"memory: {limit}\n")
    good = not isinstance(got, int) and got[0] <= limit and got[1] == best
    wrong += not good
    print(f"limit {limit}: {got}, {best} B at best{'' if good else ' WRONG'}")
wrong += compiled("3", f"memory: {arenas[0] - 64}\n") != 4
wrong += len(arenas) < 3
sys.exit(wrong != 0)
