//===- ModelStructureTest.cpp - gradients of whole models -----------------===//
//
// What the single operations do not show: values with several readers, several
// loss terms, ties, micro-batches, unused parameters, counts of zero, optimizer
// steps, and that depth costs only invocations.
//
//===----------------------------------------------------------------------===//

#include "GradientCheck.h"
#include "stretto/Model/Gpt.h"
#include "stretto/Transforms/Apply/ApplyRecipe.h"
#include <map>
#include <random>

using namespace stretto;
using namespace stretto::test;
using interp::NamedValues;
using interp::Tensor;

namespace {

/// Layers that the models below are made of. @loss counts where the mask is
/// set.
const char *const layers = R"(
  stretto.layer @mix(%x: tensor<?x3xf32> dims [batch, embed],
                     params(%w: tensor<3x3xf32> dims [embed, ffn] init zeros)) -> tensor<?x3xf32> {
    %h = stretto.einsum "b e, e f -> b f" %x, %w : tensor<?x3xf32>, tensor<3x3xf32> -> tensor<?x3xf32>
    %y = stretto.tanh %h : tensor<?x3xf32> -> tensor<?x3xf32>
    stretto.yield %y : tensor<?x3xf32>
  }
  stretto.layer @twice(%x: tensor<?x3xf32> dims [batch, embed],
                       params(%a: tensor<3x3xf32> dims [embed, ffn] init zeros,
                              %b: tensor<3x3xf32> dims [embed, ffn] init zeros,
                              %unused: tensor<2xf32> init zeros)) -> (tensor<?x3xf32>, tensor<?x3xf32>) {
    %h = stretto.einsum "b e, e f -> b f" %x, %a : tensor<?x3xf32>, tensor<3x3xf32> -> tensor<?x3xf32>
    %y = stretto.sigmoid %h : tensor<?x3xf32> -> tensor<?x3xf32>
    %z = stretto.einsum "b e, e f -> b f" %y, %b : tensor<?x3xf32>, tensor<3x3xf32> -> tensor<?x3xf32>
    stretto.yield %z, %y : tensor<?x3xf32>, tensor<?x3xf32>
  }
  stretto.layer @loss(%x: tensor<?x3xf32> dims [batch, embed], %mask: tensor<?xf32> dims [batch])
      -> (tensor<f32>, tensor<f32>) {
    %q = stretto.mul %x, %x : tensor<?x3xf32>, tensor<?x3xf32> -> tensor<?x3xf32>
    %r = stretto.reduce sum %q dims [1] : tensor<?x3xf32> -> tensor<?xf32>
    %m = stretto.mul %r, %mask : tensor<?xf32>, tensor<?xf32> -> tensor<?xf32>
    %s = stretto.reduce sum %m dims [0] : tensor<?xf32> -> tensor<f32>
    %c = stretto.reduce sum %mask dims [0] : tensor<?xf32> -> tensor<f32>
    stretto.yield %s, %c : tensor<f32>, tensor<f32>
  }
)";

std::string call(const std::string &result, const std::string &layer,
                 const std::string &operand, const std::string &rest) {
  std::string types = layer == "twice" ? "(tensor<?x3xf32>, tensor<?x3xf32>)"
                                       : "tensor<?x3xf32>";
  return result + " = stretto.call @" + layer + "(" + operand + ") scope " +
         rest + " : (tensor<?x3xf32>) -> " + types + "\n";
}

std::string loss(const std::string &x, const std::string &scope,
                 const std::string &weight) {
  return "%s" + scope + ", %c" + scope + " = stretto.call @loss(" + x +
         ", %mask) scope \"" + scope +
         "\" : (tensor<?x3xf32>, tensor<?xf32>) -> (tensor<f32>, tensor<f32>)\n"
         "stretto.loss %s" +
         scope + ", %c" + scope + " weight " + weight +
         " : tensor<f32>, tensor<f32>\n";
}

std::string module(const std::string &body, int64_t microbatches = 1,
                   const std::string &recipe = "") {
  return "module attributes {stretto.recipe = {global_batch = 4 : i64, "
         "microbatches = " +
         std::to_string(microbatches) + " : i64" + recipe + "}} {" + layers +
         "stretto.model @m(%x: tensor<?x3xf32> dims [batch, embed], %mask: "
         "tensor<?xf32> dims [batch]) {\n" +
         body + "}\n}\n";
}

NamedValues randomValues(DerivedModule &derived) {
  NamedValues values;
  std::mt19937_64 engine(5);
  std::normal_distribution<double> normal;
  derived.forEachArgument("train", [&](llvm::StringRef binding,
                                       llvm::ArrayRef<int64_t> shape) {
    Tensor tensor = Tensor::floats(shape);
    if (binding == "input:mask") {
      // Micro-batches count differently: means of means would be wrong.
      const double mask[] = {1, 0.5, 0, 1};
      std::copy(std::begin(mask), std::end(mask), tensor.writeFloats().begin());
    } else if (binding == "hyper") {
      const double hyper[] = {0.1, 0.1, 0.05, 0};
      std::copy(std::begin(hyper), std::end(hyper),
                tensor.writeFloats().begin());
    } else if (!binding.starts_with("moment")) {
      for (double &value : tensor.writeFloats())
        value = normal(engine);
    }
    values[binding.str()] = {tensor};
  });
  return values;
}

