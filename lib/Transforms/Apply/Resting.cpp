//===- Resting.cpp - where a parameter's state rests ----------------------===//

#include "stretto/Transforms/Apply/Resting.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

#include <tuple>

using namespace mlir;
using namespace stretto;

namespace {

/// One cut of all axes over the dimensions: parts[axis][dim] is the size of the
/// sub-axis that dimension `dim` takes of that axis (major dimensions take the
/// major sub-axes).
using Cut = SmallVector<SmallVector<int64_t>>;

SmallVector<int64_t> divisorsOf(int64_t number) {
  SmallVector<int64_t> divisors;
  for (int64_t low = 1; low * low <= number; ++low)
    if (number % low == 0) {
      divisors.push_back(low);
      if (low != number / low)
        divisors.push_back(number / low);
    }
  return divisors;
}

class CutSearch {
public:
  CutSearch(ArrayRef<int64_t> shape, ArrayRef<int64_t> shards,
            ArrayRef<int64_t> axes)
      : shape(shape), used(shards), shards(shards), axes(axes) {}

  Cut run() {
    Cut cut;
    for (int64_t axis : axes)
      cut.push_back(bestOf(axis));
    return cut;
  }

private:
  /// What is compared first to last, less is better.
  using Rank = std::tuple<int64_t, int64_t, int64_t, int64_t, int64_t>;

  /// The best way to cut one more axis, given what the ones before took.
  SmallVector<int64_t> bestOf(int64_t axis) {
    best.clear();
    SmallVector<int64_t> parts(shape.size(), 1);
    enumerate(axis, 0, parts);
    for (auto [taken, part] : llvm::zip(shards, best))
      taken *= part;
    return best;
  }

  /// All ordered factorizations of `rest` (or of a divisor of it: the value
  /// stays replicated over what is left) over the dimensions from `dim` on.
  void enumerate(int64_t rest, unsigned dim, SmallVector<int64_t> &parts) {
    if (dim == shape.size()) {
      consider(parts);
      return;
    }
    for (int64_t part : divisorsOf(rest)) {
      parts[dim] = part;
      enumerate(rest / part, dim + 1, parts);
      parts[dim] = 1;
    }
  }

  void consider(ArrayRef<int64_t> parts) {
    int64_t local = 1, product = 1, count = 0, onSplit = 0, firsts = 0;
    for (auto [dim, part] : llvm::enumerate(parts)) {
      local *= llvm::divideCeil(shape[dim], shards[dim] * part);
      product *= part;
      count += part > 1;
      onSplit += part > 1 && used[dim] > 1;
      firsts += part > 1 ? int64_t(dim) : 0;
    }
    Rank rank{local, product, count, onSplit, firsts};
    if (best.empty() || rank < bestRank) {
      best.assign(parts.begin(), parts.end());
      bestRank = rank;
    }
  }

  ArrayRef<int64_t> shape, used; // what the use splits
  SmallVector<int64_t> shards;   // and what axes before this one added
  ArrayRef<int64_t> axes;
  SmallVector<int64_t> best;
  Rank bestRank;
};

} // namespace

/// What `use` holds: the names of its axes, and the shards of every dimension
/// (no more than it has elements).
static llvm::SmallVector<int64_t> shardsOf(const Plan &plan, ConstraintAttr use,
                                           ArrayRef<int64_t> shape,
                                           SmallVectorImpl<StringRef> &held) {
  SmallVector<int64_t> shards(shape.size(), 1);
  for (unsigned dim = 0; use && dim < use.getRank(); ++dim)
    for (StringAttr axis : use.getDimAxes(dim)) {
      held.push_back(axis.getValue().split(':').first);
      shards[dim] *= plan.numParts({axis.getValue().str()});
    }
  for (auto [count, extent] : llvm::zip(shards, shape))
    count = std::min(count, std::max<int64_t>(extent, 1));
  return shards;
}

ConstraintAttr stretto::restOn(MLIRContext *context, const Plan &plan,
                               ConstraintAttr use, ArrayRef<int64_t> shape,
                               ArrayRef<std::string> axes, StringRef cause) {
  SmallVector<StringRef> held;
  SmallVector<int64_t> shards = shardsOf(plan, use, shape, held);
  SmallVector<std::string> names;
  SmallVector<int64_t> sizes;
  for (const std::string &axis : axes)
    if (!llvm::is_contained(held, axis) && plan.numParts({axis}) > 1) {
      names.push_back(axis);
      sizes.push_back(plan.numParts({axis}));
    }
  if (names.empty() || shape.empty())
    return {};
  Cut cut = CutSearch(shape, shards, sizes).run();
  SmallVector<StringAttr> flat;
  SmallVector<int64_t> ends, priorities;
  bool added = false;
  for (unsigned dim = 0; dim < shape.size(); ++dim) {
    if (use)
      llvm::append_range(flat, use.getDimAxes(dim));
    priorities.push_back(use ? use.getPriorities()[dim] : 0);
    for (auto [axis, parts] : llvm::enumerate(cut)) {
      if (parts[dim] == 1)
        continue;
      added = true;
      int64_t pre = 1;
      for (unsigned before = 0; before < dim; ++before)
        pre *= parts[before];
      bool whole = parts[dim] == sizes[axis];
      flat.push_back(StringAttr::get(
          context, whole ? names[axis]
                         : names[axis] + ":(" + std::to_string(pre) + ")" +
                               std::to_string(parts[dim])));
    }
    ends.push_back(flat.size());
  }
  if (!added)
    return {};
  return ConstraintAttr::get(context, flat, ends,
                             SmallVector<bool>(shape.size(), false), priorities,
                             StringAttr::get(context, cause));
}

