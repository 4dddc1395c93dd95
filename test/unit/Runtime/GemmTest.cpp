//===- GemmTest.cpp - matrix products of any strides ----------------------===//

#include "stretto/Runtime/Bf16.h"
#include "stretto/Runtime/Device.h"

#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <random>

namespace stretto::runtime {
namespace {

using program::DType;

/// C = A * B (+ C) for every batch index, in f64 and in plain loops.
void naive(const GemmShape &s, const std::vector<double> &a,
           const std::vector<double> &b, std::vector<double> &c) {
  std::function<void(size_t, int64_t, int64_t, int64_t)> walk =
      [&](size_t dim, int64_t ao, int64_t bo, int64_t co) {
        if (dim < s.batch.size()) {
          for (int64_t i = 0; i < s.batch[dim]; ++i)
            walk(dim + 1, ao + i * s.aBatch[dim], bo + i * s.bBatch[dim],
                 co + i * s.cBatch[dim]);
          return;
        }
        for (int64_t i = 0; i < s.m; ++i)
          for (int64_t j = 0; j < s.n; ++j) {
            double &target = c[co + i * s.cRow + j * s.cCol];
            double total = s.accumulate ? target : 0.0;
            for (int64_t l = 0; l < s.k; ++l)
              total += a[ao + i * s.aRow + l * s.aCol] *
                       b[bo + l * s.bRow + j * s.bCol];
            target = total;
          }
      };
  walk(0, 0, 0, 0);
}

int64_t reach(int64_t rows, int64_t cols, int64_t row, int64_t col,
              const std::vector<int64_t> &batch,
              const std::vector<int64_t> &strides) {
  int64_t last = (rows - 1) * row + (cols - 1) * col;
  for (size_t i = 0; i < batch.size(); ++i)
    last += (batch[i] - 1) * strides[i];
  return last + 1;
}

/// Numbers as f32 or bf16 in memory.
class Memory {
public:
  /// Uniform in (-1, 1), or whole numbers from -3 to 3.
  Memory(DType type, int64_t count, uint32_t seed, bool whole)
      : isBf16(type == DType::BF16), floats(isBf16 ? 0 : count),
        halves(isBf16 ? count : 0) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (int64_t i = 0; i < count; ++i) {
      float value = whole ? float(int(random() % 7) - 3) : uniform(random);
      if (isBf16)
        halves[i] = narrow(value);
      else
        floats[i] = value;
    }
  }
  void *data() {
    return isBf16 ? static_cast<void *>(halves.data()) : floats.data();
  }
  std::vector<double> numbers() const {
    std::vector<double> all(floats.begin(), floats.end());
    for (Bf16 half : halves)
      all.push_back(widen(half));
    return all;
  }

private:
  bool isBf16;
  std::vector<float> floats;
  std::vector<Bf16> halves;
};

/// `addends`: products that one element of C is the sum of.
void checkTyped(const GemmShape &s, const std::string &name, bool whole,
                int64_t addends) {
  SCOPED_TRACE(name + ", " + program::EnumNameDType(s.dtype) + " into " +
               program::EnumNameDType(s.cType) + (whole ? ", whole" : ""));
  Result<std::unique_ptr<Device>> device = createCpuDevice();
  ASSERT_TRUE(device) << device.message();
  Result<Operation *> gemm = (*device)->prepareGemm(s);
  ASSERT_TRUE(gemm) << gemm.message();
  ASSERT_TRUE((*device)->ready());
  Memory a(s.dtype, reach(s.m, s.k, s.aRow, s.aCol, s.batch, s.aBatch), 1,
           whole);
  Memory b(s.dtype, reach(s.k, s.n, s.bRow, s.bCol, s.batch, s.bBatch), 2,
           whole);
  Memory c(s.cType, reach(s.m, s.n, s.cRow, s.cCol, s.batch, s.cBatch), 3,
           whole);
  std::vector<double> wanted = c.numbers();
  naive(s, a.numbers(), b.numbers(), wanted);
  void *buffers[] = {a.data(), b.data(), c.data()};
  (*gemm)->launch(buffers, nullptr);
  std::vector<double> got = c.numbers();
  bool rounds = s.cType == DType::BF16;
  // Of several products the sums on the way are rounded too, and may be larger.
  double onTheWay = addends > 1 ? 4 : 0;
  double roundings = rounds ? double(addends) : 0;
  for (size_t i = 0; i < got.size(); ++i) { // also what is not part of C
    if (whole)
      ASSERT_EQ(got[i], rounds ? widen(narrow(float(wanted[i]))) : wanted[i])
          << "element " << i;
    else
      ASSERT_NEAR(got[i], wanted[i],
                  1e-5 * double(s.k + 8) +
                      roundings * (std::fabs(wanted[i]) + onTheWay) / 256)
          << "element " << i;
  }
}

/// On every pair of types. Products of whole numbers are exact in f32, so C is
/// the exact sum, rounded once. A sum over the batch rounds at each.
void check(GemmShape s, const std::string &name) {
  int64_t addends = 1;
  for (size_t i = 0; i < s.batch.size(); ++i)
    addends *= s.cBatch[i] == 0 ? s.batch[i] : 1;
  for (auto [type, cType] :
       {std::pair(DType::F32, DType::F32), std::pair(DType::BF16, DType::F32),
        std::pair(DType::BF16, DType::BF16)}) {
    s.dtype = type;
    s.cType = cType;
    checkTyped(s, name, false, addends);
    if (addends == 1)
      checkTyped(s, name, true, addends);
  }
}

GemmShape shape(int64_t m, int64_t n, int64_t k, bool transposeA,
                bool transposeB, bool transposeC, int64_t extra = 0) {
  GemmShape s;
  s.m = m;
  s.n = n;
  s.k = k;
  s.aRow = transposeA ? 1 : k + extra;
  s.aCol = transposeA ? m + extra : 1;
  s.bRow = transposeB ? 1 : n + extra;
  s.bCol = transposeB ? k + extra : 1;
  s.cRow = transposeC ? 1 : n + extra;
  s.cCol = transposeC ? m + extra : 1;
  return s;
}

TEST(Gemm, EveryTranspositionWithAndWithoutGaps) {
  for (int bits = 0; bits < 32; ++bits)
    for (int64_t extra : {0, 3}) {
      GemmShape s = shape(17, 24, 33, bits & 1, bits & 2, bits & 4, extra);
      s.accumulate = bits & 8;
      if (bits & 16) {
        s.m = 160;
        s = shape(160, 96, 128, bits & 1, bits & 2, bits & 4, extra);
        s.accumulate = bits & 8;
      }
      check(s, "bits " + std::to_string(bits));
    }
}

// More than one block of terms and of columns; tiles that are not full.
TEST(Gemm, LargeExtents) {
  for (int bits = 0; bits < 8; ++bits)
    for (int64_t extra : {0, 5}) {
      GemmShape s = shape(75, bits & 4 ? 1061 : 96, 521, bits & 1, bits & 2,
                          false, extra);
      s.accumulate = bits & 1;
      check(s, "bits " + std::to_string(bits));
    }
  GemmShape s = shape(128, 64, 256, true, false, true);
  check(s, "column-major C");
  s.batch = {2, 3};
  s.aBatch = {128 * 256, 0};
  s.bBatch = {0, 64 * 256};
  s.cBatch = {3 * 128 * 64, 128 * 64};
  check(s, "batches");
}

TEST(Gemm, ExtentsOfOne) {
  for (int bits = 0; bits < 8; ++bits)
    for (int transposed = 0; transposed < 8; ++transposed) {
      GemmShape s = shape(bits & 1 ? 1 : 5, bits & 2 ? 1 : 6, bits & 4 ? 1 : 7,
                          transposed & 1, transposed & 2, transposed & 4);
      check(s, "bits " + std::to_string(bits));
      s.aRow *= 2; // no stride of one is left where the extent allows it
      s.bRow *= 3;
      s.cRow *= 2;
      check(s, "wide rows, bits " + std::to_string(bits));
    }
}

TEST(Gemm, NoUnitStrideAtAll) {
  GemmShape s = shape(9, 10, 11, false, false, false);
  s.aCol = 2, s.aRow = 30;
  s.bCol = 3, s.bRow = 40;
  s.cCol = 4, s.cRow = 50;
  check(s, "strided");
  s.accumulate = true;
  check(s, "strided accumulate");
}

TEST(Gemm, BroadcastAndSlidingOperands) {
  GemmShape s = shape(8, 9, 10, false, false, false);
  s.aRow = 0;
  check(s, "A repeats one row");
  s.aRow = 1;
  check(s, "A is a sliding window");
  s.bCol = 0;
  check(s, "B repeats one column");
}

GemmShape batched(GemmShape s, std::vector<int64_t> batch,
                  std::vector<int64_t> a, std::vector<int64_t> b,
                  std::vector<int64_t> c) {
  s.batch = std::move(batch);
  s.aBatch = std::move(a);
  s.bBatch = std::move(b);
  s.cBatch = std::move(c);
  return s;
}

TEST(Gemm, BatchesThatFoldIntoTheMatrix) {
  GemmShape plain = shape(4, 6, 5, false, false, false);
  check(batched(plain, {3}, {20}, {0}, {24}), "into m");
  check(batched(plain, {2, 3}, {60, 20}, {0, 0}, {72, 24}), "twice into m");
  GemmShape columns = shape(4, 6, 5, false, true, true);
  check(batched(columns, {3}, {0}, {30}, {24}), "into n");
  GemmShape sums = shape(4, 6, 5, true, false, false);
  sums.accumulate = true;
  check(batched(sums, {3}, {20}, {30}, {0}), "into k");
  GemmShape row = shape(1, 6, 5, false, false, false);
  check(batched(row, {7}, {50}, {0}, {6}), "m of one");
}

TEST(Gemm, BatchesThatDoNot) {
  GemmShape plain = shape(4, 6, 5, false, false, false);
  check(batched(plain, {3}, {20}, {30}, {24}), "independent");
  check(batched(plain, {2, 3}, {60, 20}, {90, 30}, {72, 24}), "merged");
  check(batched(plain, {2, 3}, {20, 40}, {30, 60}, {24, 48}), "swapped order");
  check(batched(plain, {2, 3}, {0, 20}, {30, 0}, {72, 24}), "outer product");
  check(batched(plain, {1, 3, 1}, {7, 20, 9}, {5, 30, 1}, {3, 24, 2}), "ones");
  // heads between rows: [b, s, h, d] x [b, s, h, d]^T per (b, h)
  GemmShape heads;
  heads.m = heads.n = 6;
  heads.k = 4;
  heads.aRow = heads.bCol = 12;
  heads.aCol = heads.bRow = 1;
  heads.cRow = 6;
  heads.cCol = 1;
  check(batched(heads, {2, 3}, {72, 4}, {72, 4}, {108, 36}), "heads");
  GemmShape sums = shape(4, 6, 5, false, false, false);
  sums.accumulate = true;
  check(batched(sums, {3}, {20}, {30}, {0}), "sum over the batch");
}

TEST(Fill, EndsWithinItsPattern) {
  Result<std::unique_ptr<Device>> device = createCpuDevice();
  ASSERT_TRUE(device);
  for (uint64_t bytes : {0, 1, 2, 3, 4, 5, 6, 7, 8, 30, 66}) {
    std::vector<uint8_t> target(80, 0xee);
    (*device)->fill(target.data(), 0x44332211, bytes);
    for (uint64_t i = 0; i < target.size(); ++i)
      EXPECT_EQ(target[i], i < bytes ? 0x11 * (i % 4 + 1) : 0xee) << bytes;
  }
}

TEST(Gemm, OtherTypesAreRefused) {
  Result<std::unique_ptr<Device>> device = createCpuDevice();
  ASSERT_TRUE(device);
  GemmShape s = shape(4, 6, 5, false, false, false);
  for (auto [type, cType] :
       {std::pair(DType::F64, DType::F64), std::pair(DType::F32, DType::BF16),
        std::pair(DType::BF16, DType::F16)}) {
    s.dtype = type;
    s.cType = cType;
    EXPECT_EQ((*device)->prepareGemm(s).code(), Code::Rejected);
  }
}

} // namespace
} // namespace stretto::runtime
