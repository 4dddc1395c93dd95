//===- Plan.cpp - where and when a model is computed ----------------------===//
#include "stretto/Plan/Plan.h"

#include "PlanDefaults.h"
#include "stretto/Support/Text.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/GlobPattern.h"

using namespace stretto;

std::vector<ShardRule>
stretto::defaultShardRules(llvm::ArrayRef<MeshAxis> mesh) {
  static constexpr std::pair<llvm::StringLiteral, llvm::StringLiteral>
      defaults[] = {{"batch", "dp"},    {"seq", "cp"}, {"heads", "tp"},
                    {"kv_heads", "tp"}, {"ffn", "tp"}, {"vocab", "tp"}};
  ShardRule rule;
  for (auto [dimension, axis] : defaults)
    for (const MeshAxis &existing : mesh)
      if (existing.name == axis)
        rule.dimensions.push_back({dimension.str(), {axis.str()}, false, {}});
  if (rule.dimensions.empty())
    return {};
  return {std::move(rule)};
}

std::vector<MeshAxis> stretto::defaultMesh() {
  return {{"dp", 1, {}}, {"pp", 1, {}}, {"cp", 1, {}}, {"tp", 1, {}}};
}

Plan Plan::singleDevice() {
  Plan plan;
  plan.mesh = defaultMesh();
  plan.shard = defaultShardRules(plan.mesh);
  return plan;
}

int64_t Plan::numRanks() const {
  int64_t product = 1;
  for (const MeshAxis &axis : mesh)
    product *= axis.size;
  return product;
}

const MeshAxis *Plan::findAxis(llvm::StringRef name) const {
  for (const MeshAxis &axis : mesh)
    if (axis.name == name)
      return &axis;
  return nullptr;
}

/// The mesh axes behind a name: itself, or the members of the group.
static void expandAxis(const Plan &plan, const std::string &name,
                       std::vector<std::string> &axes) {
  for (const AxisGroup &group : plan.groups)
    if (group.name == name) {
      axes.insert(axes.end(), group.axes.begin(), group.axes.end());
      return;
    }
  axes.push_back(name);
}

int64_t Plan::numParts(llvm::ArrayRef<std::string> names) const {
  std::vector<std::string> axes;
  for (const std::string &name : names)
    expandAxis(*this, name, axes);
  int64_t product = 1;
  for (const std::string &name : axes)
    if (const MeshAxis *axis = findAxis(name))
      product *= axis->size;
  return product;
}

bool stretto::globCovers(llvm::StringRef glob, llvm::StringRef path) {
  auto pattern = llvm::GlobPattern::create(glob, maxGlobAlternatives);
  if (!pattern) {
    llvm::consumeError(pattern.takeError());
    return false;
  }
  for (llvm::StringRef prefix = path;; prefix = prefix.rsplit('.').first) {
    if (pattern->match(prefix))
      return true;
    if (!prefix.contains('.'))
      return false;
  }
}

llvm::StringRef stretto::nameOf(GatherChoice choice) {
  return gatherNames[int(choice)].first;
}

llvm::StringRef stretto::nameOf(ReduceChoice choice) {
  return reduceNames[int(choice)].first;
}

std::vector<std::string> Plan::expand(llvm::ArrayRef<std::string> axes) const {
  std::vector<std::string> expanded;
  for (const std::string &axis : axes)
    expandAxis(*this, axis, expanded);
  return expanded;
}

const ZeroRule *Plan::findZero(llvm::StringRef path) const {
  for (const ZeroRule &rule : llvm::reverse(zero))
    if (globCovers(rule.match, path))
      return &rule;
  return nullptr;
}

const RecomputeRule *Plan::findRecompute(llvm::StringRef path) const {
  for (const RecomputeRule &rule : llvm::reverse(recompute))
    if (globCovers(rule.layers, path))
      return &rule;
  return nullptr;
}

bool Plan::recomputesToFit() const {
  return llvm::any_of(recompute, [](const RecomputeRule &rule) {
    return llvm::is_contained(rule.what, "auto");
  });
}

Plan::Placement Plan::resolve(llvm::StringRef path,
                              llvm::StringRef dimension) const {
  Placement placement;
  for (const ShardRule &rule : llvm::reverse(shard)) {
    const auto *entry = llvm::find_if(
        llvm::ArrayRef(rule.dimensions),
        [&](const DimensionRule &d) { return d.dimension == dimension; });
    if (entry == llvm::ArrayRef(rule.dimensions).end() ||
        !globCovers(rule.match, path))
      continue;
    placement.axes = expand(entry->axes);
    placement.residualOnly = entry->residualOnly;
    placement.location = entry->location;
    placement.rule = entry;
    return placement;
  }
  return placement;
}

/// Ways to say the same with numbers that divide: "use 2 or 4".
static std::string nearestDivisors(int64_t number, int64_t wanted) {
  int64_t below = std::min(wanted, number), above = wanted;
  while (below > 1 && number % below != 0)
    --below;
  while (above < number && number % above != 0)
    ++above;
  std::string text = "use " + std::to_string(below);
  if (above <= number && above != below)
    text += " or " + std::to_string(above);
  return text;
}

llvm::FailureOr<int64_t> Plan::resolveMicrobatches(int64_t globalBatch,
                                                   Diagnostics &diags) const {
  if (!microBatchSize) {
    int64_t count = microbatches.value_or(1);
    if (globalBatch % count == 0)
      return count;
    return diags.error(microbatchLocation,
                       "a global batch of " + llvm::Twine(globalBatch) +
                           " samples does not split into " +
                           llvm::Twine(count) + " equal micro-batches; " +
                           nearestDivisors(globalBatch, count));
  }
  int64_t replicas = numParts(resolve("", "batch").axes);
  if (globalBatch % replicas == 0 &&
      globalBatch / replicas % *microBatchSize == 0)
    return globalBatch / replicas / *microBatchSize;
  std::string hint =
      globalBatch % replicas == 0
          ? nearestDivisors(globalBatch / replicas, *microBatchSize)
          : "use `microbatches: M`, which allows uneven replicas";
  return diags.error(
      microbatchLocation,
      "a global batch of " + llvm::Twine(globalBatch) + " samples on " +
          llvm::Twine(replicas) +
          " data replicas does not split into micro-batches of " +
          llvm::Twine(*microBatchSize) + "; " + hint);
}
