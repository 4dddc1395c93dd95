#include "stretto/Plan/Plan.h"

#include <gtest/gtest.h>

using namespace stretto;

static Plan parse(llvm::StringRef text) {
  Diagnostics diags;
  auto plan = parsePlan(text, "p.yaml", diags);
  EXPECT_TRUE(succeeded(plan)) << diags.summary();
  return succeeded(plan) ? *plan : Plan();
}

static std::string errorsOf(llvm::StringRef text) {
  Diagnostics diags;
  EXPECT_TRUE(failed(parsePlan(text, "p.yaml", diags))) << text.str();
  return diags.summary();
}

using Axes = std::vector<std::string>;

static const char *const full = R"(plan: 1
mesh: { dp: 2, pp: 4, cp: 1, tp: 2 }
groups: { ep: [dp, tp] }
shard:
  - { match: "*", batch: dp, heads: tp, vocab: [dp, tp], seq: { residual: tp } }
  - { match: "layers.*.moe", expert: ep, heads: none }
micro_batch_size: 2
pipeline: { axis: pp, virtual: 2, schedule: interleaved, layout: [3, 4, 4, 3] }
zero:
  - { match: "embed", stage: 1, over: dp }
  - { params: dp, grads: [dp, tp], optim: none, replicate: pp }
recompute:
  - { layers: "layers.*", what: full }
overlap: { bucket: 50MiB, prefetch: 2 }
uneven: error
)";

TEST(Plan, TheWholeSchemaIsRead) {
  Plan plan = parse(full);
  ASSERT_EQ(plan.mesh.size(), 4u);
  EXPECT_EQ(plan.mesh[1].name, "pp");
  EXPECT_EQ(plan.numRanks(), 16);
  EXPECT_EQ(plan.groups[0].axes, (Axes{"dp", "tp"}));
  ASSERT_EQ(plan.shard.size(), 2u);
  EXPECT_EQ(plan.shard[1].match, "layers.*.moe");
  EXPECT_EQ(plan.shard[1].location.str(), "p.yaml:6:14");
  EXPECT_EQ(plan.microBatchSize, 2);
  EXPECT_EQ(plan.pipeline.virtualStages, 2);
  EXPECT_EQ(plan.pipeline.schedule, "interleaved");
  EXPECT_EQ(plan.pipeline.layout, (std::vector<int64_t>{3, 4, 4, 3}));
  EXPECT_EQ(plan.zero[0].stage, 1);
  EXPECT_EQ(plan.zero[0].over, (Axes{"dp"}));
  EXPECT_EQ(plan.zero[1].grads, (Axes{"dp", "tp"}));
  EXPECT_EQ(plan.zero[1].optim, Axes{});
  EXPECT_EQ(plan.zero[1].replicate, "pp");
  EXPECT_EQ(plan.recompute[0].what, Axes{"full"});
  EXPECT_EQ(plan.overlap.bucketBytes, 50 << 20);
  EXPECT_EQ(plan.overlap.prefetch, 2);
  EXPECT_EQ(plan.uneven, UnevenPolicy::Error);
}

TEST(Plan, EffectivePlanReadsBackAsItself) {
  for (const char *text :
       {full, "plan: 1", "plan: 1\nmesh: { tp: 4 }\nzero: 2",
        "plan: 1\nshard: []\nmicrobatches: 4", "plan: 1\nmesh: { x: 2 }"}) {
    std::string printed = parse(text).toYaml();
    EXPECT_EQ(parse(printed).toYaml(), printed);
  }
}

TEST(Plan, NoPlanIsOneDevice) {
  EXPECT_EQ(Plan::singleDevice().numRanks(), 1);
  EXPECT_EQ(parse("plan: 1").toYaml(), Plan::singleDevice().toYaml());
}

TEST(Plan, DefaultRulesCoverTheAxesThatExist) {
  Plan plan = parse("plan: 1\nmesh: { dp: 4 }\n");
  EXPECT_TRUE(plan.shardIsDefault);
  EXPECT_EQ(plan.resolve("tokens", "batch").axes, (Axes{"dp"}));
  EXPECT_EQ(plan.resolve("layers.0.attn.wq", "heads").axes, Axes{});
  EXPECT_FALSE(plan.resolve("tokens", "batch").location.isKnown());
}

