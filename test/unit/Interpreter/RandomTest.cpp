//===- RandomTest.cpp - dropout draws by logical element ------------------===//

#include "stretto/Runtime/Random.h"
#include "TestProgram.h"

using namespace stretto;
using namespace stretto::interp;

/// What the definition in Random.h says about one element.
static double multiplier(uint64_t seed, uint64_t step, const char *instance,
                         uint64_t opId, uint64_t element, double p) {
  uint64_t key = random::key(seed, step, instanceKey(instance));
  bool keep = random::bits24(key, element, opId) >= random::dropoutThreshold(p);
  return keep ? 1 / (1 - p) : 0;
}

TEST(Random, InstanceKeysAreXxh3) {
  // Published value of XXH3_64bits of the empty input.
  EXPECT_EQ(instanceKey(""), 0x2D06800538D394C2ull);
}

TEST(Random, DropoutFollowsTheDefinition) {
  TestProgram program(oneOp("%x: tensor<4x6xf32>",
                            "stretto.dropout %x {p = 0.3 : f64, op_id = 5 : "
                            "i64} : tensor<4x6xf32> -> "
                            "tensor<4x6xf32>",
                            "tensor<4x6xf32>"));
  auto results = program.run("f", {{Tensor::floats({4, 6}, 1)}}, MeshAttr(), 7,
                             3, "layers.1");
  int zeros = 0;
  for (int i = 0; i < 24; ++i) {
    double want = multiplier(7, 3, "layers.1", 5, i, 0.3);
    EXPECT_EQ(results[0][0].getFloats()[i], want);
    zeros += want == 0;
  }
  EXPECT_GT(zeros, 0);
  EXPECT_LT(zeros, 24);
}

TEST(Random, ShardsDrawTheElementsOfTheWhole) {
  // Batch of 4 samples per micro-batch over dp, 6 features over tp.
  TestProgram program(
      "module attributes {stretto.mesh = #stretto.mesh<dp = 2, tp = 2>} {" +
      oneOp("%x: tensor<2x3xf32>",
            "stretto.dropout %x {p = 0.5 : f64, op_id = 2 : i64, extents = "
            "array<i64: 4, 6>, sample_dim = 0 : i64, offsets = "
            "[#stretto.offset<mesh<dp = 2, tp = 2>, [dp * 2], microbatch * 4>, "
            "#stretto.offset<mesh<dp = 2, tp = 2>, [tp * 3], microbatch * 0>]} "
            ": tensor<2x3xf32> -> tensor<2x3xf32>",
            "tensor<2x3xf32>") +
      "}");
  RankTensors ones(4, Tensor::floats({2, 3}, 1));
  auto results = program.run("f", {ones}, program.mesh(), 1, 2, "a", 3);
  for (int rank = 0; rank < 4; ++rank)
    for (int b = 0; b < 2; ++b)
      for (int f = 0; f < 3; ++f) {
        uint64_t sample = 3 * 4 + (rank / 2) * 2 + b;
        uint64_t element = sample * 6 + (rank % 2) * 3 + f;
        EXPECT_EQ(results[0][rank].getFloats()[b * 3 + f],
                  multiplier(1, 2, "a", 2, element, 0.5));
      }
}

TEST(Random, WithoutOffsetsTheMicroBatchCountsWholeBatches) {
  TestProgram program(
      oneOp("%x: tensor<4x6xf32>",
            "stretto.dropout %x {p = 0.5 : f64, op_id = 2 : i64, extents = "
            "array<i64: "
            "4, 6>, sample_dim = 0 : i64} : tensor<4x6xf32> -> tensor<4x6xf32>",
            "tensor<4x6xf32>"));
  auto results =
      program.run("f", {{Tensor::floats({4, 6}, 1)}}, MeshAttr(), 1, 2, "a", 3);
  for (int i = 0; i < 24; ++i)
    EXPECT_EQ(results[0][0].getFloats()[i],
              multiplier(1, 2, "a", 2, 3 * 24 + i, 0.5));
}
