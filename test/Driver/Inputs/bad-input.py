"""Bad input, one row a case: what is done to a good folder, which command must refuse it, with which exit code, and
what the one error must say: where, what, and what to do instead.

usage: bad-input.py WORK [NAME...]      NAME: only these cases

Of every case it must hold: the exit code, exactly one error, no stack trace, no file left behind.
"""

import os
import re
import shutil
import subprocess
import sys

WORK = sys.argv[1]
GOOD = os.path.join(WORK, "good")
USAGE, REJECTED, FAILED = 2, 3, 5

RECIPE = """recipe: 1
batch: { global: 8 }
sequence: 8
steps: 3
eval: { every: 0, fraction: 0.1 }
"""
PLAN = """plan: 1
mesh: { dp: 2, tp: 2 }
shard:
  - { match: "*", batch: dp, heads: tp, ffn: tp, vocab: tp }
"""


def run(command, folder):
    return subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True, errors="replace", timeout=100)


def make_good():
    shutil.rmtree(WORK, ignore_errors=True)
    os.makedirs(GOOD)
    for name, text in {"recipe.yaml": RECIPE, "plan.yaml": PLAN, "text": "All human beings are born free. " * 30}.items():
        write(GOOD, name, text)
    script = """stretto model gpt --layers 1 --embed 16 --heads 2 --vocab 128 --max-seq 8 -o model.mlir &&
        stretto compile . -o gpt && ./gpt --data text --save run --quiet && stretto verify gpt"""
    done = run(script, GOOD)
    assert done.returncode == 0, done.stderr


def write(folder, name, text):
    with open(os.path.join(folder, name), "w") as file:
        file.write(text)


# ---- what is done to the good folder ------------------------------------------------------------------------------


def replace(name, old, new):
    def change(folder):
        text = open(os.path.join(folder, name)).read()
        assert old in text, f"{name} has no {old!r}"
        write(folder, name, text.replace(old, new, 1))

    return change


def holds(name, text):
    return lambda folder: write(folder, name, text)


def cut(name, keep):
    """Keeps the first bytes; a negative number leaves that many away."""

    def change(folder):
        path = os.path.join(folder, name)
        data = open(path, "rb").read()
        open(path, "wb").write(data[:keep])

    return change


def flip(name, at):
    """Changes one bit of the byte at `at`, from the end when negative."""

    def change(folder):
        path = os.path.join(folder, name)
        data = bytearray(open(path, "rb").read())
        data[at] ^= 4
        open(path, "wb").write(data)

    return change


def remove(name):
    return lambda folder: os.remove(os.path.join(folder, name))


def nothing(folder):
    pass


def shell(command):
    return lambda folder: subprocess.run(command, shell=True, cwd=folder, check=True)


# ---- the cases --------------------------------------------------------------------------------------------------------

COMPILE = "stretto compile . -o out"
TRAIN = "./gpt --data text --quiet"
# Parameters of 2 MB: larger than the kernels, for disks that are full when they are written.
LARGE = shell("""stretto model gpt --layers 1 --embed 16 --heads 2 --vocab 32768 --max-seq 8 -o model.mlir &&
    stretto compile . -o gpt""")
