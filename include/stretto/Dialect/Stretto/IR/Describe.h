//===- Describe.h - types and distributions for people ----------*- C++ -*-===//
//
// The one way messages write a distribution: `[{dp}, {tp}], sum {tp}`, which is
// what `#stretto.dist<mesh<…>, …>` has after its mesh, and `8x32xf32 [{dp},
// {}]` for a tensor that lies so.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_DIALECT_STRETTO_IR_DESCRIBE_H
#define STRETTO_DIALECT_STRETTO_IR_DESCRIBE_H

#include "stretto/Dialect/Stretto/IR/StrettoDialect.h"

namespace stretto {

/// `[{dp}, {}], sum {tp}, padded [6, 0]`: what follows the mesh in the syntax.
void printBody(llvm::raw_ostream &os, DistAttr dist);
/// The same as text; "no distribution" of null.
std::string describe(DistAttr dist);
/// "dp = 2, tp = 4".
std::string describe(MeshAttr mesh);
/// "4x8xf32 [{}, {tp}]"; members of a bundle in parentheses.
std::string describe(mlir::Type type);
/// "%x" as the IR would print it.
std::string nameOf(mlir::Value value);

/// "stretto.reshard %x : [{}, {tp}] -> [{}, {}]".
std::string reshardText(llvm::StringRef name, DistAttr from, DistAttr to);
std::string reshardText(mlir::Value value, DistAttr to);

} // namespace stretto

#endif // STRETTO_DIALECT_STRETTO_IR_DESCRIBE_H
