//===- Oracle.h - which placements of an operation are sound ----*- C++ -*-===//
//
// For one operation on n ranks: every placement of every operand (replicated,
// sharded on a dimension, a partial sum), decided by running the operation on
// the ranks' parts and comparing with the whole, and independently of that
// whether the dialect's verifier, or the decomposition of the operation, takes
// the placement.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_TEST_UNIT_RULES_ORACLE_H
#define STRETTO_TEST_UNIT_RULES_ORACLE_H

#include "Samples.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "stretto/Interpreter/Layout.h"

namespace stretto::rules {

/// How a value lies on the one mesh axis.
struct Lie {
  int dim = -1; // sharded on it, -1 = on none
  std::optional<ReduceKind> partial;

  std::string text() const;
  bool operator==(const Lie &other) const {
    return dim == other.dim && partial == other.partial;
  }
};
using Lies = std::vector<Lie>;

struct Verdict {
  Lies operands, results; // results: of the first placement that is sound
  bool sound = false;     // the operation on parts gives parts of the result
  bool offered = false;   // the verifier takes a sound placement of the results
  bool decomposed = false; // assign keeps the operands where they lie
  std::string unsound;     // the verifier takes this, which is wrong

  bool available() const { return offered || decomposed; }
  std::string text() const;
};

/// The context in which samples are parsed and run; diagnostics are dropped.
std::unique_ptr<mlir::MLIRContext> makeContext();

/// The sample as the one operation of a segment; null when it does not parse.
mlir::OwningOpRef<mlir::ModuleOp>
parseSample(mlir::MLIRContext &context, const Sample &sample, int64_t numRanks);

/// All placements of `sample` on `numRanks` ranks that are sound, offered or
/// ask for whole blocked dimensions (those that a decomposition may serve).
/// Empty when the sample does not parse.
std::vector<Verdict> judge(mlir::MLIRContext &context, const Sample &sample,
                           int64_t numRanks);

} // namespace stretto::rules

#endif // STRETTO_TEST_UNIT_RULES_ORACLE_H
