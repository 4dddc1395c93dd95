//===- CollectiveReasons.h - why a collective, and how without it -*- C++
//-*-===//
//
// Private to the room. Reads the distributed IR: which operation made a value
// partial or sharded, which one needs it otherwise, which plan lines stand
// behind both, and what would have to change for the collective not to be.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_LIB_DRIVER_COLLECTIVEREASONS_H
#define STRETTO_LIB_DRIVER_COLLECTIVEREASONS_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SetVector.h"
#include <string>
#include <vector>

namespace stretto::driver {

struct CollectiveReason {
  std::string segment, layer, direction;
  std::string kind, axes; // "all_gather", "{tp}"
  int64_t members = 0;
  std::vector<int64_t> shape;    // logical
  std::vector<std::string> dims; // names, "" = none
  std::string value, location;   // "layer_norm result", "model.mlir:31:10"
  std::string cause, avoid;      // sentences
  std::vector<std::string> planLines, parameters; // that both speak of
};

/// The collectives of @train, segments in the order of their first call. The
/// attribute `cause` of number i becomes "i": the Program keeps it, and what it
/// counts can be put beside the reason.
std::vector<CollectiveReason> explainCollectives(mlir::ModuleOp distributed);

} // namespace stretto::driver

#endif // STRETTO_LIB_DRIVER_COLLECTIVEREASONS_H
