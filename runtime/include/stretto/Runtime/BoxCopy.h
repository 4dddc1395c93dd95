//===- BoxCopy.h - moving elements between boxes ----------------*- C++ -*-===//
//
// Every rank, file and batch holds a box of a tensor. These functions walk and
// copy the logical elements of boxes, whatever the plan of either side; padding
// is never read and never written.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_RUNTIME_BOXCOPY_H
#define STRETTO_RUNTIME_BOXCOPY_H

#include "stretto/Runtime/Mesh.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace stretto::runtime {

/// The box without padding that covers a whole tensor.
Box wholeBox(const std::vector<int64_t> &shape);

/// The box [begin, end) without padding.
Box denseBox(const std::vector<int64_t> &begin,
             const std::vector<int64_t> &end);

/// The same logical elements, stored densely.
Box withoutPadding(const Box &box);

/// Number of logical elements that both boxes hold.
int64_t commonElements(const Box &a, const Box &b);

/// Calls `visit(offset in the box's memory, row-major index in shape, length)`
/// for every contiguous run of logical elements of `box`. Elements, not bytes.
void forEachRun(const Box &box, const std::vector<int64_t> &shape,
                const std::function<void(int64_t, int64_t, int64_t)> &visit);

/// Copies the logical elements that both boxes hold; returns how many.
int64_t copyCommon(const Box &source, const void *sourceData, const Box &target,
                   void *targetData, size_t elementBytes);

/// The same walk, comparing bits: row-major offset in the target's memory of
/// the first element that differs, or -1.
int64_t firstDifference(const Box &source, const void *sourceData,
                        const Box &target, const void *targetData,
                        size_t elementBytes);

} // namespace stretto::runtime

#endif // STRETTO_RUNTIME_BOXCOPY_H
