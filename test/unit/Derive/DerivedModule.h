//===- DerivedModule.h - derive a model in a test and run it ----*- C++ -*-===//
//
// Parses a model, derives its steps and runs them in the f64 interpreter.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_TEST_UNIT_DERIVE_DERIVEDMODULE_H
#define STRETTO_TEST_UNIT_DERIVE_DERIVEDMODULE_H

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "stretto/Dialect/Stretto/Transforms/Unbundle.h"
#include "stretto/Interpreter/Interpreter.h"
#include "stretto/Transforms/Apply/Passes.h"
#include "stretto/Transforms/Derive/Models.h"
#include "stretto/Transforms/Derive/Passes.h"

namespace stretto::test {

inline mlir::DialectRegistry allModels() {
  mlir::DialectRegistry registry;
  registry.insert<StrettoDialect>();
  registerDifferentiableModels(registry);
  registerRandomModels(registry);
  interp::registerEvaluableModels(registry);
  return registry;
}

class DerivedModule {
public:
  DerivedModule()
      : context(allModels(), mlir::MLIRContext::Threading::DISABLED) {
    context.loadDialect<StrettoDialect>();
  }

  /// Applies the module's recipe, derives and verifies; false with a
  /// diagnostic.
  bool derive(llvm::StringRef text) {
    return derive(mlir::parseSourceString<mlir::ModuleOp>(text, &context));
  }
  bool derive(mlir::OwningOpRef<mlir::ModuleOp> source) {
    module = std::move(source);
    if (!module)
      return false;
    mlir::PassManager passes(&context);
    passes.addPass(createApplyRecipePass());
    passes.addPass(createDerivePass());
    passes.addPass(createVerifyDerivedPass());
    if (mlir::failed(passes.run(*module)))
      return false;
    if (!keepBundles)
      unbundleSteps(*module);
    return true;
  }

  bool keepBundles = false; // else one value per tensor

  mlir::MLIRContext *getContext() { return &context; }

  StepOp step(llvm::StringRef name) {
    return module->lookupSymbol<StepOp>(name);
  }

  /// Runs a step; failure is a diagnostic.
  mlir::FailureOr<interp::NamedValues> run(llvm::StringRef name,
                                           const interp::NamedValues &values,
                                           uint64_t stepNumber = 1) {
    return interp::runStep(step(name), values, /*seed=*/1, stepNumber);
  }

  /// Calls `visit(binding, shape)` for the arguments of a step.
  template <typename Visit>
  void forEachArgument(llvm::StringRef name, Visit visit) {
    StepOp op = step(name);
    mlir::FunctionOpInterface function = op;
    for (auto [index, type] : llvm::enumerate(function.getArgumentTypes())) {
      auto binding =
          function.getArgAttrOfType<mlir::StringAttr>(index, attr::binding);
      visit(binding.getValue(),
            llvm::cast<mlir::RankedTensorType>(type).getShape());
    }
  }

  mlir::ModuleOp getModule() { return *module; }

private:
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

} // namespace stretto::test

#endif // STRETTO_TEST_UNIT_DERIVE_DERIVEDMODULE_H
