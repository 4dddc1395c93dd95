#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "stretto/Dialect/Stretto/IR/StrettoOps.h"
#include "stretto/Model/Gpt.h"
#include "stretto/Model/Llama.h"

#include <cmath>
#include <gtest/gtest.h>
#include <map>

using namespace mlir;
using namespace stretto;

namespace {
struct Parameter {
  int64_t elements = 0;
  InitAttr init;
  bool decays = false;
};
using Parameters = std::map<std::string, Parameter>;
} // namespace

/// Every parameter of the model by its path, tied ones once.
static Parameters parametersOf(ModuleOp module) {
  Parameters parameters;
  module.walk([&](CallOp call) {
    auto layer = module.lookupSymbol<LayerOp>(call.getCallee());
    for (unsigned i = layer.getNumActivations(); i < layer.getNumArguments();
         ++i) {
      StringRef name = layer.getParameterName(i).getValue();
      Parameter &parameter = parameters[call.getParameterPath(name)];
      auto type = cast<RankedTensorType>(layer.getArgumentTypes()[i]);
      parameter.elements = type.getNumElements();
      if (auto init = layer.getArgAttrOfType<InitAttr>(i, attr::init)) {
        parameter.init = init;
        parameter.decays = !layer.getArgAttr(i, attr::noDecay);
      }
    }
  });
  return parameters;
}

static int64_t countOf(const Parameters &parameters) {
  int64_t sum = 0;
  for (const auto &[name, parameter] : parameters)
    sum += parameter.elements;
  return sum;
}

/// Builds, verifies and lists the parameters.
template <typename Options, typename Build>
static Parameters build(Build builder, const Options &options) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  Diagnostics diags;
  auto module = builder(&context, options, diags);
  EXPECT_TRUE(succeeded(module)) << diags.summary();
  if (failed(module))
    return {};
  EXPECT_TRUE(succeeded(verify(**module)));
  Parameters parameters = parametersOf(**module);
  for (auto &[name, parameter] : parameters) {
    EXPECT_TRUE(parameter.init) << name;
    parameter.init = nullptr; // dies with the context
  }
  return parameters;
}

template <typename Options, typename Build>
static std::string errorsOf(Build builder, const Options &options) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  Diagnostics diags;
  EXPECT_TRUE(failed(builder(&context, options, diags)));
  return diags.summary();
}

TEST(Gpt, TheSmallGpt2HasItsPublishedSize) {
  GptOptions options;
  options.layers = 12;
  options.embed = 768;
  options.heads = 12;
  options.vocab = 50257;
  options.maxSequence = 1024;
  EXPECT_EQ(countOf(build(buildGpt, options)), 124439808);
}

TEST(Llama, TheSevenBillionOneHasItsPublishedSize) {
  LlamaOptions options;
  options.layers = 32;
  options.embed = 4096;
  options.heads = 32;
  options.ffn = 11008;
  options.vocab = 32000;
  EXPECT_EQ(countOf(build(buildLlama, options)), 6738415616);
}

TEST(Llama, GroupedQueriesHaveTheirPublishedSize) {
  LlamaOptions options; // Llama 3 8B
  options.layers = 32;
  options.embed = 4096;
  options.heads = 32;
  options.kvHeads = 8;
  options.ffn = 14336;
  options.vocab = 128256;
  EXPECT_EQ(countOf(build(buildLlama, options)), 8030261248);
}

TEST(Model, SwitchesAddAndRemoveExactlyTheirParameters) {
  LlamaOptions options;
  options.layers = 3;
  int64_t plain = countOf(build(buildLlama, options));
  options.qkNorm = true;
  EXPECT_EQ(countOf(build(buildLlama, options)), plain + 3 * 2 * 32);
  options.tied = true;
  EXPECT_EQ(countOf(build(buildLlama, options)),
            plain + 3 * 2 * 32 - 256 * 256);
  options.bias = true; // 3 * embed for q, k, v; embed for o; 2 ffn + embed
  EXPECT_EQ(countOf(build(buildLlama, options)),
            plain + 3 * 2 * 32 - 256 * 256 + 3 * (5 * 256 + 2 * 704));
}

TEST(Model, OnlyMatricesDecay) {
  for (const auto &[name, parameter] : build(buildGpt, GptOptions())) {
    StringRef leaf = StringRef(name).rsplit('.').second;
    bool isMatrix =
        leaf.starts_with("w") || leaf == "table" || leaf == "positions";
    EXPECT_EQ(parameter.decays, isMatrix) << name;
  }
}

TEST(Model, ResidualProjectionsStartSmaller) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  Diagnostics diags;
  GptOptions options;
  options.layers = 8;
  auto module = buildGpt(&context, options, diags);
  ASSERT_TRUE(succeeded(module));
  Parameters parameters = parametersOf(**module);
  EXPECT_EQ(parameters["layers.7.attn.wq"].init.getA(), 0.02);
  for (const char *name : {"layers.7.attn.wo", "layers.7.mlp.w2"})
    EXPECT_DOUBLE_EQ(parameters[name].init.getA(), 0.02 / 4.0) << name;
  EXPECT_EQ(parameters["layers.7.attn.bq"].init.getKind(), InitKind::Zeros);
  EXPECT_EQ(parameters["head.norm.scale"].init.getKind(), InitKind::Ones);
}

TEST(Model, EveryRandomOperationOfALayerHasItsOwnId) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  Diagnostics diags;
  GptOptions options;
  options.dropout = 0.1;
  auto module = buildGpt(&context, options, diags);
  ASSERT_TRUE(succeeded(module));
  (*module)->walk([](LayerOp layer) {
    std::map<int64_t, int> uses;
    layer.walk([&](DropoutOp op) { ++uses[op.getOpId()]; });
    layer.walk([&](AttentionOp op) { ++uses[op.getOpId()]; });
    for (auto [id, count] : uses)
      EXPECT_EQ(count, 1) << layer.getSymName().str() << " " << id;
    EXPECT_EQ(uses.count(0), 0u);
    if (layer.getSymName() == "decoder")
      EXPECT_EQ(uses.size(), 3u);
  });
}

TEST(Model, BadOptionsAreExplained) {
  GptOptions options;
  options.heads = 6;
  EXPECT_EQ(errorsOf(buildGpt, options),
            "error: an embedding of 256 does not split over 6 heads; change "
            "one, or give 'head-dim'\n");
  options = GptOptions();
  options.kvHeads = 3;
  options.dropout = 1.0;
  options.layers = 0;
  EXPECT_EQ(errorsOf(buildGpt, options),
            "error: 'layers' must be from 1 to 2^30, got 0\n"
            "error: 'dropout' must be at least 0 and less than 1, got 1\n");
  options.layers = 1;
  EXPECT_NE(errorsOf(buildGpt, options)
                .find("8 heads do not group over 3 kv heads; use 1, 2, 4, 8"),
            std::string::npos);
  LlamaOptions odd;
  odd.headDim = 5;
  EXPECT_EQ(errorsOf(buildLlama, odd),
            "error: rotary positions need an even 'head-dim', got 5\n");
  options = GptOptions();
  options.maxSequence = 0;
  EXPECT_EQ(errorsOf(buildGpt, options),
            "error: 'max-seq' must be from 1 to 2^30, got 0\n");
  options.heads = 0;
  errorsOf(buildGpt, options); // no division by zero
}
