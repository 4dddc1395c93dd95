//===- RecipeParser.cpp - YAML to recipe ----------------------------------===//
#include "RecipeNames.h"
#include "stretto/Support/Text.h"
#include "stretto/Support/YamlReader.h"
#include "llvm/ADT/STLExtras.h"

using namespace stretto;

// Sizes far beyond any machine, small enough that products of two of them fit
// 64 bits.
static constexpr IntegerRange sizeRange{1, int64_t(1) << 30};
static constexpr IntegerRange stepRange{1, int64_t(1) << 40};
static constexpr IntegerRange countRange{0, int64_t(1) << 40};
static constexpr NumberRange notNegative{0};
static constexpr NumberRange positive{
    0, std::numeric_limits<double>::infinity(), /*excludesMin=*/true};
static constexpr NumberRange fractionRange{0, 1, false, /*excludesMax=*/true};

static void recordLocations(const YamlNode &node, const std::string &path,
                            Recipe &recipe) {
  for (size_t i = 0; i < node.keys.size(); ++i) {
    std::string name =
        path.empty() ? node.keys[i].name : path + "." + node.keys[i].name;
    recipe.locations[name] = node.items[i].location;
    if (node.items[i].isMap())
      recordLocations(node.items[i], name, recipe);
  }
}

static void readBatch(const YamlNode &node, Recipe &recipe,
                      Diagnostics &diags) {
  YamlMap map(node, "batch", diags);
  map.integer("global", recipe.globalBatch, sizeRange);
  map.finish();
}

static void refuseFloatKind(YamlMap &map, llvm::StringRef key, FloatKind kind,
                            const llvm::Twine &why) {
  (void)map.diagnostics().error(map.find(key)->location,
                                "'" + map.name(key) + ": " + stringify(kind) +
                                    "' " + why);
}

/// A type that layers compute or gradients are kept in.
static void readFloatKind(YamlMap &map, llvm::StringRef key, FloatKind &kind) {
  if (!map.choice<FloatKind>(key, kind, floatNames))
    return;
  if (kind == FloatKind::F16)
    refuseFloatKind(map, key, kind,
                    "needs dynamic loss scaling, which does not exist; use "
                    "bf16 (the range of f32, 8 bits of precision) or f32");
  if (kind == FloatKind::F64)
    refuseFloatKind(map, key, kind,
                    "has no kernels; use f32, or judge in f64 with 'stretto "
                    "check'");
}

/// The type of parameters at rest: the optimizer adds small changes to them.
static void readMasterKind(YamlMap &map, llvm::StringRef key, FloatKind &kind) {
  if (map.choice<FloatKind>(key, kind, floatNames) && kind != FloatKind::F32)
    refuseFloatKind(map, key, kind,
                    "would lose the optimizer's small changes; use f32, of "
                    "which 'compute: bf16' makes 16-bit copies for the layers");
}

static void readPrecision(const YamlNode &node, Recipe &recipe,
                          Diagnostics &diags) {
  YamlMap map(node, "precision", diags);
  readMasterKind(map, "params", recipe.precision.params);
  readFloatKind(map, "compute", recipe.precision.compute);
  readFloatKind(map, "gradients", recipe.precision.gradients);
  readFloatKind(map, "reduce", recipe.precision.reduce);
  map.finish();
}

static void readBetas(YamlMap &map, Recipe::Optimizer &optimizer) {
  const YamlNode *node = map.find("betas");
  if (!node)
    return;
  if (!node->isList() || node->items.size() != 2) {
    (void)map.diagnostics().error(
        node->location,
        "'optimizer.betas' must be a list of two numbers such as [0.9, 0.95]");
    return;
  }
  double *fields[] = {&optimizer.beta1, &optimizer.beta2};
  for (auto [item, field] : llvm::zip(node->items, fields))
    if (auto value = readNumber(item, "optimizer.betas", fractionRange,
                                map.diagnostics()))
      *field = *value;
}

static void readClip(YamlMap &map, Recipe::Optimizer &optimizer) {
  const YamlNode *node = map.find("clip");
  if (!node)
    return;
  if (node->isScalar() && node->scalar == "none") {
    optimizer.clip = std::nullopt;
    return;
  }
  if (auto value =
          readNumber(*node, "optimizer.clip", positive, map.diagnostics()))
    optimizer.clip = *value;
  else
    map.diagnostics().note(node->location, "or 'none' for no clipping");
}

/// Options of the other optimizer would have no effect, so they are errors.
static void refuseForeignKeys(YamlMap &map, const YamlNode &node,
                              OptimizerKind kind) {
  auto refuse = [&](llvm::StringRef key) {
    if (node.find(key))
      (void)map.diagnostics().error(
          map.find(key)->location,
          "'optimizer." + key + "' means nothing for " + stringify(kind) +
              "; leave it out or choose another 'optimizer.kind'");
  };
  if (kind == OptimizerKind::AdamW) {
    refuse("momentum");
    return;
  }
  refuse("betas");
  refuse("eps");
}

