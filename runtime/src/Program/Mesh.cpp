//===- Mesh.cpp - ranks, coordinates, groups, boxes -----------------------===//

#include "stretto/Runtime/Mesh.h"

#include <algorithm>

namespace stretto::runtime {

int64_t Box::localElements() const {
  int64_t count = 1;
  for (const BoxDim &dim : dims)
    count *= dim.extent;
  return count;
}

int64_t Box::ownedElements() const {
  int64_t count = 1;
  for (const BoxDim &dim : dims)
    count *= dim.owned();
  return count;
}

Mesh::Mesh(std::vector<int64_t> axisSizes)
    : sizes(std::move(axisSizes)), strides(sizes.size()) {
  for (size_t axis = sizes.size(); axis-- > 0;) {
    strides[axis] = ranks;
    ranks *= sizes[axis];
  }
}

int64_t Mesh::coordinate(int64_t rank, int64_t axis) const {
  return rank / strides[axis] % sizes[axis];
}

int64_t Mesh::coordinate(int64_t rank, const program::AxisRef &ref) const {
  return rank / stride(ref) % ref.size();
}

int64_t Mesh::stride(const program::AxisRef &ref) const {
  int64_t minor = sizes[ref.axis()] / (int64_t(ref.pre()) * ref.size());
  return strides[ref.axis()] * minor;
}

int64_t Mesh::product(const AxisRefs *axes) {
  int64_t count = 1;
  if (axes)
    for (const program::AxisRef *ref : *axes)
      count *= ref->size();
  return count;
}

int64_t Mesh::memberIndex(int64_t rank, const AxisRefs *axes) const {
  int64_t index = 0;
  if (axes)
    for (const program::AxisRef *ref : *axes)
      index = index * ref->size() + coordinate(rank, *ref);
  return index;
}

std::vector<int64_t> Mesh::members(int64_t rank, const AxisRefs *axes) const {
  if (!axes)
    return {rank};
  for (const program::AxisRef *ref : *axes)
    rank -= coordinate(rank, *ref) * stride(*ref);
  std::vector<int64_t> result = {rank};
  for (const program::AxisRef *ref : *axes) {
    std::vector<int64_t> longer;
    longer.reserve(result.size() * ref->size());
    for (int64_t member : result)
      for (int64_t step = 0; step < int64_t(ref->size()); ++step)
        longer.push_back(member + step * stride(*ref));
    result = std::move(longer);
  }
  return result;
}

Box Mesh::box(int64_t rank, const Dimensions *dims) const {
  Box box;
  if (!dims)
    return box;
  box.dims.reserve(dims->size());
  for (const program::Dimension *dim : *dims) {
    int64_t extent = dim->padded() / product(dim->axes());
    int64_t first = memberIndex(rank, dim->axes()) * extent;
    box.dims.push_back({std::min(first, dim->size()),
                        std::min(first + extent, dim->size()), extent});
  }
  return box;
}

bool Mesh::isFirstReplica(int64_t rank, const Dimensions *dims) const {
  int64_t first = 0; // the rank with zeros in all axes that split nothing
  if (dims)
    for (const program::Dimension *dim : *dims)
      if (dim->axes())
        for (const program::AxisRef *ref : *dim->axes())
          first += coordinate(rank, *ref) * stride(*ref);
  return rank == first;
}

} // namespace stretto::runtime
