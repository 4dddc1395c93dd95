//===- SavedValues.cpp - what a layer's backward keeps of forward ---------===//

#include "SavedValues.h"

using namespace mlir;
using namespace stretto;

/// Constants, and index arithmetic on arguments: cheaper done again than saved.
static bool isFree(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return true;
  auto isIndex = [](Type type) {
    return !isa<FloatType>(cast<RankedTensorType>(type).getElementType());
  };
  return (op->getNumOperands() == 0 ||
          llvm::all_of(op->getResultTypes(), isIndex)) &&
         llvm::all_of(op->getOperands(), isFree);
}

static double bytesOf(Value value, const LocalElements &local) {
  auto type = cast<RankedTensorType>(value.getType());
  return double(local.of(value)) *
         double(llvm::divideCeil(type.getElementTypeBitWidth(), 8));
}

static double elementsOf(Value value) {
  return double(cast<RankedTensorType>(value.getType()).getNumElements());
}

/// Of a rank: as much less as the value that is sharded the most.
static double flopsOf(Operation *op, const LocalElements &local) {
  auto cost = dyn_cast<CostModel>(op);
  double flops = cost ? cost.getFlops() : elementsOf(op->getResult(0));
  double share = 1;
  for (ValueRange values :
       {ValueRange(op->getOperands()), ValueRange(op->getResults())})
    for (Value value : values)
      if (double all = elementsOf(value))
        share = std::min(share, double(local.of(value)) / all);
  return flops * share;
}

namespace {
class ProblemBuilder {
public:
  explicit ProblemBuilder(const LocalElements &local) : local(local) {}

  SaveProblem problem;
  SmallVector<Value> values; // by number

  void addArgument(Value value) {
    if (numbers.try_emplace(value, values.size()).second) {
      values.push_back(value);
      problem.values.emplace_back();
    }
  }
  void addOperation(Operation *op, bool mayRepeat) {
    SaveProblem::Op &entry = problem.ops.emplace_back();
    bool free = op->getNumResults() > 0 && isFree(op->getResult(0));
    entry.flops = free ? 0 : flopsOf(op, local);
    entry.mayRepeat = free || mayRepeat;
    for (Value operand : op->getOperands()) {
      addArgument(operand); // unless it is the result of another operation
      entry.operands.push_back(numbers.lookup(operand));
    }
    for (Value result : op->getResults()) {
      numbers[result] = values.size();
      values.push_back(result);
      problem.values.push_back({bytesOf(result, local),
                                int(problem.ops.size()) - 1,
                                /*isRequired=*/false, /*maySave=*/!free});
    }
  }

private:
  const LocalElements &local;
  DenseMap<Value, unsigned> numbers;
};
} // namespace

SavedValues::SavedValues(ArrayRef<Operation *> operations,
                         const llvm::DenseSet<Value> &required,
                         const llvm::DenseSet<Value> &kept,
                         const RecomputePolicy &policy,
                         const LocalElements &local)
    : keepBytes(policy.getKeepBytes()) {
  ProblemBuilder builder(local);
  for (Operation *op : operations)
    builder.addOperation(op, policy.mayRepeat(op));
  problem = std::move(builder.problem);
  values = std::move(builder.values);
  for (auto [value, entry] : llvm::zip(values, problem.values)) {
    entry.isRequired = required.contains(value);
    if (kept.contains(value))
      entry.bytes = 0;
  }
}

llvm::DenseSet<Value> SavedValues::choose() const {
  std::optional<SaveChoice> choice;
  if (keepBytes)
    choice = saveWithin(problem, double(*keepBytes));
  if (!choice)
    choice = saveLeastBytes(problem);
  llvm::DenseSet<Value> saved;
  for (unsigned number : choice->saved.set_bits())
    saved.insert(values[number]);
  return saved;
}
