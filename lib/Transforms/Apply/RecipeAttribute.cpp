//===- RecipeAttribute.cpp - the recipe as an attribute -------------------===//
//
// One table of entries serves both directions, so that what is written is what
// is read.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/Builders.h"
#include "stretto/Dialect/Stretto/IR/StrettoDialect.h"
#include "stretto/Transforms/Apply/ApplyRecipe.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace stretto;

namespace {
/// Collects entries into a dictionary.
class Writer {
public:
  explicit Writer(MLIRContext *context) : builder(context) {}

  void entry(StringRef name, int64_t value) {
    add(name, builder.getI64IntegerAttr(value));
  }
  void entry(StringRef name, uint64_t value) { entry(name, int64_t(value)); }
  void entry(StringRef name, double value) {
    add(name, builder.getF64FloatAttr(value));
  }
  template <typename Enum>
  std::enable_if_t<std::is_enum_v<Enum>> entry(StringRef name, Enum value,
                                               ArrayRef<Enum>) {
    add(name, builder.getStringAttr(stringify(value)));
  }
  DictionaryAttr get() { return builder.getDictionaryAttr(entries); }

private:
  void add(StringRef name, Attribute value) {
    entries.push_back(builder.getNamedAttr(name, value));
  }
  Builder builder;
  SmallVector<NamedAttribute> entries;
};

/// Takes entries out of a dictionary; what is absent stays as it was.
class Reader {
public:
  Reader(Operation *op, DictionaryAttr entries) : op(op), entries(entries) {}

  void entry(StringRef name, int64_t &value) {
    if (auto attr = find<IntegerAttr>(name, "an integer"))
      value = attr.getValue().getSExtValue();
  }
  void entry(StringRef name, uint64_t &value) {
    if (auto attr = find<IntegerAttr>(name, "an integer"))
      value = attr.getValue().getZExtValue();
  }
  void entry(StringRef name, double &value) {
    if (auto attr = find<FloatAttr>(name, "a float"))
      value = attr.getValueAsDouble();
  }
  template <typename Enum>
  std::enable_if_t<std::is_enum_v<Enum>> entry(StringRef name, Enum &value,
                                               ArrayRef<Enum> cases) {
    auto attr = find<StringAttr>(name, "a string");
    if (!attr)
      return;
    for (Enum known : cases)
      if (stringify(known) == attr.getValue()) {
        value = known;
        return;
      }
    InFlightDiagnostic error = op->emitError()
                               << "recipe entry '" << name << "' is \""
                               << attr.getValue() << "\"; known:";
    for (Enum known : cases)
      error << " " << stringify(known);
    failed = true;
  }

  LogicalResult finish() {
    for (NamedAttribute entry : entries)
      if (!known.contains(entry.getName().getValue())) {
        op->emitError() << "unknown recipe entry '"
                        << entry.getName().getValue() << "'";
        failed = true;
      }
    return failure(failed);
  }

private:
  template <typename AttrT> AttrT find(StringRef name, StringRef what) {
    known.insert(name);
    Attribute value = entries.get(name);
    auto typed = dyn_cast_or_null<AttrT>(value);
    if (value && !typed) {
      op->emitError() << "recipe entry '" << name << "' must be " << what;
      failed = true;
    }
    return typed;
  }

  Operation *op;
  DictionaryAttr entries;
  llvm::StringSet<> known;
  bool failed = false;
};
} // namespace

