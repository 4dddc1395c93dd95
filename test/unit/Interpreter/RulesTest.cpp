//===- RulesTest.cpp - every placement of every operation is sound --------===//

#include "OpSamples.h"
#include "RuleProver.h"

using namespace stretto;
using namespace stretto::interp;

namespace {
class Rules : public testing::TestWithParam<Sample> {};
} // namespace

TEST_P(Rules, EveryPlacementIsSound) {
  Prover prover(GetParam());
  int placements = prover.proveAll();
  EXPECT_GT(placements, 0);
  EXPECT_EQ(prover.getComplaint(), "");
  RecordProperty("placements", placements);
  RecordProperty("partial", prover.numPartial());
}

static std::string
complaintAfter(const Sample &sample,
               llvm::function_ref<void(OpRule &)> breakRule) {
  Prover prover(sample);
  breakRule(prover.getRule());
  prover.proveAll();
  return prover.getComplaint();
}

TEST(RuleProver, FindsWhatIsUnsound) {
  Sample tanh{"tanh", "%x: tensor<4x2xf32>",
              "stretto.tanh %x : tensor<4x2xf32> -> tensor<4x2xf32>",
              "tensor<4x2xf32>"};
  EXPECT_EQ(complaintAfter(tanh, [](OpRule &) {}), "");
  EXPECT_NE(complaintAfter(
                tanh, [](OpRule &rule) { rule.linearSets.push_back({{0}}); }),
            "");
  Sample softmax{"softmax", "%x: tensor<4x2xf32>",
                 "stretto.softmax %x {dim = 1 : i64} : tensor<4x2xf32> -> "
                 "tensor<4x2xf32>",
                 "tensor<4x2xf32>"};
  EXPECT_NE(complaintAfter(softmax,
                           [](OpRule &rule) {
                             rule.factors[1].kind = FactorKind::Parallel;
                           }),
            "");
  Sample largest{"max", "%x: tensor<4x2xf32>",
                 "stretto.reduce max %x dims [0] : tensor<4x2xf32> -> "
                 "tensor<2xf32>",
                 "tensor<2xf32>"};
  EXPECT_NE(complaintAfter(
                largest,
                [](OpRule &rule) { rule.factors[0].reduce = ReduceKind::Sum; }),
            "");
}

static std::string nameOf(const testing::TestParamInfo<Sample> &info) {
  return info.param.name;
}
INSTANTIATE_TEST_SUITE_P(Elementwise, Rules,
                         testing::ValuesIn(elementwiseSamples()), nameOf);
INSTANTIATE_TEST_SUITE_P(Structured, Rules,
                         testing::ValuesIn(structuredSamples()), nameOf);
INSTANTIATE_TEST_SUITE_P(Movement, Rules, testing::ValuesIn(movementSamples()),
                         nameOf);
INSTANTIATE_TEST_SUITE_P(Fused, Rules, testing::ValuesIn(fusedSamples()),
                         nameOf);