void expectRightGradients(const std::string &text) {
  DerivedModule derived;
  ASSERT_TRUE(derived.derive(text)) << text;
  EXPECT_GT(expectGradientsEqualDifferences(derived, randomValues(derived)),
            1e-3);
}

TEST(ModelGradients, ValueWithTwoReaders) {
  expectRightGradients(module(call("%a", "mix", "%x", "\"a\"") +
                              call("%b", "mix", "%a", "\"b\"") +
                              call("%c", "mix", "%a", "\"c\"") +
                              loss("%b", "l", "1.0") + loss("%c", "k", "1.0")));
}

TEST(ModelGradients, SeveralLossTermsWithWeights) {
  expectRightGradients(
      module(call("%a", "mix", "%x", "\"a\"") + loss("%a", "l", "0.5") +
             call("%b", "mix", "%a", "\"b\"") + loss("%b", "k", "-2.0")));
}

TEST(ModelGradients, OneSumInTwoTerms) {
  expectRightGradients(
      module(call("%a", "mix", "%x", "\"a\"") + loss("%a", "l", "0.5") +
             "stretto.loss %sl, %cl weight 3.0 : tensor<f32>, tensor<f32>\n"));
}

TEST(ModelGradients, LayersThatShareAllParameters) {
  for (int64_t microbatches : {1, 2})
    expectRightGradients(
        module(call("%a", "mix", "%x", "\"a\"") +
                   call("%b", "mix", "%a", "\"b\" bind {w = \"a.w\"}") +
                   call("%c", "mix", "%b", "\"c\" bind {w = \"a.w\"}") +
                   loss("%c", "l", "1.0"),
               microbatches));
}

TEST(ModelGradients, OneParameterTwiceInACallAndAnUnusedOne) {
  expectRightGradients(module(
      call("%a", "mix", "%x", "\"a\"") +
      call("%b:2", "twice", "%a", "\"b\" bind {a = \"a.w\", b = \"a.w\"}") +
      loss("%b#0", "l", "1.0")));
}

TEST(ModelGradients, ResultsUsedDifferentlyByInstances) {
  expectRightGradients(
      module(call("%a:2", "twice", "%x", "\"a\"") +
             call("%b:2", "twice", "%a#1", "\"b\"") + loss("%b#0", "l", "1.0") +
             loss("%b#1", "k", "1.0") + loss("%a#0", "j", "1.0")));
}

TEST(ModelGradients, MicrobatchesAddUpToTheBatch) {
  std::string body = call("%a", "mix", "%x", "\"a\"") +
                     call("%b", "mix", "%a", "\"b\"") + loss("%b", "l", "1.0");
  std::map<std::string, std::vector<double>> reference;
  for (int64_t microbatches : {1, 2, 4}) {
    DerivedModule derived;
    ASSERT_TRUE(derived.derive(module(body, microbatches)));
    auto results = derived.run("train", randomValues(derived));
    ASSERT_TRUE(mlir::succeeded(results));
    for (auto &[binding, value] : *results) {
      std::vector<double> data = value[0].getFloats().vec();
      auto [it, first] = reference.try_emplace(binding, data);
      for (size_t i = 0; i < data.size(); ++i)
        EXPECT_NEAR(data[i], it->second[i], 1e-12) << binding;
    }
  }
}

//===----------------------------------------------------------------------===//
// Counts of zero, values that are not finite, optimizers
//===----------------------------------------------------------------------===//

std::string oneLayer(const std::string &recipe = "") {
  return module(call("%a", "mix", "%x", "\"a\"") + loss("%a", "l", "1.0"), 2,
                recipe);
}

TEST(Step, NothingCountedGivesZeroLossAndGradients) {
  DerivedModule derived;
  ASSERT_TRUE(derived.derive(oneLayer()));
  NamedValues values = randomValues(derived);
  for (double &value : values["input:mask"][0].writeFloats())
    value = 0;
  auto results = derived.run("train", values);
  ASSERT_TRUE(mlir::succeeded(results));
  EXPECT_EQ((*results)["output:loss"][0].getFloats()[0], 0);
  EXPECT_EQ((*results)["output:count"][0].getFloats()[0], 0);
  for (double value : (*results)["grad:a.w"][0].getFloats())
    EXPECT_EQ(value, 0);
}

TEST(Step, LossThatIsNotFiniteLeavesParametersAndMoments) {
  DerivedModule derived;
  ASSERT_TRUE(derived.derive(oneLayer()));
  for (double bad : {double(NAN), double(INFINITY)}) {
    NamedValues values = randomValues(derived);
    values["input:mask"][0].writeFloats()[0] = bad;
    auto results = derived.run("train", values);
    ASSERT_TRUE(mlir::succeeded(results));
    for (const char *binding : {"param:a.w", "moment1:a.w", "moment2:a.w"})
      EXPECT_TRUE((*results)[binding][0].identical(values[binding][0]))
          << binding;
  }
}

