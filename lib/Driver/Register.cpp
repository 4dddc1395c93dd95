//===- Register.cpp - everything that belongs to Stretto ------------------===//

#include "stretto/Driver/Register.h"
#include "mlir/Transforms/Passes.h"
#include "stretto/Cost/CostModels.h"
#include "stretto/Cost/Passes.h"
#include "stretto/Dialect/Program/IR/ProgramDialect.h"
#include "stretto/Dialect/Stretto/IR/StrettoDialect.h"
#include "stretto/Dialect/Stretto/Transforms/Decompose.h"
#include "stretto/Interpreter/Evaluable.h"
#include "stretto/Interpreter/Passes.h"
#include "stretto/Program/Passes.h"
#include "stretto/Transforms/Apply/Passes.h"
#include "stretto/Transforms/Derive/Models.h"
#include "stretto/Transforms/Derive/Passes.h"
#include "stretto/Transforms/Fuse/Passes.h"
#include "stretto/Transforms/Memory/Passes.h"
#include "stretto/Transforms/Shard/Passes.h"

void stretto::registerAllDialects(mlir::DialectRegistry &registry) {
  registry.insert<StrettoDialect, exec::ProgramDialect>();
  registerCostModels(registry);
  registerDecomposableModels(registry);
  registerDifferentiableModels(registry);
  registerRandomModels(registry);
  interp::registerEvaluableModels(registry);
}

void stretto::registerAllPasses() {
  registerApplyPasses();
  registerDerivePasses();
  registerShardPasses();
  registerFusePasses();
  registerMemoryPasses();
  registerProgramPasses();
  registerCostPasses();
  registerInterpreterPasses();
  mlir::registerCSEPass();
  mlir::registerCanonicalizerPass();
}
