//===- Unbundle.cpp - the pass that takes bundles apart -------------------===//

#include "stretto/Dialect/Stretto/Transforms/Unbundle.h"
#include "stretto/Transforms/Memory/Passes.h"

using namespace mlir;

namespace stretto {
#define GEN_PASS_DEF_UNBUNDLEPASS
#include "stretto/Transforms/Memory/Passes.h.inc"
} // namespace stretto

namespace {
struct UnbundlePass : stretto::impl::UnbundlePassBase<UnbundlePass> {
  void runOnOperation() override { stretto::unbundleSteps(getOperation()); }
};
} // namespace
