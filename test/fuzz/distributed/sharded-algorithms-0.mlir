What others gather, or get wrong, on sizes that do not divide and shards of size zero: every graph is equal on
its virtual ranks and on one device, in f64.

RUN: rm -rf %t && split-file %s %t
RUN: stretto-fuzz-sharding %t/exp-sum.mlir | FileCheck %s
RUN: stretto-fuzz-sharding %t/initial-value.mlir | FileCheck %s
RUN: stretto-fuzz-sharding %t/update-across-border.mlir --seed 1 | FileCheck %s
RUN: stretto-fuzz-sharding %t/update-across-border.mlir --seed 2 | FileCheck %s
RUN: stretto-fuzz-sharding %t/update-across-border.mlir --seed 3 | FileCheck %s
RUN: stretto-fuzz-sharding %t/update-across-border.mlir --seed 4 | FileCheck %s
RUN: stretto-fuzz-sharding %t/clamped.mlir | FileCheck %s
RUN: stretto-fuzz-sharding %t/slice-reshape.mlir | FileCheck %s
RUN: stretto-fuzz-sharding %t/contraction.mlir | FileCheck %s
RUN: stretto-fuzz-sharding %t/halo.mlir | FileCheck %s
RUN: stretto-fuzz-sharding %t/wide-halo.mlir | FileCheck %s
RUN: stretto-fuzz-sharding %t/two-uses.mlir | FileCheck %s
RUN: stretto-fuzz-sharding %t/concat.mlir | FileCheck %s
RUN: stretto-fuzz-sharding %t/top-k.mlir | FileCheck %s
RUN: stretto-fuzz-sharding %t/by-index.mlir | FileCheck %s
RUN: stretto-fuzz-sharding %t/bits.mlir | FileCheck %s
RUN: stretto-fuzz-sharding %t/softmax.mlir | FileCheck %s
CHECK: mlir: equal

Nothing is gathered where a halo or a merge of candidates will do.

RUN: stretto-fuzz-sharding %t/halo.mlir --print --localized | FileCheck %s --check-prefix=HALO
RUN: stretto-fuzz-sharding %t/top-k.mlir --print --localized | FileCheck %s --check-prefix=TOP
HALO: all_gather {{.*}}cause = "elements that cross the borders of shards"{{.*}} : tensor<1x2xf32> -> tensor<3x2xf32>
HALO: all_gather {{.*}} : tensor<2x2xf32> -> tensor<6x2xf32>
HALO-NOT: all_gather
TOP: top_k {{.*}}extent = 11 : i64, k = 2{{.*}} : tensor<2x3xf32> -> tensor<2x2xf32>
TOP: all_gather {{.*}} : tensor<2x2xf32> -> tensor<2x8xf32>
