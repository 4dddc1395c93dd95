// Any bytes as distributed IR: parsing, verifying and the passes from
// propagate to localize never crash; what is accepted prints to something that
// is accepted, and what a pass makes of it verifies or is refused in words.
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "stretto/Dialect/Stretto/IR/StrettoOps.h"
#include "stretto/Dialect/Stretto/Transforms/Decompose.h"
#include "stretto/Transforms/Shard/Passes.h"

#include <cstdlib>

using namespace mlir;

/// A context for each input: attributes are never freed before it is.
static std::unique_ptr<MLIRContext> makeContext() {
  DialectRegistry registry;
  registry.insert<stretto::StrettoDialect>();
  stretto::registerDecomposableModels(registry);
  auto context =
      std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  context->loadAllAvailableDialects();
  context->getDiagEngine().registerHandler([](Diagnostic &) {});
  return context;
}

static OwningOpRef<ModuleOp> parse(StringRef text, MLIRContext &context) {
  return parseSourceString<ModuleOp>(text, ParserConfig(&context));
}

static void runPasses(ModuleOp module, bool isAssigned) {
  OwningOpRef<ModuleOp> copy = module.clone();
  PassManager passes(module.getContext());
  if (!isAssigned) {
    passes.addPass(stretto::createPropagatePass());
    passes.addPass(stretto::createAssignPass());
  }
  passes.addPass(stretto::createPlanReshardsPass());
  passes.addPass(stretto::createLocalizePass());
  passes.addPass(stretto::createCombineCollectivesPass());
  passes.addPass(stretto::createVerifyLocalPass());
  (void)passes.run(*copy);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size > 16384)
    return 0;
  // A string ends in NUL, which MLIR's lexer reads.
  std::string text(reinterpret_cast<const char *>(data), size), printed;
  std::unique_ptr<MLIRContext> context = makeContext();
  OwningOpRef<ModuleOp> module = parse(text, *context);
  if (!module)
    return 0;
  llvm::raw_string_ostream os(printed);
  module->print(os);
  if (!parse(printed, *context)) {
    llvm::errs() << printed;
    abort();
  }
  for (bool isAssigned : {true, false})
    runPasses(*module, isAssigned);
  return 0;
}
