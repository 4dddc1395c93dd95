//===- Bf16KernelsTest.cpp - bf16 in memory, f32 in registers -------------===//
//
// Kernels written by hand, compiled for every instruction set level that the
// host has. Rounding is compared bit by bit with a search for the nearest
// neighbour in f64, arithmetic with f64.
//
//===----------------------------------------------------------------------===//

#include "LoadedKernels.h"

#include "mlir/Parser/Parser.h"
#include "stretto/Conversion/CompileKernels.h"
#include "stretto/Dialect/Stretto/IR/StrettoOps.h"
#include "stretto/Runtime/Isa.h"
#include "gtest/gtest.h"
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

using namespace mlir;
using namespace stretto;

namespace {

const char *const processors[] = {"x86-64", "x86-64-v3", "x86-64-v4"};

float fromBits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}
uint32_t toBits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}
double fromBf16(uint16_t bits) {
  return double(fromBits(uint32_t(bits) << 16));
}

/// By definition: the nearer neighbour, of two as near the even one. The
/// neighbour of the largest finite number counts as 2^128.
uint16_t nearestBf16(double x) {
  if (std::isnan(x))
    return 0x7fc0;
  uint16_t sign = std::signbit(x) ? 0x8000 : 0;
  double magnitude = std::fabs(x);
  uint16_t low = 0, high = 0x7f80; // the greatest not above, the least above
  while (high - low > 1) {
    uint16_t middle = uint16_t((low + high) / 2);
    (fromBf16(middle) <= magnitude ? low : high) = middle;
  }
  if (std::isinf(x))
    return sign | 0x7f80;
  double above = high == 0x7f80 ? 0x1p128 : fromBf16(high);
  double down = magnitude - fromBf16(low), up = above - magnitude;
  bool takesHigh = up < down || (up == down && low % 2 == 1);
  return sign | (takesHigh ? high : low);
}

/// 64-byte aligned elements.
template <typename T> class Aligned {
public:
  explicit Aligned(size_t count) : count(count) {
    size_t bytes = (count * sizeof(T) + 127) / 64 * 64;
    data.reset(static_cast<T *>(std::aligned_alloc(64, bytes)), std::free);
    std::memset(data.get(), 0xff, bytes);
  }
  T &operator[](size_t i) { return data.get()[i]; }
  T *begin() { return data.get(); }
  size_t size() const { return count; }

private:
  size_t count;
  std::shared_ptr<T> data;
};

class Bf16Kernels : public testing::Test {
protected:
  Bf16Kernels() : context(MLIRContext::Threading::DISABLED) {
    context.loadDialect<StrettoDialect>();
  }

  /// Runs `check` on the compiled kernel @k for each processor that the host
  /// can stand in for.
  template <typename Check> void onEach(const std::string &text, Check check) {
    auto module = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(module) << text;
    for (const char *cpu : processors) {
      SCOPED_TRACE(cpu);
      KernelOptions options;
      options.cpu = cpu;
      auto library = compileKernels(*module, options);
      ASSERT_TRUE(succeeded(library));
      if (!runtime::checkCpuFeatures(library->cpuFeatures))
        continue;
      LoadedKernels loaded(library->image);
      KernelFn kernel = loaded.find("k");
      ASSERT_TRUE(kernel);
      check([&](std::vector<void *> buffers) {
        int64_t scalars[8] = {};
        kernel(buffers.data(), scalars);
      });
    }
  }

  MLIRContext context;
};

