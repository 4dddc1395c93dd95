//===- FixtureTest.cpp - five steps against JAX ---------------------------===//
//
// A tiny GPT-2 and a tiny Llama, derived and run in f64, against the fixtures
// of utils/make-fixtures.py: losses, gradients, norms and updated parameters.
//
//===----------------------------------------------------------------------===//

#include "DerivedModule.h"
#include "stretto/Model/Gpt.h"
#include "stretto/Model/Llama.h"
#include "stretto/Runtime/Safetensors.h"
#include "stretto/Transforms/Apply/ApplyRecipe.h"
#include "stretto/Transforms/Apply/VerifyModel.h"
#include "gtest/gtest.h"
#include <cmath>
#include <cstring>

using namespace stretto;
using namespace stretto::test;
using interp::NamedValues;
using interp::Tensor;

namespace {
constexpr double tolerance = 1e-9;
constexpr int64_t steps = 5, batch = 4, seq = 8;

class Fixture {
public:
  static runtime::Result<runtime::SafetensorsFile>
  open(const std::string &name) {
    return runtime::SafetensorsFile::open(std::string(STRETTO_FIXTURES) + "/" +
                                          name + ".safetensors");
  }
  explicit Fixture(runtime::SafetensorsFile &file) : file(file) {}

  Tensor get(const std::string &name) const {
    const runtime::TensorEntry *entry = file.find(name);
    if (!entry) {
      ADD_FAILURE() << "fixture lacks " << name;
      return Tensor::scalar(NAN);
    }
    runtime::Bytes bytes = file.data(*entry);
    if (entry->dtype == "F64") {
      std::vector<double> data(bytes.size / sizeof(double));
      std::memcpy(data.data(), bytes.data, bytes.size);
      return Tensor::of(entry->shape, std::move(data));
    }
    std::vector<int32_t> data(bytes.size / sizeof(int32_t));
    std::memcpy(data.data(), bytes.data, bytes.size);
    return Tensor::of(entry->shape,
                      std::vector<int64_t>(data.begin(), data.end()));
  }
  double at(const std::string &name, int64_t index) const {
    return get(name).getFloats()[index];
  }
  size_t numParameters() const {
    return size_t(llvm::count_if(
        file.header().tensors, [](const runtime::TensorEntry &entry) {
          return llvm::StringRef(entry.name).starts_with("init/");
        }));
  }

private:
  runtime::SafetensorsFile &file;
};

void configure(TransformerOptions &options) {
  options.layers = 2;
  options.embed = 16;
  options.heads = 4;
  options.labelSmoothing = 0.1;
}

mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>>
build(const std::string &name, mlir::MLIRContext *context,
      Diagnostics &diagnostics) {
  if (name == "tiny-gpt") {
    GptOptions options;
    configure(options);
    options.ffn = 32;
    options.vocab = 29;
    options.maxSequence = 12;
    return buildGpt(context, options, diagnostics);
  }
  LlamaOptions options;
  configure(options);
  options.kvHeads = 2;
  options.ffn = 24;
  options.vocab = 31;
  options.qkNorm = true;
  return buildLlama(context, options, diagnostics);
}

Recipe recipe() {
  Recipe recipe;
  recipe.globalBatch = batch;
  recipe.sequence = seq;
  recipe.steps = steps;
  recipe.optimizer.learningRate = 2e-2;
  recipe.schedule.minLearningRate = 2e-3;
  recipe.schedule.warmup = 2;
  return recipe;
}

/// The largest difference of two tensors of one shape.
double distance(const Tensor &actual, const Tensor &expected) {
  EXPECT_EQ(actual.getShape(), expected.getShape());
  if (actual.getShape() != expected.getShape())
    return INFINITY;
  double largest = 0;
  for (auto [a, e] : llvm::zip(actual.getFloats(), expected.getFloats()))
    largest = std::max(largest, std::abs(a - e));
  return largest;
}

double largest(const Tensor &tensor) {
  return distance(tensor, tensor.zerosLike(tensor.getShape()));
}

class FixtureTest
    : public ::testing::TestWithParam<std::tuple<const char *, int64_t>> {
protected:
  std::string model() const { return std::get<0>(GetParam()); }
  int64_t microbatches() const { return std::get<1>(GetParam()); }

  void derive() {
    Diagnostics diagnostics;
    auto module = build(model(), derived.getContext(), diagnostics);
    ASSERT_TRUE(mlir::succeeded(module)) << diagnostics.summary();
    ASSERT_TRUE(mlir::succeeded(verifyModel(**module)));
    ASSERT_TRUE(
        mlir::succeeded(applyRecipe(**module, recipe(), microbatches())));
    ASSERT_TRUE(derived.derive(std::move(*module)));
  }

  NamedValues initialValues(const Fixture &fixture) {
    NamedValues values;
    size_t parameters = 0;
    derived.forEachArgument(
        "train", [&](llvm::StringRef binding, llvm::ArrayRef<int64_t> shape) {
          auto [kind, name] = binding.split(':');
          if (kind == "param") {
            values[binding.str()] = {fixture.get("init/" + name.str())};
            ++parameters;
          } else if (kind.starts_with("moment")) {
            values[binding.str()] = {Tensor::floats(shape)};
          }
        });
    EXPECT_EQ(parameters, fixture.numParameters());
    return values;
  }

  /// Inputs and hyperparameters of `step`, counted from 1.
  void setInputs(const Fixture &fixture, int64_t step, NamedValues &values) {
    llvm::SmallVector<int64_t> shape{microbatches(), batch / microbatches(),
                                     seq};
    for (const char *name : {"tokens", "labels", "mask"})
      values[std::string("input:") + name] = {
          interp::slice(fixture.get(name), 0, step - 1, 1).reshaped(shape)};
    double lr = recipe().learningRateAt(step);
    EXPECT_NEAR(lr, fixture.at("lr", step - 1), 1e-15);
    const auto &optimizer = recipe().optimizer;
    values["hyper"] = {Tensor::of(
        {4}, std::vector<double>{lr, 1 - std::pow(optimizer.beta1, step),
                                 1 - std::pow(optimizer.beta2, step), 0})};
  }

  void compareScalars(const Fixture &fixture, int64_t step,
                      NamedValues &results) {
    for (const char *name : {"loss", "count", "grad_norm"}) {
      double expected = fixture.at(name, step - 1);
      EXPECT_NEAR(results[std::string("output:") + name][0].getFloats()[0],
                  expected, tolerance * std::abs(expected))
          << name << " of step " << step;
    }
  }

  /// Relative to the parameter's gradient, or to the norm where it is tiny: the
  /// gradient of a key bias is zero but for rounding.
  void compareGradients(const Fixture &fixture, NamedValues &results) {
    double norm = fixture.at("grad_norm", 0);
    for (auto &[binding, value] : results) {
      llvm::StringRef name = binding;
      if (!name.consume_front("grad:"))
        continue;
      Tensor expected = fixture.get("grad/" + name.str());
      EXPECT_LE(distance(value[0], expected),
                tolerance * std::max(largest(expected), 1e-3 * norm))
          << name.str();
    }
  }

  DerivedModule derived;
};

TEST_P(FixtureTest, TrainsAsJaxDoes) {
  auto file = Fixture::open(model());
  ASSERT_TRUE(file) << file.status().message();
  Fixture fixture(*file);
  derive();
  if (HasFatalFailure())
    return;
  NamedValues values = initialValues(fixture);
  for (int64_t step = 1; step <= steps; ++step) {
    setInputs(fixture, step, values);
    auto results = derived.run("train", values, uint64_t(step));
    ASSERT_TRUE(mlir::succeeded(results));
    compareScalars(fixture, step, *results);
    if (step == 1)
      compareGradients(fixture, *results);
    for (auto &[binding, value] : *results)
      if (values.contains(binding))
        values[binding] = value;
  }
  for (auto &[binding, value] : values) {
    llvm::StringRef name = binding;
    if (name.consume_front("param:")) {
      Tensor expected = fixture.get("final/" + name.str());
      EXPECT_LE(distance(value[0], expected), tolerance * largest(expected))
          << name.str();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Models, FixtureTest,
    ::testing::Combine(::testing::Values("tiny-gpt", "tiny-llama"),
                       ::testing::Values(1, 4)),
    [](const ::testing::TestParamInfo<FixtureTest::ParamType> &info) {
      std::string name = std::get<0>(info.param);
      std::replace(name.begin(), name.end(), '-', '_');
      return name + "_" + std::to_string(std::get<1>(info.param));
    });
} // namespace
