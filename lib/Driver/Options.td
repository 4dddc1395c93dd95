//===- Options.td - options of the stretto tool -------------*- tablegen -*-===//
include "stretto/Support/Options.td"

// A help text that begins with commands and a colon says whose the option is.
def help : Switch<"help", "print this help">;
def h : Flag<["-"], "h">, Alias<help>;
def o : JoinedOrSeparate<["-"], "o">, MetaVarName<"FILE">,
        HelpText<"compile: the executable to write, or, with --stop-after, the IR">;
defm recipe : Value<"recipe", "FILE", "train, compile, check, explain, plan: training recipe (MODEL/recipe.yaml; else defaults)">;
defm plan : Value<"plan", "FILE", "train, compile, check, explain, plan: parallel plan (MODEL/plan.yaml; else one device)">;
defm ranks : Value<"ranks", "N", "train, compile, check, explain, plan: ranks that the plan's mesh must make">;
defm stop_after : Value<"stop-after", "PHASE", "compile: stop after this phase and print the IR (not with --dump-dir)">;
defm cpu : Value<"cpu", "NAME", "compile: the processor to make kernels for, as LLVM calls it (host)">;
defm dump_dir : Value<"dump-dir", "DIR", "train, compile, check, explain, plan: write the IR after each phase to DIR, and the kernels' LLVM IR">;
defm tensor : Value<"tensor", "PATH", "explain: one parameter, input or value">;
defm steps : Value<"steps", "N", "check, train: optimizer steps (check: to compare, 2)">;
defm rank : Value<"rank", "R", "plan, verify: the rank whose sent bytes are predicted (0)">;
defm tolerance : Value<"tolerance", "X", "check: relative tolerance of gradients (1e-10)">;
defm executable : Value<"executable", "WHEN", "check: also compile and run on this machine: yes or no (yes)">;
defm svg : Value<"svg", "FILE", "plan: draw the memory of a step, call by call">;
defm measured : Value<"measured", "TRACE", "plan: add what a traced run under STRETTO_ADVERSARY=0 found alive to the memory of a step">;
defm timeline : Value<"timeline", "FILE", "plan: write when a step does what, by the cost model, for Perfetto">;
defm flops : Value<"flops", "N", "plan: operations in f32 that a rank does per second (1.1e11)">;
defm bf16_flops : Value<"bf16-flops", "N", "plan: the same on bf16 (2e11)">;
defm memory_bandwidth : Value<"memory-bandwidth", "N", "plan: bytes that a rank's kernels move per second (2.5e10)">;
def time : Switch<"time", "compile: print the seconds of each phase to stderr">;
defm plant_bug : Value<"plant-bug", "KIND[:N]", "check: break the localized program first (at the Nth place, from 0), to see that the check notices: drop-all-reduce, scale-gradient, wrong-axis or swap-shards">;
def json : Switch<"json", "train, check, explain, plan, verify: print the result as JSON">;
