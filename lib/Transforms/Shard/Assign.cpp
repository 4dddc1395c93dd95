//===- Assign.cpp - give every value a distribution -----------------------===//
//
// The step level: distributions of arguments and carried values, and one
// assigned specialisation of a segment per list of argument distributions.
//
//===----------------------------------------------------------------------===//

#include "ArgumentWishes.h"
#include "AssignBody.h"
#include "Requests.h"
#include "stretto/Dialect/Stretto/IR/Describe.h"
#include "stretto/Transforms/Shard/Passes.h"
#include "stretto/Transforms/Shard/SavedCopies.h"

#include "llvm/ADT/StringSet.h"

#include <map>

namespace stretto {
#define GEN_PASS_DEF_ASSIGNPASS
#include "stretto/Transforms/Shard/Passes.h.inc"
} // namespace stretto

using namespace mlir;
using namespace stretto;
using namespace stretto::shard;

namespace {

class StepAssigner {
public:
  StepAssigner(ModuleOp module, const Links &links)
      : module(module), mesh(meshOf(module)), cost(links), symbols(module),
        wishes(symbols, mesh) {
    for (unsigned i = 0; i < mesh.getNumAxes(); ++i)
      allAxes.push_back(mesh.axis(i));
  }
  ~StepAssigner() {
    for (auto &[name, op] : pristine)
      op->erase();
  }

  LogicalResult run(StepOp step);

private:
  LogicalResult assignArguments(StepOp step);
  FailureOr<Type> argumentType(StepOp step, BlockArgument argument);
  FailureOr<Type> inputType(StepOp step, BlockArgument argument);
  FailureOr<Type> parameterType(StepOp step, BlockArgument argument);
  FailureOr<Type> stateType(StepOp step, DictionaryAttr attributes,
                            StringRef name);
  LogicalResult assignGradients(StepOp step);
  LogicalResult visitBlock(Block &block);
  LogicalResult visit(MicrobatchesOp loop);
  LogicalResult visit(InvokeOp invoke);
  FailureOr<SmallVector<DistAttr>> argumentsOf(InvokeOp invoke);
  FailureOr<SegmentOp> specialise(InvokeOp invoke,
                                  SmallVector<DistAttr> arguments);
  FailureOr<DistAttr> wantedResult(InvokeOp invoke, SegmentOp segment,
                                   unsigned index,
                                   ArrayRef<DistAttr> arguments);
  DistAttr dist(unsigned rank, bool partialOverAll = false) {
    SmallVector<SmallVector<AxisRef>> dims(rank);
    return DistAttr::get(mesh.getContext(), mesh, dims,
                         partialOverAll ? ArrayRef<AxisRef>(allAxes)
                                        : ArrayRef<AxisRef>());
  }

  ModuleOp module;
  MeshAttr mesh;
  MoveCost cost;
  SymbolTable symbols;
  SmallVector<AxisRef> allAxes;
  // What a "param:" binds -> how it rests, in every step alike; how its
  // gradients do; and the padding that its uses want.
  llvm::StringMap<Type> parameters, gradients;
  llvm::StringMap<SmallVector<DenseI64ArrayAttr>> paddings;
  ArgumentWishes wishes;
  llvm::StringMap<Operation *> pristine;
  /// Segment, distributions of arguments and wanted results.
  using SpecialisationKey = std::pair<std::string, std::vector<const void *>>;
  std::map<SpecialisationKey, SegmentOp> specialisations;

  /// Invocations repeat per instance: what became of one with the same callee,
  /// members, types of operands and of the gradients' parameters.
  struct Assigned {
    SegmentOp segment; // null: none yet
    SmallVector<Type> operands, results;
  };
  std::vector<const void *> keyOf(InvokeOp invoke) const;
  Type gradientType(Value value) const;
  std::map<std::vector<const void *>, Assigned> assigned;
};

} // namespace

static RankedTensorType tensor(Value value) {
  return cast<RankedTensorType>(value.getType());
}

//===----------------------------------------------------------------------===//
// Step arguments
//===----------------------------------------------------------------------===//

/// The constraint on member `member` of an argument or result, which may be a
/// bundle, by its attributes.
static ConstraintAttr memberConstraint(DictionaryAttr attributes,
                                       unsigned member) {
  if (!attributes)
    return {};
  if (auto members = attributes.getAs<MembersAttr>(attr::members))
    return members.get(member).getAs<ConstraintAttr>(attr::constraint);
  return attributes.getAs<ConstraintAttr>(attr::constraint);
}

