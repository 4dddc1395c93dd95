//===- SampleCoupling.cpp - do samples meet outside the loss? -------------===//
//
// Micro-batches and shards of the batch compute apart what one device computes
// together. That is the same only if samples meet in nothing but sums that are
// added up over micro-batches and ranks: the loss terms. Values that are such
// sums
// ("batch sums") may pass through operations that are linear in them.
//
//===----------------------------------------------------------------------===//

#include "stretto/Transforms/Apply/ApplyRecipe.h"
#include "stretto/Transforms/Apply/DimensionNames.h"
#include "stretto/Transforms/Apply/VerifyModel.h"

using namespace mlir;
using namespace stretto;

namespace {
class LayerCoupling {
public:
  explicit LayerCoupling(LayerOp layer) : layer(layer), names(layer) {}

  /// Diagnoses operations that couple samples.
  LogicalResult run();
  bool isBatchSum(unsigned result) {
    return sums.contains(
        layer.getBody().front().getTerminator()->getOperand(result));
  }

private:
  LogicalResult visit(ShardingRule op);
  bool hasFactor(const DimFactors &dims, unsigned factor) const;
  std::optional<unsigned> batchFactor(Operation *op, const OpRule &rule) const;
  LogicalResult visitSums(Operation *op, const OpRule &rule);
  const LinearSet *linearSet(Operation *op, const OpRule &rule) const;

  LayerOp layer;
  DimensionNames names;
  llvm::DenseSet<Value> sums;
};
} // namespace

bool LayerCoupling::hasFactor(const DimFactors &dims, unsigned factor) const {
  return llvm::any_of(
      dims, [&](const auto &dim) { return llvm::is_contained(dim, factor); });
}

/// The factor of the dimension called batch in some operand.
std::optional<unsigned> LayerCoupling::batchFactor(Operation *op,
                                                   const OpRule &rule) const {
  for (auto [operand, dims] : llvm::zip(op->getOperands(), rule.operands))
    if (std::optional<int64_t> dim = names.find(operand, "batch"))
      if (dims[*dim].size() == 1)
        return dims[*dim][0];
  return std::nullopt;
}

LogicalResult LayerCoupling::visit(ShardingRule op) {
  OpRule rule = op.getShardingRule();
  std::optional<unsigned> batch = batchFactor(op, rule);
  if (batch) {
    const Factor &factor = rule.factors[*batch];
    bool addsUp = factor.kind == FactorKind::Reduction &&
                  factor.reduce == ReduceKind::Sum;
    if (factor.kind != FactorKind::Parallel && !addsUp)
      return op->emitOpError(
          "couples samples along 'batch'; only sums that end "
          "in stretto.loss may, when micro-batches or axes "
          "split the batch");
    for (auto [index, result] : llvm::enumerate(op->getResults()))
      if (addsUp && !hasFactor(rule.results[index], *batch))
        sums.insert(result);
  }
  return visitSums(op, rule);
}

/// An operation on batch sums must be linear in them, and give no value per
/// sample.
LogicalResult LayerCoupling::visitSums(Operation *op, const OpRule &rule) {
  if (llvm::none_of(op->getOperands(),
                    [&](Value operand) { return sums.contains(operand); }))
    return success();
  const LinearSet *set = linearSet(op, rule);
  for (OpResult result : op->getResults()) {
    if (set && !set->reaches(result.getResultNumber()))
      continue;
    if (!set || names.find(result, "batch"))
      return op->emitOpError("uses a sum over 'batch', which is known only "
                             "after all micro-batches and ranks; such sums may "
                             "only be added and scaled on the way to "
                             "stretto.loss");
    sums.insert(result);
  }
  return success();
}

/// The linear set of the operation that is the operands that are batch sums, or
/// null.
const LinearSet *LayerCoupling::linearSet(Operation *op,
                                          const OpRule &rule) const {
  const auto *found = llvm::find_if(rule.linearSets, [&](const LinearSet &set) {
    return llvm::all_of(llvm::enumerate(op->getOperands()), [&](auto operand) {
      return sums.contains(operand.value()) ==
             llvm::is_contained(set.operands, unsigned(operand.index()));
    });
  });
  return found == rule.linearSets.end() ? nullptr : found;
}

LogicalResult LayerCoupling::run() {
  for (Operation &op : layer.getBody().front())
    if (auto rule = dyn_cast<ShardingRule>(op); rule && failed(visit(rule)))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// The model
//===----------------------------------------------------------------------===//

/// Does a constraint put axes on a dimension called batch?
static bool shardsBatch(FunctionOpInterface function) {
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    auto dims = function.getArgAttrOfType<ArrayAttr>(i, attr::dims);
    auto constraint =
        function.getArgAttrOfType<ConstraintAttr>(i, attr::constraint);
    if (!dims || !constraint)
      continue;
    for (auto [dim, name] : llvm::enumerate(dims.getAsRange<StringAttr>()))
      if (name.getValue() == "batch" && dim < constraint.getRank() &&
          !constraint.getDimAxes(dim).empty())
        return true;
  }
  return false;
}

static FailureOr<bool> splitsBatch(ModuleOp module, const ModelGraph &graph) {
  FailureOr<AppliedRecipe> applied = readRecipeAttribute(module);
  if (failed(applied))
    return failure();
  if (applied->microbatches > 1 || shardsBatch(graph.model))
    return true;
  return llvm::any_of(module.getOps<LayerOp>(),
                      [](LayerOp layer) { return shardsBatch(layer); });
}

LogicalResult stretto::verifyNoCoupling(ModuleOp module,
                                        const ModelGraph &graph) {
  FailureOr<bool> splits = splitsBatch(module, graph);
  if (failed(splits) || !*splits)
    return failure(failed(splits));
  DenseMap<Operation *, std::unique_ptr<LayerCoupling>> layers;
  for (CallOp call : graph.calls) {
    std::unique_ptr<LayerCoupling> &layer = layers[graph.getLayer(call)];
    if (!layer) {
      layer = std::make_unique<LayerCoupling>(graph.getLayer(call));
      if (failed(layer->run()))
        return failure();
    }
    for (OpResult result : call.getResults())
      for (Operation *user : result.getUsers())
        if (layer->isBatchSum(result.getResultNumber()) && !isa<LossOp>(user))
          return (user->emitOpError("uses a sum over 'batch', which only "
                                    "stretto.loss may"))
                     .attachNote(call.getLoc())
                 << "result " << result.getResultNumber() << " of this call";
  }
  return success();
}