//===----------------------------------------------------------------------===//
// The plan's rules
//===----------------------------------------------------------------------===//

/// The axes of the rule, or all that the batch is split on.
static std::vector<std::string> allAxesOf(const Plan &plan,
                                          const ZeroRule &rule) {
  return rule.over ? plan.expand(*rule.over) : plan.resolve("", "batch").axes;
}

/// Those of `axes` that share the state: without the ones that keep copies.
static std::vector<std::string> sharing(const Plan &plan, const ZeroRule &rule,
                                        std::vector<std::string> axes) {
  if (!rule.replicate.empty())
    for (const std::string &copies : plan.expand({rule.replicate}))
      llvm::erase(axes, copies);
  return axes;
}

/// Why nothing rests apart although the rule asks for it.
static std::string whyNothing(const Plan &plan, const ZeroRule &rule) {
  if (rule.stage == 0 && !rule.params && !rule.grads && !rule.optim)
    return "there is no stage and nothing is named to be sharded; add 'stage: "
           "3', for instance";
  if (rule.params || rule.grads || rule.optim)
    return "no parameter has room for the axes that it names; those of the "
           "'shard' rules are taken";
  std::vector<std::string> all = allAxesOf(plan, rule);
  if (plan.numParts(sharing(plan, rule, all)) > 1)
    return "no parameter that it matches has room for the axes: 'shard' rules "
           "take them, or there is one element";
  if (plan.numParts(all) > 1)
    return "all ranks along " + llvm::join(all, ", ") +
           " keep copies ('replicate'); leave one axis to share over";
  if (rule.over)
    return "'over' names no axis of two ranks or more";
  return "the batch is not split over ranks that could share state; split "
         "'batch', or name axes with 'over'";
}

/// What says when to move something that rests where it is used.
static void warnOfIdleTimes(const ZeroRule &rule, Diagnostics &diagnostics) {
  if (rule.gather != GatherChoice::Auto && rule.stage < 3 && !rule.params)
    diagnostics.warning(rule.location,
                        "'gather' has no effect: parameters rest sharded from "
                        "stage 3 on, or with 'params'");
  if (rule.reduce == ReduceChoice::Microbatch && rule.stage < 2 && !rule.grads)
    diagnostics.warning(rule.location,
                        "'reduce: microbatch' has no effect: gradients rest "
                        "sharded from stage 2 on, or with 'grads'");
}

void stretto::warnOfRulesWithoutEffect(
    const Plan &plan, const llvm::DenseSet<const ZeroRule *> &effective,
    Diagnostics &diagnostics) {
  for (const ZeroRule &rule : plan.zero) {
    if (!rule.isNeutral() && !effective.contains(&rule))
      diagnostics.warning(rule.location,
                          "'zero' has no effect: " + whyNothing(plan, rule));
    warnOfIdleTimes(rule, diagnostics);
    std::vector<std::string> all = allAxesOf(plan, rule);
    bool keepsCopies =
        rule.replicate.empty() ||
        llvm::any_of(plan.expand({rule.replicate}), [&](const auto &axis) {
          return llvm::is_contained(all, axis);
        });
    if (!keepsCopies)
      diagnostics.warning(rule.location, "'replicate: " + rule.replicate +
                                             "' has no effect: state is not "
                                             "shared over that axis");
  }
}

/// The shards that a tensor of `shape` is cut into.
static int64_t numShards(ConstraintAttr constraint, const Plan &plan,
                         ArrayRef<int64_t> shape) {
  SmallVector<StringRef> held;
  int64_t product = 1;
  for (int64_t shards : shardsOf(plan, constraint, shape, held))
    product *= shards;
  return product;
}

/// Where the parameter itself rests from step to step: with the optimizer's
/// state, which updates it, unless it is to be cut finer than that.
static Attribute masterOf(const Plan &plan, const NamedAttrList &entries,
                          ArrayRef<int64_t> shape) {
  auto state = cast_or_null<ConstraintAttr>(entries.get("state")),
       params = cast_or_null<ConstraintAttr>(entries.get("params"));
  if (!state || !params)
    return state ? state : params;
  return numShards(params, plan, shape) > numShards(state, plan, shape) ? params
                                                                        : state;
}

DictionaryAttr stretto::restingOf(MLIRContext *context, const Plan &plan,
                                  StringRef path, ConstraintAttr use,
                                  ArrayRef<int64_t> shape) {
  const ZeroRule *rule = plan.findZero(path);
  if (!rule || rule->isNeutral())
    return {};
  std::vector<std::string> axes = sharing(plan, *rule, allAxesOf(plan, *rule));
  std::string cause = "zero: " + rule->location.str();
  NamedAttrList entries;
  auto rest = [&](StringRef what, int64_t stage,
                  const std::optional<std::vector<std::string>> &pinned) {
    std::vector<std::string> on;
    if (pinned)
      on = sharing(plan, *rule, plan.expand(*pinned));
    else if (rule->stage >= stage)
      on = axes;
    if (ConstraintAttr constraint =
            restOn(context, plan, use, shape, on, cause))
      entries.set(what, constraint);
  };
  rest("state", 1, rule->optim);
  rest("grads", 2, rule->grads);
  rest("params", 3, rule->params);
  if (entries.empty())
    return {};
  if (Attribute master = masterOf(plan, entries, shape))
    entries.set("master", master);
  // Copies meet once per step: sums inside and across them belong together.
  ReduceChoice reduce = rule->reduce;
  if (reduce == ReduceChoice::Auto && !rule->replicate.empty())
    reduce = ReduceChoice::Step;
  entries.set("reduce", StringAttr::get(context, nameOf(reduce)));
  entries.set("gather", StringAttr::get(context, nameOf(rule->gather)));
  return entries.getDictionary(context);
}
