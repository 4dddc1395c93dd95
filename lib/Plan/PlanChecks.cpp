//===- PlanChecks.cpp - a plan against this build, machine and model ------===//
#include "stretto/Plan/Plan.h"

#include "stretto/Support/Text.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace stretto;

// ---- what this build can do ------------------------------------------------

/// Axes whose size 1 means nothing but whose larger sizes need a room that does
/// not exist yet.
static void checkAxesImplemented(const Plan &plan, Diagnostics &diags) {
  for (const MeshAxis &axis : plan.mesh) {
    if (axis.size == 1)
      continue;
    std::string head =
        quote(axis.name + ": " + std::to_string(axis.size)) + ": ";
    // The name says what it is for, also when the setting names another axis.
    if (axis.name == plan.pipeline.axis || axis.name == PipelinePolicy().axis)
      (void)diags.error(axis.location,
                        head +
                            "pipeline parallelism is not implemented yet; "
                            "use " +
                            quote(axis.name + ": 1") +
                            " and put the ranks on dp or tp");
  }
}

/// True if splitting over the axes changes anything.
static bool splits(const Plan &plan, llvm::ArrayRef<std::string> axes) {
  return plan.numParts(axes) > 1;
}

static void checkRulesImplemented(const Plan &plan, Diagnostics &diags) {
  for (const ShardRule &rule : plan.shard)
    for (const DimensionRule &dim : rule.dimensions) {
      if (!splits(plan, dim.axes))
        continue;
      if (dim.residualOnly && dim.dimension != "seq")
        (void)diags.error(dim.location,
                          quote(dim.dimension + ": { residual: ... }") +
                              " is not implemented yet; only 'seq' can be "
                              "split between the blocks alone");
      if (dim.dimension == "expert" || dim.dimension == "expert_ffn")
        (void)diags.error(dim.location, quote(dim.dimension) +
                                            ": expert parallelism is not "
                                            "implemented yet; leave the "
                                            "line out");
    }
}

static void checkPipelineImplemented(const PipelinePolicy &pipeline,
                                     Diagnostics &diags) {
  const PipelinePolicy defaults;
  if (pipeline.axis != defaults.axis || pipeline.virtualStages != 1 ||
      pipeline.schedule != defaults.schedule || !pipeline.layout.empty())
    (void)diags.error(pipeline.location,
                      "'pipeline' settings are not implemented yet; leave the "
                      "line out or use { axis: pp, virtual: 1, schedule: "
                      "1f1b, layout: auto }");
}

llvm::LogicalResult stretto::checkImplemented(const Plan &plan,
                                              Diagnostics &diags) {
  unsigned before = diags.errorCount();
  checkAxesImplemented(plan, diags);
  checkRulesImplemented(plan, diags);
  checkPipelineImplemented(plan.pipeline, diags);
  return llvm::success(diags.errorCount() == before);
}

// ---- the machine
// -------------------------------------------------------------

llvm::LogicalResult stretto::checkRanks(const Plan &plan, int64_t ranks,
                                        Diagnostics &diags) {
  if (plan.numRanks() == ranks)
    return llvm::success();
  std::string product;
  for (const MeshAxis &axis : plan.mesh)
    product += (product.empty() ? "" : " * ") + axis.name + " " +
               std::to_string(axis.size);
  SourceLocation at =
      plan.mesh.empty() ? SourceLocation() : plan.mesh.front().location;
  return diags.error(at, "the mesh has " + llvm::Twine(plan.numRanks()) +
                             " ranks (" + product + "), but " +
                             llvm::Twine(ranks) +
                             (ranks == 1 ? " rank was" : " ranks were") +
                             " asked for; change an axis or use --ranks " +
                             llvm::Twine(plan.numRanks()));
}

// ---- the model
// -----------------------------------------------------------------

namespace {
/// The rules of a plan against the tensors of a model.
class NameChecker {
public:
  NameChecker(const Plan &plan, llvm::ArrayRef<NamedTensor> tensors,
              Diagnostics &diags);
  void checkGlob(llvm::StringRef glob, const SourceLocation &at);
  void checkRule(const ShardRule &rule);
  void checkTensor(const NamedTensor &tensor);

private:
  void checkDimension(const ShardRule &rule, const DimensionRule &dim);
  void checkDivides(const NamedTensor &tensor, const NamedTensor::Dim &dim,
                    const Plan::Placement &placement);
  std::string suggestPath(llvm::StringRef glob) const;
  std::string viewOf(const Plan::Placement &placement,
                     const std::string &axis) const;

