//===- Host.cpp - target machine and linker -------------------------------===//

#include "Host.h"
#include "stretto/Support/Text.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"

using namespace llvm;
using namespace stretto;
using namespace stretto::kernel;

/// Extensions that code may use: what a processor has of these is what an
/// executable requires.
static constexpr StringLiteral knownFeatures[] = {
    "sse3",  "ssse3",   "sse4.1",   "sse4.2",   "popcnt",   "avx",
    "avx2",  "fma",     "f16c",     "bmi",      "bmi2",     "lzcnt",
    "movbe", "avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl"};

static Error error(const Twine &message) {
  return createStringError(inconvertibleErrorCode(), message);
}

/// The processors that LLVM knows, and the nearest to `name` if one is near.
static Error unknownProcessor(const Target &target, const Triple &triple,
                              StringRef name) {
  std::unique_ptr<MCSubtargetInfo> info(
      target.createMCSubtargetInfo(triple, "", ""));
  std::vector<StringRef> known{"host"};
  if (info)
    for (const SubtargetSubTypeKV &entry : info->getAllProcessorDescriptions())
      known.push_back(entry.Key);
  StringRef near = nearest(name, known);
  return error("unknown processor " + quote(name) +
               (near.empty() ? "; use host or one of `llc-22 -mcpu=help`"
                             : "; did you mean '" + near + "'?"));
}

Expected<HostTarget> HostTarget::create(StringRef cpu) {
  InitializeNativeTarget();
  InitializeNativeTargetAsmPrinter();
  Triple triple(sys::getDefaultTargetTriple());
  std::string message;
  const Target *native = TargetRegistry::lookupTarget(triple, message);
  if (!native)
    return error(message);
  bool isHost = cpu == "host";
  std::string name = isHost ? sys::getHostCPUName().str() : cpu.str();
  std::unique_ptr<MCSubtargetInfo> info(
      native->createMCSubtargetInfo(triple, "", ""));
  if (!info || !info->isCPUStringValid(name))
    return unknownProcessor(*native, triple, name);
  info.reset(native->createMCSubtargetInfo(triple, name, ""));
  StringMap<bool> host = sys::getHostCPUFeatures();
  HostTarget target;
  std::string list;
  for (StringRef feature : knownFeatures) {
    if (!info->checkFeatures(("+" + feature).str()) ||
        (isHost && !host.lookup(feature)))
      continue;
    target.features.push_back(feature.str());
    list += (list.empty() ? "+" : ",+") + feature.str();
  }
  target.tune = name;
  TargetOptions options;
  target.targetMachine.reset(
      native->createTargetMachine(triple, "x86-64", list, options, Reloc::PIC_,
                                  std::nullopt, CodeGenOptLevel::Aggressive));
  return target;
}

std::string HostTarget::requiredFeatures() const { return join(features, ","); }

void HostTarget::prepare(Module &module) const {
  module.setTargetTriple(targetMachine->getTargetTriple());
  module.setDataLayout(targetMachine->createDataLayout());
}

/// No reciprocal estimates: 1 / inf and 1 / 0 must come out right.
void HostTarget::decorate(Module &module) const {
  for (Function &function : module) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", targetMachine->getTargetCPU());
    function.addFnAttr("target-features",
                       targetMachine->getTargetFeatureString());
    function.addFnAttr("tune-cpu", tune);
    function.addFnAttr("prefer-vector-width", "512");
    function.addFnAttr("reciprocal-estimates", "none");
    function.addFnAttr("no-trapping-math", "true");
    function.addFnAttr(Attribute::NoUnwind);
    function.addFnAttr(Attribute::MustProgress);
  }
}

Expected<SmallVector<char, 0>> HostTarget::compile(Module &module) {
  SmallVector<char, 0> object;
  raw_svector_ostream os(object);
  legacy::PassManager passes;
  if (targetMachine->addPassesToEmitFile(passes, os, nullptr,
                                         CodeGenFileType::ObjectFile))
    return error("this target writes no object files");
  passes.run(module);
  return object;
}

static Expected<std::string> findLinker() {
  for (StringRef folder : {StringRef(STRETTO_LLVM_BIN), StringRef()})
    for (StringRef name : {"ld.lld-22", "ld.lld"}) {
      auto path = folder.empty() ? sys::findProgramByName(name)
                                 : sys::findProgramByName(name, {folder});
      if (path)
        return *path;
    }
  return error("no ld.lld to link kernels with; install lld-22");
}

Expected<std::string> stretto::kernel::linkSharedObject(ArrayRef<char> object) {
  auto linker = findLinker();
  if (!linker)
    return linker.takeError();
  SmallString<128> folder;
  if (sys::fs::createUniqueDirectory("stretto-kernels", folder))
    return error("cannot make a temporary folder; set TMPDIR to one that can "
                 "be written");
  scope_exit cleanup([&] { sys::fs::remove_directories(folder); });
  std::string source = (folder + "/kernels.o").str();
  std::string result = (folder + "/kernels.so").str();
  std::string log = (folder + "/log").str();
  std::error_code code;
  {
    raw_fd_ostream os(source, code);
    os.write(object.data(), object.size());
    if (code || os.has_error()) {
      os.clear_error();
      return error("cannot write '" + source + "'");
    }
  }
  StringRef arguments[] = {*linker, "-shared",     "--hash-style=gnu",
                           "-z",    "noexecstack", "-s",
                           "-o",    result,        source};
  std::string message;
  int status = sys::ExecuteAndWait(
      *linker, arguments, std::nullopt,
      {std::nullopt, StringRef(log), StringRef(log)}, 0, 0, &message);
  if (status != 0) {
    auto text = MemoryBuffer::getFile(log);
    return error("linking kernels failed: " + message +
                 (text ? (*text)->getBuffer().trim() : StringRef()));
  }
  auto image = MemoryBuffer::getFile(result);
  if (!image)
    return error("cannot read '" + result + "'");
  return (*image)->getBuffer().str();
}
