//===- Adjoints.cpp - how adjoints are written ----------------------------===//

#include "Adjoints.h"
#include "Precision.h"
#include "stretto/Transforms/Derive/Models.h"

using namespace mlir;
using namespace stretto;
using namespace stretto::adjoint;

Value Writer::constant(double value) {
  return ConstantOp::create(b, loc, RankedTensorType::get({}, element),
                            b.getF64FloatAttr(value));
}

Value Writer::convert(Value x) { return convertTo(b, x, element); }

Value Writer::compare(ComparePredicate predicate, Value x, Value y) {
  return CompareOp::create(
      b, loc, ComparePredicateAttr::get(b.getContext(), predicate), x, y);
}

Value Writer::select(Value condition, Value x, Value y) {
  return SelectOp::create(b, loc, condition, x, y);
}

Value Writer::sum(Value x, ArrayRef<int64_t> dims) {
  return dims.empty()
             ? x
             : ReduceOp::create(b, loc, ReduceKind::Sum, x, dims, FloatAttr());
}

Value Writer::spread(Value x, Value like, ArrayRef<int64_t> missing) {
  SmallVector<int64_t> kept;
  for (int64_t dim = 0; dim < typeOf(like).getRank(); ++dim)
    if (!llvm::is_contained(missing, dim))
      kept.push_back(dim);
  return BroadcastOp::create(b, loc,
                             RankedTensorType::get(typeOf(like).getShape(),
                                                   typeOf(x).getElementType()),
                             x, kept);
}

Value Writer::sumTo(Value cotangent, Value operand) {
  int64_t extra = typeOf(cotangent).getRank() - typeOf(operand).getRank();
  return sum(cotangent, llvm::to_vector(llvm::seq<int64_t>(0, extra)));
}

void stretto::registerDifferentiableModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, StrettoDialect *) {
    registerElementwise(context);
    registerStructured(context);
    registerMovement(context);
    registerFused(context);
  });
}
