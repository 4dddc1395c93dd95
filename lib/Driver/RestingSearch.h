//===- RestingSearch.h - gather and reduce as memory allows -----*- C++ -*-===//
//
// Private to the room: the times at which parameters that rest sharded can be
// gathered and gradients reduced, where the plan left that open ("auto").
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_LIB_DRIVER_RESTINGSEARCH_H
#define STRETTO_LIB_DRIVER_RESTINGSEARCH_H

#include "stretto/Dialect/Stretto/IR/StrettoOps.h"

namespace stretto::driver {

/// All combinations of what is open in the `stretto.rest` of the layers.
class OpenResting {
public:
  explicit OpenResting(mlir::ModuleOp applied);

  /// 1 when nothing is open: then there is nothing to take.
  unsigned numCombinations() const { return combinations.size(); }
  /// Replaces "auto" by the words of the combination.
  void take(unsigned combination) const;
  /// Leaves it open again.
  void reset() const { settle("auto", "auto"); }

private:
  /// An entry of some `stretto.rest`.
  struct Entry {
    LayerOp layer;
    unsigned argument;
    llvm::StringRef name; // "gather" or "reduce"
  };
  void settle(llvm::StringRef gather, llvm::StringRef reduce) const;

  std::vector<Entry> open;
  std::vector<std::pair<llvm::StringRef, llvm::StringRef>> combinations;
};

} // namespace stretto::driver

#endif // STRETTO_LIB_DRIVER_RESTINGSEARCH_H
