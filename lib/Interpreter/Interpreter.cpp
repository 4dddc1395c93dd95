//===- Interpreter.cpp - run programs in f64 ------------------------------===//

#include "stretto/Interpreter/Interpreter.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace stretto;
using namespace stretto::interp;

/// Calls nest this deep in no program; deeper means that a function calls
/// itself.
static constexpr int maxDepth = 64;

/// One running function.
struct Machine::Frame {
  uint64_t instance = 0;
  int64_t microbatch = 0;
  int depth = 0;
  std::vector<SmallVector<int64_t>> scalars; // of a launch, per rank
  DenseMap<Value, RankTensors> values;
  SmallVector<RankTensors> yielded;
  // Of a model only:
  const NamedValues *parameters = nullptr;
  ModelResult *model = nullptr;

  /// The storage of `value` holds something else from now on.
  void overwrite(Value value) { values[value].clear(); }

  /// A frame for something called from here.
  Frame inner() const {
    Frame frame;
    frame.instance = instance;
    frame.microbatch = microbatch;
    frame.depth = depth + 1;
    return frame;
  }
};

Machine::Machine(ModuleOp module, MeshAttr mesh, uint64_t seed, uint64_t step)
    : module(module), mesh(mesh), seed(seed), step(step) {
  if (!mesh) {
    coordinates.emplace_back();
    return;
  }
  for (int64_t rank = 0; rank < mesh.getNumRanks(); ++rank)
    coordinates.push_back(mesh.coordinates(rank));
}

