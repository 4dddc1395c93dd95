"""Prints how often each operation stands in a module, one a line, without those named by --except."""

import collections
import re
import sys

left_out = sys.argv[sys.argv.index("--except") + 1 :] if "--except" in sys.argv else []
operation = re.compile(r"^\s*(?:%[\w.#:, %]+ = )?([a-z]+\.[a-z_]+)\b(?! *=)")
counts = collections.Counter(
    match[1] for match in map(operation.match, sys.stdin) if match
)
for name, count in sorted(counts.items()):
    if name not in left_out:
        print(name, count)
