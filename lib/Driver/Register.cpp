//===- Register.cpp - everything that belongs to Stretto ------------------===//

#include "stretto/Driver/Register.h"
#include "mlir/Transforms/Passes.h"
#include "stretto/Dialect/Stretto/IR/StrettoDialect.h"
#include "stretto/Dialect/Stretto/Transforms/Decompose.h"
#include "stretto/Transforms/Apply/Passes.h"
#include "stretto/Transforms/Shard/Passes.h"

void stretto::registerAllDialects(mlir::DialectRegistry &registry) {
  registry.insert<StrettoDialect>();
  registerDecomposableModels(registry);
}

void stretto::registerAllPasses() {
  registerApplyPasses();
  registerShardPasses();
  mlir::registerCSEPass();
  mlir::registerCanonicalizerPass();
}
