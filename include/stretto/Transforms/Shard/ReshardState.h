//===- ReshardState.h - how a value lies between two reshards ---*- C++ -*-===//
//
// The states and steps of the search for a reshard, without any IR: axes per
// dimension, partial axes, padded extents; what a step does to them and what it
// sends. Everything is arithmetic on axes, never on ranks.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_TRANSFORMS_SHARD_RESHARDSTATE_H
#define STRETTO_TRANSFORMS_SHARD_RESHARDSTATE_H

#include "stretto/Transforms/Shard/Links.h"

namespace stretto {

using AxisList = llvm::SmallVector<AxisRef, 2>;

struct ReshardState {
  llvm::SmallVector<AxisList, 4> dims;   ///< per dimension, major to minor
  AxisList partial;                      ///< sorted
  llvm::SmallVector<int64_t, 4> extents; ///< with padding

  bool operator==(const ReshardState &other) const {
    return dims == other.dims && partial == other.partial &&
           extents == other.extents;
  }
  /// Elements on one rank.
  double localElements() const;
  /// Is `axis`, or one that cannot be used together with it, in use?
  bool uses(AxisRef axis) const;
  bool splits(unsigned dim, int64_t parts) const {
    return extents[dim] % (productOf(dims[dim]) * parts) == 0;
  }
};

/// One step, in the words of the operation that it becomes.
struct ReshardStep {
  enum class Kind {
    Slice,         ///< `axes` are appended to `dim`
    Pad,           ///< the whole dimension `dim` gets another extent
    KeepFirst,     ///< replicated over `axes` becomes partial over them
    AllGather,     ///< `axes`, the end of `dim`, are removed
    AllToAll,      ///< `axes`, the end of `from`, are removed, `to` appended to
                   ///< `dim`
    ReduceScatter, ///< partial over `axes` becomes `axes` appended to `dim`
    AllReduce,     ///< partial over `axes` becomes replicated
    Permute,       ///< what member k of `axes` has goes to member k of `to`
  };
  Kind kind;
  AxisList axes, to;
  unsigned dim = 0, from = 0;

  bool communicates() const { return kind >= Kind::AllGather; }
  int rounds() const { return kind == Kind::AllReduce ? 2 : 1; }
};

/// "all-to-all {tp} 0 -> 1", for explanations and tests.
std::string toString(MeshAttr mesh, const ReshardStep &step);

/// One reshard to be planned. Axes are cut into sub-axes that both sides share;
/// where the two cut an axis in ways that do not coexist (6 as 2 x 3 and as
/// 3 x 2), as far as they have parts in common.
class ReshardProblem {
public:
  ReshardProblem(DistAttr from, DistAttr to, llvm::ArrayRef<int64_t> shape,
                 int64_t elementBytes, const Links &links);

  MeshAttr mesh;
  ReshardState source, target;
  llvm::SmallVector<int64_t, 4> shape;
  int64_t elementBytes;
  const Links &links;
  /// The sub-axes that a dimension can get; they may overlap.
  AxisList pieces;

  /// Has `state` the target's distribution?
  bool isTarget(const ReshardState &state) const;
  /// Bytes that a rank sends in a step from `state`, on average over the ranks;
  /// as the runtime counts: what others read from it.
  double bytesOf(const ReshardState &state, const ReshardStep &step) const;
  double secondsOf(const ReshardState &state, const ReshardStep &step) const;
  /// No sequence of steps from `state` to the target sends fewer bytes.
  double leastBytes(const ReshardState &state) const;
  double localBytes(const ReshardState &state) const {
    return state.localElements() * double(elementBytes);
  }
  /// Partial axes of `state` that the target does not have.
  AxisList toReduce(const ReshardState &state) const;

private:
  ReshardState cut(DistAttr dist, llvm::ArrayRef<AxisRef> basis) const;
};

} // namespace stretto

#endif // STRETTO_TRANSFORMS_SHARD_RESHARDSTATE_H
