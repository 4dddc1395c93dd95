//===- LocalElements.cpp - how much of a value a rank will hold -----------===//

#include "LocalElements.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace stretto;

/// Of arguments that disagree the one with the better priority has the say.
LocalElements::LocalElements(LayerOp layer, MeshAttr mesh)
    : mesh(mesh), names(layer) {
  FunctionOpInterface function = layer;
  for (BlockArgument argument : layer.getBody().front().getArguments()) {
    auto constraint = function.getArgAttrOfType<ConstraintAttr>(
        argument.getArgNumber(), attr::constraint);
    auto dims = names.namesOf(argument);
    if (!mesh || !constraint || dims.size() != constraint.getRank())
      continue;
    for (auto [dim, name] : llvm::enumerate(dims)) {
      Wish wish{constraint.getDimAxes(dim), constraint.getPriorities()[dim]};
      if (name.getValue() == "_" || wish.axes.empty())
        continue;
      auto [known, fresh] = wishes.try_emplace(name.getValue(), wish);
      if (!fresh && wish.priority < known->second.priority)
        known->second = wish;
    }
  }
}

/// Of "tp" or "tp:(1)2"; 1 of what is no axis, which others will say.
int64_t LocalElements::sizeOf(StringRef axis) const {
  auto [name, part] = axis.split(':');
  int64_t size;
  if (!part.empty() && !part.rsplit(')').second.getAsInteger(10, size))
    return std::max<int64_t>(size, 1);
  std::optional<unsigned> index = mesh.lookup(name);
  return index ? mesh.getSizes()[*index] : 1;
}

/// An axis shards one dimension: the one that asks first.
int64_t LocalElements::of(Value value) const {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> extents(type.getShape());
  SmallVector<std::pair<const Wish *, unsigned>> asked;
  for (auto [dim, name] : llvm::enumerate(names.namesOf(value)))
    if (auto it = wishes.find(name.getValue()); it != wishes.end())
      asked.emplace_back(&it->second, dim);
  llvm::stable_sort(asked, [](const auto &a, const auto &b) {
    return a.first->priority < b.first->priority;
  });
  llvm::SmallDenseSet<StringAttr> taken;
  for (auto [wish, dim] : asked) {
    if (llvm::any_of(wish->axes,
                     [&](StringAttr axis) { return taken.contains(axis); }))
      continue;
    int64_t shards = 1;
    for (StringAttr axis : wish->axes) {
      shards *= sizeOf(axis.getValue());
      taken.insert(axis);
    }
    extents[dim] = llvm::divideCeil(extents[dim], shards);
  }
  int64_t elements = 1;
  for (int64_t extent : extents)
    elements *= extent;
  return elements;
}