CASES = [
    # Recipe.
    ("recipe-unknown-key", replace("recipe.yaml", "steps", "stepz"), COMPILE, REJECTED,
     r"recipe.yaml:4:1: error: .*'stepz'.*did you mean 'steps'"),
    ("recipe-nested-unknown-key", replace("recipe.yaml", "global", "globall"), COMPILE, REJECTED,
     r"recipe.yaml:2:10: error: .*did you mean 'global'"),
    ("recipe-wrong-type", replace("recipe.yaml", "steps: 3", "steps: three"), COMPILE, REJECTED,
     r"recipe.yaml:4:8: error: .*integer.*'three'"),
    ("recipe-not-positive", replace("recipe.yaml", "global: 8", "global: 0"), COMPILE, REJECTED,
     r"recipe.yaml:2:18: error: .*0"),
    ("recipe-version", replace("recipe.yaml", "recipe: 1", "recipe: 7"), COMPILE, REJECTED,
     r"recipe.yaml:1:9: error: .*7"),
    ("recipe-twice", replace("recipe.yaml", "steps: 3", "steps: 3\nsteps: 4"), COMPILE, REJECTED,
     r"recipe.yaml:5:1: error: .*steps.*twice"),
    ("recipe-precision-not-there", replace("recipe.yaml", "steps: 3", "precision: { compute: f16 }"), COMPILE,
     REJECTED, r"recipe.yaml:4:\d+: error: .*f16.*loss scaling.*bf16"),
    ("recipe-optimizer-unknown", replace("recipe.yaml", "steps: 3", "optimizer: { kind: adam }"), COMPILE, REJECTED,
     r"recipe.yaml:4:20: error: .*'adam'.*adamw"),
    ("recipe-not-yaml", holds("recipe.yaml", "recipe: [1\n"), COMPILE, REJECTED, r"recipe.yaml:\d+:\d+: error: "),
    ("recipe-empty", holds("recipe.yaml", ""), COMPILE, REJECTED, r"recipe.yaml:1:1: error: .*recipe: 1"),
    ("recipe-missing", nothing, COMPILE + " --recipe absent.yaml", REJECTED, r"absent.yaml: error: .*No such file"),
    ("sequence-longer-than-positions", replace("recipe.yaml", "sequence: 8", "sequence: 9"), COMPILE, REJECTED,
     r"error: .*9.*8"),
    # Plan.
    ("plan-unknown-key", replace("plan.yaml", "shard", "shards"), COMPILE, REJECTED,
     r"plan.yaml:3:1: error: .*did you mean 'shard'"),
    ("plan-unknown-axis", replace("plan.yaml", "batch: dp", "batch: pd"), COMPILE, REJECTED,
     r"plan.yaml:4:\d+: error: .*'pd'"),
    ("plan-unknown-mesh-axis", replace("plan.yaml", "dp: 2", "xp: 2"), COMPILE, REJECTED,
     r"plan.yaml:4:26: error: .*'dp'.*did you mean 'xp'"),
    ("plan-axis-twice", replace("plan.yaml", "vocab: tp", "vocab: tp, embed: tp"), COMPILE, REJECTED,
     r"plan.yaml:4:61: error: .*'tp'.*'vocab' and 'embed'.*one dimension"),
    ("plan-wrong-type", replace("plan.yaml", "dp: 2", "dp: two"), COMPILE, REJECTED,
     r"plan.yaml:2:13: error: .*'two'"),
    ("plan-ranks-differ", nothing, COMPILE + " --ranks 3", REJECTED, r"error: .*4.*3"),
    ("plan-matches-nothing", replace("plan.yaml", '"*"', '"layerz.*"'), COMPILE, REJECTED,
     r"plan.yaml:4:\d+: error: .*layerz"),
    ("plan-dimension-unknown", replace("plan.yaml", "ffn: tp", "fnn: tp"), COMPILE, REJECTED,
     r"plan.yaml:4:\d+: error: .*'fnn'.*did you mean 'ffn'"),
    ("plan-pipeline-not-there", replace("plan.yaml", "tp: 2", "pp: 2, tp: 2"), COMPILE, REJECTED,
     r"plan.yaml:2:\d+: error: .*pp"),
    ("plan-zero-along-nothing", replace("plan.yaml", "plan: 1", "plan: 1\nzero: { stage: 1, replicate: nodes }"), COMPILE,
     REJECTED, r"plan.yaml:2:\d+: error: the mesh has no axis 'nodes'"),
    ("plan-recompute-without-limit", replace("plan.yaml", "plan: 1", "plan: 1\nrecompute: auto"), COMPILE, REJECTED,
     r"plan.yaml:2:12: error: 'recompute: auto' .*'memory: 16GiB'"),
    ("plan-memory-too-small", replace("plan.yaml", "plan: 1", "plan: 1\nmemory: 1000"), COMPILE, 4,
     r"plan.yaml:2:9: error: a rank takes .* more than the plan's memory of 1000 B\n.*note: parameters .*'recompute: auto'"),
    ("plan-memory-negative", replace("plan.yaml", "plan: 1", "plan: 1\nmemory: -1GiB"), COMPILE, REJECTED,
     r"plan.yaml:2:9: error: 'memory' must be a size in bytes"),
    ("plan-recompute-unknown", replace("plan.yaml", "plan: 1", "plan: 1\nrecompute: selectve"), COMPILE, REJECTED,
     r"plan.yaml:2:\d+: error: no operation or policy 'selectve' to recompute; did you mean 'selective'\?"),
    ("plan-microbatches", replace("plan.yaml", "plan: 1", "plan: 1\nmicrobatches: 3"), COMPILE, REJECTED,
     r"plan.yaml:2:15: error: .*8.*3"),
    ("plan-mesh-too-large", replace("plan.yaml", "dp: 2", "dp: 9223372036854775807"), COMPILE, REJECTED,
     r"plan.yaml:2:\d+: error: "),
    ("plan-version-is-text", replace("plan.yaml", "plan: 1", 'plan: "1"'), COMPILE, REJECTED,
     r"plan.yaml:1:7: error: schema version '1' is text, not a number; this build reads 'plan: 1'"),
    ("recipe-version-is-text", replace("recipe.yaml", "recipe: 1", "recipe: '1'"), COMPILE, REJECTED,
     r"recipe.yaml:1:9: error: schema version '1' is text, not a number; this build reads 'recipe: 1'"),
    ("plan-shard-of-nothing", holds("plan.yaml", "plan: 1\nmesh: { dp: 2 }\nshard:\nzero: 0\n"), COMPILE, REJECTED,
     r"plan.yaml:3:1: error: .*'shard'.*got nothing"),
    ("plan-uneven-batch", holds("plan.yaml", "plan: 1\nmesh: { dp: 3 }\nshard: [{ batch: dp }]\nuneven: error\n"), COMPILE,
     REJECTED, r"plan.yaml:3:11: error: 'batch' = 8 samples .* 3 ranks"),
    ("plan-uneven-positions", holds("plan.yaml", "plan: 1\nmesh: { tp: 3 }\nshard: [{ seq: { residual: tp } }]\nuneven: error\n"),
     COMPILE, REJECTED, r"plan.yaml:3:11: error: 'seq' = 8 positions .* 3 ranks"),
    ("plan-uneven-of-a-default-rule", holds("plan.yaml", "plan: 1\nmesh: { tp: 4 }\nuneven: error\n"), COMPILE, REJECTED,
     r"plan.yaml:3:9: error: 'heads' = 2 .* 4 ranks"),
    ("plan-axis-twice-by-default", shell("printf 'plan: 1\\nmesh: { tp: 2 }\\n' > plan.yaml; sed -i 's/vocab, embed/vocab, heads/; "
     "s/heads, head_dim/heads, vocab/' model.mlir"), COMPILE, REJECTED, r"plan.yaml:2:9: error: axis 'tp' would split both"),
    ("plan-uneven-zero", shell("printf 'plan: 1\\nmesh: { dp: 3 }\\nshard: [{ batch: dp }]\\nzero: 3\\nuneven: error\\n' > plan.yaml; "
     "sed -i 's/global: 8/global: 9/' recipe.yaml"), COMPILE, REJECTED, r"plan.yaml:4:7: error: 'zero' would pad the \w+ of '.*': dimension \d+ = \d+ does not "
     r"split over 3 ranks"),
    ("plan-group-of-nothing", replace("plan.yaml", "plan: 1", "plan: 1\ngroups: { ep: [] }"), COMPILE, REJECTED,
     r"plan.yaml:2:15: error: group 'ep' names no axis"),
    ("plan-pipeline-on-another-axis", replace("plan.yaml", "dp: 2, tp: 2 }", "dp: 2, pp: 2, tp: 2 }\npipeline: { axis: pp }"),
     COMPILE, REJECTED, r"plan.yaml:2:\d+: error: 'pp: 2'"),
    ("plan-missing", nothing, COMPILE + " --plan absent.yaml", REJECTED, r"absent.yaml: error: .*No such file"),
    # Model.
    ("model-missing", remove("model.mlir"), COMPILE, REJECTED, r"error: .*model.mlir.*No such file"),
    ("model-empty", holds("model.mlir", ""), COMPILE, REJECTED, r"error: .*stretto.model"),
    ("model-binary", shell("head -c 500 gpt > model.mlir"), COMPILE, REJECTED, r"error: "),
    ("model-syntax", replace("model.mlir", "stretto.layer_norm", "stretto.layer_nrom"), COMPILE, REJECTED,
     r"model.mlir:\d+:\d+: error: .*layer_nrom"),
    ("model-shape", replace("model.mlir", '"b s e, v e -> b s v"', '"b s e, e v -> b s v"'), COMPILE, REJECTED,
     r"model.mlir:\d+:\d+: error: "),
    ("model-cut", cut("model.mlir", -40), COMPILE, REJECTED, r"model.mlir:\d+:\d+: error: "),
    ("model-scope-twice", replace("model.mlir", 'scope "layers.0"', 'scope "embed"'), COMPILE, REJECTED,
     r"model.mlir:\d+:\d+: error: .*'embed'.*scopes must differ"),
    ("model-parameter-twice", shell("sed -i 's/^  %1 = stretto.call.*/&\\n&/; s/^  %1 = \\(stretto.call.*\\)/  %9 = \\1/' "
     "model.mlir"), COMPILE, REJECTED, r"model.mlir:\d+:\d+: error: .*scopes must differ"),
    ("model-tie-to-nothing", replace("model.mlir", '"embed.table"', '"embed.tabel"'), COMPILE, REJECTED,
     r"model.mlir:\d+:\d+: error: .*embed.tabel"),
    ("model-extent-zero", shell(r"sed -i 's/tensor<64xf32>/tensor<0xf32>/g; s/tensor<16x64xf32>/tensor<16x0xf32>/g; s/tensor<64x16xf32>/"
     r"tensor<0x16xf32>/g; s/x64xf32/x0xf32/g' model.mlir"), COMPILE, REJECTED, r"model.mlir:\d+:\d+: error: .*16x0xf32.*no elements"),
    ("model-too-large", shell(r"sed -i 's/tensor<64xf32>/tensor<9223372036854775807xf32>/g; s/tensor<16x64xf32>/"
     r"tensor<16x9223372036854775807xf32>/g; s/tensor<64x16xf32>/tensor<9223372036854775807x16xf32>/g; "
     r"s/x64xf32/x9223372036854775807xf32/g' model.mlir"), COMPILE, REJECTED, r"model.mlir:\d+:\d+: error: .*2\^50 elements"),
    ("model-no-loss", shell("sed -i /stretto.loss/d model.mlir"), COMPILE, REJECTED, r"model.mlir:\d+:\d+: error: .*loss"),
    ("model-count-of-parameters", shell(r"sed -i 's/reduce sum %mask/reduce sum %loss/' model.mlir"), COMPILE, REJECTED,
     r"model.mlir:\d+:\d+: error: "),
    ("model-of-another-dialect", holds("model.mlir", "func.func @f() { return }\n"), COMPILE, REJECTED, r"error: "),
    # Command line of the tool.
    ("no-such-command", nothing, "stretto compil . -o out", USAGE, r"compil.*did you mean 'compile'"),
    ("no-such-option", nothing, COMPILE + " --fast", USAGE, r"--fast"),
    ("no-such-phase", nothing, "stretto compile . --stop-after=lower", USAGE, r"localize.*'lower'"),
    ("no-output", nothing, "stretto compile .", USAGE, r"-o FILE"),
    ("no-model", nothing, "stretto compile -o out", USAGE, r"MODEL"),
    ("option-without-value", nothing, "stretto compile . -o", USAGE, r"-o"),
    ("plan-without-a-name", nothing, COMPILE + " --plan ''", USAGE, r"'--plan' takes a name, got ''"),
    ("dump-dir-without-a-name", nothing, COMPILE + " --dump-dir ''", USAGE, r"'--dump-dir' takes a name, got ''"),
    ("tolerance-of-everything", nothing, "stretto check . --tolerance inf", USAGE, r"positive, finite number, got 'inf'"),
    ("verify-nothing", nothing, "stretto verify", USAGE, r"expected a FILE"),
    ("ranks-not-a-number", nothing, COMPILE + " --ranks four", USAGE, r"four"),
    ("tensor-unknown", nothing, "stretto explain . --tensor layers.0.attn.wz", REJECTED, r"error: .*did you mean '.*attn.w"),
    ("tensor-without-a-name", nothing, "stretto explain . --tensor ''", REJECTED, r"error: no parameter or input ''"),
    ("rank-unknown", nothing, "stretto verify gpt --rank 4", USAGE, r"rank 4.*0 to 3"),
    # Output that cannot be written.
    ("output-folder-missing", nothing, "stretto compile . -o absent/out", FAILED, r"error: .*absent/out.*No such file"),
    ("output-is-a-device", nothing, "stretto compile . -o /dev/null; code=$?; test -c /dev/null && exit $code", FAILED,
     r"error: .*/dev/null.*not a regular file"),
    ("run-export-to-a-device", shell("mkfifo pipe"), TRAIN + " --export pipe", FAILED, r"error: .*not a regular file"),
    ("output-is-a-folder", nothing, "stretto compile . -o run", FAILED, r"error: .*run"),
    ("output-full", nothing, "(ulimit -f 100; stretto compile . -o out)", FAILED, r"error: .*out"),
    ("stdout-full", nothing, "stretto compile . --stop-after=localize > /dev/full", FAILED, r"error: .*(standard output|stdout)"),
    ("explain-stdout-full", nothing, "stretto explain . > /dev/full", FAILED, r"error: .*(standard output|stdout)"),
    ("verify-stdout-full", nothing, "stretto verify gpt > /dev/full", FAILED, r"error: .*(standard output|stdout)"),
    ("model-stdout-full", nothing, "stretto model gpt > /dev/full", FAILED, r"error: .*(standard output|stdout)"),
    ("model-output-full", nothing, "(ulimit -f 1; stretto model gpt -o out)", FAILED, r"error: .*out"),
    ("model-output-missing", nothing, "stretto model gpt -o absent/model.mlir", FAILED, r"error: .*absent/model.mlir"),
    ("dump-into-a-file", nothing, COMPILE + " --dump-dir text", FAILED, r"error: .*text"),
    # Data.
    ("data-none", nothing, "./gpt --quiet", USAGE, r"error: no data; pass --data"),
    ("data-missing", nothing, "./gpt --data absent --quiet", REJECTED, r"error: .*absent.*No such file"),
    ("data-is-a-folder", nothing, "./gpt --data run --quiet", REJECTED, r"error: .*run"),
    ("data-empty", holds("text", ""), TRAIN, REJECTED, r"error: .*text.*empty"),
    ("data-too-short", holds("text", "abc"), TRAIN, REJECTED, r"error: .*3.*9"),
    ("data-no-held-out", holds("text", "abcdefghijklmnopqrst"), TRAIN, REJECTED, r"error: .*held-out.*9"),
    ("data-outside-vocabulary", holds("text", "Ä" * 200), TRAIN, REJECTED, r"error: .*text.*195.*128"),
    ("tokens-index-bad", shell("printf '{\"dtype\": \"u8\"}' > t.json; head -c 900 text > t.bin"),
     "./gpt --data t.bin --quiet", REJECTED, r"error: .*t.json.*u8"),
    ("tokens-file-cut", shell("printf '{\"dtype\": \"u16\", \"tokens\": 450, \"vocabulary\": 128}' > t.json; "
     "head -c 899 text > t.bin"), "./gpt --data t.bin --quiet", REJECTED, r"error: .*450.*899"),
    ("tokens-outside-vocabulary", shell("printf '{\"dtype\": \"u16\", \"tokens\": 450, \"vocabulary\": 128}' > t.json; "
     "head -c 900 /dev/zero > t.bin; for i in $(seq 0 2 898); do printf '\\310' | dd of=t.bin bs=1 seek=$i conv=notrunc "
     "status=none; done"), "./gpt --data t.bin --quiet", REJECTED,
     r"error: .*t.bin: token 200 at byte offset \d+ is not in the vocabulary of 128"),
    # The executable and its Program.
    ("executable-cut", cut("gpt", -100), TRAIN, REJECTED, r"error: .*gpt.*(truncated|damaged)"),
    ("executable-cut-deep", cut("gpt", -40000), TRAIN, REJECTED, r"error: .*gpt.*(truncated|damaged)"),
    ("executable-kernels-flipped", flip("gpt", -5000), TRAIN, REJECTED, r"error: .*gpt.*(damaged|checksum)"),
    ("executable-runner-flipped", flip("gpt", 700000), TRAIN, REJECTED, r"error: .*(damaged|checksum)"),
    ("executable-program-flipped", flip("gpt", -200000), TRAIN, REJECTED, r"error: .*(damaged|checksum)"),
    ("executable-footer-flipped", flip("gpt", -20), TRAIN, REJECTED, r"error: "),
    ("verify-cut", cut("gpt", -100), "stretto verify gpt", REJECTED, r"error: "),
    ("verify-flipped", flip("gpt", -5000), "stretto verify gpt", REJECTED, r"error: "),
    ("verify-empty", holds("gpt", ""), "stretto verify gpt", REJECTED, r"error: "),
    ("verify-text", nothing, "stretto verify text", REJECTED, r"error: not a Program"),
    ("disasm-text", nothing, "stretto disasm text", REJECTED, r"error: not a Program"),
    ("verify-missing", nothing, "stretto verify absent", REJECTED, r"error: .*absent.*No such file"),
    ("verify-folder", nothing, "stretto verify run", REJECTED, r"error: .*run"),
    ("run-ranks-differ", nothing, TRAIN + " --ranks 2", USAGE, r"error: .*--ranks 2.*--ranks 4"),
    ("run-no-such-option", nothing, TRAIN + " --stepz 3", USAGE, r"error: .*stepz"),
    ("run-steps-negative", nothing, TRAIN + " --steps -1", USAGE, r"error: .*-1"),
    ("run-seed-too-large", nothing, TRAIN + " --seed 18446744073709551616", USAGE,
     r"error: .*--seed.*18446744073709551616.*from 0 to 18446744073709551615"),
    ("run-steps-too-large", nothing, TRAIN + " --steps 9223372036854775808", USAGE, r"error: .*--steps.*9223372036854775808"),
    ("run-export-noticed-at-the-start", nothing, TRAIN + " --export absent/e --steps 1000000000", FAILED,
     r"error: .*absent/e"),
    ("run-prompt-noticed-at-the-start", nothing, TRAIN + " --steps 1000000000 --sample 3 --prompt Ä", USAGE,
     r"error: .*195.*128"),
    ("run-metrics-folder-missing", nothing, TRAIN + " --metrics absent/m", FAILED, r"error: .*absent/m.*No such file"),
    ("run-metrics-half-full", holds("m", "x" * 255980 + "\n"), "(ulimit -f 500; ./gpt --data text --quiet --metrics m --resume run "
     "--steps 20 2> e); code=$?; cat e >&2; rm e; test $(tail -c 1 m | wc -l) = 1 && exit $code", FAILED,
     r"error: .*metrics file m: "),
    ("run-metrics-full", nothing, TRAIN + " --metrics /dev/full", FAILED, r"error: .*/dev/full.*No space"),
    ("run-save-into-a-file", nothing, TRAIN + " --save text", FAILED, r"error: .*text"),
    ("run-save-noticed-at-the-start", nothing, TRAIN + " --save text --steps 1000000000", FAILED, r"error: .*text"),
    ("run-save-full", LARGE, "(ulimit -f 500; ./gpt --data text --quiet --save new)", FAILED, r"error: .*new.*File too large"),
    ("run-export-full", LARGE, "(ulimit -f 500; ./gpt --data text --quiet --export new)", FAILED, r"error: .*new.*File too large"),
    ("run-dump-full", LARGE, "(ulimit -f 500; ./gpt --data text --quiet --dump-state new)", FAILED, r"error: .*new.*File too large"),
    ("run-export-folder-missing", nothing, TRAIN + " --export absent/e", FAILED, r"error: .*absent/e"),
    ("run-stdout-full", nothing, TRAIN + " --json > /dev/full", FAILED, r"error: .*stdout"),
    ("run-prompt-outside-vocabulary", nothing, TRAIN + " --sample 3 --prompt Ä", USAGE, r"error: .*195.*128"),
    # Checkpoints.
    ("resume-missing", nothing, TRAIN + " --resume absent", REJECTED, r"error: absent: No such file"),
    ("resume-not-one", shell("mkdir empty"), TRAIN + " --resume empty", REJECTED, r"error: .*empty"),
    ("resume-latest-wrong", holds("run/LATEST", "step-000009\n"), TRAIN + " --resume run", REJECTED,
     r"error: .*step-000009"),
    ("resume-shard-cut", shell("truncate -s -8 run/step-000003/*0.safetensors"), TRAIN + " --resume run", REJECTED,
     r"error: .*safetensors"),
    ("resume-shard-flipped", shell("for f in run/step-000003/*0.safetensors; do printf x | dd of=$f bs=1 "
     "seek=$(($(stat -c %s $f) - 9)) conv=notrunc status=none; done"), TRAIN + " --resume run", REJECTED,
     r"error: .*safetensors.*checksum"),
    ("resume-header-flipped", shell("for f in run/step-000003/*0.safetensors; do printf x | dd of=$f bs=1 "
     "seek=40 conv=notrunc status=none; done"), TRAIN + " --resume run", REJECTED, r"error: .*safetensors"),
    ("resume-shard-missing", shell("rm run/step-000003/*1.safetensors"), TRAIN + " --resume run", REJECTED,
     r"error: .*safetensors.*No such file"),
    ("resume-manifest-cut", shell("truncate -s 100 run/step-000003/manifest.json"), TRAIN + " --resume run", REJECTED,
     r"error: .*manifest.json"),
    ("resume-manifest-empty", shell("truncate -s 0 run/step-000003/manifest.json"), TRAIN + " --resume run", REJECTED,
     r"error: .*manifest.json"),
    ("resume-manifest-missing", shell("rm run/step-000003/manifest.json"), TRAIN + " --resume run", REJECTED,
     r"error: .*step-000003.*not a checkpoint"),
    ("resume-manifest-altered", shell("sed -i s/embed.table/embed.tafel/ run/step-000003/manifest.json"),
     TRAIN + " --resume run", REJECTED, r"error: .*manifest.json.*altered"),
    ("resume-another-model", shell("stretto model gpt --layers 2 --embed "
     "16 --heads 2 --vocab 128 --max-seq 8 -o model.mlir; stretto compile . -o gpt"), TRAIN + " --resume run", REJECTED,
     r"error: .*layers.1"),
    ("resume-another-width", shell("stretto model gpt --layers 1 --embed 32 --heads 2 --vocab 128 --max-seq 8 -o "
     "model.mlir; stretto compile . -o gpt"), TRAIN + " --resume run", REJECTED,
     r"error: .*embed.table.*128x16.*128x32"),
    ("load-params-missing", nothing, TRAIN + " --load-params absent", REJECTED, r"error: .*absent.*No such file"),
    ("load-params-of-another-shape", nothing, TRAIN + " --load-params run/step-000003/rank-00000.safetensors", REJECTED,
     r"error: .*embed.table' is F32 \[\d+x16\], the program wants F32 \[128x16\]"),
    ("save-without-a-name", nothing, TRAIN + " --save ''", USAGE, r"error: --save: .*without a name"),
    ("save-is-a-device", nothing, TRAIN + " --save /dev/null", FAILED, r"error: .*/dev/null: there is a file of that name"),
    ("load-params-not-safetensors", nothing, TRAIN + " --load-params text", REJECTED, r"error: .*text"),
    # train: both sides.
    ("train-bad-recipe", replace("recipe.yaml", "steps", "stepz"), "stretto train . --data text", REJECTED, r"stepz"),
    ("train-bad-data", nothing, "stretto train . --data absent --quiet", REJECTED, r"error: .*absent"),
    ("check-bad-plan", replace("plan.yaml", "batch: dp", "batch: pd"), "stretto check .", REJECTED, r"'pd'"),
]

