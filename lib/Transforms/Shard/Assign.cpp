//===- Assign.cpp - give every value a distribution -----------------------===//
//
// The step level: distributions of arguments and carried values, and one
// assigned specialisation of a segment per list of argument distributions.
//
//===----------------------------------------------------------------------===//

#include "AssignBody.h"
#include "Requests.h"
#include "stretto/Transforms/Shard/Passes.h"

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
  StepAssigner(ModuleOp module)
      : module(module), mesh(meshOf(module)), cost(mesh), symbols(module) {
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
  FailureOr<DistAttr> argumentDist(StepOp step, BlockArgument argument);
  LogicalResult visitBlock(Block &block);
  LogicalResult visit(MicrobatchesOp loop);
  LogicalResult visit(InvokeOp invoke);
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
  llvm::StringMap<DistAttr> resting; // parameter path -> where it rests
  llvm::StringMap<Operation *> pristine;
  /// Segment, distributions of arguments and wanted results.
  using SpecialisationKey = std::pair<std::string, std::vector<const void *>>;
  std::map<SpecialisationKey, SegmentOp> specialisations;
};

} // namespace

static RankedTensorType tensor(Value value) {
  return cast<RankedTensorType>(value.getType());
}

//===----------------------------------------------------------------------===//
// Step arguments
//===----------------------------------------------------------------------===//

/// What the first segment using `value` that has the attribute says of it,
/// looking through micro-batch loops.
template <typename AttrT>
static AttrT attributeOfUse(Value value, StringRef name, SymbolTable &symbols) {
  for (OpOperand &use : value.getUses()) {
    if (auto invoke = dyn_cast<InvokeOp>(use.getOwner())) {
      auto segment = symbols.lookup<SegmentOp>(invoke.getCallee());
      if (auto attribute =
              segment.getArgAttrOfType<AttrT>(use.getOperandNumber(), name))
        return attribute;
    } else if (auto loop = dyn_cast<MicrobatchesOp>(use.getOwner())) {
      Value inside = loop.getBody().front().getArgument(use.getOperandNumber());
      if (auto attribute = attributeOfUse<AttrT>(inside, name, symbols))
        return attribute;
    }
  }
  return {};
}

FailureOr<DistAttr> StepAssigner::argumentDist(StepOp step,
                                               BlockArgument argument) {
  unsigned index = argument.getArgNumber();
  auto binding = step.getArgAttrOfType<StringAttr>(index, attr::binding);
  if (!binding)
    return step.emitOpError("argument ") << index << " has no stretto.binding";
  auto [kind, name] = binding.getValue().split(':');
  if (kind == "hyper")
    return dist(tensor(argument).getRank());
  if (kind.starts_with("moment")) {
    auto it = resting.find(name);
    if (it == resting.end())
      return step.emitOpError("moment of unknown parameter '") << name << "'";
    return it->second;
  }
  auto constraint =
      step.getArgAttrOfType<ConstraintAttr>(index, attr::constraint);
  auto used =
      attributeOfUse<ConstraintAttr>(argument, attr::constraint, symbols);
  if (kind == "param") {
    auto padding =
        attributeOfUse<DenseI64ArrayAttr>(argument, decided::padding, symbols);
    auto found =
        distributionFor(step.getLoc(), mesh, constraint ? constraint : used,
                        tensor(argument).getShape(),
                        padding ? padding.asArrayRef() : ArrayRef<int64_t>());
    if (succeeded(found))
      resting[name] = *found;
    return found;
  }
  // Inputs: the leading dimension counts micro-batches and stays whole.
  ArrayRef<int64_t> shape = tensor(argument).getShape().drop_front();
  auto slice = distributionFor(step.getLoc(), mesh, used, shape);
  if (failed(slice))
    return failure();
  SmallVector<SmallVector<AxisRef>> dims = slice->getDims();
  dims.insert(dims.begin(), SmallVector<AxisRef>());
  SmallVector<int64_t> padded(slice->getPaddedExtents());
  padded.insert(padded.begin(), 0);
  return DistAttr::get(mesh.getContext(), mesh, dims, {}, ReduceKind::Sum,
                       padded);
}

