//===- Tables.h - words of the dialect as tables of the file ----*- C++ -*-===//
//
// The small conversions that serializing is made of: element types, axes,
// dimensions, slots, scalars, locations.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_PROGRAM_TABLES_H
#define STRETTO_PROGRAM_TABLES_H

#include "stretto/Dialect/Program/IR/ProgramDialect.h"
#include "stretto/Runtime/Program_generated.h"
#include <optional>

namespace stretto {

/// Nullopt when the file has no such element type.
std::optional<program::DType> toDType(mlir::Type type);
mlir::Type toType(mlir::MLIRContext *context, program::DType dtype);

std::vector<program::AxisRef> toAxes(llvm::ArrayRef<AxisRef> axes);
llvm::SmallVector<AxisRef> fromAxes(const std::vector<program::AxisRef> &axes);

/// One table per dimension; without `dist` nothing is sharded.
std::vector<std::unique_ptr<program::DimensionT>>
toDimensions(llvm::ArrayRef<int64_t> shape, DistAttr dist,
             mlir::ArrayAttr names);

std::unique_ptr<program::SlotT> toSlot(exec::SlotAttr slot);
std::vector<std::unique_ptr<program::SlotT>> toSlots(mlir::ArrayAttr slots);

/// Of an offset, an integer, or "seed", "step", "instance", "microbatch"; null
/// for anything else.
std::unique_ptr<program::ScalarT> toScalar(mlir::Attribute scalar);

/// "segment:what@file:line", as much of it as the location knows.
std::string describeLocation(llvm::StringRef segment, llvm::StringRef what,
                             mlir::Location loc);

} // namespace stretto

#endif // STRETTO_PROGRAM_TABLES_H
