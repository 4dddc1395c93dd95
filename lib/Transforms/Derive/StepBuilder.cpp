//===- StepBuilder.cpp - the body of a step -------------------------------===//

#include "StepBuilder.h"
#include "ParameterGather.h"

using namespace mlir;
using namespace stretto;
using llvm::BitVector;

//===----------------------------------------------------------------------===//
// Owners of parameters
//===----------------------------------------------------------------------===//

/// Owners come in the order of their calls, as parameters do.
StepContext::StepContext(ModuleOp module, const ModelGraph &graph,
                         AppliedRecipe applied)
    : module(module), graph(graph), applied(std::move(applied)),
      precision(module.getContext(), this->applied.recipe.precision),
      loss(graph), segments(module, precision) {
  for (auto [position, entry] : llvm::enumerate(graph.parameters)) {
    const ModelParameter &parameter = entry.second;
    if (owners.empty() || owners.back().call != parameter.owner)
      owners.push_back(
          {parameter.owner, parameter.layer, unsigned(position), {}});
    owners.back().arguments.push_back(parameter.argument);
  }
}

ConstraintAttr stretto::useOf(FunctionOpInterface layer, unsigned argument) {
  if (auto use =
          layer.getArgAttrOfType<ConstraintAttr>(argument, attr::constraint))
    return use;
  auto type = cast<RankedTensorType>(layer.getArgumentTypes()[argument]);
  size_t rank = type.getRank();
  return ConstraintAttr::get(
      layer.getContext(), {}, SmallVector<int64_t>(rank, 0),
      SmallVector<bool>(rank, false), SmallVector<int64_t>(rank, 0),
      StringAttr::get(layer.getContext(), ""));
}

/// What the argument or result that stands for a parameter says of it. Moments
/// and gradients lie as the parameter does unless the plan says otherwise.
static ValueAttributes describe(LayerOp layer, unsigned argument,
                                StringRef kind) {
  FunctionOpInterface function = layer;
  ValueAttributes attributes(layer.getContext());
  if (kind == "param")
    attributes.copy(function.getArgAttrDict(argument),
                    {attr::dims, attr::constraint, attr::init, attr::noDecay});
  auto rest = function.getArgAttrOfType<DictionaryAttr>(argument, attr::rest);
  if (rest && kind == "param")
    attributes.set(attr::constraint, useOf(layer, argument));
  if (rest)
    attributes.set(attr::constraint,
                   rest.get(kind == "param" ? "master" : "state"));
  return attributes;
}

