# GoogleTest binaries of this build; lit splits them into their tests.
import lit.formats

config.name = "stretto-unit"
config.test_format = lit.formats.GoogleTest(".", "Tests")
config.suffixes = []
config.test_source_root = config.test_exec_root = config.stretto_unit
config.environment["OMP_NUM_THREADS"] = "1"
config.environment["STRETTO_SOURCE"] = config.stretto_source
config.environment["STRETTO_BIN"] = config.stretto_bin
