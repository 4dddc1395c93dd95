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

bool ArgumentWishes::isGather(InvokeOp invoke) {
  auto callee = symbols.lookup<SegmentOp>(invoke.getCallee());
  return callee && callee.getDirection() == "gather";
}

ArgumentWish ArgumentWishes::ofGathered(InvokeOp invoke, unsigned index) {
  TensorRef made = invoke.getTensorResults()[index];
  SmallVector<ArgumentWish> wanted(tensorTypesOf(made.value.getType()).size());
  collectFromUses(made.value, wanted);
  return wanted[std::max(made.member, 0)];
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
    bool gathers = isGather(invoke);
    for (auto [index, tensor] : llvm::enumerate(invoke.getTensorOperands())) {
      if (tensor.value != value)
        continue;
      ArgumentWish &entry = found[std::max(tensor.member, 0)];
      ArgumentWish wish = ofSegment(invoke.getCalleeAttr().getAttr())[index];
      if (gathers)
        wish.padding = ofGathered(invoke, index).padding;
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
