//===- EinsumToGemm.cpp - contractions as library calls -------------------===//

#include "EinsumToGemm.h"

using namespace mlir;
using namespace stretto;

static ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

namespace {

/// One loop of the contraction: its strides in a, b and c; 0 where it is
/// absent.
struct Loop {
  int64_t extent, a, b, c;
};

class EinsumLowering {
public:
  explicit EinsumLowering(EinsumOp op)
      : op(op), b(op), labels(op.getLabels()), lhs(op.getLhs()),
        rhs(op.getRhs()) {}

  void run() {
    if (contracted().empty() || (own(labels.lhs, labels.rhs).empty() &&
                                 own(labels.rhs, labels.lhs).empty()))
      return replace(primitive());
    SmallVector<Loop> sum = merged(loopsOf(contracted()));
    if (sum.size() > 1) {
      makeCanonical();
      sum = merged(loopsOf(contracted()));
    }
    SmallVector<Loop> batch = merged(loopsOf(shared()));
    Loop m = largest(merged(loopsOf(own(labels.lhs, labels.rhs))), batch);
    Loop n = largest(merged(loopsOf(own(labels.rhs, labels.lhs))), batch);
    Loop k = sum.empty() ? Loop{1, 1, 1, 0} : sum[0];
    replace(gemm(m, n, k, batch));
  }

private:
  using Names = SmallVector<StringRef>;

  /// Labels by the tensors that have them.
  Names contracted() {
    return filter(labels.lhs, [&](StringRef name) {
      return !llvm::is_contained(labels.result, name);
    });
  }
  Names shared() {
    return filter(labels.result, [&](StringRef name) {
      return llvm::is_contained(labels.lhs, name) &&
             llvm::is_contained(labels.rhs, name);
    });
  }
  Names own(ArrayRef<StringRef> list, ArrayRef<StringRef> other) {
    return filter(
        list, [&](StringRef name) { return !llvm::is_contained(other, name); });
  }
  template <typename Fn> Names filter(ArrayRef<StringRef> list, Fn wanted) {
    Names result;
    llvm::copy_if(list, std::back_inserter(result), wanted);
    return result;
  }

  static int64_t strideOf(StringRef name, ArrayRef<StringRef> names,
                          Value value) {
    int64_t stride = 1;
    for (unsigned dim = names.size(); dim-- > 0;) {
      if (names[dim] == name)
        return stride;
      stride *= shapeOf(value)[dim];
    }
    return 0;
  }

  int64_t extentOf(StringRef name) {
    const auto *it = llvm::find(labels.lhs, name);
    if (it != labels.lhs.end())
      return shapeOf(lhs)[it - labels.lhs.begin()];
    return shapeOf(rhs)[llvm::find(labels.rhs, name) - labels.rhs.begin()];
  }

  SmallVector<Loop> loopsOf(ArrayRef<StringRef> names) {
    SmallVector<Loop> loops;
    for (StringRef name : names)
      if (extentOf(name) != 1)
        loops.push_back({extentOf(name), strideOf(name, labels.lhs, lhs),
                         strideOf(name, labels.rhs, rhs),
                         strideOf(name, labels.result, op.getResult())});
    return loops;
  }

  /// Joins loops that are one in every tensor, major to minor.
  static SmallVector<Loop> merged(SmallVector<Loop> loops) {
    llvm::sort(loops, [](const Loop &l, const Loop &r) {
      return std::max(l.a, l.b) > std::max(r.a, r.b);
    });
    SmallVector<Loop> result;
    for (const Loop &loop : loops) {
      if (!result.empty()) {
        Loop &major = result.back();
        int64_t extent = loop.extent;
        if (major.a == extent * loop.a && major.b == extent * loop.b &&
            major.c == extent * loop.c) {
          major = {major.extent * extent, loop.a, loop.b, loop.c};
          continue;
        }
      }
      result.push_back(loop);
    }
    return result;
  }

  /// The loop to be a matrix dimension; the others run outside.
  static Loop largest(SmallVector<Loop> loops, SmallVectorImpl<Loop> &batch) {
    if (loops.empty())
      return {1, 1, 1, 1};
    auto *best = llvm::max_element(loops, [](const Loop &l, const Loop &r) {
      return l.extent < r.extent;
    });
    Loop result = *best;
    loops.erase(best);
    batch.append(loops);
    return result;
  }

  /// Transposes operands so that contracted dimensions are the last ones of
  /// both, in one order.
  void makeCanonical() {
    Names sum = contracted();
    auto arrange = [&](Value &value, SmallVector<StringRef> &names) {
      Names wanted = filter(names, [&](StringRef name) {
        return !llvm::is_contained(sum, name);
      });
      wanted.append(sum);
      value = transposed(value, names, wanted);
      names = wanted;
    };
    arrange(lhs, labels.lhs);
    arrange(rhs, labels.rhs);
  }

