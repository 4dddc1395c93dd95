//===- CostModels.cpp - the work of every operation -----------------------===//
//
// A multiply-add is two floating-point operations. Matrix products and
// attention are counted exactly; of the rest only the order of magnitude
// matters: a small number of operations per element.
//
//===----------------------------------------------------------------------===//

#include "stretto/Cost/CostModels.h"

#include "stretto/Dialect/Stretto/IR/StrettoOps.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace stretto;

static double elements(Value value) {
  double count = 1;
  for (int64_t size : cast<RankedTensorType>(value.getType()).getShape())
    count *= double(size);
  return count;
}

//===----------------------------------------------------------------------===//
// Matrix products
//===----------------------------------------------------------------------===//

/// Twice the product of the extents of all labels.
static double productFlops(EinsumOp op) {
  EinsumOp::Labels labels = op.getLabels();
  llvm::StringMap<int64_t> extents;
  auto note = [&](ArrayRef<StringRef> names, Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    for (auto [name, size] : llvm::zip(names, type.getShape()))
      extents[name] = size;
  };
  note(labels.lhs, op.getLhs());
  note(labels.rhs, op.getRhs());
  double flops = 2;
  for (const auto &extent : extents)
    flops *= double(extent.second);
  return flops;
}

static double productFlops(GemmOp op) {
  double flops =
      2.0 * double(op.getM()) * double(op.getN()) * double(op.getK());
  for (int64_t extent : op.getBatch())
    flops *= double(extent);
  return flops;
}

template <typename OpT>
struct ProductModel : CostModel::ExternalModel<ProductModel<OpT>, OpT> {
  double getFlops(Operation *op) const { return productFlops(cast<OpT>(op)); }
  double getModelFlops(Operation *op, bool) const {
    return productFlops(cast<OpT>(op));
  }
};

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// Multiply-adds of one product of scores with vectors of the head dimension
/// (q k^T, p v and their adjoints all have this size), times two.
template <typename OpT>
static double scoreProductFlops(OpT op, bool unmaskedOnly) {
  auto q = cast<RankedTensorType>(op.getQ().getType());
  int64_t kv = cast<RankedTensorType>(op.getK().getType()).getDimSize(1);
  double pairs = double(q.getDimSize(1)) * double(kv);
  // Of n queries, query i sees i + 1 + (keys - n) keys; shards of the positions
  // see their part on average.
  double rows = double(op.getQueries().value_or(q.getDimSize(1)));
  double keys = double(op.getKeys().value_or(kv));
  if (unmaskedOnly && op.getCausal())
    pairs *= (keys - rows + (rows + 1) / 2) / keys;
  return 2 * pairs * double(q.getDimSize(0)) * double(q.getDimSize(2)) *
         double(q.getDimSize(3));
}

/// `products` are done, `modelProducts` count (the adjoint computes the scores
/// once more).
template <typename OpT, int products, int modelProducts>
struct AttentionModel
    : CostModel::ExternalModel<AttentionModel<OpT, products, modelProducts>,
                               OpT> {
  double getFlops(Operation *op) const {
    return products * scoreProductFlops(cast<OpT>(op), true);
  }
  double getModelFlops(Operation *op, bool causal) const {
    return modelProducts * scoreProductFlops(cast<OpT>(op), causal);
  }
};

//===----------------------------------------------------------------------===//
// The rest
//===----------------------------------------------------------------------===//

/// `perElement` operations for every element of the largest operand or result.
template <typename OpT, int perElement>
struct PointwiseModel
    : CostModel::ExternalModel<PointwiseModel<OpT, perElement>, OpT> {
  double getFlops(Operation *op) const {
    double most = 0;
    for (Value value : op->getOperands())
      most = std::max(most, elements(value));
    for (Value value : op->getResults())
      most = std::max(most, elements(value));
    return perElement * most;
  }
  double getModelFlops(Operation *, bool) const { return 0; }
};

template <int perElement, typename... Ops>
static void attachPointwise(MLIRContext *context) {
  (Ops::template attachInterface<PointwiseModel<Ops, perElement>>(*context),
   ...);
}

void stretto::registerCostModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, StrettoDialect *) {
    EinsumOp::attachInterface<ProductModel<EinsumOp>>(*context);
    GemmOp::attachInterface<ProductModel<GemmOp>>(*context);
    AttentionOp::attachInterface<AttentionModel<AttentionOp, 2, 2>>(*context);
    AttentionGradOp::attachInterface<AttentionModel<AttentionGradOp, 5, 4>>(
        *context);
    // Moves only.
    attachPointwise<0, ConstantOp, BroadcastOp, TransposeOp, IotaOp,
                    EmbeddingOp, ReshapeOp, SliceOp, PadOp, ConcatOp, WindowOp,
                    DynamicSliceOp, DynamicUpdateSliceOp, GatherOp, ConstrainOp,
                    PropagationBarrierOp, ShardAlikeOp>(context);
    attachPointwise<1, NegOp, SqrtOp, RsqrtOp, AddOp, SubOp, MulOp, DivOp,
                    MaximumOp, MinimumOp, CompareOp, SelectOp, ConvertOp,
                    ReduceOp, ScatterAddOp, TopKOp, ArgReduceOp>(context);
    attachPointwise<8, ExpOp, LogOp, TanhOp, SigmoidOp, ErfOp, SiluOp, GeluOp,
                    DropoutOp, SoftmaxOp, LayerNormOp, LayerNormGradOp,
                    RmsNormOp, RmsNormGradOp, RopeOp, CrossEntropyOp,
                    CrossEntropyGradOp, AdamWOp, SgdOp>(context);
  });
}
