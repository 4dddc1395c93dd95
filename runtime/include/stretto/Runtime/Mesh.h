//===- Mesh.h - ranks, coordinates, groups, boxes ---------------*- C++ -*-===//
//
// The arithmetic of the mesh, all in closed form: a rank is the row-major index
// of its coordinates (axes outermost first), a group is the ranks that differ
// only in some axes or sub-axes, a box is what a rank owns of a tensor. No
// table here is larger than one group.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_RUNTIME_MESH_H
#define STRETTO_RUNTIME_MESH_H

#include "stretto/Runtime/Program_generated.h"

#include <cstdint>
#include <vector>

namespace stretto::runtime {

using AxisRefs = flatbuffers::Vector<const program::AxisRef *>;
using Dimensions = flatbuffers::Vector<flatbuffers::Offset<program::Dimension>>;

/// One dimension of a rank's part of a tensor. Local element l is logical
/// element begin + l while that is less than end; local elements from
/// end - begin up to extent are padding.
struct BoxDim {
  int64_t begin;  ///< first logical element
  int64_t end;    ///< one past the last logical element; begin when all is pad
  int64_t extent; ///< local elements, padding included

  int64_t owned() const { return end - begin; }
};

struct Box {
  std::vector<BoxDim> dims;

  /// Local elements, padding included.
  int64_t localElements() const;
  /// Logical elements of the box.
  int64_t ownedElements() const;
};

class Mesh {
public:
  Mesh() = default;
  explicit Mesh(std::vector<int64_t> axisSizes); ///< outermost first, all >= 1

  int64_t numRanks() const { return ranks; }
  int64_t numAxes() const { return static_cast<int64_t>(sizes.size()); }
  int64_t axisSize(int64_t axis) const { return sizes[axis]; }

  /// The rank's coordinate along a whole axis.
  int64_t coordinate(int64_t rank, int64_t axis) const;
  /// The rank's coordinate along an axis or sub-axis.
  int64_t coordinate(int64_t rank, const program::AxisRef &ref) const;

  /// Product of the sizes of `axes` (null: 1).
  static int64_t product(const AxisRefs *axes);
  /// The rank's index within `axes`, major to minor: its member index when the
  /// axes are a group's, its shard index when they are a dimension's.
  int64_t memberIndex(int64_t rank, const AxisRefs *axes) const;
  /// The member whose block a permutation brings here: `shift` after the one
  /// that has the rank's index by `to`, counted round.
  int64_t sender(int64_t rank, const AxisRefs *to, int64_t shift) const {
    return (memberIndex(rank, to) + shift) % product(to);
  }
  /// The ranks that differ from `rank` in `axes` only, in member order.
  std::vector<int64_t> members(int64_t rank, const AxisRefs *axes) const;

  /// What `rank` holds of a tensor with these dimensions.
  Box box(int64_t rank, const Dimensions *dims) const;
  /// True on one rank for each distinct box: the lowest of its replicas.
  bool isFirstReplica(int64_t rank, const Dimensions *dims) const;

private:
  /// What one step along `ref` adds to the rank.
  int64_t stride(const program::AxisRef &ref) const;

  std::vector<int64_t> sizes;
  std::vector<int64_t> strides; // ranks between neighbours along an axis
  int64_t ranks = 1;
};

} // namespace stretto::runtime

#endif // STRETTO_RUNTIME_MESH_H
