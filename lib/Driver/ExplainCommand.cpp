//===- ExplainCommand.cpp - stretto explain -------------------------------===//
//
// Reads decisions off the distributed IR: where every parameter and input rests
// and which plan line says so; each collective with axes, bytes, calls per step
// and cause.
//
//===----------------------------------------------------------------------===//

#include "CommandLine.h"
#include "ExplainOrigins.h"
#include "mlir/IR/SymbolTable.h"
#include "stretto/Dialect/Stretto/IR/Permutation.h"
#include "stretto/Dialect/Stretto/IR/StrettoOps.h"
#include "stretto/Dialect/Stretto/Transforms/Unbundle.h"
#include "stretto/Support/Text.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"

#include <map>

using namespace mlir;
using namespace stretto;
using namespace stretto::driver;

namespace {

struct CollectiveInfo {
  std::string segment, kind, axes, shape, cause;
  int64_t members = 0;
  double bytesPerCall = 0; // sent by one rank
  int64_t callsPerStep = 0;
};

struct TensorInfo {
  std::string binding, shape, distribution, cause;
  int64_t localBytes = 0;
};

/// Everything that the tables show.
struct Explanation {
  std::vector<TensorInfo> tensors;
  std::vector<CollectiveInfo> collectives;
};

} // namespace

static std::string shapeText(ArrayRef<int64_t> shape) {
  std::string text = "[";
  llvm::raw_string_ostream os(text);
  llvm::interleaveComma(shape, os);
  os << "]";
  return text;
}

static int64_t bytesOf(RankedTensorType type, ArrayRef<int64_t> shape) {
  int64_t bytes = std::max(1u, type.getElementTypeBitWidth() / 8);
  for (int64_t extent : shape)
    bytes *= extent;
  return bytes;
}

static int64_t localBytes(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  DistAttr dist = getDist(type);
  return bytesOf(tensor, dist ? dist.localShape(tensor.getShape())
                              : SmallVector<int64_t>(tensor.getShape()));
}

/// "heads on {tp}, partial sum over {dp}" in words.
static std::string distributionText(DistAttr dist, ArrayAttr names) {
  if (!dist || dist.isReplicated())
    return "replicated";
  std::string text;
  llvm::raw_string_ostream os(text);
  for (unsigned dim = 0; dim < dist.getRank(); ++dim) {
    if (dist.getDimAxes(dim).empty())
      continue;
    StringRef name =
        names ? cast<StringAttr>(names[dim]).getValue() : StringRef("_");
    os << (text.empty() ? "" : ", ");
    if (name == "_")
      os << "dimension " << dim;
    else
      os << name;
    os << " on ";
    printAxes(os, dist.getMesh(), dist.getDimAxes(dim));
    if (int64_t padded = dist.getPaddedExtents()[dim])
      os << " (padded to " << padded << ")";
  }
  if (dist.isPartial()) {
    os << (text.empty() ? "" : ", ") << "partial "
       << stringifyReduceKind(dist.getPartialKind()) << " over ";
    printAxes(os, dist.getMesh(), dist.getPartialAxes());
  }
  return text;
}

/// How often a step runs `invoke`: micro-batches multiply.
static int64_t callsPerStep(Operation *invoke) {
  int64_t calls = 1;
  for (Operation *parent = invoke->getParentOp(); parent;
       parent = parent->getParentOp())
    if (auto loop = dyn_cast<MicrobatchesOp>(parent))
      calls *= loop.getCount();
  return calls;
}

/// Bytes that one rank sends: ring or direct, both move the same.
static double bytesSent(Operation *op, int64_t members) {
  double share = double(members - 1) / members;
  double in = localBytes(op->getOperand(0).getType());
  if (isa<AllReduceOp>(op))
    return 2 * share * in;
  if (isa<AllGatherOp>(op))
    return share * localBytes(op->getResult(0).getType());
  if (auto permute = dyn_cast<PermuteOp>(op)) // on average
    return in * (1 - keptShare(permute.getGroup().getMesh(),
                               permute.getGroup().getAxes(),
                               permute.getTo().getAxes()));
  return share * in;
}

