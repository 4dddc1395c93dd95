//===- CheckTest.cpp - the check accepts what is equal and nothing else ---===//
//
// On the linear model of test/Interpreter/Inputs: its gradients against central
// differences of its own loss, its localized form against the derived one, and
// every planted bug.
//
//===----------------------------------------------------------------------===//

#include "stretto/Interpreter/Check.h"
#include "TestProgram.h"
#include "stretto/Interpreter/PlantBug.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace stretto;
using namespace stretto::interp;

static std::string readInput(const std::string &name) {
  auto buffer = llvm::MemoryBuffer::getFile(STRETTO_TEST_INPUTS "/" + name);
  EXPECT_TRUE(bool(buffer)) << name;
  return buffer ? (*buffer)->getBuffer().str() : "";
}

static std::string readDerived() { return readInput("linear.mlir"); }
static std::string readLocalized() { return readInput("linear-dp2-tp2.mlir"); }

static std::string text(const CheckReport &report) {
  std::string result;
  llvm::raw_string_ostream os(result);
  report.print(os);
  return result;
}

/// Both modules in one context.
static CheckReport checkWith(llvm::function_ref<void(mlir::ModuleOp)> change) {
  TestProgram program(readDerived());
  auto localized = mlir::parseSourceString<mlir::ModuleOp>(
      readLocalized(), program.get().getContext());
  change(*localized);
  EXPECT_TRUE(mlir::succeeded(mlir::verify(*localized))) << program.errors;
  auto report = check(program.get(), *localized, CheckOptions());
  EXPECT_TRUE(mlir::succeeded(report)) << program.errors;
  return mlir::succeeded(report) ? *report : CheckReport();
}

TEST(Check, TheLocalizedModuleIsEqual) {
  CheckReport report = checkWith([](mlir::ModuleOp) {});
  EXPECT_TRUE(report.ok()) << text(report);
  EXPECT_EQ(report.ranks, 4);
  ASSERT_EQ(report.rows.size(), 4u);
  for (const CheckRow &row : report.rows)
    if (row.name != "output:count") {
      EXPECT_GT(row.bound, 0) << row.name;
    }
}

TEST(Check, EveryPlantedBugIsFound) {
  // Reduction of counts, losses and gradients over dp, of y over tp.
  std::pair<Bug, int64_t> bugs[] = {{Bug::DropAllReduce, 4},
                                    {Bug::ScaleGradient, 2},
                                    {Bug::WrongAxis, 4},
                                    {Bug::SwapShards, 1}};
  TestProgram program(readLocalized());
  for (auto [bug, places] : bugs) {
    EXPECT_EQ(countPlaces(program.get(), bug), places);
    for (int64_t nth = 0; nth < places; ++nth) {
      CheckReport report = checkWith([&, bug = bug](mlir::ModuleOp module) {
        EXPECT_TRUE(mlir::succeeded(plantBug(module, bug, nth)));
      });
      EXPECT_FALSE(report.ok()) << "bug " << int(bug) << " at " << nth << "\n"
                                << text(report);
    }
  }
}

TEST(Check, ThereAreNoPlacesBeyondTheLast) {
  TestProgram program(readLocalized());
  EXPECT_TRUE(mlir::failed(plantBug(program.get(), Bug::DropAllReduce, 4)));
  EXPECT_NE(program.errors.find("has 4 places for this bug, got place 4"),
            std::string::npos)
      << program.errors;
}

TEST(Training, GradientsAreDerivativesOfTheLoss) {
  TestProgram program(readDerived());
  TrainingOptions options;
  options.steps = 1;
  options.inputs = RandomInputs();
  auto lossAt = [&](const TensorVector &arguments) {
    options.parameters["w"] = arguments[0];
    auto trajectory = runTraining(program.get(), options);
    return trajectory->steps[0]["output:loss"].value;
  };
  Tensor w = reals({3}, {0.5, -1, 2});
  options.parameters["w"] = w;
  auto trajectory = runTraining(program.get(), options);
  ASSERT_TRUE(mlir::succeeded(trajectory)) << program.errors;
  expectNear(trajectory->steps[0]["grad:w"].value,
             finiteDifference(lossAt, {w}, 0, Tensor::scalar(1)).getFloats(),
             1e-7);
}

TEST(Training, MasksAreRaggedBySample) {
  RandomInputs inputs;
  inputs.counted = {16, 1, 3, 0};
  Tensor mask = inputs("mask", {2, 3, 4}, false, 1);
  ASSERT_EQ(mask.getNumElements(), 24);
  expectNear(slice(mask.reshaped({6, 4}), 0, 0, 4),
             {1, 1, 1, 1, 1, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0});
  // Later samples count one of the numbers, in whatever order, at the front.
  Tensor many = inputs("mask", {1, 64, 4}, false, 1).reshaped({64, 4});
  std::map<int, int> seen;
  for (int sample = 4; sample < 64; ++sample) {
    Tensor row = slice(many, 0, sample, 1);
    int count = 0;
    for (double x : row.getFloats())
      count += x == 1;
    for (int i = 0; i < 4; ++i)
      EXPECT_EQ(row.getFloats()[i], i < count);
    ++seen[count];
  }
  EXPECT_EQ(seen.size(), 4u);
  EXPECT_EQ(seen.count(2), 0u);
}

TEST(Training, RandomTokensStayInTheVocabularyAndDifferByStep) {
  RandomInputs inputs;
  inputs.vocabulary = 7;
  Tensor first = inputs("tokens", {1, 8, 16}, true, 1);
  std::vector<int> seen(7);
  for (int64_t token : first.getInts()) {
    ASSERT_GE(token, 0);
    ASSERT_LT(token, 7);
    ++seen[token];
  }
  for (int count : seen)
    EXPECT_GT(count, 0);
  EXPECT_FALSE(first.identical(inputs("tokens", {1, 8, 16}, true, 2)));
  EXPECT_FALSE(first.identical(inputs("labels", {1, 8, 16}, true, 1)));
}

