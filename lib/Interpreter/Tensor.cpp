//===- Tensor.cpp - a value of the reference interpreter ------------------===//

#include "stretto/Interpreter/Tensor.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>

using namespace llvm;
using namespace stretto;
using namespace stretto::interp;

int64_t interp::numElements(ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  return count;
}

bool interp::isTooLarge(ArrayRef<int64_t> shape) {
  constexpr int64_t limit = int64_t(1) << 31;
  int64_t count = 1;
  for (int64_t extent : shape) {
    if (extent > limit / count)
      return true;
    count *= std::max<int64_t>(extent, 1);
  }
  return false;
}

SmallVector<int64_t> interp::rowMajorStrides(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (int64_t d = int64_t(shape.size()) - 2; d >= 0; --d)
    strides[d] = strides[d + 1] * shape[d + 1];
  return strides;
}

std::string interp::shapeText(ArrayRef<int64_t> shape) {
  if (shape.empty())
    return "scalar";
  std::string text;
  raw_string_ostream os(text);
  interleave(shape, os, "x");
  return text;
}

//===----------------------------------------------------------------------===//
// Tensor
//===----------------------------------------------------------------------===//

Tensor Tensor::floats(ArrayRef<int64_t> shape, double fill) {
  return of(shape, std::vector<double>(numElements(shape), fill));
}

Tensor Tensor::ints(ArrayRef<int64_t> shape, int64_t fill) {
  return of(shape, std::vector<int64_t>(numElements(shape), fill));
}

Tensor Tensor::of(ArrayRef<int64_t> shape, std::vector<double> data) {
  assert(numElements(shape) == int64_t(data.size()));
  Tensor result;
  result.shape.assign(shape.begin(), shape.end());
  result.floatData = std::make_shared<std::vector<double>>(std::move(data));
  return result;
}

Tensor Tensor::of(ArrayRef<int64_t> shape, std::vector<int64_t> data) {
  assert(numElements(shape) == int64_t(data.size()));
  Tensor result;
  result.shape.assign(shape.begin(), shape.end());
  result.intData = std::make_shared<std::vector<int64_t>>(std::move(data));
  return result;
}

int64_t Tensor::getNumElements() const { return numElements(shape); }

MutableArrayRef<double> Tensor::writeFloats() {
  if (floatData.use_count() > 1)
    floatData = std::make_shared<std::vector<double>>(*floatData);
  return *floatData;
}

MutableArrayRef<int64_t> Tensor::writeInts() {
  if (intData.use_count() > 1)
    intData = std::make_shared<std::vector<int64_t>>(*intData);
  return *intData;
}

Tensor Tensor::reshaped(ArrayRef<int64_t> newShape) const {
  assert(numElements(newShape) == getNumElements());
  Tensor result = *this;
  result.shape.assign(newShape.begin(), newShape.end());
  return result;
}

Tensor Tensor::zerosLike(ArrayRef<int64_t> newShape) const {
  return isFloat() ? floats(newShape) : ints(newShape);
}

bool Tensor::identical(const Tensor &other) const {
  if (isFloat() != other.isFloat() || shape != other.shape)
    return false;
  if (!isFloat())
    return getInts() == other.getInts();
  return std::memcmp(getFloats().data(), other.getFloats().data(),
                     getFloats().size() * sizeof(double)) == 0;
}

//===----------------------------------------------------------------------===//
// Movement of elements
//===----------------------------------------------------------------------===//

/// Runs `body` with a zero of the element type of `x`.
template <typename Body> static Tensor byKind(const Tensor &x, Body body) {
  return x.isFloat() ? body(double()) : body(int64_t());
}

/// Copies the box of `shape` at `fromBase` (with `fromStrides`) to `toBase`.
template <typename T>
static void copyBox(ArrayRef<int64_t> shape, ArrayRef<T> from, int64_t fromBase,
                    ArrayRef<int64_t> fromStrides, MutableArrayRef<T> to,
                    int64_t toBase, ArrayRef<int64_t> toStrides) {
  if (shape.empty()) {
    to[toBase] = from[fromBase];
    return;
  }
  int64_t fromStep = fromStrides.front(), toStep = toStrides.front();
  for (int64_t i = 0; i < shape.front(); ++i)
    if (shape.size() == 1)
      to[toBase + i * toStep] = from[fromBase + i * fromStep];
    else
      copyBox(shape.drop_front(), from, fromBase + i * fromStep,
              fromStrides.drop_front(), to, toBase + i * toStep,
              toStrides.drop_front());
}