static void explainSegment(SegmentOp segment, int64_t calls,
                           Explanation &explanation) {
  segment.walk([&](Operation *op) {
    if (!isa<AllReduceOp, AllGatherOp, ReduceScatterOp, AllToAllOp, PermuteOp>(
            op))
      return;
    auto group = op->getAttrOfType<GroupAttr>("group");
    auto cause = op->getAttrOfType<StringAttr>("cause");
    auto type = cast<RankedTensorType>(op->getOperand(0).getType());
    explanation.collectives.push_back(
        {segment.getSymName().str(), op->getName().stripDialect().str(),
         toString(group.getMesh(), group.getAxes()), shapeText(type.getShape()),
         cause ? cause.getValue().str() : "", group.getNumMembers(),
         bytesSent(op, group.getNumMembers()), calls});
  });
}

/// The plan line behind a step argument: the constraint of its first use.
static std::string causeOf(Value value, SymbolTable &symbols) {
  for (OpOperand &use : value.getUses()) {
    if (auto loop = dyn_cast<MicrobatchesOp>(use.getOwner())) {
      std::string cause = causeOf(
          loop.getBody().front().getArgument(use.getOperandNumber()), symbols);
      if (!cause.empty())
        return cause;
    }
    auto invoke = dyn_cast<InvokeOp>(use.getOwner());
    if (!invoke)
      continue;
    auto segment = symbols.lookup<SegmentOp>(invoke.getCallee());
    if (auto constraint = segment.getArgAttrOfType<ConstraintAttr>(
            use.getOperandNumber(), attr::constraint))
      return constraint.getCause().getValue().str();
  }
  return "";
}

static Explanation explain(ModuleOp module) {
  Explanation explanation;
  unbundleSteps(module);
  SymbolTable symbols(module);
  auto step = symbols.lookup<StepOp>("train");
  if (!step)
    return explanation;
  for (BlockArgument argument : step.getBody().front().getArguments()) {
    auto binding = step.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                     attr::binding);
    StringRef name = binding.getValue();
    if (!name.starts_with("param:") && !name.starts_with("input:"))
      continue;
    auto type = cast<RankedTensorType>(argument.getType());
    std::string cause = causeOf(argument, symbols);
    explanation.tensors.push_back(
        {name.str(), shapeText(type.getShape()),
         distributionText(getDist(type),
                          step.getArgAttrOfType<ArrayAttr>(
                              argument.getArgNumber(), attr::dims)),
         cause.empty() ? "no rule of the plan names its dimensions" : cause,
         localBytes(type)});
  }
  llvm::MapVector<Operation *, int64_t> calls;
  step.walk([&](InvokeOp invoke) {
    calls[symbols.lookup(invoke.getCallee())] += callsPerStep(invoke);
  });
  for (auto [segment, count] : calls)
    explainSegment(cast<SegmentOp>(segment), count, explanation);
  return explanation;
}

//===----------------------------------------------------------------------===//
// Output
//===----------------------------------------------------------------------===//

static void printJson(const Explanation &explanation, llvm::raw_ostream &out) {
  llvm::json::OStream json(out, 2);
  json.object([&] {
    json.attributeArray("tensors", [&] {
      for (const TensorInfo &tensor : explanation.tensors)
        json.object([&] {
          json.attribute("binding", tensor.binding);
          json.attribute("shape", tensor.shape);
          json.attribute("distribution", tensor.distribution);
          json.attribute("cause", tensor.cause);
          json.attribute("local_bytes", tensor.localBytes);
        });
    });
    json.attributeArray("collectives", [&] {
      for (const CollectiveInfo &info : explanation.collectives)
        json.object([&] {
          json.attribute("segment", info.segment);
          json.attribute("kind", info.kind);
          json.attribute("axes", info.axes);
          json.attribute("shape", info.shape);
          json.attribute("members", info.members);
          json.attribute("bytes_sent_per_call", info.bytesPerCall);
          json.attribute("calls_per_step", info.callsPerStep);
          json.attribute("cause", info.cause);
        });
    });
  });
  out << "\n";
}

