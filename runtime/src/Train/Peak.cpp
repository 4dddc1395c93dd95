#include "Peak.h"

#include "stretto/Runtime/Device.h"

#include <algorithm>
#include <ctime>

namespace stretto::runtime {

/// Of this thread alone: what else the machine does must not lower the peak.
static double cpuSeconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return double(now.tv_sec) + 1e-9 * double(now.tv_nsec);
}

Result<double> measurePeakFlops() {
  constexpr int64_t n = 1024;
  constexpr int runs = 8;
  STRETTO_ASSIGN(std::unique_ptr<Device> device, createCpuDevice());
  GemmShape shape;
  shape.m = shape.n = shape.k = n;
  shape.aRow = shape.bRow = shape.cRow = n;
  shape.aCol = shape.bCol = shape.cCol = 1;
  STRETTO_ASSIGN(Operation * gemm, device->prepareGemm(shape));
  void *buffers[3];
  for (void *&buffer : buffers) {
    STRETTO_ASSIGN(buffer, device->allocate(n * n * sizeof(float)));
    std::fill_n(static_cast<float *>(buffer), n * n, 0.5f);
  }
  STRETTO_TRY(device->ready());
  double best = 1e30;
  for (int run = 0; run < runs; ++run) {
    double start = cpuSeconds();
    gemm->launch(buffers, nullptr);
    best = std::min(best, cpuSeconds() - start);
  }
  return 2.0 * n * n * n / best;
}

} // namespace stretto::runtime