/// Every entry of the attribute with the field it stands for. `optional` fields
/// are resolved by the caller.
template <typename Visitor, typename Applied>
static void visitEntries(Visitor &visitor, Applied &applied, double &minLr,
                         double &clip, int64_t &decaySteps) {
  auto &recipe = applied.recipe;
  visitor.entry("global_batch", recipe.globalBatch);
  visitor.entry("microbatches", applied.microbatches);
  visitor.entry("sequence", recipe.sequence);
  visitor.entry("steps", recipe.steps);
  visitor.entry("seed", recipe.seed);
  auto &precision = recipe.precision;
  for (auto [name, kind] : {std::pair("compute", &precision.compute),
                            std::pair("gradients", &precision.gradients),
                            std::pair("reduce", &precision.reduce)})
    visitor.entry(name, *kind, ArrayRef({FloatKind::F32, FloatKind::BF16}));
  auto &optimizer = recipe.optimizer;
  visitor.entry("optimizer", optimizer.kind,
                ArrayRef({OptimizerKind::AdamW, OptimizerKind::Sgd}));
  visitor.entry("lr", optimizer.learningRate);
  visitor.entry("min_lr", minLr);
  visitor.entry("beta1", optimizer.beta1);
  visitor.entry("beta2", optimizer.beta2);
  visitor.entry("epsilon", optimizer.epsilon);
  visitor.entry("momentum", optimizer.momentum);
  visitor.entry("weight_decay", optimizer.weightDecay);
  visitor.entry("clip", clip);
  visitor.entry("warmup", recipe.schedule.warmup);
  visitor.entry("decay_steps", decaySteps);
  visitor.entry(
      "decay", recipe.schedule.decay,
      ArrayRef({DecayKind::Constant, DecayKind::Linear, DecayKind::Cosine}));
  visitor.entry("nonfinite", recipe.nonfinite,
                ArrayRef({NonfinitePolicy::Stop, NonfinitePolicy::Skip,
                          NonfinitePolicy::Rollback}));
  visitor.entry("eval_every", recipe.eval.every);
  visitor.entry("eval_fraction", recipe.eval.fraction);
}

DictionaryAttr stretto::toAttribute(MLIRContext *context,
                                    const AppliedRecipe &applied) {
  Writer writer(context);
  const Recipe &recipe = applied.recipe;
  double minLr = recipe.minLearningRate();
  double clip = recipe.optimizer.clip.value_or(0.0);
  int64_t decaySteps = recipe.decaySteps();
  visitEntries(writer, applied, minLr, clip, decaySteps);
  return writer.get();
}

static LogicalResult checkCounts(ModuleOp module,
                                 const AppliedRecipe &applied) {
  std::pair<StringRef, int64_t> counts[] = {
      {"global_batch", applied.recipe.globalBatch},
      {"microbatches", applied.microbatches},
      {"sequence", applied.recipe.sequence},
      {"steps", applied.recipe.steps}};
  for (auto [name, count] : counts)
    if (count < 1)
      return module.emitError() << "recipe entry '" << name
                                << "' must be at least 1, got " << count;
  return success();
}

static LogicalResult check(ModuleOp module, const Recipe &recipe) {
  Diagnostics diagnostics;
  if (succeeded(checkRecipe(recipe, diagnostics)))
    return success();
  for (const Diagnostics::Entry &entry : diagnostics.entries())
    if (entry.severity == Diagnostics::Severity::Error)
      module.emitError() << "recipe: " << entry.message;
  return failure();
}

FailureOr<AppliedRecipe> stretto::readRecipeAttribute(ModuleOp module) {
  AppliedRecipe applied;
  Attribute attribute = module->getAttr(attr::recipe);
  if (!attribute)
    return applied;
  auto entries = dyn_cast<DictionaryAttr>(attribute);
  if (!entries) {
    module.emitError() << attr::recipe << " must be a dictionary";
    return failure();
  }
  Recipe &recipe = applied.recipe;
  Reader reader(module, entries);
  double minLr = -1, clip = recipe.optimizer.clip.value_or(0.0);
  int64_t decaySteps = -1;
  visitEntries(reader, applied, minLr, clip, decaySteps);
  if (failed(reader.finish()))
    return failure();
  recipe.optimizer.clip = clip > 0 ? std::optional(clip) : std::nullopt;
  if (minLr >= 0)
    recipe.schedule.minLearningRate = minLr;
  if (decaySteps >= 0)
    recipe.schedule.decaySteps = decaySteps;
  if (failed(checkCounts(module, applied)) || failed(check(module, recipe)))
    return failure();
  return applied;
}