LogicalResult StepAssigner::assignArguments(StepOp step) {
  for (BlockArgument argument : step.getBody().front().getArguments()) {
    FailureOr<DistAttr> found = argumentDist(step, argument);
    if (failed(found))
      return failure();
    argument.setType(withDist(tensor(argument), *found));
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Invocations
//===----------------------------------------------------------------------===//

/// The parameter path that a value ends as in the step's results ("grad:…").
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

FailureOr<DistAttr> StepAssigner::wantedResult(InvokeOp invoke,
                                               SegmentOp segment,
                                               unsigned index,
                                               ArrayRef<DistAttr> arguments) {
  auto role = segment.getResultAttrOfType<StringAttr>(index, attr::role);
  StringRef name = role ? role.getValue() : "";
  auto type = cast<RankedTensorType>(segment.getResultTypes()[index]);
  if (name == "partial_scalar")
    return dist(0, /*partialOverAll=*/true);
  if (name == "scalar")
    return dist(type.getRank());
  if (name == "grad") {
    auto it = resting.find(gradientName(invoke.getResult(index)));
    if (it == resting.end())
      return segment.emitOpError("gradient ")
             << index << " belongs to no parameter of the step";
    return it->second;
  }
  if (name == "accumulator" || name == "saved")
    return DistAttr();
  if (auto alias = segment.getResultAttrOfType<IntegerAttr>(index, attr::alias))
    return arguments[alias.getInt()];
  auto constraint =
      segment.getResultAttrOfType<ConstraintAttr>(index, attr::constraint);
  if (!constraint)
    return DistAttr();
  return distributionFor(segment.getLoc(), mesh, constraint, type.getShape());
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

LogicalResult StepAssigner::visit(InvokeOp invoke) {
  SmallVector<DistAttr> arguments;
  auto callee = symbols.lookup<SegmentOp>(invoke.getCallee());
  for (auto [i, operand] : llvm::enumerate(invoke.getOperands())) {
    DistAttr known = getDist(operand);
    // No backward adds to the accumulator of a parameter that no loss sees: it
    // lies as the parameter does.
    if (!known && callee.getDirection() == "reduce") {
      auto found = distributionFor(
          callee.getLoc(), mesh,
          callee.getArgAttrOfType<ConstraintAttr>(i, attr::constraint),
          tensor(operand).getShape());
      if (failed(found))
        return failure();
      known = *found;
    }
    arguments.push_back(known);
  }
  FailureOr<SegmentOp> segment = specialise(invoke, arguments);
  if (failed(segment))
    return failure();
  invoke.setCallee(segment->getSymName());
  for (auto [operand, type] :
       llvm::zip(invoke.getOperands(), segment->getArgumentTypes()))
    if (!getDist(operand))
      operand.setType(type);
  for (auto [result, type] :
       llvm::zip(invoke.getResults(), segment->getResultTypes()))
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

LogicalResult StepAssigner::visit(MicrobatchesOp loop) {
  Block &body = loop.getBody().front();
  unsigned numInputs = loop.getInputs().size();
  for (auto [i, input] : llvm::enumerate(loop.getInputs()))
    body.getArgument(i).setType(
        withDist(tensor(body.getArgument(i)), dropLeading(getDist(input))));
  for (auto [i, carried] : llvm::enumerate(loop.getCarried()))
    if (DistAttr known = getDist(carried))
      body.getArgument(numInputs + i).setType(withDist(tensor(carried), known));
  if (failed(visitBlock(body)))
    return failure();
  auto yield = cast<YieldOp>(body.getTerminator());
  for (auto [i, value] : llvm::enumerate(yield.getOperands())) {
    BlockArgument argument = body.getArgument(numInputs + i);
    Value initial = loop.getCarried()[i];
    for (Value open : {Value(argument), initial})
      if (!getDist(open))
        open.setType(value.getType());
    if (argument.getType() != value.getType() ||
        initial.getType() != value.getType())
      return loop.emitOpError("carried value ")
             << i << " changes its distribution from " << argument.getType()
             << " to " << value.getType();
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
      result = op.emitOpError("is not allowed at step level");
    if (failed(result))
      return failure();
  }
  return success();
}

LogicalResult StepAssigner::run(StepOp step) {
  Block &body = step.getBody().front();
  // Rank-0 carried zeros are partial sums over the whole mesh.
  step.walk([&](ZerosOp zeros) {
    if (tensor(zeros.getResult()).getRank() == 0)
      zeros.getResult().setType(
          withDist(tensor(zeros.getResult()), dist(0, true)));
  });
  if (failed(assignArguments(step)) || failed(visitBlock(body)))
    return failure();
  step.walk([&](ZerosOp zeros) {
    if (!getDist(zeros.getResult()))
      zeros.getResult().setType(
          withDist(tensor(zeros.getResult()),
                   dist(tensor(zeros.getResult()).getRank())));
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
    StepAssigner assigner(module);
    for (StepOp step : llvm::to_vector(module.getOps<StepOp>()))
      if (failed(assigner.run(step)))
        return signalPassFailure();
    removeUnused(module);
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
