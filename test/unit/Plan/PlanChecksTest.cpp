#include "stretto/Plan/Plan.h"

#include <gtest/gtest.h>

using namespace stretto;

static Plan parse(llvm::StringRef text) {
  Diagnostics diags;
  auto plan = parsePlan(text, "p.yaml", diags);
  EXPECT_TRUE(succeeded(plan)) << diags.summary();
  return succeeded(plan) ? *plan : Plan();
}

/// What checkImplemented says about a plan that parses.
static std::string refusals(llvm::StringRef text) {
  Diagnostics diags;
  bool ok = succeeded(checkImplemented(parse(text), diags));
  EXPECT_EQ(ok, !diags.hasErrors());
  return diags.summary();
}

TEST(PlanImplemented, DataTensorSequenceAndContextParallelismAre) {
  EXPECT_EQ(
      refusals("plan: 1\nmesh: { dp: 2, pp: 1, cp: 2, tp: 2 }\n"
               "shard: [{ batch: dp, heads: tp, seq: { residual: tp } }]\n"
               "microbatches: 4\nzero: 0\nrecompute: none\n"
               "overlap: { bucket: 25MiB, prefetch: 1 }\n"),
      "");
  EXPECT_EQ(refusals("plan: 1\nmesh: { cp: 2, tp: 2 }\n"
                     "shard: [{ seq: cp, kv_seq: cp, heads: tp }]\n"),
            "");
  EXPECT_EQ(refusals("plan: 1\nmesh: { tp: 2 }\nshard: [{ seq: tp }]\n"), "");
  // An axis of size 1 promises nothing.
  EXPECT_EQ(refusals("plan: 1\nshard: [{ seq: cp, expert: dp }]\n"), "");
}

/// Naming another axis does not make `pp` a word without a meaning.
TEST(PlanImplemented, APipelineAxisIsRefusedUnderAnyName) {
  EXPECT_EQ(
      refusals("plan: 1\nmesh: { dp: 1, pp: 2 }\npipeline: { axis: dp }\n"),
      "p.yaml:2:16: error: 'pp: 2': pipeline parallelism is not "
      "implemented yet; use 'pp: 1' and put the ranks on dp or tp\n"
      "p.yaml:3:11: error: 'pipeline' settings are not implemented yet; "
      "leave the line out or use { axis: pp, virtual: 1, schedule: 1f1b, "
      "layout: auto }\n");
  EXPECT_NE(refusals("plan: 1\nmesh: { stages: 2 }\n"
                     "pipeline: { axis: stages }\n")
                .find("use 'stages: 1'"),
            std::string::npos);
}

static std::string splits(llvm::StringRef text, int64_t samples,
                          int64_t sequence) {
  Diagnostics diags;
  bool ok = succeeded(checkSplits(parse(text), samples, sequence, diags));
  EXPECT_EQ(ok, !diags.hasErrors());
  return diags.summary();
}

TEST(PlanSplits, UnevenErrorHoldsForSamplesAndPositions) {
  const std::string plan = "plan: 1\nmesh: { dp: 4, tp: 2 }\nshard: [{ batch: "
                           "dp, seq: { residual: tp } }]\n";
  EXPECT_EQ(splits(plan + "uneven: error\n", 8, 16), "");
  EXPECT_EQ(splits(plan + "uneven: pad\n", 6, 17), "");
  EXPECT_EQ(splits(plan + "uneven: error\n", 6, 17),
            "p.yaml:3:11: error: 'batch' = 6 samples of a micro-batch does not "
            "split over 4 ranks (dp); choose sizes that divide, or 'uneven: "
            "pad'\n"
            "p.yaml:3:22: error: 'seq' = 17 positions does not split over 2 "
            "ranks (tp); choose sizes that divide, or 'uneven: pad'\n");
}

TEST(PlanImplemented, TheRestIsRefusedByName) {
  EXPECT_EQ(refusals("plan: 1\nmesh: { pp: 2 }\n"),
            "p.yaml:2:9: error: 'pp: 2': pipeline parallelism is not "
            "implemented yet; use 'pp: 1' and put the ranks on dp or tp\n");
  struct Case {
    const char *line, *name;
  } cases[] = {{"pipeline: { schedule: zb }", "'pipeline'"},
               {"mesh: { ep: 2 }\nshard: [{ expert: ep }]", "'expert'"},
               {"mesh: { tp: 2 }\nshard: [{ embed: { residual: tp } }]",
                "'embed: { residual: ... }'"}};
  for (const Case &c : cases) {
    std::string text = refusals(std::string("plan: 1\n") + c.line + "\n");
    EXPECT_NE(text.find(c.name), std::string::npos) << c.line << ": " << text;
    EXPECT_NE(text.find("not implemented yet"), std::string::npos) << c.line;
    EXPECT_NE(text.find("p.yaml:"), std::string::npos) << text;
  }
}