TEST_F(Bf16Kernels, EveryNumberIsReadAndWrittenAsItIs) {
  onEach(R"(
stretto.kernel @k(%x: tensor<65536xbf16>) -> tensor<65536xbf16> {
  %y = stretto.neg %x : tensor<65536xbf16> -> tensor<65536xbf16>
  stretto.yield %y : tensor<65536xbf16>
})",
         [](auto run) {
           Aligned<uint16_t> x(65536), y(65536);
           for (size_t i = 0; i < x.size(); ++i)
             x[i] = uint16_t(i);
           run({x.begin(), y.begin()});
           for (size_t i = 0; i < x.size(); ++i) {
             bool isNaN = (i & 0x7fff) > 0x7f80;
             uint16_t quiet = isNaN ? 0x40 : 0;
             ASSERT_EQ(y[i] & 0x7fff, (i & 0x7fff) | quiet) << i;
             if (!isNaN)
               ASSERT_EQ(y[i] & 0x8000, ~i & 0x8000) << i;
           }
         });
}

// Above every bf16: ties, what lies just beside them, denormals, overflow to
// infinity, NaN whose mantissa is lost.
TEST_F(Bf16Kernels, WritingRoundsToTheNearestWithTiesToEven) {
  const uint32_t lows[] = {0, 1, 0x7fff, 0x8000, 0x8001, 0xffff};
  constexpr size_t count = 65536 * 6;
  onEach(R"(
stretto.kernel @k(%x: tensor<393216xf32>) -> tensor<393216xbf16> {
  %y = stretto.convert %x : tensor<393216xf32> -> tensor<393216xbf16>
  stretto.yield %y : tensor<393216xbf16>
})",
         [&](auto run) {
           Aligned<float> x(count);
           Aligned<uint16_t> y(count);
           for (size_t i = 0; i < count; ++i)
             x[i] = fromBits(uint32_t(i / 6) << 16 | lows[i % 6]);
           run({x.begin(), y.begin()});
           for (size_t i = 0; i < count; ++i) {
             if (std::isnan(x[i]))
               ASSERT_EQ(y[i], (toBits(x[i]) >> 16) | 0x40) << i;
             else
               ASSERT_EQ(y[i], nearestBf16(x[i])) << toBits(x[i]);
           }
         });
}

TEST_F(Bf16Kernels, OneRoundingForTheWholeKernel) {
  // In bf16, 256 + 1 is 256: a rounding in between would lose the ones.
  onEach(R"(
stretto.kernel @k(%x: tensor<100xbf16>, %one: tensor<100xbf16>) -> tensor<100xbf16> {
  %a = stretto.add %x, %one : tensor<100xbf16>, tensor<100xbf16> -> tensor<100xbf16>
  %b = stretto.add %a, %one : tensor<100xbf16>, tensor<100xbf16> -> tensor<100xbf16>
  stretto.yield %b : tensor<100xbf16>
})",
         [](auto run) {
           Aligned<uint16_t> x(100), one(100), y(100);
           for (size_t i = 0; i < 100; ++i) {
             x[i] = nearestBf16(256 + 2 * double(i));
             one[i] = nearestBf16(1);
           }
           run({x.begin(), one.begin(), y.begin()});
           for (size_t i = 0; i < 100; ++i)
             ASSERT_EQ(fromBf16(y[i]),
                       fromBf16(nearestBf16(fromBf16(x[i]) + 2)));
         });
}

