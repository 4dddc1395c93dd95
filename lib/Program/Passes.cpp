//===- Passes.cpp - checks and predictions on the lowered module ----------===//

#include "stretto/Program/Passes.h"

#include "stretto/Program/Memory.h"
#include "stretto/Program/Serialize.h"
#include "stretto/Program/Traffic.h"

using namespace mlir;
using namespace stretto;

namespace stretto {
#define GEN_PASS_DEF_VERIFYPROGRAMPASS
#define GEN_PASS_DEF_PRINTPROGRAMTRAFFICPASS
#define GEN_PASS_DEF_PRINTPROGRAMMEMORYPASS
#include "stretto/Program/Passes.h.inc"
} // namespace stretto

namespace {

struct VerifyProgram
    : public stretto::impl::VerifyProgramPassBase<VerifyProgram> {
  void runOnOperation() override {
    if (failed(serializeProgram(getOperation())))
      signalPassFailure();
    markAllAnalysesPreserved();
  }
};

struct PrintTraffic
    : public stretto::impl::PrintProgramTrafficPassBase<PrintTraffic> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    FailureOr<std::string> bytes = packProgram(getOperation());
    if (failed(bytes))
      return signalPassFailure();
    auto loaded =
        runtime::Program::load(runtime::Bytes(bytes->data(), bytes->size()));
    if (!loaded) {
      getOperation().emitError() << loaded.message();
      return signalPassFailure();
    }
    printTraffic(llvm::outs(), **loaded);
  }
};

struct PrintMemory
    : public stretto::impl::PrintProgramMemoryPassBase<PrintMemory> {
  void runOnOperation() override {
    printMemory(llvm::outs(), memoryOf(getOperation()));
    markAllAnalysesPreserved();
  }
};

} // namespace
