//===- ModulePropagation.h - propagation over all segments ------*- C++ -*-===//
//
// Private to the room: segments in the order in which steps invoke them; what a
// result wants is handed to the argument that it feeds. The decisions stay
// readable after the run, for those who ask where an axis came from.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_LIB_TRANSFORMS_SHARD_MODULEPROPAGATION_H
#define STRETTO_LIB_TRANSFORMS_SHARD_MODULEPROPAGATION_H

#include "BodyPropagation.h"

namespace stretto::shard {

class ModulePropagation {
public:
  explicit ModulePropagation(mlir::ModuleOp module)
      : module(module), mesh(meshOf(module)), cost(Links(mesh)),
        symbols(module) {}

  mlir::LogicalResult run();

  MeshAttr getMesh() const { return mesh; }
  SegmentOp lookup(llvm::StringRef name) {
    return symbols.lookup<SegmentOp>(name);
  }
  /// Null for a segment that no step invokes.
  const BodyPropagation *bodyOf(SegmentOp segment) const {
    auto it = bodies.find(segment);
    return it == bodies.end() ? nullptr : it->second.get();
  }
  /// The result whose constraint an argument took, if it did.
  std::optional<std::pair<SegmentOp, unsigned>>
  inheritedFrom(SegmentOp segment, unsigned argument) const {
    auto it = inherited.find({segment, argument});
    if (it == inherited.end())
      return std::nullopt;
    return it->second;
  }

private:
  void inherit(InvokeOp invoke, SegmentOp segment);

  mlir::ModuleOp module;
  MeshAttr mesh;
  MoveCost cost;
  mlir::SymbolTable symbols;
  std::map<mlir::Operation *, std::unique_ptr<BodyPropagation>> bodies;
  std::map<std::pair<mlir::Operation *, unsigned>,
           std::pair<SegmentOp, unsigned>>
      inherited;
};

} // namespace stretto::shard

#endif // STRETTO_LIB_TRANSFORMS_SHARD_MODULEPROPAGATION_H