/// Two steps of SGD by PyTorch's formula, norm clipped at 0.5.
TEST(Step, SgdWithMomentumWeightDecayAndClipping) {
  DerivedModule derived;
  ASSERT_TRUE(derived.derive(
      oneLayer(", optimizer = \"sgd\", momentum = 0.9 : f64, weight_decay = "
               "0.1 : f64, clip = 0.05 : f64")));
  NamedValues values = randomValues(derived);
  EXPECT_FALSE(values.contains("moment2:a.w"));
  std::vector<double> param = values["param:a.w"][0].getFloats().vec();
  std::vector<double> momentum(param.size(), 0.0);
  for (int step = 1; step <= 2; ++step) {
    auto results = derived.run("train", values, uint64_t(step));
    ASSERT_TRUE(mlir::succeeded(results));
    llvm::ArrayRef<double> gradient = (*results)["grad:a.w"][0].getFloats();
    double square = 0;
    for (double g : gradient)
      square += g * g;
    double norm = std::sqrt(square);
    EXPECT_GT(norm, 0.05);
    EXPECT_NEAR((*results)["output:grad_norm"][0].getFloats()[0], norm, 1e-14);
    for (size_t i = 0; i < param.size(); ++i) {
      double g = gradient[i] * 0.05 / (norm + 1e-6) + 0.1 * param[i];
      momentum[i] = 0.9 * momentum[i] + g;
      param[i] -= 0.1 * momentum[i];
      EXPECT_NEAR((*results)["param:a.w"][0].getFloats()[i], param[i], 1e-14);
    }
    for (auto &[binding, value] : *results)
      if (values.contains(binding))
        values[binding] = value;
  }
}

TEST(Step, EvalIsTheLossOfTraining) {
  DerivedModule derived;
  ASSERT_TRUE(derived.derive(oneLayer()));
  NamedValues values = randomValues(derived);
  NamedValues given;
  derived.forEachArgument(
      "eval", [&](llvm::StringRef binding, llvm::ArrayRef<int64_t>) {
        given[binding.str()] = values[binding.str()];
      });
  auto trained = derived.run("train", values);
  auto evaluated = derived.run("eval", given);
  ASSERT_TRUE(mlir::succeeded(trained) && mlir::succeeded(evaluated));
  for (const char *binding : {"output:loss", "output:count"})
    EXPECT_EQ((*trained)[binding][0].getFloats()[0],
              (*evaluated)[binding][0].getFloats()[0]);
}

//===----------------------------------------------------------------------===//
// Depth
//===----------------------------------------------------------------------===//

struct Sizes {
  int64_t inSegments = 0, inSteps = 0, invokes = 0;
  int64_t bound = 0;        // arguments and results of steps
  int64_t mostOperands = 0; // of an invocation
};

Sizes sizesOfGpt(int64_t depth) {
  DerivedModule derived;
  derived.keepBundles = true;
  Diagnostics diagnostics;
  GptOptions options;
  options.layers = depth;
  options.embed = 16;
  options.heads = 2;
  auto built = buildGpt(derived.getContext(), options, diagnostics);
  EXPECT_TRUE(mlir::succeeded(built));
  EXPECT_TRUE(derived.derive(std::move(*built)));
  Sizes sizes;
  derived.getModule()->walk([&](mlir::Operation *op) {
    if (auto step = llvm::dyn_cast<StepOp>(op))
      sizes.bound +=
          step.getArgumentTypes().size() + step.getResultTypes().size();
    if (op->getParentOfType<SegmentOp>() || llvm::isa<SegmentOp>(op)) {
      ++sizes.inSegments;
    } else if (llvm::isa<InvokeOp>(op)) {
      ++sizes.invokes;
      sizes.mostOperands =
          std::max<int64_t>(sizes.mostOperands, op->getNumOperands());
    } else if (!llvm::isa<ZerosOp>(op)) { // one per backward
      ++sizes.inSteps;
    }
  });
  return sizes;
}

TEST(Depth, AddsInvocationsOnly) {
  Sizes shallow = sizesOfGpt(4), deep = sizesOfGpt(64);
  EXPECT_EQ(shallow.inSegments, deep.inSegments);
  EXPECT_EQ(shallow.inSteps, deep.inSteps);
  // Forward, backward, reduce, norm, update, eval and predict of 60 more
  // layers.
  EXPECT_EQ(deep.invokes - shallow.invokes, 60 * 7);
  // Parameters and two moments come and go, gradients go; in @eval and @predict
  // parameters come: bundles, however many parameters a layer has.
  EXPECT_EQ(deep.bound - shallow.bound, 60 * (3 + 4 + 1 + 1));
  // A decoder has 16 parameters, and no invocation takes as many operands.
  EXPECT_EQ(deep.mostOperands, shallow.mostOperands);
  EXPECT_LT(deep.mostOperands, 10);
}

} // namespace
