//===- Padding.cpp - where padding is known to be zero --------------------===//

#include "Padding.h"

using namespace mlir;
using namespace stretto;
using namespace stretto::shard;

std::optional<unsigned> shard::dimOfFactor(const DimFactors &dims,
                                           unsigned factor) {
  for (auto [dim, factors] : llvm::enumerate(dims))
    if (factors.size() == 1 && factors[0] == factor)
      return dim;
  return std::nullopt;
}

bool shard::isMinorPart(const OpRule &rule, unsigned factor) {
  auto compound = [&](const DimFactors &dims) {
    return llvm::any_of(dims, [&](const auto &dim) {
      return llvm::is_contained(ArrayRef(dim).drop_front(dim.empty() ? 0 : 1),
                                factor);
    });
  };
  return llvm::any_of(rule.operands, compound) ||
         llvm::any_of(rule.results, compound);
}

bool PaddingState::isZero(Value value, unsigned dim) {
  DistAttr dist = getDist(value);
  if (!dist || dist.getPaddedExtents()[dim] == 0)
    return true;
  auto key = std::make_pair(value, dim);
  if (auto it = known.find(key); it != known.end())
    return it->second;
  bool zero = compute(value, dim);
  known[key] = zero;
  return zero;
}

/// The contract at segment borders; activations promise nothing, whether a
/// segment made them or the host.
bool PaddingState::ofArgument(BlockArgument argument) {
  auto role =
      segment.getArgAttrOfType<StringAttr>(argument.getArgNumber(), attr::role);
  return role && llvm::is_contained({"param", "cotangent", "accumulator",
                                     "term", "grad", "moment", "input"},
                                    role.getValue());
}

bool PaddingState::compute(Value value, unsigned dim) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return ofArgument(argument);
  Operation *op = value.getDefiningOp();
  if (isa<ReshardOp>(op)) {
    Value source = op->getOperand(0);
    DistAttr dist = getDist(source);
    // Padding that the reshard itself adds is zero.
    return dist.getPaddedExtents()[dim] == 0 || isZero(source, dim);
  }
  if (auto mask = dyn_cast<MaskPadOp>(op); mask && mask.getDim() == dim)
    return mask.getValue().isZero();
  auto ruled = dyn_cast<ShardingRule>(op);
  if (!ruled)
    return false;
  OpRule rule = ruled.getShardingRule();
  unsigned result = cast<OpResult>(value).getResultNumber();
  const auto &factors = rule.results[result][dim];
  if (factors.size() != 1)
    return false;
  if (rule.factors[factors[0]].trims)
    return true;
  // Linear in operands that are all zero there: zero there.
  return llvm::any_of(rule.linearSets, [&](const LinearSet &set) {
    return set.reaches(result) &&
           llvm::all_of(set.operands, [&](unsigned operand) {
             auto at = dimOfFactor(rule.operands[operand], factors[0]);
             return at && isZero(op->getOperand(operand), *at);
           });
  });
}
