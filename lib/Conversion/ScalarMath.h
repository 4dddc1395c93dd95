//===- ScalarMath.h - elementary functions in LLVM IR -----------*- C++ -*-===//
//
// exp, log, tanh, erf, sine, cosine and the Philox generator as straight-line
// code that LLVM's loop vectoriser takes in. Relative error below 1e-6 in f32;
// NaN and infinities behave as in C. Coefficients come from utils/fit-math.py.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_LIB_CONVERSION_SCALARMATH_H
#define STRETTO_LIB_CONVERSION_SCALARMATH_H

#include "llvm/IR/IRBuilder.h"

namespace stretto::kernel {

class ScalarMath {
public:
  explicit ScalarMath(llvm::IRBuilder<> &builder) : b(builder) {}

  llvm::Value *exp(llvm::Value *x);
  llvm::Value *log(llvm::Value *x);
  llvm::Value *tanh(llvm::Value *x);
  llvm::Value *sigmoid(llvm::Value *x);
  llvm::Value *erf(llvm::Value *x);
  /// Of an f64 angle below 2^30, to f32.
  llvm::Value *sinCos(llvm::Value *angle, bool cosine);
  /// Random.h: key(seed, step, instance).
  llvm::Value *randomKey(llvm::Value *seed, llvm::Value *step,
                         llvm::Value *instance);
  /// Random.h: bits24(key, element, opId) >= threshold.
  llvm::Value *keep(llvm::Value *key, llvm::Value *element, uint64_t opId,
                    uint32_t threshold);

private:
  llvm::Value *f32(double value);
  llvm::Value *fma(llvm::Value *x, llvm::Value *y, llvm::Value *z);
  llvm::Value *horner(llvm::Value *x, llvm::ArrayRef<double> coefficients);
  /// x P(x^2) / Q(x^2), or +-1 beyond `limit`; NaN stays.
  llvm::Value *saturating(llvm::Value *x, double limit,
                          llvm::ArrayRef<double> p, llvm::ArrayRef<double> q);
  /// 2^n for n in [-127, 127] (-127 gives zero).
  llvm::Value *powerOfTwo(llvm::Value *n);
  llvm::Value *mix(llvm::Value *x);

  llvm::IRBuilder<> &b;
};

} // namespace stretto::kernel

#endif // STRETTO_LIB_CONVERSION_SCALARMATH_H