// Sums of whole numbers below 2^24 are exact in f32 in any order; bf16 sums
// would stop growing at 256.
TEST_F(Bf16Kernels, SumsAreTakenInF32) {
  constexpr int64_t rows = 1000, columns = 48;
  onEach(R"(
stretto.kernel @k(%x: tensor<1000x48xbf16>, %acc: tensor<48xbf16>, %wide: tensor<48xf32>)
    -> (tensor<1000xbf16>, tensor<48xbf16> {stretto.alias = 1 : i64}, tensor<48xf32> {stretto.alias = 2 : i64}) {
  %r = stretto.reduce sum %x dims [1] : tensor<1000x48xbf16> -> tensor<1000xbf16>
  %c = stretto.reduce sum %x dims [0] : tensor<1000x48xbf16> -> tensor<48xbf16>
  %s = stretto.add %acc, %c : tensor<48xbf16>, tensor<48xbf16> -> tensor<48xbf16>
  %f = stretto.convert %x : tensor<1000x48xbf16> -> tensor<1000x48xf32>
  %d = stretto.reduce sum %f dims [0] : tensor<1000x48xf32> -> tensor<48xf32>
  %t = stretto.add %wide, %d : tensor<48xf32>, tensor<48xf32> -> tensor<48xf32>
  stretto.yield %r, %s, %t : tensor<1000xbf16>, tensor<48xbf16>, tensor<48xf32>
})",
         [&](auto run) {
           Aligned<uint16_t> x(rows * columns), acc(columns), r(rows);
           Aligned<float> wide(columns);
           std::vector<double> ofRow(rows), ofColumn(columns, 3);
           for (int64_t i = 0; i < rows; ++i)
             for (int64_t j = 0; j < columns; ++j) {
               double value = double((i * 7 + j * 5) % 100);
               x[i * columns + j] = nearestBf16(value);
               ofRow[i] += value;
               ofColumn[j] += value;
             }
           for (int64_t j = 0; j < columns; ++j)
             acc[j] = nearestBf16(3), wide[j] = 3;
           run({x.begin(), acc.begin(), wide.begin(), r.begin()});
           for (int64_t i = 0; i < rows; ++i)
             ASSERT_EQ(r[i], nearestBf16(ofRow[i])) << "row " << i;
           for (int64_t j = 0; j < columns; ++j) {
             ASSERT_EQ(acc[j], nearestBf16(ofColumn[j])) << "column " << j;
             ASSERT_EQ(double(wide[j]), ofColumn[j]) << "column " << j;
           }
         });
}

TEST_F(Bf16Kernels, FewRowsAreSummedInF32Too) {
  onEach(R"(
stretto.kernel @k(%x: tensor<20x8xbf16>, %acc: tensor<8xbf16>) -> (tensor<8xbf16> {stretto.alias = 1 : i64}) {
  %c = stretto.reduce sum %x dims [0] : tensor<20x8xbf16> -> tensor<8xbf16>
  %s = stretto.add %acc, %c : tensor<8xbf16>, tensor<8xbf16> -> tensor<8xbf16>
  stretto.yield %s : tensor<8xbf16>
})",
         [](auto run) {
           Aligned<uint16_t> x(160), acc(8);
           for (size_t i = 0; i < x.size(); ++i)
             x[i] = nearestBf16(1);
           for (size_t i = 0; i < acc.size(); ++i)
             acc[i] = nearestBf16(512); // neighbours are 4 apart
           run({x.begin(), acc.begin()});
           for (size_t i = 0; i < acc.size(); ++i)
             EXPECT_EQ(fromBf16(acc[i]), 532);
         });
}

TEST_F(Bf16Kernels, ElementaryFunctionsOfMixedTensors) {
  constexpr int64_t rows = 33, columns = 70;
  onEach(R"(
stretto.kernel @k(%x: tensor<33x70xbf16>, %b: tensor<70xf32>) -> (tensor<33x70xbf16>, tensor<33xf32>) {
  %f = stretto.convert %x : tensor<33x70xbf16> -> tensor<33x70xf32>
  %h = stretto.add %f, %b : tensor<33x70xf32>, tensor<70xf32> -> tensor<33x70xf32>
  %t = stretto.tanh %h : tensor<33x70xf32> -> tensor<33x70xf32>
  %n = stretto.convert %t : tensor<33x70xf32> -> tensor<33x70xbf16>
  %e = stretto.exp %x : tensor<33x70xbf16> -> tensor<33x70xbf16>
  %w = stretto.convert %e : tensor<33x70xbf16> -> tensor<33x70xf32>
  %s = stretto.reduce sum %w dims [1] : tensor<33x70xf32> -> tensor<33xf32>
  stretto.yield %n, %s : tensor<33x70xbf16>, tensor<33xf32>
})",
         [&](auto run) {
           std::mt19937 random(3);
           std::normal_distribution<double> normal;
           Aligned<uint16_t> x(rows * columns), y(rows * columns);
           Aligned<float> bias(columns), sums(rows);
           for (int64_t j = 0; j < columns; ++j)
             bias[j] = float(normal(random));
           for (size_t i = 0; i < x.size(); ++i)
             x[i] = nearestBf16(normal(random));
           run({x.begin(), bias.begin(), y.begin(), sums.begin()});
           for (int64_t i = 0; i < rows; ++i) {
             double sum = 0;
             for (int64_t j = 0; j < columns; ++j) {
               double value = fromBf16(x[i * columns + j]);
               double wanted = std::tanh(value + double(bias[j]));
               sum += std::exp(value);
               // Half a unit of the last place, and the error in f32.
               ASSERT_NEAR(fromBf16(y[i * columns + j]), wanted,
                           std::fabs(wanted) * (0x1p-8 + 1e-5));
             }
             ASSERT_NEAR(sums[i], sum, 1e-5 * sum);
           }
         });
}

