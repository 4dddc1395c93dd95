//===- Register.cpp - everything that belongs to Stretto ------------------===//

#include "stretto/Driver/Register.h"
#include "mlir/Transforms/Passes.h"
#include "stretto/Cost/CostModels.h"
#include "stretto/Cost/Passes.h"
#include "stretto/Dialect/Program/IR/ProgramDialect.h"
#include "stretto/Dialect/Stretto/IR/StrettoDialect.h"
#include "stretto/Dialect/Stretto/Transforms/Decompose.h"
#include "stretto/Transforms/Apply/Passes.h"
#include "stretto/Transforms/Memory/Passes.h"
#include "stretto/Transforms/Shard/Passes.h"

void stretto::registerAllDialects(mlir::DialectRegistry &registry) {
  registry.insert<StrettoDialect, exec::ProgramDialect>();
  registerCostModels(registry);
  registerDecomposableModels(registry);
}

void stretto::registerAllPasses() {
  registerApplyPasses();
  registerShardPasses();
  registerMemoryPasses();
  registerCostPasses();
  mlir::registerCSEPass();
  mlir::registerCanonicalizerPass();
}
