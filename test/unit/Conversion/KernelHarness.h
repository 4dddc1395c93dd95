//===- KernelHarness.h - compiled segments against the reference -*- C++
//-*-===//
//
// Runs a local segment twice on random arguments: by the f64 interpreter as it
// is written, and as fused, compiled code on buffers in memory (matrix products
// by plain loops). Every result of every rank must agree.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_TEST_UNIT_CONVERSION_KERNELHARNESS_H
#define STRETTO_TEST_UNIT_CONVERSION_KERNELHARNESS_H

#include <cstdint>
#include <string>

struct RunOptions {
  /// Relative to the largest magnitude of each result.
  double tolerance = 2e-6;
  /// Random integers are in [lowInt, highInt).
  int64_t lowInt = 0, highInt = 5;
  /// Random floats are offset + scale * normal.
  double offset = 0, scale = 1;
  /// Kernels expected after fusion, or -1.
  int kernels = -1;
  const char *cpu = "host";
  /// Smallest magnitude that the tolerance is relative to: results that cancel
  /// have the rounding errors of what they came from.
  double floor = 0;
};

/// `segment` is the text of one stretto.segment called @f; the mesh, when its
/// offsets or groups name one, is `mesh` ("dp = 2").
void expectSame(const std::string &segment, RunOptions options = {},
                const std::string &mesh = "");

#endif // STRETTO_TEST_UNIT_CONVERSION_KERNELHARNESS_H
