//===- RecomputePolicy.h - what an instance computes again ------*- C++ -*-===//
//
// Which operations of a layer instance backward may repeat in order not to keep
// their results: the attribute `stretto.recompute` of a call, a list of words.
// It permits; what is kept is the choice of `derive`, which takes the fewest
// bytes.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_TRANSFORMS_APPLY_RECOMPUTEPOLICY_H
#define STRETTO_TRANSFORMS_APPLY_RECOMPUTEPOLICY_H

#include "stretto/Dialect/Stretto/IR/StrettoOps.h"
#include "stretto/Plan/Plan.h"
#include <optional>

namespace stretto {

namespace attr {
constexpr llvm::StringLiteral recompute = "stretto.recompute";
/// Bytes of a rank, as far as the plan's constraints tell, that an instance may
/// keep under the policy `auto`.
constexpr llvm::StringLiteral keepBytes = "stretto.keep_bytes";
/// On a call without the word `gathers`, and on a forward segment: backward
/// makes again what forward gathered.
constexpr llvm::StringLiteral repeatGathers = "stretto.repeat_gathers";
} // namespace attr

/// The words:
///   full         every operation
///   selective    every operation but matrix products and attention
///   attention    the attention core
///   norms        layer_norm, rms_norm
///   activations  pointwise operations, dropout among them
///   gathers      no operation: values are kept as they lie where they are
///                made, and gathered again where forward gathered them
///   gelu, …      operations of this name
///   auto         every operation, but no more of them than it takes to keep
///                `stretto.keep_bytes`; without that attribute none
class RecomputePolicy {
public:
  RecomputePolicy() = default;
  /// Of a call; an attribute that is no list of known words is an error.
  static mlir::FailureOr<RecomputePolicy> of(CallOp call);

  bool mayRepeat(mlir::Operation *op) const;
  /// The same policy has the same key.
  using Key = std::tuple<const void *, int64_t, bool>;
  Key key() const {
    return {isNone() ? nullptr : words.getAsOpaquePointer(),
            keepBytes.value_or(-1), repeatsGathers()};
  }
  bool isNone() const { return !words || words.empty(); }
  bool isAuto() const;
  /// By `gathers` or `full`, or because the search for a memory limit says so.
  bool repeatsGathers() const;
  /// Of an automatic policy, once it is decided.
  std::optional<int64_t> getKeepBytes() const { return keepBytes; }

private:
  mlir::ArrayAttr words;
  std::optional<int64_t> keepBytes;
  bool mustRepeatGathers = false;
};

/// Sets the attribute on a call by the last rule of the plan that matches. A
/// word that names no operation is reported at its rule.
mlir::LogicalResult applyRecompute(CallOp call, const Plan &plan,
                                   Diagnostics &diagnostics);

} // namespace stretto

#endif // STRETTO_TRANSFORMS_APPLY_RECOMPUTEPOLICY_H
