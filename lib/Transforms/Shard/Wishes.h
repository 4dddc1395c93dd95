//===- Wishes.h - what every dimension is asked to lie on -------*- C++ -*-===//
//
// Private to the room. Constraints are wishes of classes of dimensions. Wishes
// are taken in levels of priority, lower numbers first; within a level those of
// a class itself first, then what other classes offer it: through a contraction
// (only when every contraction of the class offers the same), between a
// compound dimension and its parts, between the two sides of a slice, pad or
// concat, from a constraint back to its operand, through a barrier in the
// direction that it allows. Nothing depends on the
// order of operands or on the order in which operations are visited.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_LIB_TRANSFORMS_SHARD_WISHES_H
#define STRETTO_LIB_TRANSFORMS_SHARD_WISHES_H

#include "MoveCost.h"
#include "Requests.h"
#include "stretto/Dialect/Stretto/Analysis/DimClasses.h"

#include <map>

namespace stretto::shard {

/// What a class of dimensions wants, and where that came from.
struct Wish {
  llvm::SmallVector<AxisRef> axes;
  int64_t priority = 0;
  bool open = false; // later wishes may append axes
  std::string cause; // the plan line
  unsigned node = 0; // the dimension of the class that it entered by
  /// Offered by another class: its dimension and the operation between.
  std::optional<unsigned> offeredBy;
  mlir::Operation *via = nullptr;
};

class Wishes {
public:
  Wishes(SegmentOp segment, MeshAttr mesh, const MoveCost &cost);

  /// Reads the constraints and settles what every class wants. Axes that the
  /// mesh lacks are errors where the constraint stands.
  mlir::LogicalResult collect();

  const Wish *of(mlir::Value value, unsigned dim) const {
    return ofClass(classes.classOf(value, dim));
  }
  const Wish *ofClass(unsigned cls) const {
    auto it = wishes.find(cls);
    return it == wishes.end() ? nullptr : &it->second;
  }
  const DimClasses &dimClasses() const { return classes; }
  /// Where the axes of a wish entered its class: every constraint that asks for
  /// the same, or the dimension that took the offer.
  llvm::SmallVector<unsigned> entrances(const Wish &wish) const;
  /// The plan line of the constraint on a node, if there is one.
  llvm::StringRef causeAt(unsigned node) const;

private:
  /// A constraint on one dimension of one value.
  struct Anchor {
    unsigned node;
    Wish wish;
  };
  /// A way by which one class can offer its wish to another.
  struct Link {
    unsigned from, to; // nodes
    mlir::Operation *via;
    bool unanimous;          // a contraction: all of the class must agree
    unsigned part, numParts; // of a compound, by size
    llvm::SmallVector<int64_t> sizes;
    bool fromCompound;
  };

  mlir::LogicalResult read(mlir::Value value, ConstraintAttr constraint,
                           mlir::Location loc);
  mlir::LogicalResult readConstraints();
  void findLinks();
  void linkContractions(mlir::Operation *op, const OpRule &rule);
  void linkCompounds(mlir::Operation *op, const OpRule &rule);
  void linkCuts(mlir::Operation *op);
  void takeAnchors(int64_t priority);
  bool takeOffers(int64_t priority);
  std::optional<Wish> offer(const Link &link, int64_t priority) const;
  bool take(unsigned cls, const Wish &wish);
  double moveTo(llvm::ArrayRef<Anchor> anchors,
                llvm::ArrayRef<AxisRef> axes) const;

  SegmentOp segment;
  MeshAttr mesh;
  const MoveCost &cost;
  DimClasses classes;
  llvm::SmallVector<Anchor> anchors;
  llvm::SmallVector<Link> links;
  std::map<unsigned, Wish> wishes;
  /// Axes that a class takes from nobody else; the flag: no axis at all.
  llvm::DenseMap<unsigned, llvm::SmallVector<AxisRef>> refused;
  llvm::DenseSet<unsigned> closed;
};

} // namespace stretto::shard

#endif // STRETTO_LIB_TRANSFORMS_SHARD_WISHES_H