CRASH = re.compile(r"Stack dump|PLEASE submit|Assertion|terminate called|LLVM ERROR|Sanitizer|Segmentation|Aborted")


def files_of(folder):
    return {os.path.join(root, name) for root, _, names in os.walk(folder) for name in names}


def problems_of(name, change, command, code, pattern):
    folder = os.path.join(WORK, name)
    shutil.copytree(GOOD, folder, symlinks=True)
    change(folder)
    before = files_of(folder)
    done = run(command, folder)
    found = []
    if done.returncode != code:
        found.append(f"exit code {done.returncode}, expected {code}")
    if CRASH.search(done.stderr):
        found.append("crashed")
    if not re.search(pattern, done.stderr):
        found.append(f"does not say {pattern!r}")
    errors = len(re.findall(r"\berror: ", done.stderr))
    if errors > 1 or (errors == 0 and code != USAGE):
        found.append(f"{errors} errors")
    left = sorted(os.path.relpath(path, folder) for path in files_of(folder) - before)
    if left:
        found.append(f"left {', '.join(left)}")
    shutil.rmtree(folder)
    return found and ["; ".join(found), *("    " + line for line in done.stderr.splitlines()[:8])]


def main():
    make_good()
    chosen = [case for case in CASES if len(sys.argv) < 3 or case[0] in sys.argv[2:]]
    failures = 0
    for case in chosen:
        problems = problems_of(*case)
        if problems:
            failures += 1
            print(f"{case[0]}: {case[2]}: " + "\n".join(problems))
    print(f"{len(chosen)} cases, {failures} wrong")
    return failures > 0 or not chosen


sys.exit(main())
