//===- LegalPlacement.h - what the algebra of rules demands -----*- C++ -*-===//
//
// Private to the room: axes chosen factor by factor may not fit together; what
// does not fit gives way here.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_LIB_TRANSFORMS_SHARD_LEGALPLACEMENT_H
#define STRETTO_LIB_TRANSFORMS_SHARD_LEGALPLACEMENT_H

#include "stretto/Dialect/Stretto/IR/Distribution.h"

namespace stretto::shard {

/// Gives both dimensions of a window the same axes (those of the first, when
/// both have some) and takes the axes of minor parts of compound dimensions
/// whose major parts are not wholly sharded: their shards are no boxes.
void legalize(const OpRule &rule, Placement &placement);

} // namespace stretto::shard

#endif // STRETTO_LIB_TRANSFORMS_SHARD_LEGALPLACEMENT_H
