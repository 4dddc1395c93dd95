//===- Holdings.h - which dimension has which axis, in names ----*- C++ -*-===//
//
// Private to the room: reads off the rules and types of distributed operations
// which dimensions hold which mesh axes, called as the model calls them, and
// the plan line that put them there.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_LIB_DRIVER_HOLDINGS_H
#define STRETTO_LIB_DRIVER_HOLDINGS_H

#include "stretto/Dialect/Stretto/Analysis/DimClasses.h"
#include "stretto/Dialect/Stretto/IR/Distribution.h"
#include <map>
#include <memory>
#include <string>

namespace stretto::driver {

/// "model.mlir:31:10", or "" for what has no place in a file.
std::string placeOf(mlir::Location location);
/// "einsum (model.mlir:31:10)".
std::string nameOf(mlir::Operation *op);

/// An axis that a dimension holds, with the plan line that says so ("" when
/// none does).
struct Holding {
  std::string dim, line, axes; // "ffn", "ffn: tp at plan.yaml:7:41", "{tp}"
  AxisRef axis;

  bool operator==(const Holding &other) const {
    return dim == other.dim && axis == other.axis;
  }
  /// "ffn on {tp} (ffn: tp at plan.yaml:7:41)".
  std::string text() const;
  /// "ffn whole on {tp} (no `ffn: tp at plan.yaml:7:41`)".
  std::string withoutIt() const;
};

class Holdings {
public:
  explicit Holdings(mlir::ModuleOp module);

  /// Name of a dimension of `value`, which is seen in the function around
  /// `inside`; "" when it has none.
  llvm::StringRef knownName(mlir::Operation *inside, mlir::Value value,
                            unsigned dim);
  /// The same, or "dimension 2".
  std::string dimName(mlir::Operation *inside, mlir::Value value, unsigned dim);
  /// Dimension `dim` holds `axis`.
  Holding holding(MeshAttr mesh, const std::string &dim, AxisRef axis);
  /// Which dimensions of `op` hold (parts of) `axes`: the ones that it sums
  /// over and some result lacks, or the ones that it keeps.
  llvm::SmallVector<Holding> of(mlir::Operation *op,
                                llvm::ArrayRef<AxisRef> axes, bool summed);
  /// Both kinds.
  llvm::SmallVector<Holding> of(mlir::Operation *op,
                                llvm::ArrayRef<AxisRef> axes);

private:
  void readPlanLines(SegmentOp segment);
  std::string factorName(mlir::Operation *op, const OpRule &rule,
                         unsigned factor);

  llvm::DenseMap<mlir::Operation *, std::unique_ptr<DimClasses>> classes;
  /// (dimension, axis) -> "ffn: tp at plan.yaml:7:41".
  std::map<std::pair<std::string, std::string>, std::string> lines;
};

} // namespace stretto::driver

#endif // STRETTO_LIB_DRIVER_HOLDINGS_H