MembersAttr StepContext::membersOf(const ParameterOwner &owner,
                                   StringRef kind) {
  LayerOp layer = owner.layer;
  MembersAttr &entry = members[{layer, owner.arguments, kind == "param"}];
  if (entry)
    return entry;
  SmallVector<Attribute> list;
  for (unsigned argument : owner.arguments)
    list.push_back(describe(layer, argument, kind)
                       .set("name", layer.getParameterName(argument))
                       .get());
  return entry = MembersAttr::get(layer.getContext(),
                                  ArrayAttr::get(layer.getContext(), list));
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

StepBuilder::StepBuilder(StepContext &context, StringRef name)
    : context(context),
      f(FunctionBuilder::step(context.module,
                              ModelOp(context.graph.model).getLoc(), name)) {}

//===----------------------------------------------------------------------===//
// Arguments and results
//===----------------------------------------------------------------------===//

/// A single parameter is bound by its own name, several by their instance's.
ValueAttributes StepBuilder::attributesOf(const ParameterOwner &owner,
                                          StringRef kind) const {
  CallOp call = owner.call;
  if (owner.size() > 1)
    return ValueAttributes(call.getContext())
        .binding(Twine(kind) + ":" + call.getScope())
        .set(attr::members, context.membersOf(owner, kind));
  StringAttr path = context.graph.pathOf(call, owner.arguments.front());
  return describe(owner.layer, owner.arguments.front(), kind)
      .binding(Twine(kind) + ":" + path.getValue());
}

SmallVector<TensorRef> StepBuilder::addPerParameter(StringRef kind) {
  SmallVector<Value> arguments;
  for (const ParameterOwner &owner : context.owners) {
    ArrayRef<Type> types = LayerOp(owner.layer).getArgumentTypes();
    auto own = llvm::map_to_vector(owner.arguments, [&](unsigned i) {
      return context.precision.master(types[i]);
    });
    arguments.push_back(
        f.addArgument(bundleType(own), attributesOf(owner, kind)));
  }
  return tensorsOf(arguments);
}

void StepBuilder::addParameters() { parameters = addPerParameter("param"); }

void StepBuilder::addResultPerParameter(ArrayRef<TensorRef> tensors,
                                        StringRef kind) {
  for (const ParameterOwner &owner : context.owners)
    f.addResult(tensors[owner.first].value, attributesOf(owner, kind));
}

/// The same constraint under a leading dimension that is not sharded.
static ConstraintAttr withLeadingDim(ConstraintAttr constraint) {
  if (!constraint)
    return constraint;
  SmallVector<int64_t> ends{0}, priorities{0};
  SmallVector<bool> open{false};
  llvm::append_range(ends, constraint.getDimEnds());
  llvm::append_range(priorities, constraint.getPriorities());
  llvm::append_range(open, constraint.getOpen());
  return ConstraintAttr::get(
      constraint.getContext(), constraint.getFlatAxes(), ends, open, priorities,
      constraint.getReplicatedAxes(), constraint.getPartialAxes(),
      constraint.getCause());
}

void StepBuilder::addInputs(const llvm::DenseSet<Value> &needed,
                            int64_t leading) {
  FunctionOpInterface model = context.graph.model;
  for (BlockArgument input : model.getFunctionBody().front().getArguments()) {
    if (!needed.contains(input))
      continue;
    unsigned index = input.getArgNumber();
    auto type = cast<RankedTensorType>(input.getType());
    SmallVector<int64_t> shape{leading};
    llvm::append_range(shape, type.getShape());
    ValueAttributes attributes(f.getContext());
    attributes.binding(
        "input:" +
        model.getArgAttrOfType<StringAttr>(index, attr::name).getValue());
    if (auto dims = model.getArgAttrOfType<ArrayAttr>(index, attr::dims)) {
      SmallVector<Attribute> names{f.b.getStringAttr("_")};
      llvm::append_range(names, dims);
      attributes.set(attr::dims, f.b.getArrayAttr(names));
    }
    attributes.set(attr::constraint,
                   withLeadingDim(model.getArgAttrOfType<ConstraintAttr>(
                       index, attr::constraint)));
    Value argument = f.addArgument(
        RankedTensorType::get(shape, type.getElementType()), attributes);
    inputs.push_back({input, argument});
  }
}

Value StepBuilder::addHyper() {
  constexpr int64_t numHyperValues = 4;
  return f.addArgument(
      RankedTensorType::get({numHyperValues}, f.b.getF32Type()),
      ValueAttributes(f.getContext()).binding("hyper"));
}

void StepBuilder::addOutput(Value value, const Twine &name) {
  f.addResult(value, ValueAttributes(f.getContext()).binding("output:" + name));
}

//===----------------------------------------------------------------------===//
// Loops and calls
//===----------------------------------------------------------------------===//

Value StepBuilder::zeros(Type type) {
  return ZerosOp::create(f.b, f.getLoc(), type);
}

SmallVector<Value> StepBuilder::zeros(TypeRange types) {
  return llvm::map_to_vector(types, [&](Type type) { return zeros(type); });
}

SmallVector<Value> StepBuilder::loop(
    int64_t count, const llvm::DenseSet<Value> &needed, ValueRange carried,
    llvm::function_ref<void(Environment &, MutableArrayRef<Value>)> body) {
  SmallVector<Value> sliced, models;
  for (auto [model, argument] : inputs)
    if (needed.contains(model)) {
      models.push_back(model);
      sliced.push_back(argument);
    }
  auto loop = MicrobatchesOp::create(f.b, f.getLoc(), carried.getTypes(), count,
                                     sliced, carried);
  OpBuilder::InsertionGuard guard(f.b);
  Block *block = f.b.createBlock(&loop.getBody());
  Environment environment;
  for (Value model : models)
    environment[model] = block->addArgument(model.getType(), f.getLoc());
  SmallVector<Value> values;
  for (Value value : carried)
    values.push_back(block->addArgument(value.getType(), f.getLoc()));
  body(environment, values);
  YieldOp::create(f.b, f.getLoc(), values);
  return SmallVector<Value>(loop.getResults());
}

SmallVector<TensorRef> StepBuilder::operandsOf(CallOp call,
                                               ArrayRef<unsigned> arguments,
                                               const Environment &environment) {
  unsigned activations = call.getOperands().size();
  return llvm::map_to_vector(arguments, [&](unsigned i) {
    return i < activations ? TensorRef(environment.lookup(call.getOperand(i)))
                           : parameters[context.graph.positionOf(call, i)];
  });
}

//===----------------------------------------------------------------------===//
// Forward only
//===----------------------------------------------------------------------===//

ForwardPlan::ForwardPlan(StepContext &context, StringRef direction,
                         ValueRange wanted, ValueRange accumulated) {
  needed.insert(wanted.begin(), wanted.end());
  auto bitsIn = [](CallOp call, auto contains) {
    BitVector bits(call.getNumResults());
    for (auto [index, result] : llvm::enumerate(call.getResults()))
      bits[index] = contains(result);
    return bits;
  };
  for (CallOp call : llvm::reverse(context.graph.calls)) {
    ForwardUse use{direction,
                   bitsIn(call, [&](Value v) { return needed.contains(v); }),
                   bitsIn(call, [&](Value v) {
                     return llvm::is_contained(accumulated, v);
                   })};
    if (use.results.none() && use.accumulated.none())
      continue;
    const ForwardSegment *segment =
        context.segments.forward(context.graph.getLayer(call), use);
    for (unsigned i : segment->arguments)
      if (i < call.getOperands().size())
        needed.insert(call.getOperand(i));
    calls.push_back({call, segment});
  }
  std::reverse(calls.begin(), calls.end());
}

void ForwardPlan::emit(StepBuilder &step, ParameterGather &gather,
                       Environment &environment,
                       llvm::DenseMap<Value, Value> &totals) const {
  for (auto [call, segment] : calls) {
    gather.gatherForPass(call, segment->arguments);
    SmallVector<TensorRef> operands =
        step.operandsOf(call, segment->arguments, environment);
    for (unsigned index : segment->accumulated)
      operands.push_back(totals.lookup(CallOp(call).getResult(index)));
    InvokeOp invocation =
        invoke(step.f.b, segment->segment, operands, CallOp(call).getScope());
    gather.endPass();
    unsigned position = 0;
    for (unsigned index : segment->results)
      environment[CallOp(call).getResult(index)] =
          invocation.getResult(position++);
    for (unsigned index : segment->accumulated)
      totals[CallOp(call).getResult(index)] = invocation.getResult(position++);
  }
}
