// RUN: stretto-interpret %S/Inputs/linear-dp2-tp2.mlir --check %S/Inputs/linear.mlir | FileCheck %s
// RUN: stretto-interpret %S/Inputs/linear-dp2-tp2.mlir --check %S/Inputs/linear.mlir --json | FileCheck %s --check-prefix=JSON
// A localized module equals the derived one it came from, with a dimension of 3
// padded to 4 over tp 2 and two micro-batches.

// CHECK: param:w {{.*}} ok
// CHECK: grad:w {{.*}} ok
// CHECK: output:loss {{.*}} ok
// CHECK: output:count {{.*}} ok
// CHECK: equal: 4 of 4 tensors within tolerance 1e-10 over 5 steps on 4 ranks, seed 1

// JSON: {"ok":true,"ranks":4,"seed":1,"steps":5,"tensors":[{"bound":{{.*}}"name":"param:w","ok":true

// Planted bugs are found, each with exit code 5.
// RUN: stretto-opt %S/Inputs/linear-dp2-tp2.mlir --test-plant-bug="kind=drop-all-reduce nth=0" | not stretto-interpret --check %S/Inputs/linear.mlir | FileCheck %s --check-prefix=BUG
// RUN: stretto-opt %S/Inputs/linear-dp2-tp2.mlir --test-plant-bug="kind=drop-all-reduce nth=2" | not stretto-interpret --check %S/Inputs/linear.mlir | FileCheck %s --check-prefix=BUG
// RUN: stretto-opt %S/Inputs/linear-dp2-tp2.mlir --test-plant-bug="kind=scale-gradient nth=0" | not stretto-interpret --check %S/Inputs/linear.mlir | FileCheck %s --check-prefix=BUG
// RUN: stretto-opt %S/Inputs/linear-dp2-tp2.mlir --test-plant-bug="kind=wrong-axis nth=2" | not stretto-interpret --check %S/Inputs/linear.mlir | FileCheck %s --check-prefix=BUG
// RUN: stretto-opt %S/Inputs/linear-dp2-tp2.mlir --test-plant-bug="kind=swap-shards nth=0" | not stretto-interpret --check %S/Inputs/linear.mlir | FileCheck %s --check-prefix=BUG
// BUG: grad:w {{.*}} FAILED
// BUG: DIFFERENT
