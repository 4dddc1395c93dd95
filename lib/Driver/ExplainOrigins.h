//===- ExplainOrigins.h - where axes come from, in words --------*- C++ -*-===//
//
// Private to the room: the part of `stretto explain --tensor` that tells the
// way of every axis of a value back to the plan.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_LIB_DRIVER_EXPLAINORIGINS_H
#define STRETTO_LIB_DRIVER_EXPLAINORIGINS_H

#include "CommandLine.h"

namespace stretto::driver {

/// Prints the origins of `line.tensor` when it is a parameter, an input, a
/// segment ("decoder.fwd") or a value of one ("decoder.fwd:einsum.2"). An exit
/// code when there is nothing more to say: all but parameters and inputs, of
/// which the tables speak as well (with --json the tables alone).
std::optional<int> explainOrigins(const CommandLine &line,
                                  llvm::raw_ostream &out,
                                  llvm::raw_ostream &err);

} // namespace stretto::driver

#endif // STRETTO_LIB_DRIVER_EXPLAINORIGINS_H
