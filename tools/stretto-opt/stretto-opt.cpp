//===- stretto-opt.cpp - run passes on stage IR ---------------------------===//

#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "stretto/Cost/CostModels.h"
#include "stretto/Cost/Passes.h"
#include "stretto/Dialect/Program/IR/ProgramDialect.h"
#include "stretto/Dialect/Stretto/IR/StrettoDialect.h"
#include "stretto/Interpreter/Passes.h"
#include "stretto/Transforms/Apply/Passes.h"
#include "stretto/Transforms/Derive/Models.h"
#include "stretto/Transforms/Derive/Passes.h"
#include "stretto/Transforms/Fuse/Passes.h"
#include "stretto/Transforms/Memory/Passes.h"
#include "stretto/Transforms/Shard/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<stretto::StrettoDialect>();
  registry.insert<stretto::exec::ProgramDialect>();
  stretto::registerDifferentiableModels(registry);
  stretto::registerRandomModels(registry);
  stretto::registerCostModels(registry);
  stretto::registerCostPasses();
  stretto::registerApplyPasses();
  stretto::registerDerivePasses();
  stretto::registerShardPasses();
  stretto::registerFusePasses();
  stretto::registerMemoryPasses();
  stretto::registerInterpreterPasses();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "Stretto optimizer driver\n", registry));
}
