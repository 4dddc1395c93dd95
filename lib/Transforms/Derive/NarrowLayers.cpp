//===- NarrowLayers.cpp - layers that compute in a narrow type ------------===//
//
// From the model's inputs on: a call's operands say the types of its layer's
// arguments, the layer's operations those of its results. An operation works in
// the narrow type unless all that it reads is wide or some of it is a statistic
// (a loss per token, a log-sum-exp), which is not rounded on its way to the
// loss. What ends in rank 0 is a sum of a loss, a count or the like: it is made
// wide, as far back as the reductions that it is made of.
//
//===----------------------------------------------------------------------===//

#include "Precision.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/DenseSet.h"
#include <map>

using namespace mlir;
using namespace stretto;

namespace {

/// The body of one layer whose arguments have their final types.
class BodyNarrower {
public:
  BodyNarrower(LayerOp layer, const Precision &precision)
      : layer(layer), narrow(precision.getCompute()),
        wide(precision.getRest()) {}

  void run() {
    Block &block = layer.getBody().front();
    for (Operation &op : llvm::make_early_inc_range(block.without_terminator()))
      rewrite(&op);
    widenScalars(block.getTerminator());
    eraseUnused(block);
    cast<FunctionOpInterface>(layer.getOperation())
        .setType(FunctionType::get(layer.getContext(), block.getArgumentTypes(),
                                   block.getTerminator()->getOperandTypes()));
  }

private:
  bool isOurs(Value value) const {
    return isFloatTensor(value) &&
           (elementOf(value) == wide || elementOf(value) == narrow);
  }
  bool isConstant(Value value) const {
    return value.getDefiningOp() &&
           value.getDefiningOp()->getNumOperands() == 0;
  }

  Type typeFor(Operation *op) const;
  void rewrite(Operation *op);
  void convertOperands(Operation *op, Type element);
  void setResults(Operation *op, Type element);
  void widenScalars(Operation *terminator);
  static void eraseUnused(Block &block);

  LayerOp layer;
  Type narrow, wide;
  llvm::DenseSet<Value> statistics;
};

} // namespace

/// The type that the operation works in. Constants take any.
Type BodyNarrower::typeFor(Operation *op) const {
  bool readsWide = false, readsNarrow = false, readsStatistic = false;
  for (Value operand : op->getOperands()) {
    if (!isOurs(operand) || isConstant(operand))
      continue;
    (elementOf(operand) == wide ? readsWide : readsNarrow) = true;
    readsStatistic |= statistics.contains(operand);
  }
  auto cost = dyn_cast<CostModel>(op);
  bool multiplies = cost && cost.getModelFlops(/*causal=*/false) > 0;
  if (multiplies && readsNarrow)
    return narrow;
  return readsStatistic || (readsWide && !readsNarrow) ? wide : narrow;
}

void BodyNarrower::convertOperands(Operation *op, Type element) {
  OpBuilder b(op);
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isOurs(operand.get()) || elementOf(operand.get()) == element)
      continue;
    if (!isConstant(operand.get())) {
      operand.set(convertTo(b, operand.get(), element));
      continue;
    }
    Value constant = b.clone(*operand.get().getDefiningOp())->getResult(0);
    constant.setType(withElement(constant.getType(), element));
    operand.set(constant);
  }
}

/// As the operation infers them, for some results are statistics.
void BodyNarrower::setResults(Operation *op, Type element) {
  SmallVector<Type> inferred;
  auto inference = dyn_cast<InferTypeOpInterface>(op);
  bool infers =
      inference && succeeded(inference.inferReturnTypes(
                       op->getContext(), op->getLoc(), op->getOperands(),
                       op->getAttrDictionary(), op->getPropertiesStorage(),
                       op->getRegions(), inferred));
  bool readsStatistic = llvm::any_of(op->getOperands(), [&](Value operand) {
    return statistics.contains(operand);
  });
  for (auto [index, result] : llvm::enumerate(op->getResults())) {
    if (!isOurs(result))
      continue;
    Type own = infers ? elementOf(inferred[index]) : element;
    result.setType(withElement(result.getType(), own));
    bool hasRank = cast<RankedTensorType>(result.getType()).getRank() > 0;
    if (hasRank && own == wide && (element == narrow || readsStatistic))
      statistics.insert(result);
  }
}