TEST(PlanRanks, TheProductMustBeTheRanks) {
  Diagnostics diags;
  Plan plan = parse("plan: 1\nmesh: { dp: 2, tp: 2 }\n");
  EXPECT_TRUE(succeeded(checkRanks(plan, 4, diags)));
  EXPECT_TRUE(failed(checkRanks(plan, 3, diags)));
  EXPECT_EQ(diags.summary(),
            "p.yaml:2:9: error: the mesh has 4 ranks (dp 2 * tp 2), but 3 "
            "ranks were asked for; change an axis or use --ranks 4\n");
}

static const std::vector<NamedTensor> &model() {
  static const std::vector<NamedTensor> tensors = {
      {"tokens", {{"batch", {}}, {"seq", {}}}, true},
      {"embed.table", {{"vocab", 97}, {"embed", 64}}},
      {"layers.0.attn.wq", {{"embed", 64}, {"heads", 4}, {"head_dim", 16}}},
      {"layers.1.attn.wq", {{"embed", 64}, {"heads", 4}, {"head_dim", 16}}}};
  return tensors;
}

static std::string nameErrors(llvm::StringRef text) {
  Diagnostics diags;
  (void)checkNames(parse(text), model(), diags);
  return diags.summary();
}

TEST(PlanNames, GoodRulesPass) {
  EXPECT_EQ(nameErrors("plan: 1\nmesh: { dp: 2, tp: 2 }\n"), "");
  EXPECT_EQ(nameErrors("plan: 1\nmesh: { dp: 2, tp: 2 }\n"
                       "shard:\n  - { batch: dp, vocab: tp }\n"
                       "  - { match: 'layers.*', heads: tp, batch: dp }\n"),
            "");
}

TEST(PlanNames, WhatMatchesNothingIsAnError) {
  EXPECT_EQ(nameErrors("plan: 1\nshard: [{ match: layer.0, heads: tp }]\n"),
            "p.yaml:2:18: error: nothing in the model matches 'layer.0'; did "
            "you mean 'layers.0'?\n");
  EXPECT_EQ(nameErrors("plan: 1\nshard: [{ match: decoder, heads: tp }]\n"),
            "p.yaml:2:18: error: nothing in the model matches 'decoder'; the "
            "model has: tokens, embed, layers\n");
  EXPECT_EQ(nameErrors("plan: 1\nshard: [{ haeds: tp }]\n"),
            "p.yaml:2:11: error: no parameter or input of the model has a "
            "dimension 'haeds'; did you mean 'heads'?\n");
  EXPECT_EQ(nameErrors("plan: 1\nshard: [{ match: embed, heads: tp }]\n"),
            "p.yaml:2:25: error: nothing that matches 'embed' has a dimension "
            "'heads'\n");
  EXPECT_EQ(nameErrors("plan: 1\nrecompute: [{ layers: 'blocks.*', what: full "
                       "}]\n")
                .find("p.yaml:2:13: error: nothing in the model matches"),
            0u);
}

TEST(PlanNames, ACommonDimensionThisModelLacksIsAWarning) {
  EXPECT_EQ(nameErrors("plan: 1\nshard: [{ kv_heads: tp }]\n"),
            "p.yaml:2:11: warning: no parameter or input of the model has a "
            "dimension 'kv_heads'; the entry has no effect\n");
}

TEST(PlanNames, AnAxisSplitsOneDimensionOfATensor) {
  EXPECT_EQ(nameErrors("plan: 1\nmesh: { tp: 2 }\n"
                       "shard: [{ heads: tp, embed: tp }]\n"),
            "p.yaml:3:11: error: axis 'tp' would split both 'embed' and "
            "'heads' of 'layers.0.attn.wq'; an axis can split one dimension "
            "of a tensor: take it from one of the two rules or give one "
            "another axis\n"
            "p.yaml:3:22: note: 'embed' takes it here\n");
}

TEST(PlanNames, TwoViewsOfTheSameRanksDoNotMeetInOneTensor) {
  EXPECT_EQ(nameErrors("plan: 1\nmesh: { dp: 2, tp: 2 }\n"
                       "groups: { ep: [dp, tp] }\n"
                       "shard: [{ heads: tp, embed: ep }]\n"),
            "p.yaml:4:11: error: axis 'tp' would split both 'embed' and "
            "'heads' of 'layers.0.attn.wq'; an axis can split one dimension "
            "of a tensor: take it from one of the two rules or give one "
            "another axis\n"
            "p.yaml:4:22: note: 'embed' takes it here (of group 'ep')\n");
}

TEST(PlanNames, UnevenSizesFollowThePolicy) {
  std::string rules =
      "plan: 1\nmesh: { tp: 4 }\nshard: [{ vocab: tp, heads: tp "
      "}]\n";
  EXPECT_EQ(nameErrors(rules), "");
  EXPECT_EQ(nameErrors(rules + "uneven: error\n"),
            "p.yaml:3:11: error: 'vocab' = 97 of 'embed.table' does not split "
            "over 4 ranks; choose sizes that divide, or 'uneven: pad'\n");
}
