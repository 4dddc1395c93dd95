//===- LegalPlacement.cpp - what the algebra of rules demands -------------===//

#include "LegalPlacement.h"

using namespace mlir;
using namespace stretto;
using namespace stretto::shard;

static void shareWindowAxes(const OpRule &rule, Placement &placement) {
  for (auto [index, factor] : llvm::enumerate(rule.factors)) {
    if (factor.kind != FactorKind::Window || factor.partner < int(index))
      continue;
    auto &first = placement.axes[index],
         &second = placement.axes[factor.partner];
    (first.empty() ? first : second) = first.empty() ? second : first;
  }
}

/// Returns whether a part lost its axes.
static bool dropLooseParts(const DimFactors &dims, Placement &placement) {
  bool changed = false;
  for (const auto &factors : dims) {
    bool loose = false; // a more major part is not wholly sharded
    for (unsigned factor : factors) {
      auto &axes = placement.axes[factor];
      if (loose && !axes.empty()) {
        axes.clear();
        placement.padded[factor] = 0;
        changed = true;
      }
      loose |= productOf(axes) != placement.sizes[factor];
    }
  }
  return changed;
}

void shard::legalize(const OpRule &rule, Placement &placement) {
  shareWindowAxes(rule, placement);
  // A part is major in one value and minor in another.
  for (bool changed = true; changed;) {
    changed = false;
    for (auto values : {&rule.operands, &rule.results})
      for (const DimFactors &dims : *values)
        changed |= dropLooseParts(dims, placement);
  }
}
