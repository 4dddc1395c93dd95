//===- Layout.h - global tensors and the ranks' parts -----------*- C++ -*-===//
//
// From a logical tensor to what every rank holds of it and back, as the
// attributes `stretto.dist` and `stretto.global_shape` of a localized step say;
// on the way back replicas must agree bit for bit and padding may have to be
// zero. Also the initial values of parameters.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_INTERPRETER_LAYOUT_H
#define STRETTO_INTERPRETER_LAYOUT_H

#include "stretto/Interpreter/Interpreter.h"

namespace stretto::interp {

/// How an argument or result of a step lies on the ranks.
struct Layout {
  DistAttr dist; ///< null: one rank holds the whole
  llvm::SmallVector<int64_t> globalShape;
};

/// The layout of argument (result) `index`; an error when a distributed value
/// lacks its global shape, is partial, or its type does not follow from both.
mlir::FailureOr<Layout> layoutOfArgument(StepOp step, unsigned index);
mlir::FailureOr<Layout> layoutOfResult(StepOp step, unsigned index);

/// What every rank holds of `global`, padding zero.
RankTensors scatter(const Tensor &global, const Layout &layout);

struct Gathered {
  Tensor value; ///< of the global shape
  /// "rank 2 and rank 0 hold element [1, 3] as 0.5 and 0.25", a few of them.
  std::vector<std::string> faults;
};
/// With `zeroPadding`, padding that is not zero is a fault.
Gathered gather(const RankTensors &parts, const Layout &layout,
                bool zeroPadding = true);

/// The parameter `name` before step 1: drawn by logical element in f64, stored
/// as f32. A null `init` gives zeros.
Tensor initialValue(InitAttr init, llvm::ArrayRef<int64_t> shape, uint64_t seed,
                    llvm::StringRef name);

} // namespace stretto::interp

#endif // STRETTO_INTERPRETER_LAYOUT_H
