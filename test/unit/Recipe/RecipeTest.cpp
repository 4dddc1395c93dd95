#include "stretto/Recipe/Recipe.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace stretto;

static Recipe parse(llvm::StringRef text) {
  Diagnostics diags;
  auto recipe = parseRecipe(text, "r.yaml", diags);
  EXPECT_TRUE(succeeded(recipe)) << diags.summary();
  return succeeded(recipe) ? *recipe : Recipe();
}

static std::string errorsOf(llvm::StringRef text) {
  Diagnostics diags;
  EXPECT_TRUE(failed(parseRecipe(text, "r.yaml", diags))) << text.str();
  return diags.summary();
}

TEST(Recipe, EveryFieldHasADefault) {
  Recipe recipe = parse("recipe: 1\n");
  EXPECT_EQ(recipe.globalBatch, 16);
  EXPECT_EQ(recipe.optimizer.kind, OptimizerKind::AdamW);
  EXPECT_EQ(recipe.optimizer.clip, 1.0);
  EXPECT_EQ(recipe.decaySteps(), recipe.steps);
  EXPECT_FALSE(recipe.locate("steps").isKnown());
}

TEST(Recipe, EveryFieldIsRead) {
  Recipe recipe = parse(R"(recipe: 1
batch: { global: 6 }
sequence: 33
steps: 9
seed: 18446744073709551615
precision: { params: f32, compute: bf16, gradients: bf16, reduce: f32 }
optimizer: { kind: sgd, lr: 1.5e-3, momentum: 0.9, weight_decay: 0, clip: none }
schedule: { warmup: 2, decay: linear, min_lr: 1.0e-5, decay_steps: 8 }
eval: { every: 0, fraction: 0.25 }
nonfinite: rollback
)");
  EXPECT_EQ(recipe.globalBatch, 6);
  EXPECT_EQ(recipe.sequence, 33);
  EXPECT_EQ(recipe.steps, 9);
  EXPECT_EQ(recipe.seed, UINT64_MAX);
  EXPECT_EQ(recipe.precision.params, FloatKind::F32);
  EXPECT_EQ(recipe.precision.compute, FloatKind::BF16);
  EXPECT_EQ(recipe.precision.gradients, FloatKind::BF16);
  EXPECT_EQ(recipe.precision.reduce, FloatKind::F32);
  EXPECT_EQ(recipe.optimizer.kind, OptimizerKind::Sgd);
  EXPECT_EQ(recipe.optimizer.learningRate, 1.5e-3);
  EXPECT_EQ(recipe.optimizer.momentum, 0.9);
  EXPECT_EQ(recipe.optimizer.weightDecay, 0);
  EXPECT_EQ(recipe.optimizer.clip, std::nullopt);
  EXPECT_EQ(recipe.schedule.warmup, 2);
  EXPECT_EQ(recipe.schedule.decay, DecayKind::Linear);
  EXPECT_EQ(recipe.minLearningRate(), 1e-5);
  EXPECT_EQ(recipe.decaySteps(), 8);
  EXPECT_EQ(recipe.eval.every, 0);
  EXPECT_EQ(recipe.eval.fraction, 0.25);
  EXPECT_EQ(recipe.nonfinite, NonfinitePolicy::Rollback);
  EXPECT_EQ(recipe.locate("optimizer.lr").str(), "r.yaml:7:29");
}

TEST(Recipe, EffectiveRecipeReadsBackAsItself) {
  for (const char *text :
       {"recipe: 1", "recipe: 1\noptimizer: { kind: sgd, clip: none }",
        "recipe: 1\nprecision: { compute: bf16, gradients: bf16 }",
        "recipe: 1\nseed: 7\noptimizer: { lr: 0.1, betas: [0.8, 0.99] }"}) {
    std::string printed = parse(text).toYaml();
    EXPECT_EQ(parse(printed).toYaml(), printed);
  }
}

