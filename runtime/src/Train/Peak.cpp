#include "Peak.h"

#include "stretto/Runtime/Device.h"

#include <algorithm>
#include <chrono>

namespace stretto::runtime {

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
    using Clock = std::chrono::steady_clock;
    auto start = Clock::now();
    gemm->launch(buffers, nullptr);
    std::chrono::duration<double> seconds = Clock::now() - start;
    best = std::min(best, seconds.count());
  }
  return 2.0 * n * n * n / best;
}

} // namespace stretto::runtime
