//===- LayerSegments.cpp - the segments of a layer ------------------------===//

#include "LayerSegments.h"

using namespace mlir;
using namespace stretto;

static void append(std::vector<unsigned> &key, const llvm::BitVector &bits) {
  key.push_back(bits.size());
  for (unsigned bit : bits.set_bits())
    key.push_back(bit);
  key.push_back(~0u);
}

std::string LayerSegments::nameOf(LayerOp layer, StringRef suffix) {
  std::string base = layer.getSymName().str();
  unsigned number = names[base + "." + suffix.str()]++;
  return number == 0 ? base : base + "." + std::to_string(number);
}

FailureOr<const LayerDerivative *>
LayerSegments::derivative(LayerOp layer, const TrainingUse &use) {
  Key key;
  append(key, use.results);
  append(key, use.cotangents);
  append(key, use.active);
  std::unique_ptr<LayerDerivative> &entry =
      derivatives[{layer, use.recompute.key(), key}];
  if (entry)
    return entry.get();
  auto made =
      differentiateLayer(module, layer, use, precision, nameOf(layer, "fwd"));
  if (failed(made))
    return failure();
  entry = std::make_unique<LayerDerivative>(std::move(*made));
  return entry.get();
}

SegmentOp LayerSegments::accumulate(LayerOp layer,
                                    ArrayRef<unsigned> arguments) {
  Key key(arguments.begin(), arguments.end());
  SegmentOp &entry = accumulations[{layer, key}];
  if (!entry)
    entry = makeAccumulateSegment(module, layer, arguments, precision,
                                  nameOf(layer, "accumulate") + ".accumulate");
  return entry;
}

const ForwardSegment *LayerSegments::forward(LayerOp layer,
                                             const ForwardUse &use) {
  Key key = {unsigned(use.direction == "count")};
  append(key, use.results);
  append(key, use.accumulated);
  std::unique_ptr<ForwardSegment> &entry = forwards[{layer, key}];
  if (entry)
    return entry.get();
  std::string name = nameOf(layer, use.direction) + "." + use.direction.str();
  entry = std::make_unique<ForwardSegment>(
      makeForwardSegment(module, layer, use, name));
  return entry.get();
}
