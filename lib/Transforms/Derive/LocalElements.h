//===- LocalElements.h - how much of a value a rank will hold ---*- C++ -*-===//
//
// Derive runs before values have distributions, but the plan's constraints on a
// layer's arguments already tell on which axes dimensions of which names will
// lie. That is enough to weigh values against each other: what is decided later
// (between wishes that exclude each other, where partial sums go) may differ.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_LIB_TRANSFORMS_DERIVE_LOCALELEMENTS_H
#define STRETTO_LIB_TRANSFORMS_DERIVE_LOCALELEMENTS_H

#include "stretto/Dialect/Stretto/IR/StrettoOps.h"
#include "stretto/Transforms/Apply/DimensionNames.h"
#include "llvm/ADT/StringMap.h"

namespace stretto {

class LocalElements {
public:
  /// `mesh` may be null: then a rank holds all.
  LocalElements(LayerOp layer, MeshAttr mesh);

  int64_t of(mlir::Value value) const;

private:
  struct Wish {
    llvm::ArrayRef<mlir::StringAttr> axes;
    int64_t priority;
  };
  int64_t sizeOf(llvm::StringRef axis) const;

  MeshAttr mesh;
  DimensionNames names;
  llvm::StringMap<Wish> wishes; // by name of the dimension
};

} // namespace stretto

#endif // STRETTO_LIB_TRANSFORMS_DERIVE_LOCALELEMENTS_H
