//===- Optimizers.h - the update of one element -----------------*- C++ -*-===//
//
// Private to the room: the definitions of AdamW and SGD (Fused.td), element by
// element, for the operations and for updates that are played again.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_LIB_INTERPRETER_OPTIMIZERS_H
#define STRETTO_LIB_INTERPRETER_OPTIMIZERS_H

#include "llvm/ADT/ArrayRef.h"
#include <cmath>

namespace stretto::interp {

struct AdamW {
  double beta1, beta2, eps, decay;

  /// `g` is clipped; hyper = lr, 1 - beta1^t, 1 - beta2^t.
  void update(double &p, double &m, double &v, double g,
              llvm::ArrayRef<double> hyper) const {
    m = beta1 * m + (1 - beta1) * g;
    v = beta2 * v + (1 - beta2) * g * g;
    p -=
        hyper[0] * (m / hyper[1] / (std::sqrt(v / hyper[2]) + eps) + decay * p);
  }
};

struct Sgd {
  double momentum, decay;

  void update(double &p, double &m, double g,
              llvm::ArrayRef<double> hyper) const {
    m = momentum * m + g + decay * p;
    p -= hyper[0] * m;
  }
};

} // namespace stretto::interp

#endif // STRETTO_LIB_INTERPRETER_OPTIMIZERS_H
