// Any bytes as model IR: parsing and verifying never crash, and what is
// accepted prints to something that is accepted.
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "stretto/Dialect/Stretto/IR/StrettoOps.h"

#include <cstdlib>

using namespace mlir;

static OwningOpRef<ModuleOp> parse(StringRef text) {
  // A context for each input: attributes are never freed before it is.
  static thread_local std::unique_ptr<MLIRContext> context;
  context = std::make_unique<MLIRContext>(MLIRContext::Threading::DISABLED);
  context->loadDialect<stretto::StrettoDialect>();
  context->getDiagEngine().registerHandler([](Diagnostic &) {});
  return parseSourceString<ModuleOp>(text, ParserConfig(context.get()));
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  // A string ends in NUL, which MLIR's lexer reads.
  std::string text(reinterpret_cast<const char *>(data), size);
  std::string printed;
  {
    OwningOpRef<ModuleOp> module = parse(text);
    if (!module)
      return 0;
    llvm::raw_string_ostream os(printed);
    module->print(os);
  }
  if (!parse(printed)) {
    llvm::errs() << printed;
    abort();
  }
  return 0;
}
