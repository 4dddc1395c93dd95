//===- VerifyDataFlow.cpp - the static verifier: what is computed ---------===//

#include "stretto/Program/Verify.h"

#include "stretto/Dialect/Program/IR/DataFlow.h"
#include "stretto/Dialect/Stretto/IR/StrettoOps.h"
#include "stretto/Program/Serialize.h"

using namespace mlir;
using namespace stretto;

llvm::LogicalResult stretto::verifyDataFlow(StringRef bytes,
                                            Diagnostics &diagnostics) {
  DialectRegistry registry;
  registry.insert<StrettoDialect, exec::ProgramDialect>();
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  std::string message;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    message = diagnostic.str();
    return success();
  });
  OwningOpRef<ModuleOp> module = deserializeProgram(&context, bytes);
  if (!module)
    return diagnostics.error(SourceLocation(), message);
  bool isSame = true;
  for (auto function : module->getOps<exec::FunctionOp>()) {
    auto digest = function->getAttrOfType<IntegerAttr>(exec::dataFlowAttr);
    if (!digest ||
        uint64_t(digest.getInt()) == exec::digestOf(exec::dataFlowOf(function)))
      continue;
    isSame = false;
    (void)diagnostics.error(
        SourceLocation(),
        "function '" + function.getSymName() +
            "' does not compute what it was compiled from: a command, an "
            "operand or the order was changed; compile the model again");
  }
  return success(isSame);
}