  const Plan &plan;
  llvm::ArrayRef<NamedTensor> tensors;
  Diagnostics &diags;
  std::vector<llvm::StringRef> dimensions; // of the model, without repetition
  llvm::StringSet<> inputDimensions;
  llvm::StringSet<> reported; // one message for many alike tensors
};
} // namespace

/// Logical dimensions with a fixed meaning (DESIGN: names). A rule may name one
/// that this model lacks, so that one plan serves several models.
static bool isCommonDimension(llvm::StringRef name) {
  static constexpr llvm::StringLiteral common[] = {
      "batch", "seq",      "kv_seq", "embed",  "heads",      "kv_heads",
      "ffn",   "head_dim", "vocab",  "expert", "expert_ffn", "position"};
  return llvm::is_contained(common, name);
}

NameChecker::NameChecker(const Plan &plan, llvm::ArrayRef<NamedTensor> tensors,
                         Diagnostics &diags)
    : plan(plan), tensors(tensors), diags(diags) {
  llvm::StringSet<> seen;
  for (const NamedTensor &tensor : tensors)
    for (const NamedTensor::Dim &dim : tensor.dims) {
      if (dim.name.empty())
        continue;
      if (seen.insert(dim.name).second)
        dimensions.push_back(dim.name);
      if (tensor.isInput)
        inputDimensions.insert(dim.name);
    }
}

/// The instances (paths up to a dot) that a misspelt glob may have meant.
std::string NameChecker::suggestPath(llvm::StringRef glob) const {
  std::vector<llvm::StringRef> paths;
  llvm::StringSet<> seen;
  for (const NamedTensor &tensor : tensors)
    for (llvm::StringRef path = tensor.path;; path = path.rsplit('.').first) {
      if (seen.insert(path).second)
        paths.push_back(path);
      if (!path.contains('.'))
        break;
    }
  if (llvm::StringRef best = nearest(glob, paths); !best.empty())
    return "; did you mean " + quote(best) + "?";
  std::vector<llvm::StringRef> tops;
  for (llvm::StringRef path : paths)
    if (!path.contains('.'))
      tops.push_back(path);
  return suggest("", tops, "the model has");
}

void NameChecker::checkGlob(llvm::StringRef glob, const SourceLocation &at) {
  for (const NamedTensor &tensor : tensors)
    if (globCovers(glob, tensor.path))
      return;
  (void)diags.error(at, "nothing in the model matches " + quote(glob) +
                            suggestPath(glob));
}

void NameChecker::checkDimension(const ShardRule &rule,
                                 const DimensionRule &dim) {
  if (!llvm::is_contained(dimensions, dim.dimension)) {
    std::string text = "no parameter or input of the model has a dimension " +
                       quote(dim.dimension);
    if (isCommonDimension(dim.dimension))
      diags.warning(dim.location, text + "; the entry has no effect");
    else
      (void)diags.error(dim.location, text + suggest(dim.dimension, dimensions,
                                                     "its dimensions"));
    return;
  }
  if (inputDimensions.contains(dim.dimension))
    return;
  for (const NamedTensor &tensor : tensors)
    if (globCovers(rule.match, tensor.path))
      for (const NamedTensor::Dim &has : tensor.dims)
        if (has.name == dim.dimension)
          return;
  (void)diags.error(dim.location, "nothing that matches " + quote(rule.match) +
                                      " has a dimension " +
                                      quote(dim.dimension));
}

void NameChecker::checkRule(const ShardRule &rule) {
  unsigned before = diags.errorCount();
  checkGlob(rule.match, rule.location);
  if (diags.errorCount() != before)
    return;
  for (const DimensionRule &dim : rule.dimensions)
    checkDimension(rule, dim);
}

