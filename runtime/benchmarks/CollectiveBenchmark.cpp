//===- CollectiveBenchmark.cpp - in-process collectives -------------------===//
//
// Prints time per call and, for large messages, the rate at which one rank's
// bytes are dealt with, beside a plain copy of the same size; for sums of bf16
// the bytes per second as a fraction of those of f32.
//
//===----------------------------------------------------------------------===//

#include "stretto/Runtime/InProcess.h"

#include <chrono>
#include <cstdio>
#include <cstring>
#include <vector>

using namespace stretto::runtime;
using Clock = std::chrono::steady_clock;

namespace {

double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Seconds of one call: the best of five rounds, as rank 0 sees it.
double measure(int64_t ranks, CollectiveShape shape, int calls) {
  double best = 1e9;
  Status status = runInProcess(ranks, {}, [&](World &world) {
    // Ones of f32; as bf16, zeros and ones.
    int64_t perFloat = shape.dtype == stretto::program::DType::BF16 ? 2 : 1;
    std::vector<float> source(shape.sourceElements(ranks) / perFloat, 1.0f);
    std::vector<float> target(shape.targetElements(ranks) / perFloat, 0.0f);
    uint64_t sent = 0;
    for (int round = 0; round < 5; ++round) {
      if (Status status = world.everyone().barrier(); !status)
        return status;
      auto start = Clock::now();
      for (int call = 0; call < calls; ++call)
        if (Status status =
                world.everyone().run(shape, source.data(), target.data(), sent);
            !status)
          return status;
      if (world.rank() == 0)
        best = std::min(best, secondsSince(start) / calls);
    }
    return Status::ok();
  });
  return status ? best : 0;
}

double copySeconds(int64_t bytes) {
  std::vector<char> a(bytes, 1), b(bytes, 2);
  double best = 1e9;
  for (int round = 0; round < 5; ++round) {
    auto start = Clock::now();
    std::memcpy(b.data(), a.data(), bytes);
    asm volatile("" : : "r"(b.data()) : "memory"); // the copy is needed
    best = std::min(best, secondsSince(start));
  }
  return best;
}

} // namespace

int main() {
  using stretto::program::CollectiveKind;
  constexpr int64_t large = 16 << 20; // elements: 64 MiB
  double copy = copySeconds(large * 4);
  std::printf("copy of 64 MiB: %.1f ms\n", copy * 1e3);
  for (int64_t ranks : {2, 4}) {
    CollectiveShape shape;
    shape.inner = 16;
    double small = measure(ranks, shape, 1000);
    shape.inner = large;
    double reduce = measure(ranks, shape, 1);
    shape.kind = CollectiveKind::ReduceScatter;
    shape.inner = large / ranks;
    double scatter = measure(ranks, shape, 1);
    shape.kind = CollectiveKind::AllGather;
    double gather = measure(ranks, shape, 1);
    std::printf("%ld ranks: all-reduce of 64 B %.1f us; of 64 MiB per rank: "
                "all-reduce %.1f ms (%.1f copies), reduce-scatter %.1f ms "
                "(%.1f), all-gather %.1f ms (%.1f)\n",
                long(ranks), small * 1e6, reduce * 1e3, reduce / copy,
                scatter * 1e3, scatter / copy, gather * 1e3, gather / copy);
    shape = CollectiveShape();
    shape.dtype = stretto::program::DType::BF16;
    shape.inner = 2 * large;
    double reduce16 = measure(ranks, shape, 1);
    shape.inner = 2 * large / ranks;
    shape.kind = CollectiveKind::ReduceScatter;
    double scatter16 = measure(ranks, shape, 1);
    std::printf("  bf16: all-reduce %.2f, reduce-scatter %.2f of the bytes per "
                "second\n",
                reduce / reduce16, scatter / scatter16);
  }
}
