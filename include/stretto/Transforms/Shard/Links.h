//===- Links.h - what the axes of a mesh are made of ------------*- C++ -*-===//
//
// Latency and bandwidth of the links along every axis, from the module's
// `stretto.links`: what resharding weighs its steps with.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_TRANSFORMS_SHARD_LINKS_H
#define STRETTO_TRANSFORMS_SHARD_LINKS_H

#include "stretto/Dialect/Stretto/IR/StrettoOps.h"

namespace stretto {

/// Without data all axes are alike and a round costs nothing: the fewest bytes
/// win, then the fewest rounds.
struct Link {
  double latency = 0;      ///< seconds of one round of a collective
  double bandwidth = 10e9; ///< bytes per second that one rank sends
};

class Links {
public:
  explicit Links(MeshAttr mesh) : links(mesh.getNumAxes()) {}

  /// `stretto.links = {tp = {latency = 2.0e-6, bandwidth = 1.0e11}}`; what is
  /// not said keeps its default. Unknown axes and keys, and numbers that no
  /// link has, are errors at the module.
  static mlir::FailureOr<Links> of(mlir::ModuleOp module, MeshAttr mesh);

  Link &operator[](unsigned axis) { return links[axis]; }
  const Link &operator[](unsigned axis) const { return links[axis]; }

  /// Seconds of a collective of `rounds` rounds in which a rank sends `bytes`,
  /// over the slowest of `axes`.
  double seconds(llvm::ArrayRef<AxisRef> axes, int rounds, double bytes) const;
  /// Seconds of `flops` on one rank, beside these links.
  double compute(double flops) const;
  /// The largest bandwidth of any axis.
  double fastest() const;

private:
  llvm::SmallVector<Link> links; // per axis of the mesh
};

} // namespace stretto

#endif // STRETTO_TRANSFORMS_SHARD_LINKS_H