  Value transposed(Value value, ArrayRef<StringRef> from,
                   ArrayRef<StringRef> to) {
    if (from == to)
      return value;
    SmallVector<int64_t> permutation, shape;
    for (StringRef name : to) {
      permutation.push_back(llvm::find(from, name) - from.begin());
      shape.push_back(shapeOf(value)[permutation.back()]);
    }
    return TransposeOp::create(b, op.getLoc(), value,
                               b.getDenseI64ArrayAttr(permutation));
  }

  RankedTensorType typed(ArrayRef<int64_t> shape) {
    auto type = cast<RankedTensorType>(op.getResult().getType());
    return RankedTensorType::get(shape, type.getElementType());
  }

  Value gemm(Loop m, Loop n, Loop k, ArrayRef<Loop> batch) {
    SmallVector<int64_t> extents, a, bStrides, c;
    for (const Loop &loop : batch) {
      extents.push_back(loop.extent);
      a.push_back(loop.a);
      bStrides.push_back(loop.b);
      c.push_back(loop.c);
    }
    return GemmOp::create(b, op.getLoc(), op.getResult().getType(), lhs, rhs,
                          /*acc=*/Value(), m.extent, n.extent, k.extent,
                          {m.a, k.a}, {k.b, n.b}, {m.c, n.c}, extents, a,
                          bStrides, c);
  }

  /// `value` in the element type of the result.
  Value widened(Value value) {
    RankedTensorType type = typed(shapeOf(value));
    return value.getType() == type
               ? value
               : ConvertOp::create(b, op.getLoc(), type, value);
  }

  /// sum(lhs * rhs) over broadcasts to all labels.
  Value primitive() {
    lhs = widened(lhs);
    rhs = widened(rhs);
    Names all(labels.result), sum = contracted();
    all.append(sum);
    SmallVector<int64_t> shape;
    for (StringRef name : all)
      shape.push_back(extentOf(name));
    auto spread = [&](Value value, ArrayRef<StringRef> names) -> Value {
      Names ordered = filter(
          all, [&](StringRef name) { return llvm::is_contained(names, name); });
      value = transposed(value, names, ordered);
      if (ordered.size() == all.size())
        return value;
      SmallVector<int64_t> dims;
      for (StringRef name : ordered)
        dims.push_back(llvm::find(all, name) - all.begin());
      return BroadcastOp::create(b, op.getLoc(), typed(shape), value,
                                 b.getDenseI64ArrayAttr(dims));
    };
    Value product =
        MulOp::create(b, op.getLoc(), typed(shape), spread(lhs, labels.lhs),
                      spread(rhs, labels.rhs));
    if (sum.empty())
      return product;
    SmallVector<int64_t> dims =
        llvm::to_vector(llvm::seq<int64_t>(labels.result.size(), all.size()));
    return ReduceOp::create(
        b, op.getLoc(), op.getResult().getType(),
        ReduceKindAttr::get(b.getContext(), ReduceKind::Sum), product,
        b.getDenseI64ArrayAttr(dims), FloatAttr());
  }

  void replace(Value value) {
    op.getResult().replaceAllUsesWith(value);
    op.erase();
  }

  EinsumOp op;
  OpBuilder b;
  EinsumOp::Labels labels;
  Value lhs, rhs;
};

} // namespace

/// May the storage of `acc` take the sum that `add` makes? An argument only
/// when the segment gives its storage to the result, a local value when nobody
/// else reads it.
static bool canAccumulate(SegmentOp segment, AddOp add, Value acc) {
  if (acc.getType() != add.getType() || !acc.hasOneUse())
    return false;
  auto argument = dyn_cast<BlockArgument>(acc);
  if (!argument)
    return true;
  for (OpOperand &use : add->getUses()) {
    if (!isa<YieldOp>(use.getOwner()))
      continue;
    auto alias = segment.getResultAttrOfType<IntegerAttr>(
        use.getOperandNumber(), attr::alias);
    if (alias && alias.getInt() == argument.getArgNumber())
      return true;
  }
  return false;
}

/// add(acc, gemm) -> gemm in place of acc, at the place of the add.
static void accumulateInPlace(SegmentOp segment) {
  SmallVector<AddOp> adds(segment.getBody().front().getOps<AddOp>());
  for (AddOp add : adds)
    for (unsigned i : {1, 0}) {
      auto gemm = add->getOperand(i).getDefiningOp<GemmOp>();
      Value acc = add->getOperand(1 - i);
      if (!gemm || gemm.getAcc() || !gemm->hasOneUse() ||
          !canAccumulate(segment, add, acc))
        continue;
      gemm.getAccMutable().assign(acc);
      gemm->moveBefore(add);
      add.getResult().replaceAllUsesWith(gemm.getResult());
      add.erase();
      break;
    }
}

LogicalResult stretto::lowerEinsums(SegmentOp segment) {
  SmallVector<EinsumOp> einsums(segment.getBody().front().getOps<EinsumOp>());
  for (EinsumOp einsum : einsums) {
    Type element =
        cast<RankedTensorType>(einsum.getLhs().getType()).getElementType();
    if (!element.isF32() && !element.isBF16())
      return einsum.emitOpError("has operands of ")
             << element << "; matrix products exist for f32 and bf16";
    EinsumLowering(einsum).run();
  }
  accumulateInPlace(segment);
  return success();
}
