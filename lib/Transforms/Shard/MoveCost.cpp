//===- MoveCost.cpp - what a choice of axes costs -------------------------===//

#include "MoveCost.h"

using namespace mlir;
using namespace stretto;
using namespace stretto::shard;

double MoveCost::compute(double flops) const { return links.compute(flops); }

static double localBytes(RankedTensorType type, const DimAxes &dims) {
  double bytes = std::max(1u, type.getElementTypeBitWidth() / 8);
  for (int64_t extent : type.getShape())
    bytes *= double(extent);
  for (const auto &axes : dims)
    bytes /= double(productOf(axes));
  return bytes;
}

double MoveCost::move(RankedTensorType type, const DimAxes &from,
                      const DimAxes &to) const {
  SmallVector<AxisRef> wanted;
  for (const auto &axes : to)
    llvm::append_range(wanted, axes);
  double bytes = localBytes(type, from), seconds = 0;
  // Exchanges first: they keep the value small.
  for (bool gathers : {false, true})
    for (auto [dim, axes] : llvm::enumerate(from))
      for (AxisRef axis : axes) {
        if (axesOverlap(to[dim], axis) || axesOverlap(wanted, axis) == gathers)
          continue;
        double others = double(axis.size - 1);
        seconds += links.seconds(
            axis, 1, bytes * (gathers ? others : others / double(axis.size)));
        bytes *= gathers ? double(axis.size) : 1;
      }
  return seconds;
}

double MoveCost::reduce(RankedTensorType type, const DimAxes &dims,
                        ArrayRef<AxisRef> axes,
                        ArrayRef<AxisRef> scattered) const {
  double bytes = localBytes(type, dims), seconds = 0;
  for (AxisRef axis : axes) {
    double share = bytes * double(axis.size - 1) / double(axis.size);
    bool scatters = axesOverlap(scattered, axis);
    int rounds = scatters ? 1 : 2;
    seconds += links.seconds(axis, rounds, share * rounds);
    bytes /= scatters ? double(axis.size) : 1;
  }
  return seconds;
}

double MoveCost::reduceTogether(RankedTensorType type, const DimAxes &dims,
                                ArrayRef<AxisRef> axes) const {
  double members = double(productOf(axes));
  return members == 1 ? 0
                      : links.seconds(axes, 2,
                                      2 * (members - 1) / members *
                                          localBytes(type, dims));
}
