//===- Tensor.h - a value of the reference interpreter ----------*- C++ -*-===//
//
// A dense row-major tensor: f64 for every floating-point element type, i64 for
// every integer type (i1 is 0 or 1). Copies share their data until one of them
// is written.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_INTERPRETER_TENSOR_H
#define STRETTO_INTERPRETER_TENSOR_H

#include "stretto/Dialect/Stretto/IR/StrettoDialect.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace stretto::interp {

class Tensor {
public:
  Tensor() = default;
  static Tensor floats(llvm::ArrayRef<int64_t> shape, double fill = 0);
  static Tensor ints(llvm::ArrayRef<int64_t> shape, int64_t fill = 0);
  static Tensor of(llvm::ArrayRef<int64_t> shape, std::vector<double> data);
  static Tensor of(llvm::ArrayRef<int64_t> shape, std::vector<int64_t> data);
  static Tensor scalar(double value) { return floats({}, value); }

  bool isFloat() const { return floatData != nullptr; }
  bool isNull() const { return !floatData && !intData; }
  llvm::ArrayRef<int64_t> getShape() const { return shape; }
  int64_t getRank() const { return int64_t(shape.size()); }
  int64_t getNumElements() const;

  llvm::ArrayRef<double> getFloats() const { return *floatData; }
  llvm::ArrayRef<int64_t> getInts() const { return *intData; }
  llvm::MutableArrayRef<double> writeFloats();
  llvm::MutableArrayRef<int64_t> writeInts();

  template <typename T> llvm::ArrayRef<T> get() const;
  template <typename T> llvm::MutableArrayRef<T> write();

  /// The same elements in the same order under another shape.
  Tensor reshaped(llvm::ArrayRef<int64_t> newShape) const;
  /// Zeros (of the same kind) of `shape`.
  Tensor zerosLike(llvm::ArrayRef<int64_t> shape) const;
  /// Same kind, shape and bits (a NaN equals itself, 0.0 is not -0.0).
  bool identical(const Tensor &other) const;

private:
  llvm::SmallVector<int64_t, 4> shape;
  std::shared_ptr<std::vector<double>> floatData;
  std::shared_ptr<std::vector<int64_t>> intData;
};

template <> inline llvm::ArrayRef<double> Tensor::get<double>() const {
  return getFloats();
}
template <> inline llvm::ArrayRef<int64_t> Tensor::get<int64_t>() const {
  return getInts();
}
template <> inline llvm::MutableArrayRef<double> Tensor::write<double>() {
  return writeFloats();
}
template <> inline llvm::MutableArrayRef<int64_t> Tensor::write<int64_t>() {
  return writeInts();
}

int64_t numElements(llvm::ArrayRef<int64_t> shape);
/// Is a tensor of `shape` too large to be held here (2^31 elements, 16 GiB)?
/// Dynamic extents count as one.
bool isTooLarge(llvm::ArrayRef<int64_t> shape);
/// Row-major strides in elements.
llvm::SmallVector<int64_t> rowMajorStrides(llvm::ArrayRef<int64_t> shape);
std::string shapeText(llvm::ArrayRef<int64_t> shape); // "2x3", "scalar"

/// Element (i0, i1, ...) of the result is element base + sum i_d * strides[d]
/// of x.
Tensor gatherStrided(const Tensor &x, llvm::ArrayRef<int64_t> shape,
                     llvm::ArrayRef<int64_t> strides, int64_t base = 0);
/// Result dimension i is operand dimension permutation[i].
Tensor transpose(const Tensor &x, llvm::ArrayRef<int64_t> permutation);
/// Elements [begin, begin + size) along `dim`.
Tensor slice(const Tensor &x, int64_t dim, int64_t begin, int64_t size);
Tensor concat(llvm::ArrayRef<Tensor> parts, int64_t dim);
/// Trailing zeros added or trailing elements cut until `shape` is reached.
Tensor padOrCut(const Tensor &x, llvm::ArrayRef<int64_t> shape);
/// Pointwise reduction of equally shaped tensors, first to last.
Tensor combine(llvm::ArrayRef<Tensor> parts, ReduceKind kind);
template <typename T> T combine(T lhs, T rhs, ReduceKind kind);

/// Calls `body(coordinates, linear index)` for every element in row-major
/// order.
template <typename Body>
void forEachIndex(llvm::ArrayRef<int64_t> shape, Body body) {
  llvm::SmallVector<int64_t, 6> index(shape.size(), 0);
  for (int64_t linear = 0, n = numElements(shape); linear < n; ++linear) {
    body(llvm::ArrayRef<int64_t>(index), linear);
    for (int64_t d = int64_t(shape.size()) - 1; d >= 0; --d) {
      if (++index[d] < shape[d])
        break;
      index[d] = 0;
    }
  }
}

} // namespace stretto::interp

#endif // STRETTO_INTERPRETER_TENSOR_H