TEST(Check, BoundsFollowTheGlobalGradientNormAndTheLearningRate) {
  // One step: gradients of norm 3 and 4 (global 5), parameters of 4 elements.
  auto record = [](double gradient, double parameter, double count) {
    StepRecord result;
    result["grad:a"] = {reals({2}, {3 + gradient, 0}), {}};
    result["grad:b"] = {reals({1}, {4}), {}};
    result["param:a"] = {reals({4}, {parameter, 0, 0, 0}), {}};
    result["output:count"] = {Tensor::scalar(10 + count), {}};
    return result;
  };
  auto rows = [&](double gradient, double parameter, double count) {
    Trajectory reference, other;
    reference.steps = {record(0, 0, 0)};
    other.steps = {record(gradient, parameter, count)};
    return compareTrajectories(reference, other, {0.5}, 1e-2);
  };
  std::vector<CheckRow> exact = rows(0, 0, 0);
  EXPECT_DOUBLE_EQ(exact[0].bound, 5e-2);              // tol * 5
  EXPECT_DOUBLE_EQ(exact[2].bound, 5e-2 + 0.5 * 2e-2); // + lr sqrt(4) 1 tol
  EXPECT_EQ(exact[3].bound, 0);
  EXPECT_TRUE(rows(0.049, 0, 0)[0].ok());
  EXPECT_FALSE(rows(0.051, 0, 0)[0].ok());
  EXPECT_TRUE(rows(0, 0.059, 0)[2].ok());
  EXPECT_FALSE(rows(0, 0.061, 0)[2].ok());
  EXPECT_FALSE(rows(0, 0, 1e-9)[3].ok());
  EXPECT_FALSE(rows(NAN, 0, 0)[0].ok());
}

namespace {
/// One AdamW step of a parameter whose exact gradient is zero in one element.
struct NoisyStep {
  TestProgram program{R"(
module attributes {stretto.recipe = {optimizer = "adamw", lr = 0.01 : f64, beta1 = 0.9 : f64, beta2 = 0.95 : f64,
                                     epsilon = 1.0e-8 : f64, weight_decay = 0.1 : f64, clip = 1.0 : f64, decay = "constant"}} {
  stretto.step @train(%w: tensor<2xf32> {stretto.binding = "param:w"}) -> (tensor<2xf32> {stretto.binding = "param:w"}) {
    stretto.yield %w : tensor<2xf32>
  }
})"};
  static constexpr double lr = 0.01, noise = 1e-5;

  /// AdamW's first step: lr sign(g) and lr decay p, up to eps / |g|.
  static double updated(double p, double g) {
    return p - lr * (g / (std::abs(g) + 1e-8) + 0.1 * p);
  }
  static Trajectory trajectory(double g, double p0, double p1) {
    Trajectory result;
    result.initial["param:w"] = reals({2}, {0.5, 0.25});
    result.steps.resize(1);
    result.steps[0]["grad:w"] = {reals({2}, {0.5, g}), {}};
    result.steps[0]["param:w"] = {reals({2}, {p0, p1}), {}};
    return result;
  }
  /// The row of the parameter when the other program has gradient `g` and
  /// makes `p1` of it.
  CheckRow compare(double g, double p1, bool replayed) {
    Trajectory reference =
                   trajectory(noise, updated(0.5, 0.5), updated(0.25, noise)),
               other = trajectory(g, updated(0.5, 0.5), p1);
    auto replay = UpdateReplay::of(program.get(), reference.initial);
    EXPECT_TRUE(replay.has_value());
    return compareTrajectories(reference, other, {lr}, 2e-4,
                               replayed ? &*replay : nullptr)[1];
  }
};
} // namespace

TEST(Check, NoiseThatAdamAmplifiesIsNoDifferenceOfPrograms) {
  NoisyStep step;
  double turned = NoisyStep::updated(0.25, -NoisyStep::noise);
  EXPECT_FALSE(step.compare(-NoisyStep::noise, turned, false).ok());
  EXPECT_TRUE(step.compare(-NoisyStep::noise, turned, true).ok());
}

TEST(Check, AnUpdateThatDoesNotFollowItsGradientIsFound) {
  NoisyStep step;
  double noise = NoisyStep::noise, right = NoisyStep::updated(0.25, noise);
  EXPECT_TRUE(step.compare(noise, right, true).ok());
  EXPECT_FALSE(step.compare(-noise, right, true).ok()); // another's gradient
  EXPECT_FALSE(step.compare(noise, 0.25, true).ok());   // no update
  double decayless = right + NoisyStep::lr * 0.1 * 0.25;
  EXPECT_FALSE(step.compare(noise, decayless, true).ok());
}

TEST(Check, DumpsOfAnExecutableAreComparedByName) {
  Trajectory reference;
  reference.steps.resize(1);
  reference.steps[0]["grad:w"] = {reals({2}, {3, 4}), {}};
  reference.steps[0]["param:w"] = {reals({2}, {1, 1}), {}};
  std::map<std::string, Tensor> dump;
  dump["grad/w"] = reals({2}, {3.0009, 4});
  std::vector<CheckRow> rows = compareWithDump(reference, 1, dump, 0.1, 2e-4);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_TRUE(rows[0].ok()); // 9e-4 against 2e-4 * 5
  EXPECT_EQ(rows[1].fault, "is not in the dump");
  dump["grad/w"] = reals({2}, {3.0011, 4});
  EXPECT_FALSE(compareWithDump(reference, 1, dump, 0.1, 2e-4)[0].ok());
}