FailureOr<Type> StepAssigner::parameterType(StepOp step,
                                            BlockArgument argument) {
  unsigned index = argument.getArgNumber();
  SmallVector<Type> types = tensorTypesOf(argument.getType());
  SmallVector<ArgumentWish> wanted(types.size());
  for (auto [k, wish] : llvm::enumerate(wanted))
    wish.constraint = memberConstraint(step.getArgAttrDict(index), k);
  wishes.collectFromUses(argument, wanted);
  auto binding = step.getArgAttrOfType<StringAttr>(index, attr::binding);
  StringRef name = binding.getValue().split(':').second;
  Type &known = parameters[name];
  if (known && mapTensorTypes(known, bareType) == argument.getType())
    return known;
  auto &padding = paddings[name];
  padding.clear();
  for (auto [type, wish] : llvm::zip(types, wanted)) {
    padding.push_back(wish.padding);
    auto assigned =
        wishes.assign(step.getLoc(), wish, cast<RankedTensorType>(type));
    if (failed(assigned))
      return failure();
    type = *assigned;
  }
  return known = bundledLike(argument.getType(), types).front();
}

/// Where the constraints of a moment or gradient say, else as the parameter.
FailureOr<Type> StepAssigner::stateType(StepOp step, DictionaryAttr attributes,
                                        StringRef name) {
  auto it = parameters.find(name);
  if (it == parameters.end())
    return step.emitOpError("state of unknown parameter '") << name << "'";
  SmallVector<Type> types = tensorTypesOf(it->second);
  for (auto [k, type] : llvm::enumerate(types)) {
    ConstraintAttr constraint = memberConstraint(attributes, k);
    if (!constraint)
      continue;
    auto assigned = wishes.assign(
        step.getLoc(), {constraint, paddings[name][k]}, bareType(type));
    if (failed(assigned))
      return failure();
    type = *assigned;
  }
  return bundledLike(it->second, types).front();
}

/// The leading dimension counts micro-batches and stays whole.
FailureOr<Type> StepAssigner::inputType(StepOp step, BlockArgument argument) {
  ArgumentWish wish;
  wishes.collectFromUses(argument, wish);
  ArrayRef<int64_t> shape = tensor(argument).getShape().drop_front();
  auto slice = distributionFor(step.getLoc(), mesh, wish.constraint, shape);
  if (failed(slice))
    return failure();
  SmallVector<SmallVector<AxisRef>> dims = slice->getDims();
  dims.insert(dims.begin(), SmallVector<AxisRef>());
  SmallVector<int64_t> padded(slice->getPaddedExtents());
  padded.insert(padded.begin(), 0);
  return Type(
      withDist(tensor(argument), DistAttr::get(mesh.getContext(), mesh, dims,
                                               {}, ReduceKind::Sum, padded)));
}

FailureOr<Type> StepAssigner::argumentType(StepOp step,
                                           BlockArgument argument) {
  unsigned index = argument.getArgNumber();
  auto binding = step.getArgAttrOfType<StringAttr>(index, attr::binding);
  if (!binding)
    return step.emitOpError("argument ") << index << " has no stretto.binding";
  auto [kind, name] = binding.getValue().split(':');
  if (kind == "param")
    return parameterType(step, argument);
  if (kind.starts_with("moment"))
    return stateType(step, step.getArgAttrDict(index), name);
  if (isBundle(argument.getType()))
    return step.emitOpError("argument ")
           << index << " is a bundle, bound as '" << binding.getValue()
           << "'; only parameters and moments may be";
  if (kind == "hyper")
    return Type(withDist(tensor(argument), dist(tensor(argument).getRank())));
  return inputType(step, argument);
}

LogicalResult StepAssigner::assignArguments(StepOp step) {
  for (BlockArgument argument : step.getBody().front().getArguments()) {
    FailureOr<Type> found = argumentType(step, argument);
    if (failed(found))
      return failure();
    argument.setType(*found);
  }
  return success();
}