TEST(Plan, TheLastMatchWins) {
  Plan plan = parse(full);
  EXPECT_EQ(plan.resolve("layers.0.attn.wq", "heads").axes, (Axes{"tp"}));
  auto inMoe = plan.resolve("layers.11.moe.w1", "heads");
  EXPECT_EQ(inMoe.axes, Axes{});
  EXPECT_EQ(inMoe.location.str(), "p.yaml:6:42");
  EXPECT_EQ(plan.resolve("layers.11.moe.w1", "expert").axes,
            (Axes{"dp", "tp"})); // the group, expanded
  EXPECT_EQ(plan.resolve("layers.11.attn.wq", "expert").axes, Axes{});
  EXPECT_TRUE(plan.resolve("tokens", "seq").residualOnly);
  EXPECT_EQ(plan.resolve("tokens", "seq").axes, (Axes{"tp"}));
  EXPECT_EQ(plan.resolve("tokens", "unheard_of").rule, nullptr);
}

TEST(Plan, GlobsCoverPathsAndWhatTheyContain) {
  EXPECT_TRUE(globCovers("*", ""));
  EXPECT_TRUE(globCovers("*", "layers.0.attn.wq"));
  EXPECT_TRUE(globCovers("layers.*.attn", "layers.3.attn.wq"));
  EXPECT_TRUE(globCovers("layers.[0-3]", "layers.3.attn.wq"));
  EXPECT_TRUE(globCovers("{embed,head}", "head.table"));
  EXPECT_FALSE(globCovers("layers.*.attn", "layers.3.mlp.w1"));
  EXPECT_FALSE(globCovers("layer", "layers.3"));
  EXPECT_FALSE(globCovers("[", "layers.3"));
}

TEST(Plan, MicrobatchesComeFromEitherKey) {
  Diagnostics diags;
  EXPECT_EQ(*parse("plan: 1").resolveMicrobatches(6, diags), 1);
  EXPECT_EQ(*parse("plan: 1\nmicrobatches: 4").resolveMicrobatches(16, diags),
            4);
  Plan sized = parse("plan: 1\nmesh: { dp: 2, tp: 2 }\nmicro_batch_size: 2");
  EXPECT_EQ(*sized.resolveMicrobatches(16, diags), 4);
  EXPECT_FALSE(diags.hasErrors());

  EXPECT_TRUE(
      failed(parse("plan: 1\nmicrobatches: 4").resolveMicrobatches(6, diags)));
  EXPECT_TRUE(failed(sized.resolveMicrobatches(18, diags)));
  EXPECT_EQ(diags.summary(),
            "p.yaml:2:15: error: a global batch of 6 samples does not split "
            "into 4 equal micro-batches; use 3 or 6\n"
            "p.yaml:3:19: error: a global batch of 18 samples on 2 data "
            "replicas does not split into micro-batches of 2; use 1 or 3\n");
}

