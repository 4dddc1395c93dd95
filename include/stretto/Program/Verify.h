//===- Verify.h - the static verifier of Programs ---------------*- C++ -*-===//
//
// What can be known of a Program before it runs. The runtime's loader checks
// that nothing leaves its bounds; this checks that what is done makes sense:
// every byte is written before it is read, streams are ordered where they share
// bytes, every parameter is updated once from a gradient that was summed over
// the ranks that saw different samples. Runs in every compile.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_PROGRAM_VERIFY_H
#define STRETTO_PROGRAM_VERIFY_H

#include "stretto/Runtime/Program.h"
#include "stretto/Support/Diagnostics.h"
#include "llvm/ADT/StringRef.h"

namespace stretto {

/// Checks, in this order:
///  - segments: what a segment promises to write, it writes; collectives have
///    exactly the bytes that their sizes say
///  - calls: slots are exactly as large as arguments; instance keys are those
///  of
///    the names; a slot of an input belongs to the call's micro-batch
///  - memory, per function, calls expanded: reads find bytes that were written
///    (in this call, for scratch) and as the same buffer; commands of different
///    streams that touch the same bytes, one writing, are ordered by events and
///    by what calls start after; operands of one command do not overlap unless
///    it works in place; host inputs are not written, parameters and moments in
///    "train" only; outputs and gradients are written in the end
///  - parameters: their memory is disjoint; "train" updates each with its
///  moments
///    exactly once, in a call that is given its gradient; a gradient is summed
///    over every axis that shards the inputs and not the parameter (where
///    nothing but parameters is gathered over that axis)
llvm::LogicalResult verifyProgram(const runtime::Program &program,
                                  Diagnostics &diagnostics);

/// Checks that every function computes what it was made from, whatever lies
/// where: the digest that the compiler left (Dialect/Program/IR/DataFlow.h) is
/// that of the commands. `bytes` load; functions without a digest pass.
llvm::LogicalResult verifyDataFlow(llvm::StringRef bytes,
                                   Diagnostics &diagnostics);

/// Loads, then checks both. What does not load is an error too.
llvm::LogicalResult verifyProgram(llvm::StringRef bytes,
                                  Diagnostics &diagnostics);

} // namespace stretto

#endif // STRETTO_PROGRAM_VERIFY_H
