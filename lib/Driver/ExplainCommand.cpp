//===- ExplainCommand.cpp - stretto explain -------------------------------===//
//
// Reads decisions off the distributed IR: where every parameter and input rests
// and which plan line says so; why each collective is there and how to be
// without it. What it costs is what the Program says, which the runtime counts.
//
//===----------------------------------------------------------------------===//

#include "CollectiveReasons.h"
#include "CommandLine.h"
#include "ExplainOrigins.h"
#include "Holdings.h"
#include "ProgramTables.h"
#include "RestingChoices.h"
#include "mlir/IR/SymbolTable.h"
#include "stretto/Dialect/Stretto/IR/StrettoOps.h"
#include "stretto/Dialect/Stretto/Transforms/Unbundle.h"
#include "stretto/Program/Traffic.h"
#include "stretto/Support/Text.h"
#include "stretto/Transforms/Shard/SavedCopies.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"

#include <map>

using namespace mlir;
using namespace stretto;
using namespace stretto::driver;

namespace {

/// A reason and what the Program says of it.
struct CollectiveInfo {
  CollectiveReason reason;
  uint64_t calls = 0, bytes = 0; // per step; sent by rank 0
  unsigned together = 1;         // run with the waits of one
};

struct TensorInfo {
  std::string binding, shape, distribution, cause;
  int64_t localBytes = 0;
};

/// Everything that the tables show.
struct Explanation {
  std::vector<TensorInfo> tensors;
  std::vector<CollectiveInfo> collectives;
  std::vector<RestingChoice> resting;
  std::vector<SavedCopy> copies;
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

static Explanation explainTensors(ModuleOp module) {
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
  return explanation;
}

/// "AllReduce" as the operation is called, "all_reduce".
static std::string operationName(program::CollectiveKind kind) {
  std::string name;
  for (char c : StringRef(program::EnumNameCollectiveKind(kind))) {
    if (llvm::isUpper(c) && !name.empty())
      name += '_';
    name += llvm::toLower(c);
  }
  return name;
}

/// What nothing is known of but what the Program says; nothing is left out.
static CollectiveReason reasonOf(const CollectiveRow &row) {
  CollectiveReason reason;
  reason.segment = row.segment;
  reason.kind = operationName(row.kind);
  reason.axes = "{" + row.group + "}";
  reason.value = "value of the step";
  reason.location = row.location;
  reason.cause = row.cause;
  reason.avoid = "accept it";
  return reason;
}

/// Calls and bytes of every numbered collective, from the Program.
static int countCollectives(Compilation &compilation,
                            std::vector<CollectiveReason> reasons,
                            std::vector<CollectiveInfo> &infos,
                            llvm::raw_ostream &err) {
  if (int code = compilation.runTo(Phase::Program))
    return code;
  std::shared_ptr<const runtime::Program> program;
  if (int code = loadProgram(compilation, program, err))
    return code;
  for (CollectiveReason &reason : reasons)
    infos.push_back({std::move(reason)});
  for (const CollectiveRow &row : listCollectives(*program, /*rank=*/0)) {
    if (row.function != "train")
      continue;
    size_t number;
    if (StringRef(row.cause).getAsInteger(10, number) ||
        number >= infos.size()) {
      number = infos.size();
      infos.push_back({reasonOf(row)});
    }
    CollectiveInfo &info = infos[number];
    info.reason.kind = operationName(row.kind); // of a window: known only here
    info.calls += row.calls;
    info.bytes += row.bytes;
    info.together = std::max(info.together, row.together);
  }
  // What stays on the rank (slices, one member's share) is no command.
  llvm::erase_if(infos, [](const CollectiveInfo &info) { return !info.calls; });
  return exitOk;
}

//===----------------------------------------------------------------------===//
// Output
//===----------------------------------------------------------------------===//

static void printList(StringRef name, ArrayRef<std::string> list,
                      llvm::json::OStream &json) {
  json.attributeArray(name, [&] {
    for (const std::string &entry : list)
      json.value(entry);
  });
}

static void printJson(const CollectiveInfo &info, llvm::json::OStream &json) {
  const CollectiveReason &reason = info.reason;
  json.attribute("segment", reason.segment);
  json.attribute("layer", reason.layer);
  json.attribute("direction", reason.direction);
  json.attribute("kind", reason.kind);
  json.attribute("axes", reason.axes);
  json.attribute("members", reason.members);
  json.attribute("value", reason.value);
  json.attribute("location", reason.location);
  json.attribute("shape", shapeText(reason.shape));
  printList("dims", reason.dims, json);
  json.attribute("bytes_sent_per_call", double(info.bytes) / info.calls);
  json.attribute("calls_per_step", int64_t(info.calls));
  json.attribute("bytes_sent_per_step", int64_t(info.bytes));
  json.attribute("together", int64_t(info.together));
  json.attribute("cause", reason.cause);
  json.attribute("avoid", reason.avoid);
  printList("plan_lines", reason.planLines, json);
  printList("parameters", reason.parameters, json);
}

static void printJson(const RestingChoice &choice, llvm::json::OStream &json) {
  json.attribute("what", choice.what);
  json.attribute("chosen", choice.chosen);
  json.attributeArray("times", [&] {
    for (const RestingChoice::Time &time : choice.times)
      json.object([&] {
        json.attribute("name", time.name);
        json.attribute("bytes_sent_per_step", time.sentBytes);
        json.attribute("bytes_held_more", time.heldBytes);
      });
  });
}

static void printJson(const SavedCopy &copy, llvm::json::OStream &json) {
  json.attribute("layer", copy.layer);
  json.attribute("value", copy.value);
  json.attribute("location", placeOf(copy.location));
  json.attribute("instances", copy.instances);
  json.attribute("kept", copy.isKept);
  json.attribute("bytes_held_more_when_kept", copy.heldBytes);
  json.attribute("bytes_sent_more_per_step_when_repeated", copy.sentBytes);
}

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
        json.object([&] { printJson(info, json); });
    });
    json.attributeArray("resting", [&] {
      for (const RestingChoice &choice : explanation.resting)
        json.object([&] { printJson(choice, json); });
    });
    json.attributeArray("saved_copies", [&] {
      for (const SavedCopy &copy : explanation.copies)
        json.object([&] { printJson(copy, json); });
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

/// "[batch 16, seq 256, 33]".
static std::string namedShape(const CollectiveReason &reason) {
  std::string text = "[";
  for (auto [extent, name] : llvm::zip(reason.shape, reason.dims))
    text += (text.size() > 1 ? ", " : "") + name + (name.empty() ? "" : " ") +
            std::to_string(extent);
  return text + "]";
}

static void printCollective(const CollectiveInfo &info,
                            llvm::raw_ostream &out) {
  const CollectiveReason &reason = info.reason;
  out << "  " << reason.segment << ": " << reason.kind << " over "
      << reason.axes << " of " << namedShape(reason) << ", " << info.calls
      << " x " << llvm::format("%.0f", double(info.bytes) / double(info.calls))
      << " B\n      value: " << reason.value;
  if (!reason.location.empty())
    out << " (" << reason.location << ")";
  if (!reason.layer.empty())
    out << " of layer @" << reason.layer;
  out << "\n      cause: " << reason.cause << "\n";
  if (!reason.avoid.empty())
    out << "      avoid: " << reason.avoid << "\n";
  if (info.together > 1)
    out << "      together: with " << info.together - 1
        << " more of its kind, in the waits of one\n";
}

/// "gather: pass: sends 10 B per step (or step: 5 B, holds 3 B more)".
static void printResting(const Explanation &explanation,
                         llvm::raw_ostream &out) {
  if (!explanation.resting.empty())
    out << "\nstate that rests apart from where it is used (per rank)\n";
  for (const RestingChoice &choice : explanation.resting) {
    auto print = [&](const RestingChoice::Time &time) {
      out << time.name << " sends " << time.sentBytes << " B per step";
      if (time.heldBytes)
        out << " and holds " << time.heldBytes << " B more";
    };
    out << "  " << choice.what << ": ";
    for (const RestingChoice::Time &time : choice.times)
      if (time.name == choice.chosen)
        print(time);
    for (const RestingChoice::Time &time : choice.times)
      if (time.name != choice.chosen) {
        out << "\n      " << choice.what << ": ";
        print(time);
      }
    out << "\n";
  }
}

/// "decoder: layer_norm result, 4 x: kept as forward gathered it, holds 8 B
/// more". An instance's figures are those of one micro-batch.
static void printCopies(const Explanation &explanation,
                        llvm::raw_ostream &out) {
  if (!explanation.copies.empty())
    out << "\nsaved values that backward needs as forward moved them (per "
           "rank)\n";
  for (const SavedCopy &copy : explanation.copies) {
    std::string place = placeOf(copy.location);
    out << "  " << copy.layer << ": " << copy.value
        << (place.empty() ? "" : " (" + place + ")") << ", " << copy.instances
        << (copy.instances == 1 ? " instance: " : " instances: ");
    if (copy.isKept)
      out << "kept so, holds " << copy.heldBytes
          << " B more\n      moved again (recompute: gathers): sends "
          << copy.sentBytes << " B more per step\n";
    else
      out << "moved again, sends " << copy.sentBytes
          << " B more per step\n      kept so (no recompute: gathers): holds "
          << copy.heldBytes << " B more\n";
  }
}

static void printTables(const Explanation &explanation,
                        llvm::raw_ostream &out) {
  out << "parameters and inputs\n";
  printTensors(explanation, out);
  printResting(explanation, out);
  printCopies(explanation, out);
  out << "\ncollectives of one training step (bytes: sent by rank 0)\n";
  uint64_t total = 0;
  for (const CollectiveInfo &info : explanation.collectives) {
    total += info.bytes;
    printCollective(info, out);
  }
  out << "  total " << total << " B per step\n";
}

/// Keeps what speaks of `name`. False when nothing is called so.
static bool keepTensor(Explanation &explanation, StringRef name,
                       llvm::raw_ostream &err) {
  std::vector<std::string> known;
  for (const TensorInfo &tensor : explanation.tensors)
    known.push_back(StringRef(tensor.binding).split(':').second.str());
  llvm::erase_if(explanation.tensors, [&](const TensorInfo &tensor) {
    return StringRef(tensor.binding).split(':').second != name;
  });
  if (explanation.tensors.empty()) {
    err << "error: no parameter or input '" << name << "'"
        << suggest(name, std::vector<StringRef>(known.begin(), known.end()),
                   "known")
        << "\n";
    return false;
  }
  // A reason names a parameter as its layer does: "attn.wq".
  llvm::erase_if(explanation.collectives, [&](const CollectiveInfo &info) {
    return llvm::none_of(info.reason.parameters, [&](StringRef parameter) {
      return name == parameter || name.ends_with(("." + parameter).str());
    });
  });
  return true;
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
  Explanation explanation = explainTensors(compilation.module());
  explanation.resting = explainResting(compilation.module());
  explanation.copies = savedCopiesOf(compilation.module());
  if (int code = countCollectives(compilation,
                                  explainCollectives(compilation.module()),
                                  explanation.collectives, err))
    return code;
  if (line.tensor && !keepTensor(explanation, *line.tensor, err))
    return exitInputRejected;
  if (line.json)
    printJson(explanation, out);
  else
    printTables(explanation, out);
  return exitOk;
}
