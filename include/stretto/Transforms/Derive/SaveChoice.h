//===- SaveChoice.h - what backward keeps and what it repeats ---*- C++ -*-===//
//
// Backward needs values of forward. Each is kept in memory or computed again,
// which needs the operands of its operation in turn. Pure data, no IR: which
// values to keep so that memory, work or one within a bound of the other is
// least.
//
// Without a bound this is a minimum cut (the partition of Chen et al., arXiv
// 1604.06174, as a closure problem): x(v) = "v is needed", y(o) = "o is
// repeated"; keeping costs bytes where x and not y, repeating costs the
// operation's FLOPs where y, and y implies x of every operand. With a bound on
// the bytes the price of a byte is a Lagrange multiplier: its best value bounds
// every solution from below, and branch and bound closes the gap.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_TRANSFORMS_DERIVE_SAVECHOICE_H
#define STRETTO_TRANSFORMS_DERIVE_SAVECHOICE_H

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace stretto {

/// Straight-line code: operations in order, each with its results. A value that
/// may not be saved is the result of an operation that may be repeated.
struct SaveProblem {
  struct Value {
    double bytes = 0;        // of keeping it; 0 where it is kept anyway
    int producer = -1;       // an operation; -1: it is there in backward anyway
    bool isRequired = false; // backward reads it
    bool maySave = true;
  };
  struct Op {
    double flops = 0;
    bool mayRepeat = false;
    llvm::SmallVector<unsigned, 4> operands; // values
  };
  std::vector<Value> values;
  std::vector<Op> ops;
};

struct SaveChoice {
  llvm::BitVector saved;    // values
  llvm::BitVector repeated; // operations
  double bytes = 0;         // of the values saved
  double flops = 0;         // of the operations repeated
  bool isOptimal = true;    // false: the search was abandoned
};

/// Fewest bytes, and of those choices one with the fewest FLOPs. Every value
/// that backward cannot reach otherwise is saved.
SaveChoice saveLeastBytes(const SaveProblem &problem);

/// Fewest FLOPs within `bytes`, and of those choices one with the fewest bytes
/// (up to a part in 10^6 of the FLOPs); nothing when even the fewest bytes are
/// more. Exact, unless the search takes more than `maxCuts` cuts.
std::optional<SaveChoice> saveWithin(const SaveProblem &problem, double bytes,
                                     unsigned maxCuts = 20000);

/// The choices that are best at some price of a byte, from the fewest FLOPs to
/// the fewest bytes: along them bytes fall, FLOPs rise, and each byte costs
/// more than those before it.
std::vector<SaveChoice> saveFrontier(const SaveProblem &problem);

} // namespace stretto

#endif // STRETTO_TRANSFORMS_DERIVE_SAVECHOICE_H
