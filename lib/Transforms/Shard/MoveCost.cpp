//===- MoveCost.cpp - what a choice of axes costs -------------------------===//

#include "MoveCost.h"

using namespace mlir;
using namespace stretto;
using namespace stretto::shard;

// One rank of a CPU in-process group, measured 2026-11 on two Zen 4 cores:
// all-reduce of 64 MiB over two ranks 21 ms (2 x 32 MiB sent), f32 GEMM 110
// GFLOP/s. Only the ratio matters here; it is about the one of an accelerator
// with a fast link to within the sizes that decide.
static constexpr double defaultSecondsPerByte = 21e-3 / double(64 << 20);
static constexpr double defaultFlopsPerSecond = 110e9;

MoveCost::MoveCost(MeshAttr mesh)
    : mesh(mesh), bytePrice(mesh.getNumAxes(), defaultSecondsPerByte),
      flopsPerSecond(defaultFlopsPerSecond) {}

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
        seconds += secondsPerByte(axis) * bytes *
                   (gathers ? others : others / double(axis.size));
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
    seconds += secondsPerByte(axis) * share * (scatters ? 1 : 2);
    bytes /= scatters ? double(axis.size) : 1;
  }
  return seconds;
}
