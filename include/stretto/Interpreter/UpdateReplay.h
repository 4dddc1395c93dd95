//===- UpdateReplay.h - the optimizer on another's gradients ----*- C++ -*-===//
//
// What the recipe's optimizer makes, in f64, of the gradients that a program
// has computed. Adam divides a gradient by its own size: where the exact
// gradient is zero (the key bias of attention), rounding noise becomes a step
// of plus or minus lr, on every program another one. Whether a program updates
// rightly is therefore asked of the gradients that it had, and whether these
// are right is asked of them alone.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_INTERPRETER_UPDATEREPLAY_H
#define STRETTO_INTERPRETER_UPDATEREPLAY_H

#include "mlir/IR/BuiltinOps.h"
#include "stretto/Interpreter/Tensor.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace stretto::interp {

class UpdateReplay {
public:
  /// The optimizer of `derived`'s recipe on the parameters of its @train, which
  /// are `initial` (by binding) before step 1; moments begin at zero. Nothing
  /// when the module does not name an optimizer.
  static std::optional<UpdateReplay>
  of(mlir::ModuleOp derived, const std::map<std::string, Tensor> &initial);

  using Gradients = llvm::function_ref<const Tensor *(llvm::StringRef name)>;
  /// The next step with these gradients, by parameter, not yet clipped. False,
  /// and nothing happens from then on, when one is missing or misshapen. A step
  /// whose gradient norm is not finite is left out, as programs do.
  bool step(Gradients gradients);

  /// The parameter after the last step; null when steps were not possible.
  const Tensor *parameter(llvm::StringRef name) const;

private:
  struct State {
    Tensor parameter, moment1, moment2;
    bool decays;
  };
  void update(State &state, const Tensor &gradient, double gscale);

  std::map<std::string, State, std::less<>> states;
  bool isSgd = false, isBroken = false;
  double beta1 = 0, beta2 = 0, eps = 0, momentum = 0, decay = 0, clip = 0;
  mlir::ModuleOp module;
  int64_t steps = 0;
  std::vector<double> hyper; // of the present step
};

} // namespace stretto::interp

#endif // STRETTO_INTERPRETER_UPDATEREPLAY_H
