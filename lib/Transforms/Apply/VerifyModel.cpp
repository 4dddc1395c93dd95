//===- VerifyModel.cpp - the model contract -------------------------------===//

#include "stretto/Transforms/Apply/VerifyModel.h"
#include "mlir/IR/TypeUtilities.h"
#include "stretto/Transforms/Apply/Passes.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace stretto;

namespace stretto {
#define GEN_PASS_DEF_VERIFYMODELPASS
#include "stretto/Transforms/Apply/Passes.h.inc"
} // namespace stretto

//===----------------------------------------------------------------------===//
// Inputs, parameters, outputs
//===----------------------------------------------------------------------===//

/// Every input has a name of its own and the samples in its first dimension.
static LogicalResult verifyInputs(ModelOp model) {
  FunctionOpInterface function = model;
  llvm::StringSet<> seen;
  for (auto [index, type] : llvm::enumerate(model.getArgumentTypes())) {
    auto name = function.getArgAttrOfType<StringAttr>(index, attr::name);
    if (!name || name.empty())
      return model.emitOpError("input ") << index << " has no name";
    if (!seen.insert(name.getValue()).second)
      return model.emitOpError("has two inputs called '")
             << name.getValue() << "'";
    auto dims = function.getArgAttrOfType<ArrayAttr>(index, attr::dims);
    if (!dims || dims.empty() ||
        cast<StringAttr>(dims[0]).getValue() != "batch")
      return model.emitOpError("input '")
             << name.getValue()
             << "' must count samples in its first dimension; write `dims "
                "[batch, …]`";
    Type element = cast<RankedTensorType>(type).getElementType();
    if (!element.isF32() && !element.isInteger(32))
      return model.emitOpError("input '")
             << name.getValue() << "' has elements of type " << element
             << "; inputs are i32 or f32";
  }
  return success();
}

/// Layers hold tensor operations with a sharding rule, and nothing else; no
/// 16-bit floats yet.
static LogicalResult verifyLayers(ModuleOp module) {
  for (auto layer : module.getOps<LayerOp>())
    for (Operation &op : layer.getBody().front().without_terminator()) {
      if (!isa<ShardingRule>(op))
        return op.emitOpError("does not belong in a layer: only tensor "
                              "operations without communication do");
      if (isa<ExpOp, LogOp, SqrtOp, RsqrtOp, TanhOp, SigmoidOp, ErfOp, SiluOp,
              GeluOp>(op) &&
          !isa<FloatType>(getElementTypeOrSelf(op.getOperand(0).getType())))
        return op.emitOpError("of ")
               << getElementTypeOrSelf(op.getOperand(0).getType())
               << " has no meaning; stretto.convert makes it f32";
      for (Type type : op.getResultTypes())
        if (Type element = getElementTypeOrSelf(type);
            element.isBF16() || element.isF16())
          return op.emitOpError("computes in ")
                 << element << ", which is not implemented yet; use f32";
    }
  return success();
}

static LogicalResult verifyParameters(const ModelGraph &graph) {
  for (const auto &[path, parameter] : graph.parameters)
    if (!parameter.type.getElementType().isF32())
      return CallOp(parameter.owner).emitOpError("declares parameter '")
             << path.getValue() << "' with elements of type "
             << parameter.type.getElementType()
             << "; parameters are f32 for now";
  return success();
}

static LogicalResult verifyOutputs(const ModelGraph &graph) {
  llvm::StringSet<> seen;
  for (OutputOp output : graph.outputs)
    if (!seen.insert(output.getName()).second)
      return output.emitOpError("name \"")
             << output.getName() << "\" is taken by another output";
  return success();
}

//===----------------------------------------------------------------------===//
// Loss terms
//===----------------------------------------------------------------------===//

namespace {
/// Looks for a parameter behind a value of the model.
class ParameterSearch {
public:
  explicit ParameterSearch(const ModelGraph &graph) : graph(graph) {}

  /// Null when `value` depends on inputs alone.
  StringAttr find(Value value) {
    auto result = dyn_cast<OpResult>(value);
    if (!result || !visited.insert(value).second)
      return {};
    auto call = cast<CallOp>(result.getOwner());
    LayerFlow flow(graph.getLayer(call), LayerFlow::Any);
    unsigned activations = call.getOperands().size();
    for (unsigned argument :
         flow.argumentsOfResult(result.getResultNumber()).set_bits()) {
      if (argument >= activations)
        return graph.pathOf(call, argument);
      if (StringAttr path = find(call.getOperand(argument)))
        return path;
    }
    return {};
  }

private:
  const ModelGraph &graph;
  llvm::DenseSet<Value> visited;
};
} // namespace

static LogicalResult verifyLosses(const ModelGraph &graph) {
  if (graph.losses.empty())
    return ModelOp(graph.model)
        .emitOpError("has no loss term; add `stretto.loss %sum, %count weight "
                     "1.0`");
  for (LossOp loss : graph.losses) {
    for (Value value : {loss.getSum(), loss.getCount()})
      if (!value.getDefiningOp<CallOp>())
        return loss.emitOpError("sum and count must be results of calls");
    for (Value value : {loss.getSum(), loss.getCount()})
      if (!cast<RankedTensorType>(value.getType()).getElementType().isF32())
        return loss.emitOpError("sum and count must be f32");
    if (StringAttr path = ParameterSearch(graph).find(loss.getCount()))
      return loss.emitOpError("count depends on parameter '")
             << path.getValue()
             << "'; the count must follow from the inputs alone, so that it "
                "is known before the first backward";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

LogicalResult stretto::verifyPositions(ModuleOp module) {
  WalkResult walked = module.walk([](EmbeddingOp lookup) {
    auto iota = lookup.getIds().getDefiningOp<IotaOp>();
    if (!iota)
      return WalkResult::advance();
    auto positions = cast<RankedTensorType>(iota.getResult().getType());
    int64_t length = positions.getDimSize(iota.getDim());
    int64_t rows =
        cast<RankedTensorType>(lookup.getTable().getType()).getDimSize(0);
    if (ShapedType::isDynamic(length) || length <= rows)
      return WalkResult::advance();
    lookup.emitOpError("looks up ")
        << length << " positions in a table of " << rows
        << " rows; use a sequence of at most " << rows << " or a longer table";
    return WalkResult::interrupt();
  });
  return failure(walked.wasInterrupted());
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

LogicalResult stretto::verifyModel(ModuleOp module) {
  FailureOr<ModelGraph> graph = ModelGraph::read(module);
  if (failed(graph) || failed(verifyLayers(module)))
    return failure();
  if (failed(verifyInputs(graph->model)) || failed(verifyParameters(*graph)) ||
      failed(verifyOutputs(*graph)) || failed(verifyLosses(*graph)))
    return failure();
  return success(succeeded(verifyNoCoupling(module, *graph)) &&
                 succeeded(verifyPositions(module)));
}

namespace {
struct VerifyModel : stretto::impl::VerifyModelPassBase<VerifyModel> {
  void runOnOperation() override {
    if (failed(verifyModel(getOperation())))
      signalPassFailure();
  }
};
} // namespace
