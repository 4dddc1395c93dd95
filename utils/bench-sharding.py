#!/usr/bin/env python3
"""Times the sharding passes on one layer of 100 operations, for more devices and for more instances.

usage: utils/bench-sharding.py [--bin build/bin] [--blocks 20]
Prints milliseconds of propagate, assign, plan-reshards and localize (the least of five runs) and the bytes of the
localized IR. The claims: below 50 ms together for 100 operations, the same for 65 536 devices as for 4.
"""
import argparse, os, re, subprocess, sys, tempfile

PASSES = ["propagate", "assign", "plan-reshards", "localize"]
B, S, E, F = 65536, 16, 64, 256


def module(blocks, dp, tp, instances):
    """Blocks of norm, product, silu, product, add under data, tensor and sequence parallelism."""
    act = f"tensor<{B}x{S}x{E}xf32>"
    hid = f"tensor<{B}x{S}x{F}xf32>"
    types = {"g": f"tensor<{E}xf32>", "w": f"tensor<{E}x{F}xf32>", "v": f"tensor<{F}x{E}xf32>"}
    wish = {"g": "[{?}]", "w": "[{?}, {tp}]", "v": "[{tp}, {?}]"}
    between = "stretto.constraint = #stretto.constraint<[{dp}, {tp}p1, {?}]>"
    params = [(kind, f"{kind}{i}") for i in range(blocks) for kind in "gwv"]
    args = [f'%x: {act} {{stretto.role = "activation", {between}}}']
    args += [f'%{name}: {types[kind]} {{stretto.role = "param", stretto.constraint = '
             f'#stretto.constraint<{wish[kind]}>}}' for kind, name in params]
    out = [f"module attributes {{stretto.mesh = #stretto.mesh<dp = {dp}, tp = {tp}>}} {{"]
    out.append(f'stretto.segment @layer.fwd({", ".join(args)}) -> ({act} {{stretto.role = "activation", {between}}}) '
               'attributes {direction = "forward"} {')
    last = "%x"
    for i in range(blocks):
        out.append(f'%n{i} = stretto.rms_norm {last}, %g{i} {{eps = 1.0e-5 : f64}} : {act}, {types["g"]} -> {act}')
        out.append(f'%h{i} = stretto.einsum "b s e, e f -> b s f" %n{i}, %w{i} : {act}, {types["w"]} -> {hid}')
        out.append(f"%a{i} = stretto.silu %h{i} : {hid} -> {hid}")
        out.append(f'%o{i} = stretto.einsum "b s f, f e -> b s e" %a{i}, %v{i} : {hid}, {types["v"]} -> {act}')
        out.append(f"%y{i} = stretto.add {last}, %o{i} : {act}, {act} -> {act}")
        last = f"%y{i}"
    out.append(f"stretto.yield {last} : {act}\n}}")
    steps = [f'%x: tensor<1x{B}x{S}x{E}xf32> {{stretto.binding = "input:x"}}']
    for k in range(instances):
        steps += [f'%{name}_{k}: {types[kind]} {{stretto.binding = "param:{k}.{name}"}}' for kind, name in params]
    out.append(f'stretto.step @predict({", ".join(steps)}) {{')
    out.append(f"stretto.microbatches 1 inputs(%x) carried() : (tensor<1x{B}x{S}x{E}xf32>) -> () {{\n^bb0(%y: {act}):")
    last = "%y"
    signature = ", ".join([act] + [types[kind] for kind, _ in params])
    for k in range(instances):
        names = ", ".join([last] + [f"%{name}_{k}" for _, name in params])
        out.append(f'%z{k} = stretto.invoke @layer.fwd({names}) instance "layers.{k}" : ({signature}) -> {act}')
        last = f"%z{k}"
    out.append("stretto.yield\n}\nstretto.yield\n}\n}")
    return "\n".join(out)


def measure(tool, text):
    """Least milliseconds of each pass and the bytes of the result."""
    with tempfile.NamedTemporaryFile("w", suffix=".mlir") as file:
        file.write(text)
        file.flush()
        best, size = {}, 0
        for _ in range(5):
            run = subprocess.run([tool, file.name, *("--" + p for p in PASSES), "--mlir-disable-threading",
                                  "--verify-each=false", "--mlir-timing", "--mlir-timing-display=list"],
                                 capture_output=True, text=True)
            if run.returncode:
                sys.exit(run.stderr)
            size = len(run.stdout)
            for seconds, name in re.findall(r"(\d+\.\d+) \([^)]*\)\s+(\S+)", run.stderr):
                key = re.sub(r"(?<!^)([A-Z])", r"-\1", name.removesuffix("Pass")).lower()
                if key in PASSES:
                    best[key] = min(best.get(key, 1e9), float(seconds) * 1e3)
    return best, size


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default=os.path.join(os.path.dirname(__file__), "..", "build", "bin"))
    parser.add_argument("--blocks", type=int, default=20, help="five operations each")
    options = parser.parse_args()
    tool = os.path.join(options.bin, "stretto-opt")
    print(f"{'devices':>8} {'layers':>6} {'ops':>5} " + " ".join(f"{p + ' ms':>17}" for p in PASSES) +
          f" {'sum ms':>8} {'IR bytes':>9}")
    for dp, tp, instances in [(2, 2, 1), (64, 16, 1), (4096, 16, 1), (2, 2, 8), (2, 2, 32)]:
        best, size = measure(tool, module(options.blocks, dp, tp, instances))
        print(f"{dp * tp:>8} {instances:>6} {5 * options.blocks:>5} " +
              " ".join(f"{best.get(p, 0):>17.2f}" for p in PASSES) + f" {sum(best.values()):>8.2f} {size:>9}")


if __name__ == "__main__":
    main()
