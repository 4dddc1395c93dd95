//===- LayerBody.cpp - a private copy of a layer to work on ---------------===//

#include "LayerBody.h"
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

ConstraintAttr stretto::restOfSums(LayerOp layer, unsigned argument) {
  FunctionOpInterface function = layer;
  auto rest = function.getArgAttrOfType<DictionaryAttr>(argument, attr::rest);
  if (!rest || rest.getAs<StringAttr>("reduce").getValue() != "microbatch")
    return {};
  return rest.getAs<ConstraintAttr>("grads");
}

ValueAttributes stretto::argumentAttributesOf(LayerOp layer, unsigned argument,
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
  return argumentAttributesOf(layer(), argument, role);
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
