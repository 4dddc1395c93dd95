"""Lets the second call of @decoder use all parameters of the first: one layer, called twice.

usage: call-twice.py MODEL > OTHER
"""

import re
import sys

text = open(sys.argv[1]).read()
layer = text[text.index("@decoder(") : text.index("@head(")]
names = re.findall(r"%([\w.]+): tensor<[^>]*> dims \[[^]]*\] init", layer)
bound = ", ".join(f'"{name}" = "layers.0.{name}"' for name in names)
print(text.replace('scope "layers.1"', f'scope "layers.1" bind {{{bound}}}'), end="")
