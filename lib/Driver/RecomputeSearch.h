//===- RecomputeSearch.h - repeat as much as memory demands -----*- C++ -*-===//
//
// Private to the room: what instances give up so that a rank's arena meets a
// limit: values, where their policy is `recompute: auto`, and the copies that
// forward gathered, where no policy says that they are made again.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_LIB_DRIVER_RECOMPUTESEARCH_H
#define STRETTO_LIB_DRIVER_RECOMPUTESEARCH_H

#include "StepCost.h"
#include "stretto/Dialect/Stretto/IR/StrettoOps.h"
#include "stretto/Transforms/Derive/RecomputeFrontier.h"
#include <map>

namespace stretto::driver {

class RecomputeSearch {
public:
  /// Instances give up values in the order of FLOPs per byte, and gathered
  /// copies in that of forward: those of earlier ones are kept the longest.
  struct Choice {
    size_t numMoves = 0;   ///< steps along the frontiers
    size_t numGathers = 0; ///< instances that gather again
  };

  static mlir::FailureOr<RecomputeSearch> of(mlir::ModuleOp applied);

  /// Writes the choice onto the calls: `stretto.keep_bytes` and
  /// `stretto.repeat_gathers`.
  void take(Choice choice);

  /// The least time within `limit`, else the least arena. Choices are tried on
  /// the exact arena: price by price, since what backward repeats lies in
  /// scratch and the arena need not fall with every one; at each price without
  /// and with gathers repeated; then by bisection among the instances of one
  /// price and among those that gather again. `start` is the cost of Choice().
  mlir::FailureOr<std::pair<Choice, StepCost>>
  run(uint64_t limit, StepCost start, StepCostOf costOf);

private:
  explicit RecomputeSearch(mlir::ModuleOp applied) : applied(applied) {}
  void orderMoves();
  void findGathering(const std::set<std::string> &layers);
  llvm::SmallVector<size_t> pricePoints() const;
  /// The cost of a choice, remembered; false when it cannot be compiled.
  bool tryOut(Choice choice, StepCostOf costOf);
  bool fits(Choice choice) const;
  bool bisect(Choice fitting, size_t tooFew, size_t Choice::*what,
              StepCostOf costOf);

  /// An instance goes from one point of its frontier to the next.
  struct Move {
    unsigned instance, point;
    double flopsPerByte;
  };

  mlir::ModuleOp applied;
  std::vector<InstanceFrontier> frontiers;
  std::vector<Move> moves;
  std::vector<CallOp> gathering; // instances whose policy leaves it open
  uint64_t limit = 0;
  std::map<std::pair<size_t, size_t>, StepCost> known;
  std::optional<std::pair<Choice, StepCost>> best;
};

} // namespace stretto::driver

#endif // STRETTO_LIB_DRIVER_RECOMPUTESEARCH_H
