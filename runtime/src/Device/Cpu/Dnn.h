//===- Dnn.h - matrix products from oneDNN ----------------------*- C++ -*-===//
//
// The little of oneDNN that we use: matrix products of two dimensions with
// plain layouts, in f32 or on bf16, made once and run many times without
// allocating.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_RUNTIME_DEVICE_CPU_DNN_H
#define STRETTO_RUNTIME_DEVICE_CPU_DNN_H

#include "stretto/Runtime/Status.h"

#include <oneapi/dnnl/dnnl.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <memory>

namespace stretto::runtime {

/// C[m, n] = A[m, k] * B[k, n] (+ C). Of each pair of strides one is 1 and the
/// other at least the extent of the dimension with stride 1; C is row-major.
struct MatmulKey {
  int64_t m, n, k;
  int64_t aRow, aCol, bRow, bCol, cRow;
  bool accumulate;
  bool bf16 = false;       ///< A and B; only where hostHasBf16
  bool bf16Target = false; ///< C

  using Values = std::array<int64_t, 11>;
  Values values() const {
    return {m,    n,    k,          aRow, aCol,      bRow,
            bCol, cRow, accumulate, bf16, bf16Target};
  }
};

class Matmul {
public:
  void run(const void *a, const void *b, void *c) const;
  /// oneDNN's older implementation packs into buffers from the heap; the newer
  /// (brgemm: AVX-512, dense operands) into the scratchpad.
  bool packsOnHeap() const { return isOlder; }

private:
  friend class DnnContext;
  Matmul(const MatmulKey &key, const dnnl::engine &engine,
         const dnnl::stream &stream);

  dnnl::stream stream;
  dnnl::matmul primitive;
  dnnl::memory a, b, c, scratch;
  size_t scratchBytes = 0;
  bool isOlder = false;
};

/// The primitives of one rank and their common scratchpad.
class DnnContext {
public:
  static Result<std::unique_ptr<DnnContext>> create();

  Result<const Matmul *> matmul(const MatmulKey &key);
  /// The scratchpad will have at least so many bytes, after ready.
  void reserve(size_t bytes) { reservedBytes = std::max(reservedBytes, bytes); }
  /// Gives every primitive its scratchpad; again after new ones were made.
  Status ready();
  /// Aligned to a page; for one product at a time.
  void *workspace() const;

private:
  DnnContext();
  dnnl::engine engine;
  dnnl::stream stream;
  std::map<MatmulKey::Values, std::unique_ptr<Matmul>> primitives;
  std::unique_ptr<char[]> scratchpad;
  size_t scratchpadBytes = 0, reservedBytes = 0;
};

/// "2.6.3", of the library that is loaded.
std::string dnnlVersion();

/// One thread for oneDNN's parallel loops in the calling thread.
void useOneThread();

} // namespace stretto::runtime

#endif // STRETTO_RUNTIME_DEVICE_CPU_DNN_H