TEST_F(Bf16Kernels, GathersFromATable) {
  onEach(R"(
stretto.kernel @k(%t: tensor<50x24xbf16>, %i: tensor<40xi32>) -> tensor<40x24xbf16> {
  %y = stretto.embedding %t, %i : tensor<50x24xbf16>, tensor<40xi32> -> tensor<40x24xbf16>
  stretto.yield %y : tensor<40x24xbf16>
})",
         [](auto run) {
           Aligned<uint16_t> table(50 * 24), y(40 * 24);
           Aligned<int32_t> rows(40);
           for (size_t i = 0; i < table.size(); ++i)
             table[i] = uint16_t(i * 53 & 0x3fff);
           for (size_t i = 0; i < rows.size(); ++i)
             rows[i] = int32_t(i * 17 % 50);
           run({table.begin(), rows.begin(), y.begin()});
           for (size_t i = 0; i < y.size(); ++i)
             ASSERT_EQ(y[i], table[size_t(rows[i / 24]) * 24 + i % 24]) << i;
         });
}

TEST_F(Bf16Kernels, LoopsAreVectorisedWithoutLibraryCalls) {
  auto module = parseSourceString<ModuleOp>(R"(
stretto.kernel @k(%x: tensor<64x4096xbf16>, %b: tensor<4096xbf16>) -> tensor<64x4096xbf16> {
  %h = stretto.add %x, %b : tensor<64x4096xbf16>, tensor<4096xbf16> -> tensor<64x4096xbf16>
  %y = stretto.tanh %h : tensor<64x4096xbf16> -> tensor<64x4096xbf16>
  stretto.yield %y : tensor<64x4096xbf16>
})",
                                            &context);
  ASSERT_TRUE(module);
  const std::pair<const char *, const char *> widths[] = {{"x86-64-v3", "8"},
                                                          {"x86-64-v4", "16"}};
  for (auto [cpu, width] : widths) {
    SCOPED_TRACE(cpu);
    KernelOptions options;
    options.cpu = cpu;
    std::string ir, lanes = std::string("<") + width + " x ";
    options.llvmIR = &ir;
    auto library = compileKernels(*module, options);
    ASSERT_TRUE(succeeded(library));
    EXPECT_EQ(library->image.find("__trunc"), std::string::npos);
    EXPECT_EQ(library->image.find("__extend"), std::string::npos);
    EXPECT_EQ(ir.find("bfloat"), std::string::npos);
    EXPECT_NE(ir.find("load " + lanes + "i16>"), std::string::npos) << ir;
    EXPECT_NE(ir.find("store " + lanes + "i16>"), std::string::npos) << ir;
    EXPECT_EQ(ir.find("vector.memcheck"), std::string::npos);
  }
}

} // namespace
