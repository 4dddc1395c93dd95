//===- Device.h - what computes ---------------------------------*- C++ -*-===//
//
// A device owns memory and turns descriptions of work (a compiled kernel, a
// GEMM, an attention) into prepared operations. All cost of preparation is paid
// in prepare*; launch neither allocates nor fails on good input. Each stream of
// a device has a thread that issues all its work, with operations of its own.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_RUNTIME_DEVICE_H
#define STRETTO_RUNTIME_DEVICE_H

#include "stretto/Runtime/AttentionWorkspace.h"
#include "stretto/Runtime/Bytes.h"
#include "stretto/Runtime/Program_generated.h"
#include "stretto/Runtime/Status.h"

#include <memory>
#include <string>
#include <vector>

namespace stretto::runtime {

/// C = A * B (+ C) for every index of batch; strides in elements. A and B are
/// f32, or bf16 with C in f32 or bf16; sums are in f32.
struct GemmShape {
  int64_t m = 0, n = 0, k = 0;
  int64_t aRow = 0, aCol = 0, bRow = 0, bCol = 0, cRow = 0, cCol = 0;
  std::vector<int64_t> batch, aBatch, bBatch, cBatch;
  bool accumulate = false;
  program::DType dtype = program::DType::F32; ///< of A and B
  program::DType cType = program::DType::F32;

  static GemmShape of(const program::Gemm &gemm);
};

/// Attention as the schema describes it; see AttentionShape for the sizes.
struct AttentionTask {
  AttentionShape shape;
  double scale = 1.0;
  double dropout = 0.0;
  uint64_t opId = 0;
  int64_t headsGlobal = 0;
  int64_t queries = 0, keys = 0; ///< of all shards; 0: as many as here
  int64_t blocks = 1;            ///< of the keys here

  static AttentionTask of(const program::Attention &attention);
};

/// Something prepared that can be launched any number of times. Buffers are in
/// the operand order of the schema.
///   Kernel:    scalars as in the schema
///   GEMM:      buffers A B C, no scalars
///   Attention: scalars are random key, then the offsets of head, batch, query
///              and key
class Operation {
public:
  virtual ~Operation() = default;
  virtual void launch(void *const *buffers, const int64_t *scalars) = 0;
};

class Device {
public:
  virtual ~Device() = default;

  /// What results may depend on: libraries with versions, instruction set. All
  /// ranks of a job have the same.
  virtual std::string identity() const = 0;

  /// Zeroed memory, 64-byte aligned, that lives as long as the device.
  virtual Result<void *> allocate(uint64_t bytes) = 0;

  /// Makes the named symbols of a shared object in memory launchable. An empty
  /// image is right when `names` is empty.
  virtual Status loadKernels(Bytes image,
                             const std::vector<std::string> &names) = 0;

  /// Equal descriptions share one operation per stream; the device owns it.
  virtual Result<Operation *> prepareKernel(uint32_t kernel) = 0;
  virtual Result<Operation *> prepareGemm(const GemmShape &shape,
                                          unsigned stream = 0) = 0;
  virtual Result<Operation *> prepareAttention(const AttentionTask &task,
                                               unsigned stream = 0) = 0;

  /// Called once by the issuing thread of each stream after everything is
  /// prepared and before its first launch.
  virtual Status ready(unsigned stream = 0) = 0;

  /// The pattern again and again; the last time as much of it as fits.
  virtual void fill(void *target, uint32_t pattern, uint64_t bytes) = 0;
  virtual void copy(void *target, const void *source, uint64_t bytes) = 0;
};

/// The CPU of the calling thread: kernels as code, GEMM from oneDNN with one
/// thread.
Result<std::unique_ptr<Device>> createCpuDevice();

} // namespace stretto::runtime

#endif // STRETTO_RUNTIME_DEVICE_H
