//===- RecomputePolicy.cpp - what an instance computes again --------------===//

#include "stretto/Transforms/Apply/RecomputePolicy.h"
#include "stretto/Support/Text.h"
#include "llvm/Support/GlobPattern.h"

using namespace mlir;
using namespace stretto;

static bool isProduct(Operation *op) {
  auto cost = dyn_cast<CostModel>(op);
  return cost && cost.getModelFlops(/*causal=*/false) > 0;
}

static StringRef shortName(Operation *op) {
  return op->getName().stripDialect();
}

static bool isNorm(Operation *op) { return shortName(op).ends_with("_norm"); }

/// Every dimension of every operand is one of the result's, in its order.
static bool isPointwise(Operation *op) {
  auto sharded = dyn_cast<ShardingRule>(op);
  if (!sharded || op->getNumResults() != 1 || op->getNumOperands() == 0)
    return false;
  OpRule rule = sharded.getShardingRule();
  auto isPlain = [](const DimFactors &dims) {
    int last = -1;
    for (const auto &dim : dims) {
      if (dim.size() != 1 || int(dim[0]) <= last)
        return false;
      last = int(dim[0]);
    }
    return true;
  };
  return llvm::all_of(rule.factors,
                      [](const Factor &factor) {
                        return factor.kind == FactorKind::Parallel;
                      }) &&
         rule.results[0].size() == rule.factors.size() &&
         isPlain(rule.results[0]) && llvm::all_of(rule.operands, isPlain);
}

namespace {
struct Kind {
  StringLiteral word;
  bool (*holds)(Operation *);
};
} // namespace

static constexpr Kind kinds[] = {
    {"full", [](Operation *) { return true; }},
    {"auto", [](Operation *) { return true; }},
    {"selective", [](Operation *op) { return !isProduct(op); }},
    {"norms", isNorm},
    {"activations", isPointwise},
    {"gathers", [](Operation *) { return false; }},
};

static bool covers(StringRef word, Operation *op) {
  for (const Kind &kind : kinds)
    if (kind.word == word)
      return kind.holds(op);
  return shortName(op) == word;
}

bool RecomputePolicy::isAuto() const {
  return !isNone() && llvm::is_contained(words.getAsValueRange<StringAttr>(),
                                         StringRef("auto"));
}

bool RecomputePolicy::repeatsGathers() const {
  return mustRepeatGathers ||
         (!isNone() &&
          llvm::any_of(words.getAsValueRange<StringAttr>(), [](StringRef word) {
            return word == "gathers" || word == "full";
          }));
}

bool RecomputePolicy::mayRepeat(Operation *op) const {
  return words &&
         llvm::any_of(words.getAsRange<StringAttr>(), [&](StringAttr word) {
           return covers(word.getValue(), op);
         });
}

static bool isKnown(MLIRContext *context, StringRef word) {
  return llvm::any_of(kinds,
                      [&](const Kind &kind) { return kind.word == word; }) ||
         RegisteredOperationName::lookup(("stretto." + word).str(), context);
}

static std::string suggestion(MLIRContext *context, StringRef word) {
  SmallVector<StringRef> names = {"none"};
  for (const Kind &kind : kinds)
    names.push_back(kind.word);
  for (RegisteredOperationName name :
       context->getRegisteredOperationsByDialect("stretto"))
    if (name.hasInterface<ShardingRule>())
      names.push_back(name.stripDialect());
  return suggest(word, names, "words");
}

FailureOr<RecomputePolicy> RecomputePolicy::of(CallOp call) {
  Attribute attribute = call->getAttr(attr::recompute);
  RecomputePolicy policy;
  policy.mustRepeatGathers = call->hasAttr(attr::repeatGathers);
  if (!attribute)
    return policy;
  auto words = dyn_cast<ArrayAttr>(attribute);
  for (Attribute entry : words ? words.getValue() : ArrayRef(attribute)) {
    auto word = dyn_cast<StringAttr>(entry);
    if (!words || !word)
      return call.emitOpError() << attr::recompute << " is a list of words, "
                                << "such as [\"selective\"], got " << attribute;
    if (!isKnown(call.getContext(), word))
      return call.emitOpError()
             << "does not know what to recompute as '" << word.getValue() << "'"
             << suggestion(call.getContext(), word);
  }
  policy.words = words;
  if (!policy.isAuto())
    return policy;
  if (words.size() > 1)
    return call.emitOpError("recomputes 'auto', which stands alone, got ")
           << attribute;
  auto bytes = call->getAttrOfType<IntegerAttr>(attr::keepBytes);
  if (!bytes)
    policy.words = {};
  else
    policy.keepBytes = bytes.getInt();
  return policy;
}

LogicalResult stretto::applyRecompute(CallOp call, const Plan &plan,
                                      Diagnostics &diagnostics) {
  MLIRContext *context = call.getContext();
  const RecomputeRule *rule = plan.findRecompute(call.getScope());
  if (!rule || rule->what.empty())
    return success();
  SmallVector<StringRef> words;
  if (rule->what.size() > 1 && llvm::is_contained(rule->what, "auto"))
    return diagnostics.error(rule->location,
                             "'recompute: auto' stands alone: it may repeat "
                             "every operation");
  for (const std::string &word : rule->what) {
    if (!isKnown(context, word))
      return diagnostics.error(rule->location,
                               "no operation or policy " + quote(word) +
                                   " to recompute" + suggestion(context, word));
    words.push_back(word);
  }
  call->setAttr(attr::recompute, Builder(context).getStrArrayAttr(words));
  return success();
}
