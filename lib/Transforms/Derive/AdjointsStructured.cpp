//===- AdjointsStructured.cpp - adjoints of contractions and shape --------===//

#include "Adjoints.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace stretto;
using namespace stretto::adjoint;

/// "a b, b c -> a c"
static std::string einsumSpec(ArrayRef<StringRef> lhs, ArrayRef<StringRef> rhs,
                              ArrayRef<StringRef> result) {
  return llvm::join(lhs, " ") + ", " + llvm::join(rhs, " ") + " -> " +
         llvm::join(result, " ");
}

namespace {
/// Either operand's cotangent is the einsum of the result's with the other
/// operand: labels keep their places.
struct Einsum : Differentiable::ExternalModel<Einsum, EinsumOp> {
  Cotangents vjp(Operation *op, OpBuilder &b, ValueRange g) const {
    auto einsum = cast<EinsumOp>(op);
    EinsumOp::Labels labels = einsum.getLabels();
    Value dy = Writer(b, op).convert(g[0]);
    auto contract = [&](std::string spec, Value lhs, Value rhs) -> Value {
      return EinsumOp::create(b, op->getLoc(), b.getStringAttr(spec), lhs, rhs);
    };
    return {contract(einsumSpec(labels.result, labels.rhs, labels.lhs), dy,
                     einsum.getRhs()),
            contract(einsumSpec(labels.lhs, labels.result, labels.rhs),
                     einsum.getLhs(), dy)};
  }
};

struct Reduce : Differentiable::ExternalModel<Reduce, ReduceOp> {
  Cotangents vjp(Operation *op, OpBuilder &b, ValueRange g) const {
    auto reduce = cast<ReduceOp>(op);
    Writer w(b, op);
    if (reduce.getInit() && reduce.getKind() != ReduceKind::Sum) {
      op->emitOpError("has no adjoint with an initial value; combine with it "
                      "after the reduction");
      return {};
    }
    switch (reduce.getKind()) {
    case ReduceKind::Sum:
      return {w.spread(w.convert(g[0]), reduce.getX(), reduce.getDims())};
    case ReduceKind::Max:
    case ReduceKind::Min:
      return {ofExtremum(reduce, w, w.convert(g[0]))};
    case ReduceKind::Prod:
    case ReduceKind::And:
    case ReduceKind::Or:
      break;
    }
    op->emitOpError("has no adjoint for products; write exp of a sum of logs");
    return {};
  }

private:
  /// The elements that attain the extremum share the cotangent equally.
  static Value ofExtremum(ReduceOp reduce, Writer &w, Value g) {
    Value x = reduce.getX();
    ArrayRef<int64_t> dims = reduce.getDims();
    Value chosen = w.compare(ComparePredicate::EQ, x,
                             w.spread(w.convert(reduce.getResult()), x, dims));
    Value ones =
        w.spread(w.constant(1), x,
                 llvm::to_vector(llvm::seq<int64_t>(0, typeOf(x).getRank())));
    Value indicator = w.select(chosen, ones, w.constant(0));
    Value share = w.div(g, w.sum(indicator, dims));
    return w.mul(indicator, w.spread(share, x, dims));
  }
};

struct Broadcast : Differentiable::ExternalModel<Broadcast, BroadcastOp> {
  Cotangents vjp(Operation *op, OpBuilder &b, ValueRange g) const {
    auto broadcast = cast<BroadcastOp>(op);
    SmallVector<int64_t> added;
    for (int64_t dim = 0; dim < typeOf(g[0]).getRank(); ++dim)
      if (!llvm::is_contained(broadcast.getDims(), dim))
        added.push_back(dim);
    return {Writer(b, op).sum(g[0], added)};
  }
};

struct Transpose : Differentiable::ExternalModel<Transpose, TransposeOp> {
  Cotangents vjp(Operation *op, OpBuilder &b, ValueRange g) const {
    ArrayRef<int64_t> permutation = cast<TransposeOp>(op).getPermutation();
    SmallVector<int64_t> inverse(permutation.size());
    for (auto [to, from] : llvm::enumerate(permutation))
      inverse[from] = to;
    return {TransposeOp::create(b, op->getLoc(), g[0], inverse)};
  }
};

struct Embedding : Differentiable::ExternalModel<Embedding, EmbeddingOp> {
  Cotangents vjp(Operation *op, OpBuilder &b, ValueRange g) const {
    auto embedding = cast<EmbeddingOp>(op);
    Value dtable = EmbeddingGradOp::create(
        b, op->getLoc(), bareType(embedding.getTable().getType()),
        embedding.getIds(), g[0], OffsetAttr());
    return {dtable, Value()};
  }
};

struct Constrain : Differentiable::ExternalModel<Constrain, ConstrainOp> {
  Cotangents vjp(Operation *op, OpBuilder &b, ValueRange g) const {
    return {ConstrainOp::create(b, op->getLoc(), g[0],
                                cast<ConstrainOp>(op).getConstraint())};
  }
};

/// What passes forward in the primal passes backward in the adjoint.
struct Barrier : Differentiable::ExternalModel<Barrier, PropagationBarrierOp> {
  Cotangents vjp(Operation *op, OpBuilder &b, ValueRange g) const {
    PassDirection allow = cast<PropagationBarrierOp>(op).getAllow();
    if (allow != PassDirection::None)
      allow = allow == PassDirection::Forward ? PassDirection::Backward
                                              : PassDirection::Forward;
    auto attr = PassDirectionAttr::get(b.getContext(), allow);
    return {PropagationBarrierOp::create(b, op->getLoc(), attr, g[0])};
  }
};

/// The cotangents that exist lie alike as well.
struct Alike : Differentiable::ExternalModel<Alike, ShardAlikeOp> {
  Cotangents vjp(Operation *op, OpBuilder &b, ValueRange g) const {
    Cotangents result(g.begin(), g.end());
    SmallVector<Value> present;
    llvm::copy_if(g, std::back_inserter(present),
                  [](Value value) { return bool(value); });
    if (present.size() < 2)
      return result;
    auto alike = ShardAlikeOp::create(b, op->getLoc(), present);
    unsigned next = 0;
    for (Value &cotangent : result)
      if (cotangent)
        cotangent = alike.getResult(next++);
    return result;
  }
};
} // namespace

void adjoint::registerStructured(MLIRContext *context) {
  EinsumOp::attachInterface<Einsum>(*context);
  ReduceOp::attachInterface<Reduce>(*context);
  BroadcastOp::attachInterface<Broadcast>(*context);
  TransposeOp::attachInterface<Transpose>(*context);
  EmbeddingOp::attachInterface<Embedding>(*context);
  ConstrainOp::attachInterface<Constrain>(*context);
  PropagationBarrierOp::attachInterface<Barrier>(*context);
  ShardAlikeOp::attachInterface<Alike>(*context);
}
