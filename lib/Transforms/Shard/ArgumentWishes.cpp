//===- ArgumentWishes.cpp - what segments say of their arguments ----------===//

#include "ArgumentWishes.h"

using namespace mlir;
using namespace stretto;
using namespace stretto::shard;

ArrayRef<ArgumentWish> ArgumentWishes::ofSegment(StringAttr name) {
  auto [it, fresh] = ofSegments.try_emplace(name);
  if (fresh) {
    auto segment = symbols.lookup<SegmentOp>(name);
    for (unsigned i = 0; i < segment.getNumArguments(); ++i)
      it->second.push_back(
          {segment.getArgAttrOfType<ConstraintAttr>(i, attr::constraint),
           segment.getArgAttrOfType<DenseI64ArrayAttr>(i, decided::padding)});
  }
  return it->second;
}

void ArgumentWishes::collectFromUses(Value value,
                                     MutableArrayRef<ArgumentWish> found) {
  for (OpOperand &use : value.getUses()) {
    if (auto loop = dyn_cast<MicrobatchesOp>(use.getOwner()))
      collectFromUses(
          loop.getBody().front().getArgument(use.getOperandNumber()), found);
    auto invoke = dyn_cast<InvokeOp>(use.getOwner());
    if (!invoke)
      continue;
    for (auto [tensor, wish] :
         llvm::zip(invoke.getTensorOperands(),
                   ofSegment(invoke.getCalleeAttr().getAttr()))) {
      if (tensor.value != value)
        continue;
      ArgumentWish &entry = found[std::max(tensor.member, 0)];
      if (!entry.constraint)
        entry.constraint = wish.constraint;
      if (!entry.padding)
        entry.padding = wish.padding;
    }
  }
}

FailureOr<Type> ArgumentWishes::assign(Location loc, ArgumentWish wish,
                                       RankedTensorType type) {
  Type &known =
      assigned[{type.getAsOpaquePointer(), wish.constraint.getAsOpaquePointer(),
                wish.padding.getAsOpaquePointer()}];
  if (known)
    return known;
  auto found = distributionFor(loc, mesh, wish.constraint, type.getShape(),
                               wish.padding ? wish.padding.asArrayRef()
                                            : ArrayRef<int64_t>());
  if (failed(found))
    return failure();
  return known = withDist(type, *found);
}