LogicalResult StepAssigner::assignGradients(StepOp step) {
  for (unsigned i = 0; i < step.getNumResults(); ++i) {
    DictionaryAttr attributes = step.getResultAttrDict(i);
    auto binding = step.getResultAttrOfType<StringAttr>(i, attr::binding);
    if (!binding || !binding.getValue().starts_with("grad:"))
      continue;
    StringRef name = binding.getValue().drop_front(5);
    FailureOr<Type> type = stateType(step, attributes, name);
    if (failed(type))
      return failure();
    gradients[name] = *type;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Invocations
//===----------------------------------------------------------------------===//

/// What binds a value among the step's results ("grad:…"), without the kind.
static StringRef gradientName(Value value) {
  for (OpOperand &use : value.getUses())
    if (auto step = dyn_cast<StepOp>(use.getOwner()->getParentOp());
        step && isa<YieldOp>(use.getOwner()))
      if (auto binding = step.getResultAttrOfType<StringAttr>(
              use.getOperandNumber(), attr::binding))
        if (binding.getValue().starts_with("grad:"))
          return binding.getValue().drop_front(5);
  return {};
}

/// How the gradients rest that `value` is; null: it is none.
Type StepAssigner::gradientType(Value value) const {
  return gradients.lookup(gradientName(value));
}

FailureOr<DistAttr> StepAssigner::wantedResult(InvokeOp invoke,
                                               SegmentOp segment,
                                               unsigned index,
                                               ArrayRef<DistAttr> arguments) {
  auto role = segment.getResultAttrOfType<StringAttr>(index, attr::role);
  StringRef name = role ? role.getValue() : "";
  auto type = cast<RankedTensorType>(segment.getResultTypes()[index]);
  if (name == "partial_scalar" && type.getRank() != 0)
    return segment.emitOpError("result ")
           << index << " is " << describe(type)
           << " with the role \"partial_scalar\", which is a sum of rank 0; "
              "reduce it or give it another role";
  if (name == "partial_scalar")
    return dist(0, /*partialOverAll=*/true);
  if (name == "scalar")
    return dist(type.getRank());
  if (name == "grad") {
    TensorRef gradient = invoke.getTensorResults()[index];
    Type type = gradientType(gradient.value);
    if (!type)
      return segment.emitOpError("gradient ")
             << index << " belongs to no parameter of the step";
    return getDist(tensorTypesOf(type)[std::max(gradient.member, 0)]);
  }
  bool restsApart = bool(segment.getResultAttr(index, attr::rest));
  if (name == "saved" || name == "term" ||
      (name == "accumulator" && !restsApart))
    return DistAttr();
  if (auto alias = segment.getResultAttrOfType<IntegerAttr>(index, attr::alias))
    return arguments[alias.getInt()];
  auto constraint =
      segment.getResultAttrOfType<ConstraintAttr>(index, attr::constraint);
  if (!constraint)
    return DistAttr();
  DenseI64ArrayAttr padding;
  if (wishes.isGather(invoke))
    padding = wishes.ofGathered(invoke, index).padding;
  return distributionFor(segment.getLoc(), mesh, constraint, type.getShape(),
                         padding ? padding.asArrayRef() : ArrayRef<int64_t>());
}

/// decoder_1.fwd, decoder_2.fwd, … for decoder.fwd: the next that is free.
static std::string freeName(SymbolTable &symbols, StringRef name) {
  auto [layer, direction] = name.rsplit('.');
  unsigned count = 1;
  std::string candidate;
  do
    candidate = (layer + "_" + Twine(count++) +
                 (direction.empty() ? "" : "." + direction))
                    .str();
  while (symbols.lookup(candidate));
  return candidate;
}

/// The assigned copy of the callee for these distributions of arguments and of
/// the results that the caller wants.
FailureOr<SegmentOp> StepAssigner::specialise(InvokeOp invoke,
                                              SmallVector<DistAttr> arguments) {
  std::string name = invoke.getCallee().str();
  auto segment = symbols.lookup<SegmentOp>(name);
  SmallVector<DistAttr> results;
  auto keyOf = [&]() -> FailureOr<SpecialisationKey> {
    results.clear();
    for (unsigned i = 0; i < segment.getNumResults(); ++i) {
      auto wanted = wantedResult(invoke, segment, i, arguments);
      if (failed(wanted))
        return failure();
      results.push_back(*wanted);
    }
    SpecialisationKey key{name, {}};
    for (DistAttr dist : llvm::concat<DistAttr>(arguments, results))
      key.second.push_back(dist ? dist.getAsOpaquePointer() : nullptr);
    return key;
  };
  FailureOr<SpecialisationKey> key = keyOf();
  if (failed(key))
    return failure();
  auto found = specialisations.find(*key);
  if (found != specialisations.end())
    return found->second;
  Operation *&source = pristine[name];
  if (!source) {
    source = segment->clone();
  } else {
    segment = cast<SegmentOp>(source->clone());
    segment.setSymName(freeName(symbols, name));
    symbols.insert(segment, Block::iterator(symbols.lookup(name)));
  }
  if (failed(BodyAssigner(segment, mesh, cost).run(arguments, results)))
    return failure();
  specialisations[*key] = segment;
  // Open arguments are settled now; later calls come with them known.
  for (auto [dist, type] : llvm::zip(arguments, segment.getArgumentTypes()))
    dist = getDist(type);
  key = keyOf();
  if (failed(key))
    return failure();
  specialisations[*key] = segment;
  return segment;
}

/// The distributions that an invocation passes, null where still open.
FailureOr<SmallVector<DistAttr>> StepAssigner::argumentsOf(InvokeOp invoke) {
  SmallVector<DistAttr> arguments;
  auto callee = symbols.lookup<SegmentOp>(invoke.getCallee());
  for (auto [i, tensor] : llvm::enumerate(invoke.getTensorOperands())) {
    DistAttr known = getDist(tensor.getType());
    // Accumulators lie as the first gradient that is added to them, unless
    // the plan lets them rest sharded. No backward adds to the accumulator of a
    // parameter that no loss sees: it lies as the parameter does.
    auto rest = callee.getArgAttrOfType<ConstraintAttr>(i, attr::rest);
    if (!known && (callee.getDirection() == "reduce" || rest)) {
      ArgumentWish wish = wishes.ofSegment(callee.getSymNameAttr())[i];
      wish = {rest ? rest : wish.constraint, {}};
      auto found = wishes.assign(callee.getLoc(), wish,
                                 cast<RankedTensorType>(tensor.getType()));
      if (failed(found))
        return failure();
      known = getDist(*found);
    }
    arguments.push_back(known);
  }
  return arguments;
}

static bool isAssigned(Type type) {
  if (auto bundle = dyn_cast<TupleType>(type))
    return llvm::all_of(bundle.getTypes(), isAssigned);
  return bool(getDist(type));
}

/// The types of the operands, open ones as the segment takes them.
static SmallVector<Type> settledOperands(InvokeOp invoke, SegmentOp segment) {
  SmallVector<Type> settled;
  for (Value operand : invoke.getOperands())
    settled.push_back(operand.getType());
  for (auto [tensor, type] :
       llvm::zip(invoke.getTensorOperands(), segment.getArgumentTypes())) {
    if (isAssigned(tensor.getType()))
      continue;
    for (auto [operand, now] : llvm::zip(invoke.getOperands(), settled)) {
      if (operand != tensor.value)
        continue;
      SmallVector<Type> members = tensorTypesOf(now);
      members[std::max(tensor.member, 0)] = type;
      now = bundledLike(now, members).front();
    }
  }
  return settled;
}

std::vector<const void *> StepAssigner::keyOf(InvokeOp invoke) const {
  std::vector<const void *> key = {
      invoke.getCalleeAttr().getAsOpaquePointer(),
      invoke.getMembersAttr().getAsOpaquePointer()};
  for (Type type : invoke.getOperandTypes())
    key.push_back(type.getAsOpaquePointer());
  for (Value result : invoke.getResults())
    key.push_back(gradientType(result).getAsOpaquePointer());
  return key;
}

LogicalResult StepAssigner::visit(InvokeOp invoke) {
  Assigned &entry = assigned[keyOf(invoke)];
  if (!entry.segment) {
    auto arguments = argumentsOf(invoke);
    if (failed(arguments))
      return failure();
    FailureOr<SegmentOp> segment = specialise(invoke, *arguments);
    if (failed(segment))
      return failure();
    entry = {*segment, settledOperands(invoke, *segment),
             bundledLike(invoke.getResultTypes(), segment->getResultTypes())};
  }
  invoke.setCalleeAttr(FlatSymbolRefAttr::get(entry.segment.getSymNameAttr()));
  for (auto [operand, type] : llvm::zip(invoke.getOperands(), entry.operands))
    operand.setType(type);
  for (auto [result, type] : llvm::zip(invoke.getResults(), entry.results))
    result.setType(type);
  return success();
}

//===----------------------------------------------------------------------===//
// Loops and blocks
//===----------------------------------------------------------------------===//

/// The distribution of a [M, …] input without its leading dimension.
static DistAttr dropLeading(DistAttr dist) {
  SmallVector<SmallVector<AxisRef>> dims = dist.getDims();
  dims.erase(dims.begin());
  return DistAttr::get(dist.getContext(), dist.getMesh(), dims, {},
                       ReduceKind::Sum, dist.getPaddedExtents().drop_front());
}

/// "[{dp}, {}]" as a constraint that wants exactly this.
static std::string constraintText(DistAttr dist) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "#stretto.constraint<";
  printBody(os,
            DistAttr::get(dist.getContext(), dist.getMesh(), dist.getDims()));
  os << ">";
  return text;
}

/// A carried value lies as it entered; it must come out of the body so.
static LogicalResult carriedChanges(MicrobatchesOp loop, unsigned index,
                                    Value value, Type enters) {
  InFlightDiagnostic error = loop.emitOpError("carried value ")
                             << index << " changes its distribution from "
                             << describe(enters) << " to "
                             << describe(value.getType());
  auto invoke = value.getDefiningOp<InvokeOp>();
  DistAttr wanted = getDist(enters);
  if (!invoke || !wanted)
    return error << "; carry a value that lies alike at both ends";
  error.attachNote(invoke.getLoc())
      << "this would fit: result " << cast<OpResult>(value).getResultNumber()
      << " of @" << invoke.getCallee()
      << " with stretto.constraint = " << constraintText(wanted)
      << ", or in it a last " << reshardText("%result", getDist(value), wanted);
  return error;
}

LogicalResult StepAssigner::visit(MicrobatchesOp loop) {
  Block &body = loop.getBody().front();
  unsigned numInputs = loop.getInputs().size();
  for (auto [i, input] : llvm::enumerate(loop.getInputs()))
    body.getArgument(i).setType(
        withDist(tensor(body.getArgument(i)), dropLeading(getDist(input))));
  for (auto [i, carried] : llvm::enumerate(loop.getCarried()))
    if (isAssigned(carried.getType()))
      body.getArgument(numInputs + i).setType(carried.getType());
  if (failed(visitBlock(body)))
    return failure();
  auto yield = cast<YieldOp>(body.getTerminator());
  for (auto [i, value] : llvm::enumerate(yield.getOperands())) {
    BlockArgument argument = body.getArgument(numInputs + i);
    Value initial = loop.getCarried()[i];
    for (Value open : {Value(argument), initial})
      if (!isAssigned(open.getType()))
        open.setType(value.getType());
    if (argument.getType() != value.getType() ||
        initial.getType() != value.getType())
      return carriedChanges(loop, i, value,
                            argument.getType() != value.getType()
                                ? argument.getType()
                                : initial.getType());
    loop.getResult(i).setType(value.getType());
  }
  return success();
}

LogicalResult StepAssigner::visitBlock(Block &block) {
  for (Operation &op : block) {
    LogicalResult result = success();
    if (auto loop = dyn_cast<MicrobatchesOp>(op))
      result = visit(loop);
    else if (auto invoke = dyn_cast<InvokeOp>(op))
      result = visit(invoke);
    else if (!isa<ZerosOp, YieldOp>(op))
      result = op.emitOpError("is not allowed at step level; put it into a "
                              "segment and invoke that");
    if (failed(result))
      return failure();
  }
  return success();
}

LogicalResult StepAssigner::run(StepOp step) {
  Block &body = step.getBody().front();
  auto fillZeros = [&](function_ref<Type(RankedTensorType)> assigned) {
    step.walk([&](ZerosOp zeros) {
      zeros.getResult().setType(
          mapTensorTypes(zeros.getType(), [&](RankedTensorType type) {
            return getDist(type) ? type : assigned(type);
          }));
    });
  };
  // Rank-0 carried zeros are partial sums over the whole mesh.
  fillZeros([&](RankedTensorType type) -> Type {
    return type.getRank() ? type : withDist(type, dist(0, true));
  });
  if (failed(assignArguments(step)) || failed(assignGradients(step)) ||
      failed(visitBlock(body)))
    return failure();
  fillZeros([&](RankedTensorType type) -> Type {
    return withDist(type, dist(type.getRank()));
  });
  step.setFunctionType(
      FunctionType::get(step.getContext(), body.getArgumentTypes(),
                        body.getTerminator()->getOperandTypes()));
  return success();
}

namespace {
struct AssignPass : stretto::impl::AssignPassBase<AssignPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<Links> links = Links::of(module, meshOf(module));
    if (failed(links))
      return signalPassFailure();
    StepAssigner assigner(module, *links);
    for (StepOp step : llvm::to_vector(module.getOps<StepOp>()))
      if (failed(assigner.run(step)))
        return signalPassFailure();
    removeUnused(module);
    SavedCopies(module, *links).run();
    for (SegmentOp segment : module.getOps<SegmentOp>())
      for (unsigned i = 0; i < segment.getNumArguments(); ++i)
        segment.removeArgAttr(i, decided::padding);
  }

  /// Segments that no step invokes (nobody gave them distributions).
  static void removeUnused(ModuleOp module) {
    llvm::StringSet<> used;
    module.walk([&](InvokeOp invoke) { used.insert(invoke.getCallee()); });
    for (SegmentOp segment : llvm::to_vector(module.getOps<SegmentOp>()))
      if (!used.contains(segment.getSymName()))
        segment.erase();
  }
};
} // namespace
