//===- Vocabulary.h - which integers a model takes --------------*- C++ -*-===//
//
// The bound of tokens and labels, read off the operations that look them up.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_MODEL_VOCABULARY_H
#define STRETTO_MODEL_VOCABULARY_H

#include "mlir/IR/BuiltinOps.h"

namespace stretto {

/// Rows of the smallest table that the module looks up integers in that come
/// from outside (embeddings, classes of a cross-entropy): tokens and labels
/// below it are valid everywhere. 0 when nothing is looked up.
int64_t vocabularyOf(mlir::ModuleOp module);

} // namespace stretto

#endif // STRETTO_MODEL_VOCABULARY_H
