//===- PassedAgain.h - arguments of forward that backward gathers -*-C++-*-===//
//
// Private to the room. What forward takes or returns is not saved: the step
// passes it to backward once more, as it lies between the layers. Where forward
// moves it and backward would have to move it the same way, this makes it a
// saved value, so that its copy can be saved (SavedCopies).
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_LIB_TRANSFORMS_SHARD_PASSEDAGAIN_H
#define STRETTO_LIB_TRANSFORMS_SHARD_PASSEDAGAIN_H

#include "stretto/Transforms/Shard/ReshardSearch.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace stretto::shard {

class PassedAgain {
public:
  PassedAgain(mlir::ModuleOp module, ReshardPlanner &planner)
      : module(module), symbols(module), planner(planner) {}

  void run();

private:
  using Pair = std::pair<InvokeOp, InvokeOp>; // forward, backward
  /// The invocations of one forward, each with that of its backward; all of one
  /// backward, which no other forward has. Else they stay as they are.
  struct Pass {
    SegmentOp backward;
    std::vector<Pair> instances;
    bool isOpen = true;
  };

  void collect(mlir::Block &block);
  void visit(SegmentOp forward, Pass &pass);
  bool pays(SegmentOp forward, mlir::Value made, mlir::BlockArgument taken);
  void save(SegmentOp forward, mlir::Value made, Pass &pass, unsigned index,
            unsigned operand);

  mlir::ModuleOp module;
  mlir::SymbolTable symbols;
  ReshardPlanner &planner;
  llvm::MapVector<mlir::Operation *, Pass> passes; // by forward
  /// By backward; null among them: it is invoked without its forward.
  llvm::DenseMap<mlir::Operation *, llvm::SmallPtrSet<mlir::Operation *, 2>>
      forwardsOf;
};

} // namespace stretto::shard

#endif // STRETTO_LIB_TRANSFORMS_SHARD_PASSEDAGAIN_H