void NameChecker::checkDivides(const NamedTensor &tensor,
                               const NamedTensor::Dim &dim,
                               const Plan::Placement &placement) {
  if (plan.uneven != UnevenPolicy::Error || !dim.size)
    return;
  int64_t parts = plan.numParts(placement.axes);
  if (*dim.size % parts == 0 ||
      !reported.insert(dim.name + "/" + std::to_string(*dim.size)).second)
    return;
  // A default rule stands nowhere; what asks for the error does.
  (void)diags.error(
      placement.location.isKnown() ? placement.location : plan.unevenLocation,
      quote(dim.name) + " = " + llvm::Twine(*dim.size) + " of " +
          quote(tensor.path) + " does not split over " + llvm::Twine(parts) +
          " ranks; choose sizes that divide, or 'uneven: pad'");
}

/// " (of group 'ep')" where a rule names the axis by a group.
std::string NameChecker::viewOf(const Plan::Placement &placement,
                                const std::string &axis) const {
  if (placement.rule)
    for (const std::string &name : placement.rule->axes)
      for (const AxisGroup &group : plan.groups)
        if (group.name == name && llvm::is_contained(group.axes, axis))
          return " (of group " + quote(name) + ")";
  return "";
}

void NameChecker::checkTensor(const NamedTensor &tensor) {
  llvm::SmallVector<std::pair<std::string, Plan::Placement>> used;
  for (const NamedTensor::Dim &dim : tensor.dims) {
    if (dim.name.empty())
      continue;
    Plan::Placement placement = plan.resolve(tensor.path, dim.name);
    checkDivides(tensor, dim, placement);
    for (const auto &[otherName, other] : used)
      for (const std::string &axis : placement.axes) {
        if (!llvm::is_contained(other.axes, axis) ||
            !reported.insert("axis " + axis).second)
          continue;
        // A default rule stands nowhere, the axis that it takes does.
        const MeshAxis *where = plan.findAxis(axis);
        (void)diags.error(
            placement.location.isKnown() || !where ? placement.location
                                                   : where->location,
            "axis " + quote(axis) + viewOf(placement, axis) +
                " would split both " + quote(otherName) + " and " +
                quote(dim.name) + " of " + quote(tensor.path) +
                "; an axis can split one dimension of a tensor: take it from "
                "one of the two rules or give one another axis");
        diags.note(other.location,
                   quote(otherName) +
                       (other.location.isKnown()
                            ? " takes it here"
                            : " takes it by the default rules") +
                       viewOf(other, axis));
      }
    used.push_back({dim.name, std::move(placement)});
  }
}

/// One entry for a dimension of the data against its size.
static void checkSplit(const Plan &plan, const DimensionRule &dim, int64_t size,
                       llvm::StringRef what, Diagnostics &diags) {
  int64_t parts = plan.numParts(dim.axes);
  if (size % parts == 0)
    return;
  (void)diags.error(dim.location.isKnown() ? dim.location : plan.unevenLocation,
                    quote(dim.dimension) + " = " + llvm::Twine(size) + " " +
                        what + " does not split over " + llvm::Twine(parts) +
                        " ranks (" + llvm::join(dim.axes, " x ") +
                        "); choose sizes that divide, or 'uneven: pad'");
}

llvm::LogicalResult stretto::checkSplits(const Plan &plan, int64_t samples,
                                         int64_t sequence, Diagnostics &diags) {
  unsigned before = diags.errorCount();
  if (plan.uneven == UnevenPolicy::Error)
    for (const ShardRule &rule : plan.shard)
      for (const DimensionRule &dim : rule.dimensions) {
        if (dim.dimension == "batch")
          checkSplit(plan, dim, samples, "samples of a micro-batch", diags);
        if (dim.dimension == "seq" || dim.dimension == "kv_seq")
          checkSplit(plan, dim, sequence, "positions", diags);
      }
  return llvm::success(diags.errorCount() == before);
}

llvm::LogicalResult stretto::checkNames(const Plan &plan,
                                        llvm::ArrayRef<NamedTensor> tensors,
                                        Diagnostics &diags) {
  unsigned before = diags.errorCount();
  NameChecker checker(plan, tensors, diags);
  if (!plan.shardIsDefault)
    for (const ShardRule &rule : plan.shard)
      checker.checkRule(rule);
  for (const ZeroRule &rule : plan.zero)
    checker.checkGlob(rule.match, rule.location);
  for (const RecomputeRule &rule : plan.recompute)
    checker.checkGlob(rule.layers, rule.location);
  for (const NamedTensor &tensor : tensors)
    checker.checkTensor(tensor);
  return llvm::success(diags.errorCount() == before);
}
