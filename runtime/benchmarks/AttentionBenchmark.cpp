//===- AttentionBenchmark.cpp - attention against the GEMM rate -----------===//
//
// Prints the floating-point rate of attention, counting only what the mask
// keeps, as a fraction of the one-thread f32 GEMM rate measured in the same
// run; and the time on bf16 as a fraction of that on f32.
//
//===----------------------------------------------------------------------===//

#include "stretto/Runtime/Bf16.h"
#include "stretto/Runtime/Device.h"

#include <cstdio>
#include <ctime>
#include <random>

using namespace stretto::runtime;

namespace {

struct alignas(64) Line {
  float values[16];
};

std::vector<Line> randoms(int64_t count) {
  std::mt19937 random(1);
  std::uniform_real_distribution<float> normal(-1, 1);
  std::vector<Line> lines((count + 15) / 16);
  for (Line &line : lines)
    for (float &value : line.values)
      value = normal(random);
  return lines;
}

/// Half as many lines.
std::vector<Line> narrowed(const std::vector<Line> &from) {
  std::vector<Line> lines((from.size() + 1) / 2);
  Bf16 *to = reinterpret_cast<Bf16 *>(lines.data());
  for (const Line &line : from)
    for (float value : line.values)
      *to++ = narrow(value);
  return lines;
}

/// Processor time of this thread: other work on the machine counts little.
double now() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

/// Seconds of one launch: the best of several rounds of at least 50 ms.
double measure(Operation &operation, std::vector<void *> buffers) {
  const int64_t scalars[5] = {1};
  auto round = [&](int launches) {
    double start = now();
    for (int i = 0; i < launches; ++i)
      operation.launch(buffers.data(), scalars);
    return now() - start;
  };
  double once = round(1), best = 1e9;
  int launches = int(0.05 / once) + 1;
  for (int i = 0; i < 5; ++i)
    best = std::min(best, round(launches) / launches);
  return best;
}

double gemmRate(Device &device) {
  GemmShape s;
  s.m = 2048, s.n = 512, s.k = 512;
  s.aRow = s.k, s.bRow = s.n, s.cRow = s.n;
  s.aCol = s.bCol = s.cCol = 1;
  auto a = randoms(s.m * s.k), b = randoms(s.k * s.n), c = randoms(s.m * s.n);
  Operation *operation = *device.prepareGemm(s);
  if (!device.ready())
    return 0;
  return 2.0 * double(s.m * s.n * s.k) /
         measure(*operation, {a.data(), b.data(), c.data()});
}

double attentionSeconds(Device &device, AttentionShape s, double dropout) {
  AttentionTask task;
  task.shape = s;
  task.scale = 0.125;
  task.dropout = dropout;
  task.headsGlobal = s.heads;
  int64_t q = s.batch * s.qLen * s.heads * s.headDim;
  int64_t k = s.batch * s.kvLen * s.kvHeads * s.headDim;
  std::vector<std::vector<Line>> tensors;
  for (int64_t size : {q, k, k, q, q / s.headDim, q, q, k, k})
    tensors.push_back(randoms(size));
  for (size_t i = 0; s.bf16 && i < tensors.size(); ++i)
    if (i != 4) // lse
      tensors[i] = narrowed(tensors[i]);
  tensors.push_back(randoms(int64_t(attentionWorkspaceBytes(s) / 4)));
  std::vector<void *> buffers;
  for (size_t i = 0; i < tensors.size(); ++i)
    if (s.backward || i < 5 || i == 9)
      buffers.push_back(tensors[i].data());
  Operation *operation = *device.prepareAttention(task);
  if (!device.ready())
    return 0;
  return measure(*operation, buffers);
}

void report(Device &device, double peak, AttentionShape s, double dropout) {
  double pairs = double(s.qLen) * double(s.kvLen);
  if (s.causal)
    pairs = double(s.qLen) * double(s.qLen + 1) / 2;
  double product = 2 * pairs * double(s.batch * s.heads * s.headDim);
  s.backward = false;
  double forward = attentionSeconds(device, s, dropout);
  s.backward = true;
  double backward = attentionSeconds(device, s, dropout);
  s.bf16 = true;
  double backward16 = attentionSeconds(device, s, dropout);
  s.backward = false;
  double forward16 = attentionSeconds(device, s, dropout);
  auto percent = [&](double products, double seconds) {
    return 100 * products * product / seconds / peak;
  };
  std::printf(
      "seq %5ld heads %2ld/%ld dim %3ld%s dropout %.1f: forward %5.1f %%"
      ", backward %5.1f %%, both %5.1f %% of the GEMM rate; bf16 takes %.2f "
      "and "
      "%.2f of the time\n",
      long(s.qLen), long(s.heads), long(s.kvHeads), long(s.headDim),
      s.causal ? " causal" : "       ", dropout, percent(2, forward),
      percent(5, backward), percent(7, forward + backward), forward16 / forward,
      backward16 / backward);
}

} // namespace

int main() {
  auto device = createCpuDevice();
  if (!device)
    return 1;
  double peak = gemmRate(**device);
  std::printf("GEMM 2048x512x512: %.1f GFLOP/s\n", peak * 1e-9);
  for (bool causal : {true, false}) {
    report(**device, peak, {false, 8, 256, 256, 8, 8, 64, causal}, 0);
    report(**device, peak, {false, 4, 128, 128, 4, 4, 32, causal}, 0);
    report(**device, peak, {false, 2, 1024, 1024, 8, 2, 128, causal}, 0);
    report(**device, peak, {false, 1, 4096, 4096, 4, 4, 64, causal}, 0);
  }
  report(**device, peak, {false, 8, 256, 256, 8, 8, 64, true}, 0.1);
}