Tensor interp::gatherStrided(const Tensor &x, ArrayRef<int64_t> shape,
                             ArrayRef<int64_t> strides, int64_t base) {
  return byKind(x, [&](auto zero) {
    using T = decltype(zero);
    std::vector<T> data(numElements(shape));
    if (!data.empty())
      copyBox<T>(shape, x.get<T>(), base, strides, data, 0,
                 rowMajorStrides(shape));
    return Tensor::of(shape, std::move(data));
  });
}

Tensor interp::transpose(const Tensor &x, ArrayRef<int64_t> permutation) {
  SmallVector<int64_t> strides = rowMajorStrides(x.getShape());
  SmallVector<int64_t> shape, permuted;
  for (int64_t dim : permutation) {
    shape.push_back(x.getShape()[dim]);
    permuted.push_back(strides[dim]);
  }
  return gatherStrided(x, shape, permuted);
}

Tensor interp::slice(const Tensor &x, int64_t dim, int64_t begin,
                     int64_t size) {
  SmallVector<int64_t> strides = rowMajorStrides(x.getShape());
  SmallVector<int64_t> shape(x.getShape());
  shape[dim] = size;
  return gatherStrided(x, shape, strides, begin * strides[dim]);
}

/// Writes `part` into `whole` at the element offset `base`.
static void place(Tensor &whole, const Tensor &part, ArrayRef<int64_t> box,
                  int64_t base) {
  byKind(whole, [&](auto zero) {
    using T = decltype(zero);
    if (numElements(box) > 0)
      copyBox<T>(box, part.get<T>(), 0, rowMajorStrides(part.getShape()),
                 whole.write<T>(), base, rowMajorStrides(whole.getShape()));
    return Tensor();
  });
}

Tensor interp::concat(ArrayRef<Tensor> parts, int64_t dim) {
  SmallVector<int64_t> shape(parts.front().getShape());
  shape[dim] = 0;
  for (const Tensor &part : parts)
    shape[dim] += part.getShape()[dim];
  Tensor result = parts.front().zerosLike(shape);
  int64_t stride = rowMajorStrides(shape)[dim], begin = 0;
  for (const Tensor &part : parts) {
    place(result, part, part.getShape(), begin * stride);
    begin += part.getShape()[dim];
  }
  return result;
}

Tensor interp::padOrCut(const Tensor &x, ArrayRef<int64_t> shape) {
  SmallVector<int64_t> kept;
  for (auto [from, to] : zip(x.getShape(), shape))
    kept.push_back(std::min(from, to));
  Tensor result = x.zerosLike(shape);
  place(result, x, kept, 0);
  return result;
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// The larger (smaller) operand; a NaN wins.
template <typename T> static T pick(T lhs, T rhs, bool larger) {
  if (lhs != lhs || rhs != rhs)
    return lhs + rhs;
  return (lhs > rhs) == larger ? lhs : rhs;
}

template <typename T> T interp::combine(T lhs, T rhs, ReduceKind kind) {
  switch (kind) {
  case ReduceKind::Sum:
    return lhs + rhs;
  case ReduceKind::Prod:
    return lhs * rhs;
  case ReduceKind::Max:
    return pick(lhs, rhs, true);
  case ReduceKind::Min:
    return pick(lhs, rhs, false);
  case ReduceKind::And:
    return lhs != 0 && rhs != 0;
  case ReduceKind::Or:
    return lhs != 0 || rhs != 0;
  }
  return lhs;
}
template double interp::combine(double, double, ReduceKind);
template int64_t interp::combine(int64_t, int64_t, ReduceKind);

Tensor interp::combine(ArrayRef<Tensor> parts, ReduceKind kind) {
  Tensor result = parts.front();
  return byKind(result, [&](auto zero) {
    using T = decltype(zero);
    MutableArrayRef<T> out = result.write<T>();
    for (const Tensor &part : parts.drop_front())
      for (auto [to, from] : zip(out, part.get<T>()))
        to = combine<T>(to, from, kind);
    return result;
  });
}