/// What is made of no float (a constant, a mask) stays wide until it meets a
/// narrow value.
void BodyNarrower::rewrite(Operation *op) {
  if (llvm::none_of(op->getOperands(), [&](Value v) { return isOurs(v); }))
    return;
  Type element = typeFor(op);
  convertOperands(op, element);
  setResults(op, element);
}

void BodyNarrower::widenScalars(Operation *terminator) {
  Widener widener(narrow, wide, /*shared=*/true);
  for (OpOperand &result : terminator->getOpOperands())
    if (isOurs(result.get()) &&
        cast<RankedTensorType>(result.get().getType()).getRank() == 0)
      result.set(widener.widen(result.get()));
}

void BodyNarrower::eraseUnused(Block &block) {
  SmallVector<Operation *> operations;
  for (Operation &op : block.without_terminator())
    operations.push_back(&op);
  for (Operation *op : llvm::reverse(operations))
    if (isOpTriviallyDead(op))
      op->erase();
}

//===----------------------------------------------------------------------===//
// The model
//===----------------------------------------------------------------------===//

namespace {
class ModelNarrower {
public:
  ModelNarrower(ModuleOp module, const Precision &precision)
      : symbols(module), precision(precision) {}

  void narrow(CallOp call);

private:
  /// The layer for a call with operands of these types.
  LayerOp layerFor(LayerOp original, TypeRange operands);
  LayerOp specialize(LayerOp original, TypeRange operands);

  SymbolTable symbols;
  const Precision &precision;
  std::map<std::pair<Operation *, std::vector<const void *>>, LayerOp> made;
  std::map<Operation *, OwningOpRef<LayerOp>> originals; // as they were
};
} // namespace

LayerOp ModelNarrower::specialize(LayerOp original, TypeRange operands) {
  auto [entry, isFirst] = originals.try_emplace(original);
  LayerOp layer = original;
  if (isFirst) {
    entry->second = cast<LayerOp>(original->clone());
  } else {
    layer = cast<LayerOp>(LayerOp(*entry->second)->clone());
    symbols.insert(layer, std::next(Block::iterator(original)));
  }
  for (auto [index, argument] :
       llvm::enumerate(layer.getBody().front().getArguments()))
    argument.setType(
        index < operands.size()
            ? operands[index]
            : withElement(argument.getType(), precision.getCompute()));
  BodyNarrower(layer, precision).run();
  return layer;
}

LayerOp ModelNarrower::layerFor(LayerOp original, TypeRange operands) {
  std::vector<const void *> key;
  for (Type type : operands)
    key.push_back(type.getAsOpaquePointer());
  LayerOp &layer = made[{original, key}];
  if (!layer)
    layer = specialize(original, operands);
  return layer;
}

void ModelNarrower::narrow(CallOp call) {
  LayerOp layer = layerFor(symbols.lookup<LayerOp>(call.getCallee()),
                           call.getOperandTypes());
  call.setCallee(layer.getSymName());
  for (auto [result, type] :
       llvm::zip(call.getResults(), layer.getResultTypes()))
    result.setType(type);
}

FailureOr<ModelGraph> stretto::narrowLayers(ModelGraph graph,
                                            const Precision &precision) {
  if (!precision.isMixed())
    return graph;
  ModelOp model = graph.model;
  auto module = model->getParentOfType<ModuleOp>();
  ModelNarrower narrower(module, precision);
  for (auto call : model.getBody().front().getOps<CallOp>())
    narrower.narrow(call);
  return ModelGraph::read(module);
}
