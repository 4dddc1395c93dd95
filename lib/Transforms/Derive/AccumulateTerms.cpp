//===- AccumulateTerms.cpp - gradients that are reduced one by one --------===//

#include "LayerBody.h"
#include "LayerSegments.h"

using namespace mlir;
using namespace stretto;

SegmentOp stretto::makeAccumulateSegment(ModuleOp module, LayerOp layer,
                                         ArrayRef<unsigned> arguments,
                                         const Precision &precision,
                                         StringRef name) {
  FunctionBuilder f = FunctionBuilder::segment(
      module, layer.getLoc(), name, "accumulate", layer.getSymNameAttr());
  ArrayRef<Type> types = layer.getArgumentTypes();
  SmallVector<Value> terms;
  for (unsigned i : arguments)
    terms.push_back(f.addArgument(precision.term(types[i]),
                                  argumentAttributesOf(layer, i, role::term)));
  for (auto [i, term] : llvm::zip(arguments, terms)) {
    ValueAttributes attributes =
        argumentAttributesOf(layer, i, role::accumulator);
    attributes.set(attr::rest, restOfSums(layer, i));
    unsigned number = f.getNumArguments();
    Value sum = f.addArgument(precision.gradient(types[i]), attributes);
    term = precision.reduceAt(f.b, term, restOfSums(layer, i));
    f.addResult(AddOp::create(f.b, layer.getLoc(), sum, term),
                attributes.alias(number));
  }
  return f.finishSegment();
}
