//===- OpRule.h - the algebra of sharding rules -----------------*- C++ -*-===//
//
// An operation is described by factors: index variables of its iteration
// space. Every dimension of every operand and result is a compound of factors,
// major to minor (a plain dimension is one factor; merged heads are kv_heads
// then queries per kv head). Sharding an operation means giving mesh axes to
// factors; what each operand and result looks like follows:
//
//  * a dimension is sharded by the axes of its factors, major to minor (only
//    when every factor major to a sharded one is wholly sharded or of size 1);
//  * a Reduction factor that a result lacks leaves that result partial over the
//    factor's axes, with the factor's reduction kind;
//  * a Blocked factor cannot be sharded: it must be whole on every rank;
//  * a Window factor is a dimension of one value that holds the axes of its
//    partner, a dimension of another value, each with its own extent and
//    padding: elements cross shard borders (halo exchange);
//  * an axis given to one factor of an operation is given to no other (its
//    window partner aside).
//
// Partial operands: an operation linear in a set of operands lets Partial(sum)
// over axes X through when all operands of the set are partial over X, the
// others replicated over X, and no factor holds an axis of X. What is linear
// becomes partial; results that do not read the set at all stay as they are.
// The same sets say where zero padding survives.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_DIALECT_STRETTO_IR_OPRULE_H
#define STRETTO_DIALECT_STRETTO_IR_OPRULE_H

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>

namespace stretto {

enum class ReduceKind : uint32_t;

enum class FactorKind { Parallel, Reduction, Blocked, Window };

struct Factor {
  int64_t size;
  FactorKind kind;
  ReduceKind reduce; // of a Reduction factor
  int partner = -1;  // of a Window factor: the one whose axes it shares
  /// The operation knows the logical extent: it reads no padding along the
  /// factor and leaves zeros there.
  bool trims = false;
};

/// Factors of each dimension of one value, major to minor.
using DimFactors = llvm::SmallVector<llvm::SmallVector<unsigned, 2>, 4>;

/// `results` (empty: all) are jointly linear in `operands`, the other operands
/// fixed; the other results do not read `operands`.
struct LinearSet {
  llvm::SmallVector<unsigned, 2> operands;
  llvm::SmallVector<unsigned, 2> results = {};

  bool reaches(unsigned result) const {
    return results.empty() || llvm::is_contained(results, result);
  }
};

struct OpRule {
  llvm::SmallVector<Factor> factors;
  llvm::SmallVector<DimFactors> operands;
  llvm::SmallVector<DimFactors> results;
  llvm::SmallVector<LinearSet> linearSets;
  /// Operands of which some finite values (zero, negative ones) give no finite
  /// result, while one does: what padding must read as there.
  llvm::SmallVector<unsigned, 1> poles;

  unsigned addFactor(int64_t size, FactorKind kind = FactorKind::Parallel,
                     ReduceKind reduce = ReduceKind(0)) {
    factors.push_back({size, kind, reduce});
    return factors.size() - 1;
  }
  /// Two dimensions on the same axes, with extents of their own; returns the
  /// factor of the first, the second is the next.
  unsigned addWindow(int64_t from, int64_t to) {
    unsigned id = addFactor(from, FactorKind::Window);
    addFactor(to, FactorKind::Window);
    factors[id].partner = id + 1;
    factors[id + 1].partner = id;
    return id;
  }
  /// A fresh parallel factor for every extent.
  llvm::SmallVector<unsigned> addFactors(llvm::ArrayRef<int64_t> sizes) {
    llvm::SmallVector<unsigned> ids;
    for (int64_t size : sizes)
      ids.push_back(addFactor(size));
    return ids;
  }
  /// One factor per dimension.
  static DimFactors plain(llvm::ArrayRef<unsigned> ids) {
    DimFactors dims;
    for (unsigned id : ids)
      dims.push_back({id});
    return dims;
  }
  bool resultHasFactor(unsigned result, unsigned factor) const {
    for (auto &dim : results[result])
      for (unsigned f : dim)
        if (f == factor)
          return true;
    return false;
  }
};

} // namespace stretto

#endif // STRETTO_DIALECT_STRETTO_IR_OPRULE_H
