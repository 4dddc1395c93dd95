//===- LayerBody.cpp - a private copy of a layer to work on ---------------===//

#include "LayerBody.h"
#include "LayerSegments.h"
#include "stretto/Transforms/Derive/Models.h"

using namespace mlir;
using namespace stretto;

Block &LayerBody::block() const { return LayerOp(*clone).getBody().front(); }

LayerBody::LayerBody(LayerOp original, Randomness randomness)
    : clone(cast<LayerOp>(original->clone())),
      numArguments(original.getNumArguments()),
      numActivations(original.getNumActivations()) {
  if (randomness == Randomness::Keyed)
    setKeys();
  else
    removeRandomness();
  mergeEqualOperations(*clone);
  for (Operation &op : block().without_terminator())
    ownOperations.push_back(&op);
  names.emplace(*clone);
}

void LayerBody::setKeys() {
  DimensionNames dimensions(*clone);
  int64_t id = 0;
  for (Operation &op : llvm::make_early_inc_range(block())) {
    auto random = dyn_cast<RandomDraw>(op);
    if (!random)
      continue;
    if (random.draws())
      random.setKey(++id, dimensions.find(op.getOperand(0), "batch"));
    else
      random.makeDeterministic();
  }
}

void LayerBody::removeRandomness() {
  for (Operation &op : llvm::make_early_inc_range(block()))
    if (auto random = dyn_cast<RandomDraw>(op))
      random.makeDeterministic();
}

/// Where sums of gradients rest that are reduced term by term.
static ConstraintAttr restOfSums(LayerOp layer, unsigned argument) {
  FunctionOpInterface function = layer;
  auto rest = function.getArgAttrOfType<DictionaryAttr>(argument, attr::rest);
  if (!rest || rest.getAs<StringAttr>("reduce").getValue() != "microbatch")
    return {};
  return rest.getAs<ConstraintAttr>("grads");
}

static ValueAttributes attributesOf(LayerOp layer, unsigned argument,
                                    StringRef role) {
  ValueAttributes attributes(layer.getContext(), role);
  FunctionOpInterface function = layer;
  return attributes.copy(
      function.getArgAttrDict(argument),
      {attr::name, attr::dims, attr::constraint, attr::param});
}

bool LayerBody::reducesTerms(unsigned argument) const {
  return bool(restOfSums(layer(), argument));
}

ValueAttributes LayerBody::argumentAttributes(unsigned argument,
                                              StringRef role) const {
  return attributesOf(layer(), argument, role);
}

ValueAttributes LayerBody::argumentAttributes(unsigned argument) const {
  return argumentAttributes(argument, isActivation(argument) ? role::activation
                                                             : role::param);
}

ValueAttributes LayerBody::resultAttributes(unsigned index,
                                            StringRef role) const {
  ValueAttributes attributes(layer().getContext(), role);
  attributes.set(attr::dims, names->attributeOf(result(index)));
  FunctionOpInterface function = layer();
  return attributes.copy(function.getResultAttrDict(index),
                         {attr::dims, attr::constraint});
}

ValueAttributes LayerBody::savedAttributes(Value value) const {
  ValueAttributes attributes(layer().getContext(), role::saved);
  return attributes.set(attr::dims, names->attributeOf(value));
}

SegmentOp stretto::makeAccumulateSegment(ModuleOp module, LayerOp layer,
                                         ArrayRef<unsigned> arguments,
                                         const Precision &precision,
                                         StringRef name) {
  FunctionBuilder f = FunctionBuilder::segment(
      module, layer.getLoc(), name, "accumulate", layer.getSymNameAttr());
  ArrayRef<Type> types = layer.getArgumentTypes();
  SmallVector<Value> terms;
  for (unsigned i : arguments)
    terms.push_back(f.addArgument(precision.term(types[i]),
                                  attributesOf(layer, i, role::term)));
  for (auto [i, term] : llvm::zip(arguments, terms)) {
    ValueAttributes attributes = attributesOf(layer, i, role::accumulator);
    attributes.set(attr::rest, restOfSums(layer, i));
    unsigned number = f.getNumArguments();
    Value sum = f.addArgument(precision.gradient(types[i]), attributes);
    term = precision.reduceAt(f.b, term, restOfSums(layer, i));
    f.addResult(AddOp::create(f.b, layer.getLoc(), sum, term),
                attributes.alias(number));
  }
  return f.finishSegment();
}

Slice::Slice(ValueRange roots, llvm::function_ref<bool(Value)> stop) {
  SmallVector<Value> worklist(roots);
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    if (isa<BlockArgument>(value)) {
      arguments.insert(value);
    } else if (stop && stop(value)) {
      given.insert(value);
    } else if (operations.insert(value.getDefiningOp()).second) {
      llvm::append_range(worklist, value.getDefiningOp()->getOperands());
    }
  }
}

void stretto::cloneSlice(OpBuilder &b, Block &block, const Slice &slice,
                         IRMapping &mapping) {
  for (Operation &op : block)
    if (slice.operations.contains(&op))
      b.clone(op, mapping);
}
