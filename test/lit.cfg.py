# How lit runs Stretto's tests: FileCheck tests everywhere, GoogleTest binaries from test/unit.
import glob
import os

import lit.formats

config.name = "stretto"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["unit", "Inputs", "fuzz", "fixtures"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = config.stretto_obj
config.environment["PATH"] = os.pathsep.join(
    [config.stretto_bin, config.llvm_bin, os.environ["PATH"]]
)
config.environment["OMP_NUM_THREADS"] = "1"
config.substitutions += [
    ("%unit", config.stretto_unit),
    ("%source", config.stretto_source),
]

# %text: the demo's default text, the licences that every Debian carries.
texts = sorted(
    file
    for file in glob.glob("/usr/share/common-licenses/*")
    if not os.path.islink(file)
)
if texts:
    config.available_features.add("default-text")
config.substitutions.append(("%text", " ".join(texts)))