/// "layers.3.attn.wq" as "layers.*.attn.wq".
static std::string withoutNumbers(StringRef path) {
  SmallVector<StringRef> parts;
  path.split(parts, '.');
  for (StringRef &part : parts)
    if (!part.empty() && llvm::all_of(part, llvm::isDigit))
      part = "*";
  return llvm::join(parts, ".");
}

/// Instances that lie alike are one line.
static void printTensors(const Explanation &explanation,
                         llvm::raw_ostream &out) {
  llvm::MapVector<std::pair<std::string, std::string>,
                  SmallVector<const TensorInfo *>,
                  std::map<std::pair<std::string, std::string>, unsigned>>
      groups;
  for (const TensorInfo &tensor : explanation.tensors)
    groups[{withoutNumbers(tensor.binding),
            tensor.shape + tensor.distribution + tensor.cause}]
        .push_back(&tensor);
  for (const auto &[key, members] : groups) {
    const TensorInfo &tensor = *members.front();
    out << "  " << (members.size() > 1 ? key.first : tensor.binding) << " "
        << tensor.shape;
    if (members.size() > 1)
      out << " x" << members.size();
    out << ": " << tensor.distribution << "\n      " << tensor.cause << "\n";
  }
}

static void printTables(const Explanation &explanation,
                        llvm::raw_ostream &out) {
  out << "parameters and inputs\n";
  printTensors(explanation, out);
  out << "\ncollectives of one training step (bytes: sent by one rank)\n";
  double total = 0;
  for (const CollectiveInfo &info : explanation.collectives) {
    total += info.bytesPerCall * info.callsPerStep;
    out << "  " << info.segment << ": " << info.kind << " over " << info.axes
        << " of " << info.shape << ", " << info.callsPerStep << " x "
        << llvm::format("%.0f", info.bytesPerCall) << " B\n      " << info.cause
        << "\n";
  }
  out << "  total " << llvm::format("%.0f", total) << " B per rank and step\n";
}

int stretto::runExplainCommand(CommandArguments arguments,
                               llvm::raw_ostream &out, llvm::raw_ostream &err) {
  CommandLine line;
  if (auto code = parseCommandLine(
          "explain",
          "MODEL [--tensor PATH] [--recipe FILE] [--plan FILE] [--json]",
          arguments, /*passUnknown=*/false, line, out, err))
    return *code;
  if (auto code = explainOrigins(line, out, err))
    return *code;
  Compilation compilation(line.compile, err);
  if (int code = compilation.compile(Phase::Distribute))
    return code;
  Explanation explanation = explain(compilation.module());
  if (!line.tensor.empty()) {
    std::vector<std::string> known;
    for (const TensorInfo &tensor : explanation.tensors)
      known.push_back(StringRef(tensor.binding).split(':').second.str());
    llvm::erase_if(explanation.tensors, [&](const TensorInfo &tensor) {
      return StringRef(tensor.binding).split(':').second != line.tensor;
    });
    if (explanation.tensors.empty()) {
      err << "error: no parameter or input '" << line.tensor << "'"
          << suggest(line.tensor,
                     std::vector<StringRef>(known.begin(), known.end()),
                     "known")
          << "\n";
      return exitInputRejected;
    }
    // Causes name a parameter as its layer does: "gradient of attn.wq: …".
    llvm::erase_if(explanation.collectives, [&](const CollectiveInfo &info) {
      StringRef name =
          StringRef(info.cause).split(" of ").second.split(':').first;
      return name.empty() ||
             !(line.tensor == name ||
               StringRef(line.tensor).ends_with(("." + name).str()));
    });
  }
  if (line.json)
    printJson(explanation, out);
  else
    printTables(explanation, out);
  return exitOk;
}
