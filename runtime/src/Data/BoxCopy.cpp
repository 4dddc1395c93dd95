#include "stretto/Runtime/BoxCopy.h"

#include <algorithm>
#include <cstring>

namespace stretto::runtime {

using Extents = std::vector<int64_t>;

Box denseBox(const Extents &begin, const Extents &end) {
  Box box;
  for (size_t dim = 0; dim < begin.size(); ++dim)
    box.dims.push_back({begin[dim], end[dim], end[dim] - begin[dim]});
  return box;
}

Box wholeBox(const Extents &shape) {
  return denseBox(Extents(shape.size(), 0), shape);
}

Box withoutPadding(const Box &box) {
  Box dense = box;
  for (BoxDim &dim : dense.dims)
    dim.extent = dim.owned();
  return dense;
}

static Box intersect(const Box &a, const Box &b) {
  Box common;
  for (size_t dim = 0; dim < a.dims.size(); ++dim) {
    int64_t begin = std::max(a.dims[dim].begin, b.dims[dim].begin);
    int64_t end = std::min(a.dims[dim].end, b.dims[dim].end);
    end = std::max(begin, end);
    common.dims.push_back({begin, end, end - begin});
  }
  return common;
}

int64_t commonElements(const Box &a, const Box &b) {
  return intersect(a, b).ownedElements();
}

/// Visits the logical coordinates of every row (run along the last dimension)
/// of a box until `visit` returns false.
template <typename Visit> static void forEachRow(const Box &box, Visit visit) {
  if (box.ownedElements() == 0)
    return;
  Extents at;
  for (const BoxDim &dim : box.dims)
    at.push_back(dim.begin);
  while (visit(at)) {
    size_t dim = at.empty() ? 0 : at.size() - 1;
    while (dim > 0 && ++at[dim - 1] == box.dims[dim - 1].end) {
      at[dim - 1] = box.dims[dim - 1].begin;
      --dim;
    }
    if (dim == 0)
      return;
  }
}

/// Offset in the memory of `box` of the element at logical coordinates `at`.
static int64_t offsetIn(const Box &box, const Extents &at) {
  int64_t offset = 0;
  for (size_t dim = 0; dim < at.size(); ++dim)
    offset = offset * box.dims[dim].extent + at[dim] - box.dims[dim].begin;
  return offset;
}

static int64_t rowLength(const Box &box) {
  return box.dims.empty() ? 1 : box.dims.back().owned();
}

void forEachRun(const Box &box, const Extents &shape,
                const std::function<void(int64_t, int64_t, int64_t)> &visit) {
  Box whole = wholeBox(shape);
  forEachRow(box, [&](const Extents &at) {
    visit(offsetIn(box, at), offsetIn(whole, at), rowLength(box));
    return true;
  });
}

int64_t copyCommon(const Box &source, const void *sourceData, const Box &target,
                   void *targetData, size_t elementBytes) {
  Box common = intersect(source, target);
  size_t bytes = elementBytes * rowLength(common);
  auto from = static_cast<const char *>(sourceData);
  auto to = static_cast<char *>(targetData);
  forEachRow(common, [&](const Extents &at) {
    std::memcpy(to + elementBytes * offsetIn(target, at),
                from + elementBytes * offsetIn(source, at), bytes);
    return true;
  });
  return common.ownedElements();
}

int64_t firstDifference(const Box &source, const void *sourceData,
                        const Box &target, const void *targetData,
                        size_t elementBytes) {
  Box common = intersect(source, target);
  int64_t found = -1;
  auto a = static_cast<const char *>(sourceData);
  auto b = static_cast<const char *>(targetData);
  forEachRow(common, [&](const Extents &at) {
    int64_t inSource = offsetIn(source, at), inTarget = offsetIn(target, at);
    for (int64_t i = 0; i < rowLength(common) && found < 0; ++i)
      if (std::memcmp(a + elementBytes * (inSource + i),
                      b + elementBytes * (inTarget + i), elementBytes) != 0)
        found = inTarget + i;
    return found < 0;
  });
  return found;
}

} // namespace stretto::runtime
