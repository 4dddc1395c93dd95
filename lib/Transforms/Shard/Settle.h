//===- Settle.h - which factor gets an axis that several want ---*- C++ -*-===//
//
// Private to the room. One operation at a time: candidates ask for axes for
// factors; lower priority numbers are served first; within a level, choices
// that exclude each other are compared by what they cost: seconds to move the
// operands, to reduce and move the results, and to compute (an axis that shards
// no factor repeats the work). Equal costs go to the factor that comes first in
// a result, then to the older value: the order of operands never matters.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_LIB_TRANSFORMS_SHARD_SETTLE_H
#define STRETTO_LIB_TRANSFORMS_SHARD_SETTLE_H

#include "MoveCost.h"

namespace stretto::shard {

/// What one dimension of one value asks for.
struct Candidate {
  /// Axes of its factors, major to minor; a factor that gets less ends it.
  llvm::SmallVector<std::pair<unsigned, llvm::SmallVector<AxisRef>>> parts;
  int64_t priority = 0;
  llvm::StringRef cause;
  unsigned age = 0; // the value's place in the function
};

/// How the values of the operation lie, null where that is open.
struct Surroundings {
  llvm::SmallVector<std::optional<DimAxes>> operands, results;
};

class Settlement {
public:
  Settlement(mlir::Operation *op, const OpRule &rule, const MoveCost &cost,
             const Surroundings &around)
      : op(op), rule(rule), cost(cost), around(around),
        axes(rule.factors.size()), priorities(rule.factors.size(), 0) {}

  /// Axes that are given already, and axes that nothing may get.
  void give(unsigned factor, llvm::ArrayRef<AxisRef> given);
  void withhold(llvm::ArrayRef<AxisRef> axes) {
    used.append(axes.begin(), axes.end());
  }
  void settle(llvm::SmallVector<Candidate> candidates);

  llvm::ArrayRef<llvm::SmallVector<AxisRef>> factorAxes() const { return axes; }
  llvm::ArrayRef<int64_t> factorPriorities() const { return priorities; }
  /// Plan lines of what was given, each once, parted by "; ".
  std::string causes() const;

private:
  bool apply(const Candidate &candidate);
  void dropCutMinors();
  void settleLevel(llvm::MutableArrayRef<Candidate> level);
  double seconds() const;
  bool before(const Candidate &a, const Candidate &b) const;

  mlir::Operation *op;
  const OpRule &rule;
  const MoveCost &cost;
  const Surroundings &around;
  llvm::SmallVector<llvm::SmallVector<AxisRef>> axes;
  llvm::SmallVector<int64_t> priorities;
  llvm::SmallVector<AxisRef> used;
  llvm::SmallVector<llvm::StringRef> givenCauses;
  bool skipsTaken = false; // a candidate takes axes behind one that is taken
};

} // namespace stretto::shard

#endif // STRETTO_LIB_TRANSFORMS_SHARD_SETTLE_H
