//===- ModelCommand.cpp - the subcommand `stretto model` ------------------===//
#include "stretto/Model/ModelCommand.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "stretto/Model/Gpt.h"
#include "stretto/Model/Llama.h"
#include "stretto/Support/Files.h"
#include "stretto/Support/OptionReader.h"
#include "stretto/Support/Text.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Option/Arg.h"
#include "llvm/Option/ArgList.h"
#include "llvm/Option/OptTable.h"

using namespace stretto;

namespace {
#define STRETTO_OPTIONS "ModelOptions.inc"
#include "stretto/Support/OptionTable.inc"

constexpr int usageError = 2, inputRejected = 3, cannotWrite = 5;
} // namespace

static void readCommon(const OptionReader &arguments,
                       TransformerOptions &options) {
  arguments.integer(OPT_layers, options.layers);
  arguments.integer(OPT_embed, options.embed);
  arguments.integer(OPT_heads, options.heads);
  arguments.integer(OPT_kv_heads, options.kvHeads);
  arguments.integer(OPT_head_dim, options.headDim);
  arguments.integer(OPT_ffn, options.ffn);
  arguments.integer(OPT_vocab, options.vocab);
  arguments.number(OPT_dropout, options.dropout);
  arguments.number(OPT_label_smoothing, options.labelSmoothing);
  arguments.number(OPT_norm_epsilon, options.normEpsilon);
  arguments.number(OPT_init_stddev, options.initStddev);
  arguments.flag(OPT_qk_norm, OPT_INVALID, options.qkNorm);
  arguments.flag(OPT_tied, OPT_untied, options.tied);
  arguments.flag(OPT_bias, OPT_no_bias, options.bias);
}

using ModuleOrFailure = llvm::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>>;

/// `isUsage`: the command line itself is wrong, not the model that it asks for.
static ModuleOrFailure build(llvm::StringRef name, mlir::MLIRContext &context,
                             const InputArgList &list, Diagnostics &diags,
                             bool &isUsage) {
  OptionReader arguments(list, [&](const llvm::Twine &message) {
    (void)diags.error({}, message);
  });
  auto refuse = [&](OptionId id, llvm::StringRef why) {
    if (const Arg *argument = list.getLastArg(id))
      (void)diags.error({}, "'" + argument->getSpelling() + "' " + why);
  };
  if (name == "gpt") {
    GptOptions options;
    readCommon(arguments, options);
    arguments.integer(OPT_max_seq, options.maxSequence);
    refuse(OPT_rope_base, "means nothing for gpt: its positions are learned");
    if ((isUsage = diags.hasErrors()))
      return llvm::failure();
    return buildGpt(&context, options, diags);
  }
  LlamaOptions options;
  readCommon(arguments, options);
  arguments.number(OPT_rope_base, options.ropeBase);
  refuse(OPT_max_seq, "means nothing for llama: its positions are rotary, of "
                      "any length");
  if ((isUsage = diags.hasErrors()))
    return llvm::failure();
  return buildLlama(&context, options, diags);
}

/// The operations of the module without the `module` around them, and the
/// command that makes them again.
static void print(mlir::ModuleOp module, llvm::ArrayRef<const char *> command,
                  llvm::raw_ostream &os) {
  os << "// stretto model";
  for (const char *word : command)
    os << " " << word;
  os << "\n";
  for (mlir::Operation &op : *module.getBody()) {
    os << "\n";
    op.print(os, mlir::OpPrintingFlags().useLocalScope());
    os << "\n";
  }
}

/// Without -o FILE: what remakes this very text, whatever its file is called.
static llvm::SmallVector<const char *>
withoutOutput(llvm::ArrayRef<const char *> arguments,
              const InputArgList &list) {
  llvm::SmallVector<const char *> command(arguments);
  const Arg *output = list.getLastArg(OPT_o);
  if (!output)
    return command;
  bool isJoined = llvm::StringRef(arguments[output->getIndex()]).size() > 2;
  auto *begin = command.begin() + output->getIndex();
  command.erase(begin, begin + (isJoined ? 1 : 2));
  return command;
}

static int printHelp(const OptionTable &table, llvm::raw_ostream &os) {
  table.printHelp(os, "stretto model gpt|llama [options] [-o FILE]",
                  "Writes the IR of a model.");
  return 0;
}

/// One name and only known, complete options; anything else is explained.
static llvm::LogicalResult checkUsage(const OptionTable &table,
                                      const InputArgList &list,
                                      unsigned missingCount,
                                      Diagnostics &diags) {
  if (missingCount)
    (void)diags.error({}, "the last option needs a value");
  for (const Arg *unknown : list.filtered(OPT_UNKNOWN)) {
    std::string nearestName, word = unknown->getAsString(list);
    bool isNear = table.findNearest(word, nearestName) <= 2;
    (void)diags.error({}, "unknown option " + quote(word) +
                              (isNear ? "; did you mean '" + nearestName + "'?"
                                      : "; see 'stretto model --help'"));
  }
  const llvm::StringRef names[] = {"gpt", "llama"};
  std::vector<std::string> inputs = list.getAllArgValues(OPT_INPUT);
  if (inputs.size() != 1)
    return diags.error({}, "expected one model name (" +
                               llvm::join(llvm::ArrayRef(names), ", ") +
                               "), got " + llvm::Twine(inputs.size()));
  if (!llvm::is_contained(names, inputs[0]))
    (void)diags.error({}, "unknown model " + quote(inputs[0]) +
                              suggest(inputs[0], names, "known models"));
  return llvm::success(!diags.hasErrors());
}

int stretto::runModelCommand(llvm::ArrayRef<const char *> arguments,
                             llvm::raw_ostream &out, llvm::raw_ostream &err) {
  OptionTable table;
  unsigned missingIndex = 0, missingCount = 0;
  InputArgList list = table.ParseArgs(arguments, missingIndex, missingCount);
  if (list.hasArg(OPT_help))
    return printHelp(table, out);
  Diagnostics diags;
  if (failed(checkUsage(table, list, missingCount, diags))) {
    diags.print(err);
    return usageError;
  }
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  std::string name = list.getAllArgValues(OPT_INPUT).front();
  bool isUsage = false;
  auto module = build(name, context, list, diags, isUsage);
  if (failed(module) || failed(mlir::verify(**module))) {
    diags.print(err);
    return isUsage ? usageError : inputRejected;
  }
  std::string text;
  llvm::raw_string_ostream os(text);
  print(**module, withoutOutput(arguments, list), os);
  llvm::StringRef path = list.getLastArgValue(OPT_o, "-");
  if (path == "-") {
    out << text;
    return 0;
  }
  std::error_code code = writeFile(path, text);
  if (!code)
    return 0;
  err << "error: cannot write '" << path << "': " << code.message() << "\n";
  return cannotWrite;
}
