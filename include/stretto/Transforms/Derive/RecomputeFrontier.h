//===- RecomputeFrontier.h - what instances could keep ----------*- C++ -*-===//
//
// For the calls whose recompute policy is `auto`: how many bytes they can keep
// and what each way costs. Who knows the memory of the whole program decides.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_TRANSFORMS_DERIVE_RECOMPUTEFRONTIER_H
#define STRETTO_TRANSFORMS_DERIVE_RECOMPUTEFRONTIER_H

#include "mlir/IR/BuiltinOps.h"
#include <string>
#include <vector>

namespace stretto {

/// One way to derive an instance's backward.
struct KeepPoint {
  double bytes; // kept by a rank (see keepBytes), of one micro-batch
  double flops; // repeated by a rank, of one micro-batch
};

struct InstanceFrontier {
  std::string scope; // of the call
  /// From the fewest FLOPs to the fewest bytes; see saveFrontier.
  std::vector<KeepPoint> points;
};

/// Of a module after `apply-recipe`, in the order of calls. Instances that
/// backward follows at once, or that it does not reach, are not listed.
mlir::FailureOr<std::vector<InstanceFrontier>>
recomputeFrontiers(mlir::ModuleOp module);

} // namespace stretto

#endif // STRETTO_TRANSFORMS_DERIVE_RECOMPUTEFRONTIER_H
