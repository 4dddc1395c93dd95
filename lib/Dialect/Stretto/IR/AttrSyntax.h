//===- AttrSyntax.h - syntax that attributes and operations share *- C++ -*-==//
//
// Private to the dialect.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_LIB_DIALECT_STRETTO_IR_ATTRSYNTAX_H
#define STRETTO_LIB_DIALECT_STRETTO_IR_ATTRSYNTAX_H

#include "stretto/Dialect/Stretto/IR/StrettoDialect.h"

namespace stretto {

/// `normal(0.02)`: an initialisation as parameters write it, without brackets.
mlir::FailureOr<InitAttr> parseInitBody(mlir::AsmParser &parser);
void printInitBody(mlir::AsmPrinter &printer, InitAttr init);

} // namespace stretto

#endif // STRETTO_LIB_DIALECT_STRETTO_IR_ATTRSYNTAX_H
