//===- Vocabulary.cpp - which integers a model takes ----------------------===//

#include "stretto/Model/Vocabulary.h"

#include "stretto/Dialect/Stretto/IR/StrettoOps.h"

using namespace mlir;

int64_t stretto::vocabularyOf(ModuleOp module) {
  int64_t smallest = 0;
  auto see = [&](Value table, unsigned dim) {
    int64_t rows = cast<RankedTensorType>(table.getType()).getDimSize(dim);
    if (!ShapedType::isDynamic(rows) && (smallest == 0 || rows < smallest))
      smallest = rows;
  };
  // Positions are looked up too, but not by integers that come from outside.
  auto fromOutside = [](Value ids) { return isa<BlockArgument>(ids); };
  module.walk([&](EmbeddingOp op) {
    if (fromOutside(op.getIds()))
      see(op.getTable(), 0);
  });
  module.walk([&](CrossEntropyOp op) {
    see(op.getLogits(),
        cast<RankedTensorType>(op.getLogits().getType()).getRank() - 1);
  });
  return smallest;
}