static void readOptimizer(const YamlNode &node, Recipe &recipe,
                          Diagnostics &diags) {
  Recipe::Optimizer &optimizer = recipe.optimizer;
  YamlMap map(node, "optimizer", diags);
  map.choice<OptimizerKind>("kind", optimizer.kind, optimizerNames);
  map.number("lr", optimizer.learningRate, positive);
  readBetas(map, optimizer);
  map.number("eps", optimizer.epsilon, positive);
  map.number("momentum", optimizer.momentum, fractionRange);
  map.number("weight_decay", optimizer.weightDecay, notNegative);
  readClip(map, optimizer);
  refuseForeignKeys(map, node, optimizer.kind);
  map.finish();
}

static void readSchedule(const YamlNode &node, Recipe &recipe,
                         Diagnostics &diags) {
  Recipe::Schedule &schedule = recipe.schedule;
  YamlMap map(node, "schedule", diags);
  map.integer("warmup", schedule.warmup, countRange);
  map.choice<DecayKind>("decay", schedule.decay, decayNames);
  double minRate;
  if (map.number("min_lr", minRate, notNegative))
    schedule.minLearningRate = minRate;
  int64_t decaySteps;
  if (map.integer("decay_steps", decaySteps, stepRange))
    schedule.decaySteps = decaySteps;
  map.finish();
}

static void readEvaluation(const YamlNode &node, Recipe &recipe,
                           Diagnostics &diags) {
  YamlMap map(node, "eval", diags);
  map.integer("every", recipe.eval.every, countRange);
  map.number("fraction", recipe.eval.fraction, fractionRange);
  map.finish();
}

static void readDocument(const YamlNode &root, Recipe &recipe,
                         Diagnostics &diags) {
  YamlMap map(root, "", diags);
  map.version("recipe", Recipe::version);
  map.integer("sequence", recipe.sequence, sizeRange);
  map.integer("steps", recipe.steps, stepRange);
  map.unsignedInteger("seed", recipe.seed);
  map.choice<NonfinitePolicy>("nonfinite", recipe.nonfinite, nonfiniteNames);
  using Reader = void (*)(const YamlNode &, Recipe &, Diagnostics &);
  const std::pair<llvm::StringRef, Reader> sections[] = {
      {"batch", readBatch},
      {"precision", readPrecision},
      {"optimizer", readOptimizer},
      {"schedule", readSchedule},
      {"eval", readEvaluation}};
  for (auto [key, read] : sections)
    if (const YamlNode *node = map.find(key))
      read(*node, recipe, diags);
  map.finish();
}

llvm::LogicalResult stretto::checkRecipe(const Recipe &recipe,
                                         Diagnostics &diags) {
  unsigned before = diags.errorCount();
  const double rate = recipe.optimizer.learningRate;
  if (recipe.minLearningRate() > rate)
    (void)diags.error(
        recipe.locate("schedule.min_lr"),
        "'schedule.min_lr' = " + formatNumber(recipe.minLearningRate()) +
            " is above 'optimizer.lr' = " + formatNumber(rate));
  if (recipe.schedule.warmup > recipe.steps)
    diags.warning(recipe.locate("schedule.warmup"),
                  "the run ends after step " + llvm::Twine(recipe.steps) +
                      ", before the warm-up of " +
                      llvm::Twine(recipe.schedule.warmup) + " steps does");
  else if (recipe.decaySteps() < recipe.schedule.warmup)
    diags.warning(recipe.locate("schedule.decay_steps"),
                  "the decay ends at step " + llvm::Twine(recipe.decaySteps()) +
                      ", before the warm-up of " +
                      llvm::Twine(recipe.schedule.warmup) +
                      " steps does; the rate drops to its least at once");
  return llvm::success(diags.errorCount() == before);
}

llvm::FailureOr<Recipe> stretto::parseRecipe(llvm::StringRef text,
                                             llvm::StringRef file,
                                             Diagnostics &diags) {
  llvm::FailureOr<YamlNode> root = parseYaml(text, file, diags);
  if (failed(root))
    return llvm::failure();
  unsigned before = diags.errorCount();
  Recipe recipe;
  readDocument(*root, recipe, diags);
  if (diags.errorCount() != before)
    return llvm::failure();
  recordLocations(*root, "", recipe);
  if (failed(checkRecipe(recipe, diags)))
    return llvm::failure();
  return recipe;
}

llvm::FailureOr<Recipe> stretto::readRecipe(llvm::StringRef path,
                                            Diagnostics &diags) {
  llvm::FailureOr<std::string> text = readTextFile(path, diags);
  if (failed(text))
    return llvm::failure();
  return parseRecipe(*text, path, diags);
}
