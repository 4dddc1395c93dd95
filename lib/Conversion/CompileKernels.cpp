//===- CompileKernels.cpp - kernels to a shared object --------------------===//

#include "stretto/Conversion/CompileKernels.h"

#include "Host.h"
#include "KernelEmitter.h"
#include "stretto/Transforms/Fuse/KernelPlan.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace stretto;
using namespace stretto::kernel;

static LogicalResult emit(KernelOp op, llvm::Module &module) {
  std::string why;
  auto graph = KernelGraph::build(op, &why);
  FailureOr<Space> space = failure();
  if (succeeded(graph))
    space = chooseSpace(*graph, &why);
  if (failed(space))
    return op.emitOpError("cannot be one kernel: ") << why;
  auto plan = planKernel(*graph, *space, &why);
  if (failed(plan))
    return op.emitOpError("cannot be one kernel: ") << why;
  emitKernel(module, op.getSymName(), *graph, *plan);
  return success();
}

static void optimise(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = true;
  tuning.LoopInterleaving = true;
  tuning.LoopUnrolling = true;
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager calls;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine, tuning);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(calls);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, calls, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3)
      .run(module, modules);
}

llvm::Error stretto::checkProcessor(llvm::StringRef cpu) {
  return HostTarget::create(cpu).takeError();
}

FailureOr<stretto::KernelLibrary>
stretto::compileKernels(ModuleOp module, const KernelOptions &options) {
  auto target = HostTarget::create(options.cpu);
  if (!target)
    return module.emitError() << llvm::toString(target.takeError());
  llvm::LLVMContext context;
  llvm::Module code("kernels", context);
  target->prepare(code);
  KernelLibrary library;
  library.cpuFeatures = target->requiredFeatures();
  for (auto op : module.getOps<KernelOp>()) {
    if (failed(emit(op, code)))
      return failure();
    library.names.push_back(op.getSymName().str());
  }
  target->decorate(code);
  std::string broken;
  llvm::raw_string_ostream os(broken);
  if (llvm::verifyModule(code, &os))
    return module.emitError("internal error: invalid code for kernels: ")
           << broken;
  optimise(code, target->machine());
  if (options.llvmIR) {
    llvm::raw_string_ostream text(*options.llvmIR);
    code.print(text, nullptr);
  }
  auto object = target->compile(code);
  if (!object)
    return module.emitError() << llvm::toString(object.takeError());
  auto image = linkSharedObject(*object);
  if (!image)
    return module.emitError() << llvm::toString(image.takeError());
  library.image = std::move(*image);
  return library;
}
