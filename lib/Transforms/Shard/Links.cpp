//===- Links.cpp - what the axes of a mesh are made of --------------------===//

#include "stretto/Transforms/Shard/Links.h"

using namespace mlir;
using namespace stretto;

double Links::seconds(ArrayRef<AxisRef> axes, int rounds, double bytes) const {
  double latency = 0, bandwidth = fastest();
  for (AxisRef ref : axes) {
    latency = std::max(latency, links[ref.axis].latency);
    bandwidth = std::min(bandwidth, links[ref.axis].bandwidth);
  }
  return rounds * latency + bytes / bandwidth;
}

// How much work takes as long as sending one byte over the fastest link. One
// rank of two Zen 4 cores in a process, measured 2026-11: f32 matrix products
// 110 GFLOP/s; all-reduce of 64 MiB over two ranks 21 ms, 64 MiB sent, 3.2
// GB/s. Accelerators do more work per byte, so that moves weigh more there.
static constexpr double flopsPerByte = 110e9 / 3.2e9;

double Links::compute(double flops) const {
  return flops / (flopsPerByte * fastest());
}

double Links::fastest() const {
  double most = 0;
  for (const Link &link : links)
    most = std::max(most, link.bandwidth);
  return most > 0 ? most : Link().bandwidth;
}

/// A number of the link of `axis`, within what a machine can have.
static LogicalResult read(ModuleOp module, StringRef axis, NamedAttribute entry,
                          Link &link) {
  StringRef key = entry.getName().getValue();
  bool isLatency = key == "latency";
  if (!isLatency && key != "bandwidth")
    return module.emitError("links: axis '")
           << axis << "' has no '" << key
           << "'; it has latency (seconds) and bandwidth (bytes per second)";
  auto number = dyn_cast<FloatAttr>(entry.getValue());
  double least = isLatency ? 0 : 1, most = isLatency ? 1 : 1e13;
  double value = number ? number.getValueAsDouble() : -1;
  if (!(value >= least && value <= most))
    return module.emitError("links: ")
           << key << " of axis '" << axis << "' must be a number from "
           << (isLatency ? "0 to 1 second" : "1 to 1e13 bytes per second")
           << ", got " << entry.getValue();
  (isLatency ? link.latency : link.bandwidth) = value;
  return success();
}

FailureOr<Links> Links::of(ModuleOp module, MeshAttr mesh) {
  Links result(mesh);
  Attribute attribute = module->getAttr(attr::links);
  if (!attribute)
    return result;
  auto axes = dyn_cast<DictionaryAttr>(attribute);
  if (!axes)
    return module.emitError("links: expected a dictionary of axes, got ")
           << attribute;
  for (NamedAttribute axis : axes) {
    StringRef name = axis.getName().getValue();
    std::optional<unsigned> index = mesh.lookup(name);
    auto entries = dyn_cast<DictionaryAttr>(axis.getValue());
    if (!index)
      return module.emitError("links: '")
             << name << "' is no axis of the mesh " << mesh;
    if (!entries)
      return module.emitError("links: expected latency and bandwidth of axis '")
             << name << "', got " << axis.getValue();
    for (NamedAttribute entry : entries)
      if (failed(read(module, name, entry, result.links[*index])))
        return failure();
  }
  return result;
}