TEST(Recipe, ErrorsSayWhereWhatAndHow) {
  EXPECT_EQ(errorsOf("recipe: 1\nschedule: { warmpu: 3 }\n"),
            "r.yaml:2:13: error: unknown key 'warmpu' in 'schedule'; did you "
            "mean 'warmup'?\n");
  EXPECT_EQ(errorsOf("steps: 3\n"),
            "r.yaml:1:1: error: missing the schema version; add 'recipe: 1'\n");
  EXPECT_EQ(errorsOf("recipe: 2\n"),
            "r.yaml:1:9: error: schema version '2' is not known; this build "
            "reads 'recipe: 1'\n");
  EXPECT_EQ(errorsOf("recipe: 1\nsteps: 0\n"),
            "r.yaml:2:8: error: 'steps' must be an integer from 1 to "
            "1099511627776, got '0'\n");
  EXPECT_EQ(errorsOf("recipe: 1\nbatch: 16\n"),
            "r.yaml:2:8: error: 'batch' must be a map of keys and values, got "
            "'16'\n");
  EXPECT_EQ(errorsOf("recipe: 1\noptimizer: { kind: adamv }\n"),
            "r.yaml:2:20: error: 'optimizer.kind' must be one of adamw, sgd, "
            "got 'adamv'; did you mean 'adamw'?\n");
  EXPECT_EQ(errorsOf("recipe: 1\noptimizer: { lr: -1 }\n"),
            "r.yaml:2:18: error: 'optimizer.lr' must be a number greater than "
            "0, got '-1'\n");
  EXPECT_EQ(errorsOf("recipe: 1\noptimizer: { betas: [0.9, 1.0] }\n"),
            "r.yaml:2:27: error: 'optimizer.betas' must be a number of at "
            "least 0 and less than 1, got '1.0'\n");
  EXPECT_EQ(errorsOf("recipe: 1\nseed: -1\n"),
            "r.yaml:2:7: error: 'seed' must be an integer from 0 to 2^64 - 1, "
            "got '-1'\n");
  EXPECT_EQ(errorsOf("- recipe\n"),
            "r.yaml:1:1: error: 'the document' must be a map of keys and "
            "values, got a list\n");
}

TEST(Recipe, WhatIsNotThereYetIsRefusedByName) {
  EXPECT_EQ(errorsOf("recipe: 1\nprecision: { compute: f16 }\n"),
            "r.yaml:2:23: error: 'precision.compute: f16' needs dynamic loss "
            "scaling, which does not exist; use bf16 (the range of f32, 8 bits "
            "of precision) or f32\n");
  EXPECT_EQ(errorsOf("recipe: 1\nprecision: { reduce: f64 }\n"),
            "r.yaml:2:22: error: 'precision.reduce: f64' has no kernels; use "
            "f32, or judge in f64 with 'stretto check'\n");
  EXPECT_EQ(errorsOf("recipe: 1\nprecision: { params: bf16 }\n"),
            "r.yaml:2:22: error: 'precision.params: bf16' would lose the "
            "optimizer's small changes; use f32, of which 'compute: bf16' "
            "makes 16-bit copies for the layers\n");
}

TEST(Recipe, FieldsThatContradictAreErrors) {
  EXPECT_EQ(errorsOf("recipe: 1\noptimizer: { lr: 1.0e-4 }\n"
                     "schedule: { min_lr: 1.0e-3 }\n"),
            "r.yaml:3:21: error: 'schedule.min_lr' = 0.001 is above "
            "'optimizer.lr' = 0.0001\n");
  EXPECT_EQ(
      errorsOf("recipe: 1\noptimizer: { kind: sgd, eps: 1.0e-8 }\n"),
      "r.yaml:2:30: error: 'optimizer.eps' means nothing for sgd; leave it "
      "out or choose another 'optimizer.kind'\n");
  EXPECT_EQ(errorsOf("recipe: 1\noptimizer: { momentum: 0.9 }\n"),
            "r.yaml:2:24: error: 'optimizer.momentum' means nothing for adamw; "
            "leave it out or choose another 'optimizer.kind'\n");
}

TEST(Recipe, ShortRunsOnlyWarn) {
  Diagnostics diags;
  EXPECT_TRUE(succeeded(parseRecipe("recipe: 1\nsteps: 5\n", "r", diags)));
  EXPECT_FALSE(diags.hasErrors());
  EXPECT_EQ(diags.summary(), "warning: the run ends after step 5, before the "
                             "warm-up of 20 steps does\n");
}

TEST(Recipe, EveryAcceptedRecipePrintsToAnAcceptedOne) {
  // Found by fuzzing: the default decay_steps is below the default warm-up.
  EXPECT_EQ(parse(parse("recipe: 1\nsteps: 2\n").toYaml()).decaySteps(), 2);
}

TEST(Recipe, ScheduleAtItsCorners) {
  Recipe recipe = parse("recipe: 1\nsteps: 110\noptimizer: { lr: 1.0 }\n"
                        "schedule: { warmup: 10, min_lr: 0.2 }\n");
  EXPECT_DOUBLE_EQ(recipe.learningRateAt(1), 0.1);
  EXPECT_DOUBLE_EQ(recipe.learningRateAt(10), 1.0);
  EXPECT_DOUBLE_EQ(recipe.learningRateAt(60), 0.6); // half way: the mean
  EXPECT_DOUBLE_EQ(recipe.learningRateAt(110), 0.2);
  EXPECT_DOUBLE_EQ(recipe.learningRateAt(1000), 0.2);
  recipe.schedule.decay = DecayKind::Linear;
  EXPECT_DOUBLE_EQ(recipe.learningRateAt(35), 0.8); // a quarter of the way
  recipe.schedule.decay = DecayKind::Constant;
  EXPECT_DOUBLE_EQ(recipe.learningRateAt(110), 1.0);
  recipe.schedule.warmup = 0;
  EXPECT_DOUBLE_EQ(recipe.learningRateAt(1), 1.0);
}
