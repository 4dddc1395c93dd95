//===- Lowered.h - a Program to test with -----------------------*- C++ -*-===//
//
// Parses a fused module from the lit tests and lowers it.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_TEST_UNIT_PROGRAM_LOWERED_H
#define STRETTO_TEST_UNIT_PROGRAM_LOWERED_H

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "stretto/Dialect/Stretto/IR/StrettoOps.h"
#include "stretto/Program/Serialize.h"
#include "stretto/Transforms/Memory/Passes.h"

namespace stretto::test {

struct Lowered {
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;

  explicit Lowered(const std::string &file) {
    context.loadDialect<StrettoDialect, exec::ProgramDialect>();
    module = mlir::parseSourceFile<mlir::ModuleOp>(
        std::string(STRETTO_TEST_DIR) + "/" + file, &context);
    if (!module)
      return;
    mlir::PassManager passes(&context);
    passes.addPass(createLowerToProgramPass());
    if (failed(passes.run(*module)))
      module = nullptr;
  }
};

} // namespace stretto::test

#endif // STRETTO_TEST_UNIT_PROGRAM_LOWERED_H