TEST(Plan, ErrorsSayWhereWhatAndHow) {
  EXPECT_EQ(
      errorsOf("plan: 1\nmesh: { dp: 2, tp: 2 }\n"
               "shard: [{ heads: pt, batch: [dp, dp] }]\n"),
      "p.yaml:3:18: error: the mesh has no axis 'pt'; did you mean 'tp'?\n"
      "p.yaml:3:29: error: axis 'dp' is used twice in 'shard.batch'\n");
  EXPECT_EQ(errorsOf("plan: 1\nmesh: { data: 2 }\nshard: [{ batch: dat }]\n"),
            "p.yaml:3:18: error: the mesh has no axis 'dat'; did you mean "
            "'data'?\n");
  EXPECT_EQ(errorsOf("plan: 1\nmesh: { dp: 0 }\n"),
            "p.yaml:2:13: error: 'mesh.dp' must be an integer from 1 to "
            "1073741824, got '0'\n");
  EXPECT_EQ(errorsOf("plan: 1\nmicrobatches: 4\nmicro_batch_size: 2\n"),
            "p.yaml:2:15: error: 'microbatches' and 'micro_batch_size' exclude "
            "each other; keep one\n"
            "p.yaml:3:19: note: 'micro_batch_size' is here\n");
  EXPECT_EQ(errorsOf("plan: 1\noverlapp: {}\n"),
            "p.yaml:2:1: error: unknown key 'overlapp'; did you mean "
            "'overlap'?\n");
  EXPECT_EQ(errorsOf("plan: 1\noverlap: no\n"),
            "p.yaml:2:10: error: 'overlap' must be none or { bucket: 25MiB, "
            "prefetch: 1 }, got 'no'\n");
  EXPECT_EQ(errorsOf("plan: 1\noverlap: { bucket: 25MiBs }\n"),
            "p.yaml:2:20: error: 'overlap.bucket' must be a size in bytes such "
            "as 25MiB, got '25MiBs'\n");
  EXPECT_EQ(errorsOf("plan: 1\nshard: [{ seq: { residul: tp } }]\n"),
            "p.yaml:2:18: error: unknown key 'residul' in 'shard.seq'; did you "
            "mean 'residual'?\n");
  EXPECT_EQ(errorsOf("plan: 1\ngroups: { tp: [dp] }\n"),
            "p.yaml:2:11: error: group 'tp' has the name of a mesh axis\n");
  EXPECT_EQ(errorsOf("plan: 1\nmesh: 4\n"),
            "p.yaml:2:7: error: 'mesh' must be a map from axis name to size "
            "such as { dp: 2, tp: 2 }, got '4'\n");
  EXPECT_NE(errorsOf("plan: 1\nshard: [{ match: '[', batch: dp }]\n")
                .find("p.yaml:2:18: error: 'shard.match' is not a valid glob"),
            std::string::npos);
  EXPECT_EQ(errorsOf("plan: 1\nmesh: { a: 1073741824, b: 1073741824 }\n")
                .find("p.yaml:2:"),
            0u);
}

TEST(Plan, LinksAreNumbersOfAMachine) {
  const char *links = "plan: 1\nmesh: { dp: 2, tp: 4 }\n"
                      "links: { tp: { latency: 2.0e-6, bandwidth: 1.0e11 } }\n";
  Plan plan = parse(links);
  ASSERT_EQ(plan.links.size(), 1u);
  EXPECT_EQ(plan.links[0].axis, "tp");
  EXPECT_EQ(plan.links[0].latency, 2e-6);
  EXPECT_EQ(plan.links[0].bandwidth, 1e11);
  EXPECT_EQ(parse(plan.toYaml().c_str()).toYaml(), plan.toYaml());
  EXPECT_NE(plan.toYaml().find("latency: 2e-06"), std::string::npos);
  EXPECT_EQ(errorsOf("plan: 1\nlinks: { tq: { latency: 0 } }\n"),
            "p.yaml:2:10: error: the mesh has no axis 'tq'; did you mean "
            "'tp'?\n");
  EXPECT_NE(errorsOf("plan: 1\nlinks: { tp: { latency: -1 } }\n")
                .find("'links.tp.latency' must be"),
            std::string::npos);
  EXPECT_NE(errorsOf("plan: 1\nlinks: { tp: { bandwidth: nan } }\n")
                .find("'links.tp.bandwidth' must be"),
            std::string::npos);
  EXPECT_NE(errorsOf("plan: 1\nlinks: { tp: { speed: 1 } }\n")
                .find("unknown key 'speed' in 'links.tp'"),
            std::string::npos);
  EXPECT_NE(errorsOf("plan: 1\nlinks: 3\n").find("'links' must be a map"),
            std::string::npos);
}

TEST(Plan, AGroupIsAsManyPartsAsItsAxes) {
  Plan plan = parse("plan: 1\nmesh: { dp: 2, tp: 3 }\n"
                    "groups: { ep: [dp, tp] }\nshard: [{ vocab: ep }]\n");
  EXPECT_EQ(plan.numParts({"ep"}), 6);
  EXPECT_EQ(plan.resolve("x", "vocab").axes, (Axes{"dp", "tp"}));
}

TEST(Plan, AGroupMayNotRepeatAnAxisOfItsRule) {
  EXPECT_EQ(errorsOf("plan: 1\ngroups: { ep: [dp, tp] }\n"
                     "shard: [{ expert: [ep, dp] }]\n"),
            "p.yaml:3:19: error: axis 'dp' is used twice in 'shard.expert'\n");
}
