//===- Shrink.cpp - a small model with the same divisibility --------------===//

#include "Shrink.h"
#include "stretto/Dialect/Stretto/Analysis/DimClasses.h"
#include "stretto/Dialect/Stretto/IR/StrettoOps.h"
#include "stretto/Transforms/Apply/ApplyPlan.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

#include <numeric>

using namespace mlir;
using namespace stretto;

double driver::trainingFlops(ModuleOp module, const Recipe &recipe) {
  double parameters = 0;
  for (const NamedTensor &tensor : namedTensors(module)) {
    double elements = tensor.isInput ? 0 : 1;
    for (const NamedTensor::Dim &dim : tensor.dims)
      elements *= double(dim.size.value_or(1));
    parameters += elements;
  }
  return 6.0 * parameters * double(recipe.globalBatch) *
         double(recipe.sequence);
}

namespace {

/// How small each named dimension may become.
class Sizes {
public:
  Sizes(ModuleOp module, const Plan &plan, Recipe &recipe,
        int64_t microbatches);

  /// New size of a dimension called `name`, or `size` itself.
  int64_t of(StringRef name, int64_t size) const {
    auto it = sizes.find(name);
    return it == sizes.end() ? size : it->second;
  }
  std::vector<std::string> changes;

private:
  int64_t smallest(int64_t size, int64_t parts, int64_t floor) const;
  void set(StringRef name, int64_t size, int64_t floor);

  llvm::StringMap<int64_t> parts; // shards that the plan makes of a dimension
  llvm::StringMap<int64_t> sizes;
};

} // namespace

/// The smallest size of at least `floor` with the remainder of `size` modulo
/// `parts` (and the parity: rotary heads are split in halves); a size below
/// `parts` stays what it is.
int64_t Sizes::smallest(int64_t size, int64_t parts, int64_t floor) const {
  int64_t modulus = std::lcm(parts, int64_t(2));
  if (size <= floor || size <= parts)
    return size;
  int64_t small = size % modulus;
  while (small < floor || small < parts)
    small += modulus;
  return std::min(small, size);
}

void Sizes::set(StringRef name, int64_t size, int64_t floor) {
  auto it = parts.find(name);
  int64_t small = smallest(size, it == parts.end() ? 1 : it->second, floor);
  if (!sizes.try_emplace(name, small).second)
    return;
  if (small != size)
    changes.push_back((name + " " + Twine(size) + " -> " + Twine(small)).str());
}

Sizes::Sizes(ModuleOp module, const Plan &plan, Recipe &recipe,
             int64_t microbatches) {
  std::vector<NamedTensor> tensors = namedTensors(module);
  for (const NamedTensor &tensor : tensors)
    for (const NamedTensor::Dim &dim : tensor.dims)
      if (!dim.name.empty()) {
        int64_t &count = parts.try_emplace(dim.name, 1).first->second;
        count = std::lcm(
            count, plan.numParts(plan.resolve(tensor.path, dim.name).axes));
      }
  int64_t samples = recipe.globalBatch / microbatches;
  int64_t batchParts = std::max<int64_t>(1, parts.lookup("batch"));
  int64_t fewer = samples;
  if (samples > batchParts)
    fewer = samples % batchParts + batchParts;
  set("seq", recipe.sequence, 16);
  sizes["batch"] = fewer;
  if (fewer != samples)
    changes.push_back("global batch " + std::to_string(recipe.globalBatch) +
                      " -> " + std::to_string(fewer * microbatches));
  recipe.globalBatch = fewer * microbatches;
  recipe.sequence = sizes["seq"];
  // Heads stay: their number relates query and key heads.
  for (const NamedTensor &tensor : tensors)
    for (const NamedTensor::Dim &dim : tensor.dims)
      if (dim.size && !dim.name.empty() && dim.name != "heads" &&
          dim.name != "kv_heads")
        set(dim.name, *dim.size,
            dim.name == "head_dim"   ? 4
            : dim.name == "ffn"      ? 40
            : dim.name == "vocab"    ? 56
            : dim.name == "position" ? recipe.sequence
                                     : 24);
}

/// Rewrites the types of a body by the names of its dimension classes.
static void resizeLayer(LayerOp layer, const Sizes &sizes) {
  DimClasses classes(layer);
  auto resize = [&](Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    SmallVector<int64_t> shape(type.getShape());
    for (auto [dim, extent] : llvm::enumerate(shape))
      if (!ShapedType::isDynamic(extent))
        extent = sizes.of(classes.nameOf(value, dim), extent);
    value.setType(RankedTensorType::get(shape, type.getElementType()));
  };
  Block &body = layer.getBody().front();
  llvm::for_each(body.getArguments(), resize);
  for (Operation &op : body)
    llvm::for_each(op.getResults(), resize);
  layer.setFunctionType(
      FunctionType::get(layer.getContext(), body.getArgumentTypes(),
                        body.getTerminator()->getOperandTypes()));
}

/// Keeps two instances of every layer that maps its first operand's type to its
/// only result.
static int64_t dropInstances(ModelOp model) {
  llvm::StringMap<int64_t> seen;
  llvm::StringSet<> bound;
  model.walk([&](CallOp call) {
    if (std::optional<DictionaryAttr> bind = call.getBind())
      for (NamedAttribute entry : *bind)
        bound.insert(cast<StringAttr>(entry.getValue()).getValue());
  });
  int64_t dropped = 0;
  for (CallOp call : llvm::to_vector(model.getOps<CallOp>())) {
    bool chain = call.getNumResults() == 1 && call.getNumOperands() >= 1 &&
                 call.getResult(0).getType() == call.getOperand(0).getType();
    bool declares = llvm::any_of(bound, [&](const auto &entry) {
      return entry.getKey().starts_with(call.getScope());
    });
    if (!chain || declares || ++seen[call.getCallee()] <= 2)
      continue;
    call.getResult(0).replaceAllUsesWith(call.getOperand(0));
    call.erase();
    ++dropped;
  }
  return dropped;
}

std::string driver::shrink(ModuleOp module, Recipe &recipe, const Plan &plan,
                           int64_t microbatches) {
  Sizes sizes(module, plan, recipe, microbatches);
  SymbolTable symbols(module);
  for (LayerOp layer : module.getOps<LayerOp>())
    resizeLayer(layer, sizes);
  for (ModelOp model : module.getOps<ModelOp>()) {
    for (CallOp call : model.getOps<CallOp>())
      for (auto [result, type] : llvm::zip(
               call.getResults(),
               symbols.lookup<LayerOp>(call.getCallee()).getResultTypes()))
        result.setType(type);
    if (int64_t dropped = dropInstances(model))
      sizes.changes.push_back(std::to_string(dropped) + " instances dropped");
  }
  return llvm::join(sizes.changes, ", ");
}
