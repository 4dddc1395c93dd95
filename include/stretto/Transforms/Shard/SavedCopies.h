//===- SavedCopies.h - how saved values lie ---------------------*- C++ -*-===//
//
// A forward saves a value as it lies where it is made, although forward itself
// may have gathered it, and backward may have to gather it again. Once all
// segments are assigned, this chooses for every saved value among the copies
// that forward has anyway: the one that costs the least time; where forward
// says that gathers are repeated (`stretto.repeat_gathers`), of those that hold
// no more than the value as it lies.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_TRANSFORMS_SHARD_SAVEDCOPIES_H
#define STRETTO_TRANSFORMS_SHARD_SAVEDCOPIES_H

#include "stretto/Transforms/Shard/ReshardSearch.h"
#include "llvm/ADT/DenseMap.h"

namespace stretto {

namespace attr {
/// On the result of a forward for which there was a choice: {kept : bool;
/// held, sent : i64; value : string}, see SavedCopy; of one invocation.
constexpr llvm::StringLiteral savedCopy = "stretto.saved_copy";
} // namespace attr

/// A saved value that backward needs otherwise than it lies where it is made:
/// what keeping it as backward needs it costs, and what making it again does.
struct SavedCopy {
  std::string layer, value; ///< "decoder", "layer_norm result"
  mlir::LocationAttr location;
  bool isKept;
  int64_t instances;
  int64_t heldBytes; ///< more of a rank when kept; one micro-batch
  int64_t sentBytes; ///< more by a rank and step when made again, on average
};

/// Of the training step of a distributed module, in order; instances of one
/// layer that do alike are one entry.
std::vector<SavedCopy> savedCopiesOf(mlir::ModuleOp distributed);

namespace shard {

class SavedCopies {
public:
  SavedCopies(mlir::ModuleOp module, const Links &links)
      : module(module), symbols(module), planner(links) {}

  /// Changes what forwards save and backwards take; the steps' values follow.
  void run();

private:
  /// A result of a forward or an argument of a backward.
  struct Border {
    SegmentOp segment;
    unsigned index;
    unsigned count = 0; ///< invocations that pass the value here
  };
  /// What lies alike: results and arguments that meet in some invocation.
  struct SavedValue {
    llvm::SmallVector<Border, 1> results, arguments;
    bool isOpen = true; ///< false: something else makes or reads it too
  };
  /// Of one distribution of a saved value, all its invocations together.
  struct Price {
    double seconds = 0;
    double sentBytes = 0; ///< by a rank, on average
    int64_t heldBytes = 0;

    bool isBelow(const Price &other) const;
  };

  void visit(InvokeOp invoke);
  SavedValue &valueAt(Border border, bool isResult);
  SavedValue &unite(SavedValue &a, SavedValue &b);
  bool settle(SavedValue &value);
  void note(const SavedValue &value, bool isKept, Price kept, Price repeated);
  Price priceOf(const SavedValue &value, DistAttr saved);
  const ReshardPath &move(mlir::Value value, DistAttr from, DistAttr to);
  void updateSteps();

  mlir::ModuleOp module;
  mlir::SymbolTable symbols;
  ReshardPlanner planner;
  std::vector<std::unique_ptr<SavedValue>> values;
  using Places =
      llvm::DenseMap<std::pair<mlir::Operation *, unsigned>, SavedValue *>;
  Places ofResults, ofArguments;
};

} // namespace shard
} // namespace stretto

#endif // STRETTO_TRANSFORMS_SHARD_SAVEDCOPIES_H