double ModelResult::loss() const {
  double total = 0;
  for (const LossTerm &term : losses) {
    double count = term.count[0].getFloats()[0];
    if (count > 0)
      total += term.weight * term.sum[0].getFloats()[0] / count;
  }
  return total;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// Does `tensor` have the shape (where it is known) and kind of `type`?
static bool fits(const Tensor &tensor, Type type) {
  auto tensorType = dyn_cast<RankedTensorType>(type);
  if (!tensorType || tensor.isNull() ||
      tensor.isFloat() != isa<FloatType>(tensorType.getElementType()) ||
      tensor.getRank() != tensorType.getRank())
    return false;
  for (auto [have, want] : llvm::zip(tensor.getShape(), tensorType.getShape()))
    if (have != want && !ShapedType::isDynamic(want))
      return false;
  return true;
}

static std::string describe(const Tensor &tensor) {
  if (tensor.isNull())
    return "nothing";
  return shapeText(tensor.getShape()) +
         (tensor.isFloat() ? " reals" : " integers");
}

LogicalResult Machine::define(Operation *op, ArrayRef<RankTensors> results,
                              Frame &frame) {
  if (results.size() != op->getNumResults())
    return op->emitOpError("evaluates to ")
           << results.size() << " values, expected " << op->getNumResults();
  for (auto [value, tensors] : llvm::zip(op->getResults(), results)) {
    for (const Tensor &tensor : tensors)
      if (!fits(tensor, value.getType()))
        return op->emitOpError("result #")
               << value.getResultNumber() << " evaluates to "
               << describe(tensor) << ", its type is " << value.getType();
    frame.values[value] = tensors;
  }
  return success();
}

LogicalResult Machine::bindArguments(Operation *function, Block &block,
                                     ArrayRef<RankTensors> arguments,
                                     Frame &frame) {
  if (arguments.size() != block.getNumArguments())
    return function->emitOpError("runs with ")
           << arguments.size() << " arguments, expected "
           << block.getNumArguments();
  for (auto [argument, tensors] : llvm::zip(block.getArguments(), arguments)) {
    if (int64_t(tensors.size()) != numRanks())
      return function->emitOpError("argument #")
             << argument.getArgNumber() << " is given for " << tensors.size()
             << " ranks, expected " << numRanks();
    for (const Tensor &tensor : tensors)
      if (!fits(tensor, argument.getType()))
        return function->emitOpError("argument #")
               << argument.getArgNumber() << " is given " << describe(tensor)
               << ", its type is " << argument.getType();
    frame.values[argument] = tensors;
  }
  return success();
}

FailureOr<SmallVector<RankTensors>> Machine::operandsOf(Operation &op,
                                                        Frame &frame) {
  SmallVector<RankTensors> operands;
  for (Value operand : op.getOperands()) {
    auto found = frame.values.find(operand);
    if (found == frame.values.end())
      return op.emitOpError("uses a value that was not evaluated");
    if (found->second.empty())
      return op.emitOpError("uses a value after its storage was updated in "
                            "place");
    operands.push_back(found->second);
  }
  return operands;
}

EvalContext Machine::contextOf(const Frame &frame, int64_t rank) const {
  EvalContext context;
  context.seed = seed;
  context.step = step;
  context.instance = frame.instance;
  context.microbatch = frame.microbatch;
  context.coordinates = coordinates[rank];
  if (!frame.scalars.empty())
    context.scalars = frame.scalars[rank];
  return context;
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

LogicalResult Machine::runBlock(Block &block, Frame &frame) {
  for (Operation &op : block)
    if (failed(execute(op, frame)))
      return failure();
  return success();
}

LogicalResult Machine::execute(Operation &op, Frame &frame) {
  return TypeSwitch<Operation *, LogicalResult>(&op)
      .Case([&](EvaluableCollective op) {
        return op.getEvaluationGroup()
                   ? exchange(op, frame)
                   : evaluate(cast<Evaluable>(op.getOperation()), frame);
      })
      .Case([&](InvokeOp op) { return invoke(op, frame); })
      .Case([&](MicrobatchesOp op) { return loop(op, frame); })
      .Case([&](LaunchOp op) { return launch(op, frame); })
      .Case([&](GemmOp op) { return multiply(op, frame); })
      .Case([&](CallOp op) { return callLayer(op, frame); })
      .Case([&](Evaluable evaluable) { return evaluate(evaluable, frame); })
      .Case([&](YieldOp op) {
        FailureOr<SmallVector<RankTensors>> operands = operandsOf(*op, frame);
        if (succeeded(operands))
          frame.yielded = std::move(*operands);
        return LogicalResult(operands);
      })
      .Case([&](LossOp op) -> LogicalResult {
        if (!frame.model)
          return op.emitOpError("stands outside a model");
        FailureOr<SmallVector<RankTensors>> operands = operandsOf(*op, frame);
        if (succeeded(operands))
          frame.model->losses.push_back({(*operands)[0], (*operands)[1],
                                         op.getWeight().convertToDouble()});
        return operands;
      })
      .Case([&](OutputOp op) -> LogicalResult {
        if (!frame.model)
          return op.emitOpError("stands outside a model");
        FailureOr<SmallVector<RankTensors>> operands = operandsOf(*op, frame);
        if (succeeded(operands))
          frame.model->outputs[op.getName().str()] = (*operands)[0];
        return operands;
      })
      .Default([](Operation *op) {
        return op->emitOpError(
            "has no reference evaluation; the interpreter runs models, derived "
            "programs and localized programs (reshard is planned into "
            "collectives by plan-reshards)");
      });
}

LogicalResult Machine::evaluate(Evaluable op, Frame &frame) {
  for (Type type : op->getResultTypes())
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      if (isTooLarge(tensor.getShape()))
        return op->emitOpError("makes ")
               << tensor << ", which is too large for the reference";
  FailureOr<SmallVector<RankTensors>> operands = operandsOf(*op, frame);
  if (failed(operands))
    return failure();
  SmallVector<RankTensors> results(op->getNumResults());
  for (int64_t rank = 0; rank < numRanks(); ++rank) {
    TensorVector own;
    for (RankTensors &operand : *operands)
      own.push_back(std::move(operand[rank]));
    EvalContext context = contextOf(frame, rank);
    FailureOr<TensorVector> values = op.evaluate(own, context);
    if (failed(values))
      return failure();
    if (values->size() != results.size())
      return op->emitOpError("evaluates to ") << values->size() << " values";
    for (auto [result, value] : llvm::zip(results, *values))
      result.push_back(std::move(value));
  }
  return define(op, results, frame);
}

LogicalResult Machine::multiply(GemmOp op, Frame &frame) {
  if (failed(evaluate(cast<Evaluable>(*op), frame)))
    return failure();
  if (op.getAcc())
    frame.overwrite(op.getAcc());
  return success();
}

LogicalResult Machine::exchange(EvaluableCollective op, Frame &frame) {
  FailureOr<SmallVector<RankTensors>> operands = operandsOf(*op, frame);
  if (failed(operands))
    return failure();
  GroupAttr group = op.getEvaluationGroup();
  if (!mesh || group.getMesh() != mesh)
    return op->emitOpError("works on ")
           << group.getMesh()
           << (mesh ? ", but the program runs on "
                    : ", but the program runs "
                      "on one rank")
           << (mesh ? Attribute(mesh) : Attribute());
  RankTensors result(numRanks());
  for (ArrayRef<int64_t> ranks : groupsOf(group)) {
    TensorVector members;
    for (int64_t rank : ranks)
      members.push_back((*operands)[0][rank]);
    for (auto [rank, tensor] : llvm::zip(ranks, op.evaluateGroup(members)))
      result[rank] = tensor;
  }
  return define(op, {result}, frame);
}

const std::vector<SmallVector<int64_t>> &Machine::groupsOf(GroupAttr group) {
  auto [entry, isNew] = groups.try_emplace(group);
  if (!isNew)
    return entry->second;
  // Ranks of one group agree once the group's digits are taken out.
  llvm::MapVector<int64_t, SmallVector<int64_t>> byRest;
  for (int64_t rank = 0; rank < numRanks(); ++rank) {
    int64_t rest = 0;
    for (auto [axis, size] : llvm::enumerate(mesh.getSizes())) {
      int64_t index = coordinates[rank][axis];
      for (AxisRef ref : group.getAxes())
        if (ref.axis == axis)
          index -= mesh.coordinate(ref, coordinates[rank]) *
                   (size / (ref.pre * ref.size));
      rest = rest * size + index;
    }
    SmallVector<int64_t> &members = byRest[rest];
    members.resize(group.getNumMembers());
    members[group.member(coordinates[rank])] = rank;
  }
  for (auto &[rest, members] : byRest)
    entry->second.push_back(members);
  return entry->second;
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

LogicalResult Machine::enter(Operation *op, FunctionOpInterface function,
                             ArrayRef<RankTensors> arguments, Frame &inner,
                             Frame &outer) {
  if (inner.depth > maxDepth)
    return op->emitOpError("calls nest deeper than ") << maxDepth;
  if (function.getFunctionBody().empty())
    return function.emitOpError("has no body");
  Block &body = function.getFunctionBody().front();
  if (failed(bindArguments(function, body, arguments, inner)) ||
      failed(runBlock(body, inner)))
    return failure();
  return define(op, inner.yielded, outer);
}

template <typename OpT>
static FailureOr<OpT> lookup(ModuleOp module, Operation *op, StringRef name) {
  if (auto found = module.lookupSymbol<OpT>(name))
    return found;
  return op->emitOpError("finds no @") << name;
}

LogicalResult Machine::invoke(InvokeOp op, Frame &frame) {
  FailureOr<SmallVector<RankTensors>> operands = operandsOf(*op, frame);
  FailureOr<SegmentOp> segment = lookup<SegmentOp>(module, op, op.getCallee());
  if (failed(operands) || failed(segment))
    return failure();
  Frame inner = frame.inner();
  inner.instance = instanceKey(op.getInstance());
  if (failed(enter(op, *segment, *operands, inner, frame)))
    return failure();
  for (unsigned i = 0, e = segment->getNumResults(); i < e; ++i)
    if (auto operand =
            segment->getResultAttrOfType<IntegerAttr>(i, attr::alias))
      if (operand.getInt() < int64_t(op.getOperands().size()))
        frame.overwrite(op.getOperands()[operand.getInt()]);
  return success();
}

LogicalResult Machine::callLayer(CallOp op, Frame &frame) {
  FailureOr<SmallVector<RankTensors>> operands = operandsOf(*op, frame);
  FailureOr<LayerOp> layer = lookup<LayerOp>(module, op, op.getCallee());
  if (failed(operands) || failed(layer))
    return failure();
  for (unsigned i = layer->getNumActivations(), e = layer->getNumArguments();
       i < e; ++i) {
    std::string path =
        op.getParameterPath(layer->getParameterName(i).getValue());
    auto found = frame.parameters ? frame.parameters->find(path)
                                  : NamedValues::const_iterator();
    if (!frame.parameters || found == frame.parameters->end())
      return op.emitOpError("parameter ") << path << " was not given";
    operands->push_back(found->second);
  }
  Frame inner = frame.inner();
  inner.instance = instanceKey(op.getScope());
  return enter(op, *layer, *operands, inner, frame);
}

/// Slice k of the leading dimension, which is dropped.
static RankTensors sliceOf(const RankTensors &value, int64_t k) {
  RankTensors result;
  for (const Tensor &tensor : value)
    result.push_back(
        slice(tensor, 0, k, 1).reshaped(tensor.getShape().drop_front()));
  return result;
}

LogicalResult Machine::loop(MicrobatchesOp op, Frame &frame) {
  FailureOr<SmallVector<RankTensors>> operands = operandsOf(*op, frame);
  if (failed(operands))
    return failure();
  size_t numInputs = op.getInputs().size();
  ArrayRef<RankTensors> inputs = ArrayRef(*operands).take_front(numInputs);
  SmallVector<RankTensors> carried(ArrayRef(*operands).drop_front(numInputs));
  Block &body = op.getBody().front();
  int64_t outer = frame.microbatch;
  for (int64_t k = 0, count = op.getCount(); k < count; ++k) {
    frame.microbatch = k;
    SmallVector<RankTensors> arguments;
    for (const RankTensors &input : inputs)
      arguments.push_back(sliceOf(input, k));
    llvm::append_range(arguments, carried);
    if (failed(bindArguments(op, body, arguments, frame)) ||
        failed(runBlock(body, frame)))
      return failure();
    carried = std::move(frame.yielded);
  }
  frame.microbatch = outer;
  return define(op, carried, frame);
}

LogicalResult Machine::launch(LaunchOp op, Frame &frame) {
  FailureOr<SmallVector<RankTensors>> operands = operandsOf(*op, frame);
  FailureOr<KernelOp> kernel = lookup<KernelOp>(module, op, op.getCallee());
  if (failed(operands) || failed(kernel))
    return failure();
  Frame inner = frame.inner();
  for (int64_t rank = 0; rank < numRanks(); ++rank) {
    EvalContext context = contextOf(frame, rank);
    SmallVector<int64_t> scalars;
    for (Attribute scalar : op.getScalars()) {
      FailureOr<int64_t> value = context.scalar(op, scalar);
      if (failed(value))
        return failure();
      scalars.push_back(*value);
    }
    inner.scalars.push_back(std::move(scalars));
  }
  if (failed(enter(op, *kernel, *operands, inner, frame)))
    return failure();
  for (int64_t operand : op.getAliases())
    if (operand >= 0 && operand < int64_t(op.getOperands().size()))
      frame.overwrite(op.getOperands()[operand]);
  return success();
}

//===----------------------------------------------------------------------===//
// Entry points
//===----------------------------------------------------------------------===//

FailureOr<SmallVector<RankTensors>>
Machine::call(FunctionOpInterface function, ArrayRef<RankTensors> arguments,
              StringRef instance, int64_t microbatch) {
  if (function.getFunctionBody().empty())
    return function.emitOpError("has no body");
  Frame frame;
  frame.instance = instanceKey(instance);
  frame.microbatch = microbatch;
  Block &body = function.getFunctionBody().front();
  if (failed(bindArguments(function, body, arguments, frame)) ||
      failed(runBlock(body, frame)))
    return failure();
  return std::move(frame.yielded);
}

FailureOr<ModelResult> Machine::run(ModelOp model, const NamedValues &inputs,
                                    const NamedValues &parameters,
                                    int64_t microbatch) {
  SmallVector<RankTensors> arguments;
  for (unsigned i = 0, e = model.getNumArguments(); i < e; ++i) {
    auto name = model.getArgAttrOfType<StringAttr>(i, attr::name);
    auto found = name ? inputs.find(name.getValue().str()) : inputs.end();
    if (found == inputs.end())
      return model.emitOpError("input ")
             << (name ? name.getValue() : "without a name") << " was not given";
    arguments.push_back(found->second);
  }
  ModelResult result;
  Frame frame;
  frame.microbatch = microbatch;
  frame.parameters = &parameters;
  frame.model = &result;
  Block &body = model.getBody().front();
  if (failed(bindArguments(model, body, arguments, frame)) ||
      failed(runBlock(body, frame)))
    return failure();
  return result;
}

MeshAttr interp::meshOf(StepOp step) {
  bool localized = false;
  for (unsigned i = 0, e = step.getNumArguments(); i < e; ++i)
    localized |= bool(step.getArgAttrOfType<DistAttr>(i, "stretto.dist"));
  for (unsigned i = 0, e = step.getNumResults(); i < e; ++i)
    localized |= bool(step.getResultAttrOfType<DistAttr>(i, "stretto.dist"));
  auto module = step->getParentOfType<ModuleOp>();
  return localized ? module->getAttrOfType<MeshAttr>(attr::mesh) : MeshAttr();
}

FailureOr<NamedValues> interp::runStep(StepOp step, const NamedValues &bindings,
                                       uint64_t seed, uint64_t stepNumber) {
  Machine machine(step->getParentOfType<ModuleOp>(), meshOf(step), seed,
                  stepNumber);
  SmallVector<RankTensors> arguments;
  for (unsigned i = 0, e = step.getNumArguments(); i < e; ++i) {
    auto name = step.getArgAttrOfType<StringAttr>(i, attr::binding);
    auto found = name ? bindings.find(name.getValue().str()) : bindings.end();
    if (found == bindings.end())
      return step.emitOpError("argument #")
             << i << " (" << (name ? name.getValue() : "no binding")
             << ") was not given";
    arguments.push_back(found->second);
  }
  FailureOr<SmallVector<RankTensors>> values = machine.call(step, arguments);
  if (failed(values))
    return failure();
  NamedValues results;
  for (auto [i, value] : llvm::enumerate(*values)) {
    auto name = step.getResultAttrOfType<StringAttr>(i, attr::binding);
    if (!name)
      return step.emitOpError("result #") << i << " has no binding";
    results[name.getValue().str()] = value;
  }
  return results;
}
