//===- ProgramCommands.cpp - stretto verify, stretto disasm ---------------===//
//
// Both read a Program: the one in an executable, or a Program file alone.
// verify also says what running it will take: memory by category, bytes sent.
//
//===----------------------------------------------------------------------===//

#include "CommandLine.h"
#include "ProgramTables.h"
#include "mlir/IR/Diagnostics.h"
#include "stretto/Driver/Register.h"
#include "stretto/Program/Memory.h"
#include "stretto/Program/Serialize.h"
#include "stretto/Program/Traffic.h"
#include "stretto/Program/Verify.h"
#include "stretto/Runtime/Artifact.h"

using namespace stretto;
using namespace stretto::driver;

namespace {
/// The bytes of a Program and what keeps them mapped.
struct ProgramBytes {
  runtime::Artifact artifact;
  runtime::MappedFile file;
  llvm::StringRef bytes;
};
} // namespace

static llvm::StringRef textOf(runtime::Bytes bytes) {
  return {reinterpret_cast<const char *>(bytes.data), bytes.size};
}

/// Reads `path`; returns an exit code.
static int open(const std::string &path, ProgramBytes &program,
                llvm::raw_ostream &err) {
  auto complain = [&](const runtime::Status &status) {
    err << "error: " << status.message() << "\n";
    return status.exitCode();
  };
  runtime::Result<bool> embedded = runtime::hasPayload(path);
  if (!embedded)
    return complain(embedded.status());
  if (*embedded) {
    auto artifact = runtime::openArtifact(path);
    if (!artifact)
      return complain(artifact.status());
    program.artifact = std::move(*artifact);
    program.bytes = textOf(program.artifact.program);
    return exitOk;
  }
  auto file = runtime::MappedFile::open(path);
  if (!file)
    return complain(file.status());
  program.file = std::move(*file);
  program.bytes = textOf(program.file.bytes());
  return exitOk;
}

static void printPrediction(const runtime::Program &program, int64_t rank,
                            llvm::raw_ostream &out) {
  out << "verified\n\nmemory of a rank\n";
  printMemory(out, memoryOf(program));
  out << "\nsent by rank " << rank << " in a step\n";
  printTraffic(trafficOf(program, rank), out);
}

int stretto::runVerifyCommand(CommandArguments arguments,
                              llvm::raw_ostream &out, llvm::raw_ostream &err) {
  CommandLine line;
  if (auto code =
          parseCommandLine("verify", "FILE [--rank R] [--json]", arguments,
                           /*passUnknown=*/false, line, out, err))
    return *code;
  ProgramBytes bytes;
  if (int code = open(line.compile.model, bytes, err))
    return code;
  auto program = runtime::Program::load(
      runtime::Bytes(bytes.bytes.data(), bytes.bytes.size()));
  if (!program) {
    err << "error: " << program.message() << "\n";
    return exitInputRejected;
  }
  Diagnostics diagnostics;
  if (llvm::failed(verifyProgram(bytes.bytes, diagnostics))) {
    diagnostics.print(err);
    return exitInputRejected;
  }
  int64_t ranks = (*program)->mesh().numRanks();
  if (line.rank >= ranks) {
    err << "error: no rank " << line.rank << ": the plan has ranks 0 to "
        << ranks - 1 << "\n";
    return exitUsage;
  }
  if (line.json)
    out << llvm::json::Value(llvm::json::Object{
               {"verified", true},
               {"ranks", ranks},
               {"memory", toJson(memoryOf(**program))},
               {"traffic", trafficJson(trafficOf(**program, line.rank))}})
        << "\n";
  else
    printPrediction(**program, line.rank, out);
  return exitOk;
}

int stretto::runDisasmCommand(CommandArguments arguments,
                              llvm::raw_ostream &out, llvm::raw_ostream &err) {
  CommandLine line;
  if (auto code = parseCommandLine("disasm", "FILE", arguments,
                                   /*passUnknown=*/false, line, out, err))
    return *code;
  ProgramBytes program;
  if (int code = open(line.compile.model, program, err))
    return code;
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &d) {
    err << "error: " << d.str() << "\n";
    return mlir::success();
  });
  std::string text = disassembleProgram(&context, program.bytes);
  out << text;
  return text.empty() ? exitInputRejected : exitOk;
}
