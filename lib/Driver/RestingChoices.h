//===- RestingChoices.h - when state is gathered and reduced ----*- C++ -*-===//
//
// Private to the room: reads off the distributed step when parameters that rest
// sharded are gathered and gradients reduced, and what the other times would
// send and hold.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_LIB_DRIVER_RESTINGCHOICES_H
#define STRETTO_LIB_DRIVER_RESTINGCHOICES_H

#include "stretto/Dialect/Stretto/IR/StrettoOps.h"

#include <string>
#include <vector>

namespace stretto::driver {

struct RestingChoice {
  struct Time {
    std::string name;  ///< as the plan says it: pass, microbatch or step
    int64_t sentBytes; ///< per step, by one rank
    int64_t heldBytes; ///< more than the time that holds the least
  };
  std::string what; ///< "gather" or "reduce", as in the plan
  std::string chosen;
  std::vector<Time> times; ///< the chosen one among them

  int64_t sentBytes() const;
};

/// One entry for every time that is chosen for some tensors, over all of them.
/// `module` is distributed, its steps unbundled.
std::vector<RestingChoice> explainResting(mlir::ModuleOp module);

} // namespace stretto::driver

#endif // STRETTO_LIB_DRIVER_RESTINGCHOICES_H
