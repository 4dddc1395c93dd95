//===- ApplyPlan.cpp - the plan on a module -------------------------------===//
//
// A rule speaks of instances and dimension names; the IR speaks of layers.
// Every instance's rules are resolved; layers are specialised by the outcome.
//
//===----------------------------------------------------------------------===//

#include "stretto/Transforms/Apply/ApplyPlan.h"
#include "stretto/Dialect/Stretto/Analysis/DimClasses.h"
#include "stretto/Dialect/Stretto/IR/StrettoOps.h"
#include "stretto/Transforms/Apply/Passes.h"
#include "stretto/Transforms/Apply/RecomputePolicy.h"
#include "stretto/Transforms/Apply/Resting.h"
#include "llvm/ADT/StringExtras.h"

#include <map>

namespace stretto {
#define GEN_PASS_DEF_APPLYPLANPASS
#include "stretto/Transforms/Apply/Passes.h.inc"
} // namespace stretto

using namespace mlir;
using namespace stretto;

static std::vector<NamedTensor::Dim> namedDims(Type type, ArrayAttr names) {
  std::vector<NamedTensor::Dim> dims;
  auto tensor = cast<RankedTensorType>(type);
  for (int64_t i = 0; i < tensor.getRank(); ++i) {
    NamedTensor::Dim &dim = dims.emplace_back();
    if (names)
      dim.name = cast<StringAttr>(names[i]).getValue().str();
    if (dim.name == "_")
      dim.name.clear();
    if (!tensor.isDynamicDim(i))
      dim.size = tensor.getDimSize(i);
  }
  return dims;
}

std::vector<NamedTensor> stretto::namedTensors(ModuleOp module) {
  std::vector<NamedTensor> tensors;
  SymbolTable symbols(module);
  llvm::StringMap<bool> seen;
  for (ModelOp model : module.getOps<ModelOp>()) {
    for (unsigned i = 0; i < model.getNumArguments(); ++i) {
      auto name = model.getArgAttrOfType<StringAttr>(i, attr::name);
      tensors.push_back(
          {name ? name.getValue().str() : "input" + std::to_string(i),
           namedDims(model.getArgumentTypes()[i],
                     model.getArgAttrOfType<ArrayAttr>(i, attr::dims)),
           /*isInput=*/true});
    }
    for (CallOp call : model.getOps<CallOp>()) {
      auto layer = symbols.lookup<LayerOp>(call.getCallee());
      for (unsigned i = 0; i < layer.getNumArguments(); ++i) {
        StringAttr name = layer.getParameterName(i);
        if (!name)
          continue;
        std::string path = call.getParameterPath(name);
        if (!seen.try_emplace(path, true).second)
          continue;
        tensors.push_back(
            {path,
             namedDims(layer.getArgumentTypes()[i],
                       layer.getArgAttrOfType<ArrayAttr>(i, attr::dims)),
             /*isInput=*/false});
      }
    }
  }
  return tensors;
}

namespace {

/// Resolves the rules for one instance.
class InstanceConstraints {
public:
  InstanceConstraints(const Plan &plan, CallOp call, LayerOp layer,
                      const DimClasses &classes)
      : plan(plan), call(call), layer(layer), classes(classes) {}

  /// Constraints of all arguments, then of all results.
  SmallVector<ConstraintAttr> resolve();
  /// Where the parameters rest, per argument; `constraints` as resolved.
  SmallVector<DictionaryAttr> resolveResting(ArrayRef<ConstraintAttr>);

private:
  ConstraintAttr constrain(Value value, StringRef path, bool residual);

  const Plan &plan;
  CallOp call;
  LayerOp layer;
  const DimClasses &classes;
};

} // namespace

/// `residual`: rules for values between the blocks apply, after all others
/// (priority 1), so that they yield wherever an axis has other work.
ConstraintAttr InstanceConstraints::constrain(Value value, StringRef path,
                                              bool residual) {
  MLIRContext *context = call.getContext();
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<StringAttr> axes;
  SmallVector<int64_t> ends, priorities;
  SmallVector<bool> open;
  std::string cause;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    open.push_back(true); // what no rule speaks of may receive axes
    priorities.push_back(0);
    StringRef name = classes.nameOf(value, dim);
    Plan::Placement placement;
    if (!name.empty())
      placement = plan.resolve(path, name);
    bool applies = !placement.axes.empty() &&
                   (!placement.residualOnly || residual) &&
                   plan.numParts(placement.axes) > 1;
    if (applies) {
      open.back() = false;
      priorities.back() = placement.residualOnly ? 1 : 0;
      for (const std::string &axis : placement.axes)
        axes.push_back(StringAttr::get(context, axis));
      cause += (cause.empty() ? "" : "; ") + name.str() + ": " +
               llvm::join(placement.axes, " x ") + " at " +
               placement.location.str();
    }
    ends.push_back(axes.size());
  }
  if (axes.empty())
    return {};
  return ConstraintAttr::get(context, axes, ends, open, priorities,
                             StringAttr::get(context, cause));
}

SmallVector<ConstraintAttr> InstanceConstraints::resolve() {
  SmallVector<ConstraintAttr> constraints;
  Block &body = layer.getBody().front();
  for (BlockArgument argument : body.getArguments()) {
    unsigned index = argument.getArgNumber();
    if (StringAttr name = layer.getParameterName(index)) {
      constraints.push_back(
          constrain(argument, call.getParameterPath(name), false));
      continue;
    }
    bool between = isa<OpResult>(call.getOperands()[index]);
    constraints.push_back(constrain(argument, call.getScope(), between));
  }
  for (Value result : body.getTerminator()->getOperands())
    constraints.push_back(constrain(result, call.getScope(), true));
  return constraints;
}

SmallVector<DictionaryAttr>
InstanceConstraints::resolveResting(ArrayRef<ConstraintAttr> constraints) {
  SmallVector<DictionaryAttr> resting(layer.getNumArguments());
  for (auto [i, entry] : llvm::enumerate(resting))
    if (StringAttr name = layer.getParameterName(i); name && !plan.zero.empty())
      entry = restingOf(
          call.getContext(), plan, call.getParameterPath(name), constraints[i],
          cast<RankedTensorType>(layer.getArgumentTypes()[i]).getShape());
  return resting;
}

static void setConstraints(LayerOp layer, const DimClasses &classes,
                           ArrayRef<ConstraintAttr> constraints,
                           ArrayRef<DictionaryAttr> resting) {
  unsigned numArguments = layer.getNumArguments();
  for (unsigned i = 0; i < numArguments; ++i) {
    if (constraints[i])
      layer.setArgAttr(i, attr::constraint, constraints[i]);
    if (resting[i])
      layer.setArgAttr(i, attr::rest, resting[i]);
  }
  Operation *yield = layer.getBody().front().getTerminator();
  for (unsigned i = 0; i < layer.getNumResults(); ++i) {
    if (constraints[numArguments + i])
      layer.setResultAttr(i, attr::constraint, constraints[numArguments + i]);
    SmallVector<Attribute> names;
    Value value = yield->getOperand(i);
    int64_t rank = cast<RankedTensorType>(value.getType()).getRank();
    for (int64_t dim = 0; dim < rank; ++dim) {
      StringRef name = classes.nameOf(value, dim);
      names.push_back(
          StringAttr::get(layer.getContext(), name.empty() ? "_" : name));
    }
    layer.setResultAttr(i, attr::dims,
                        ArrayAttr::get(layer.getContext(), names));
  }
}

static MeshAttr meshOf(MLIRContext *context, const Plan &plan) {
  SmallVector<StringAttr> names;
  SmallVector<int64_t> sizes;
  for (const MeshAxis &axis : plan.mesh) {
    names.push_back(StringAttr::get(context, axis.name));
    sizes.push_back(axis.size);
  }
  return MeshAttr::get(context, names, sizes);
}

/// decoder_1, decoder_2, …: the next that no symbol has.
static std::string freeName(SymbolTable &symbols, StringRef name) {
  unsigned count = 1;
  std::string candidate;
  do
    candidate = (name + "_" + Twine(count++)).str();
  while (symbols.lookup(candidate));
  return candidate;
}

/// What the plan says about the links of the mesh; null if nothing.
static DictionaryAttr linksOf(MLIRContext *context, const Plan &plan) {
  Builder builder(context);
  NamedAttrList axes;
  for (const AxisLink &link : plan.links) {
    NamedAttrList entries;
    if (link.latency)
      entries.set("latency", builder.getF64FloatAttr(*link.latency));
    if (link.bandwidth)
      entries.set("bandwidth", builder.getF64FloatAttr(*link.bandwidth));
    axes.set(link.axis, entries.getDictionary(context));
  }
  return axes.empty() ? DictionaryAttr() : axes.getDictionary(context);
}

/// Shards that `constraint` makes of dimension `dim`.
static int64_t shardsOf(const Plan &plan, ConstraintAttr constraint,
                        unsigned dim) {
  int64_t shards = 1;
  for (StringAttr name : constraint.getDimAxes(dim)) {
    auto [axis, digits] = name.getValue().split(":("); // "dp", "dp:(2)4"
    int64_t size = plan.numParts({axis.str()});
    if (!digits.empty())
      (void)digits.split(')').second.getAsInteger(10, size);
    shards *= size;
  }
  return shards;
}

/// Under `uneven: error` the state of a parameter rests without padding.
static void checkRest(const Plan &plan, const std::string &path,
                      ArrayRef<int64_t> shape, DictionaryAttr rest,
                      Diagnostics &diagnostics) {
  for (NamedAttribute entry : rest) {
    auto constraint = dyn_cast<ConstraintAttr>(entry.getValue());
    for (unsigned dim = 0; constraint && dim < shape.size(); ++dim) {
      int64_t shards = shardsOf(plan, constraint, dim);
      if (shape[dim] % shards == 0)
        continue;
      (void)diagnostics.error(
          plan.findZero(path)->location,
          "'zero' would pad the " + entry.getName().getValue() + " of '" +
              path + "': dimension " + Twine(dim) + " = " + Twine(shape[dim]) +
              " does not split over " + Twine(shards) +
              " ranks; choose sizes that divide, other axes, or 'uneven: "
              "pad'");
      return;
    }
  }
}

static DictionaryAttr overlapOf(MLIRContext *context, const Plan &plan) {
  if (!plan.overlap.overlaps || plan.numRanks() == 1)
    return {};
  Builder builder(context);
  return builder.getDictionaryAttr(
      {builder.getNamedAttr(
           "bucket", builder.getI64IntegerAttr(plan.overlap.bucketBytes)),
       builder.getNamedAttr("prefetch",
                            builder.getI64IntegerAttr(plan.overlap.prefetch))});
}

LogicalResult stretto::applyPlan(ModuleOp module, const Plan &plan,
                                 Diagnostics &diagnostics) {
  if (failed(checkImplemented(plan, diagnostics)) ||
      failed(checkNames(plan, namedTensors(module), diagnostics)))
    return failure();
  module->setAttr(attr::mesh, meshOf(module.getContext(), plan));
  if (DictionaryAttr links = linksOf(module.getContext(), plan))
    module->setAttr(attr::links, links);
  if (DictionaryAttr overlap = overlapOf(module.getContext(), plan))
    module->setAttr(attr::overlap, overlap);
  SymbolTable symbols(module);
  llvm::StringMap<std::unique_ptr<DimClasses>> classes;
  std::map<std::pair<std::string, std::vector<const void *>>, LayerOp> layers;
  llvm::StringMap<bool> taken;
  llvm::DenseSet<const ZeroRule *> effective;
  for (ModelOp model : module.getOps<ModelOp>())
    for (CallOp call : model.getOps<CallOp>()) {
      std::string name = call.getCallee().str();
      auto layer = symbols.lookup<LayerOp>(name);
      std::unique_ptr<DimClasses> &layerClasses = classes[name];
      if (!layerClasses)
        layerClasses = std::make_unique<DimClasses>(layer);
      InstanceConstraints instance(plan, call, layer, *layerClasses);
      SmallVector<ConstraintAttr> constraints = instance.resolve();
      SmallVector<DictionaryAttr> resting =
          instance.resolveResting(constraints);
      std::vector<const void *> key;
      for (ConstraintAttr constraint : constraints)
        key.push_back(constraint.getAsOpaquePointer());
      for (auto [i, rest] : llvm::enumerate(resting)) {
        key.push_back(rest.getAsOpaquePointer());
        if (!rest)
          continue;
        std::string path = call.getParameterPath(layer.getParameterName(i));
        effective.insert(plan.findZero(path));
        // One message for many alike parameters.
        if (plan.uneven == UnevenPolicy::Error && !diagnostics.hasErrors())
          checkRest(
              plan, path,
              cast<RankedTensorType>(layer.getArgumentTypes()[i]).getShape(),
              rest, diagnostics);
      }
      LayerOp &mine = layers[{name, key}];
      if (!mine) {
        // The first outcome takes the layer itself, later ones a copy of it.
        mine = layer;
        if (!taken.try_emplace(name, true).second) {
          mine = layer.clone();
          mine.setSymName(freeName(symbols, name));
          symbols.insert(mine, std::next(Block::iterator(layer)));
          DimClasses copied(mine);
          for (unsigned i = 0; i < mine.getNumArguments(); ++i)
            for (StringRef name : {attr::constraint, attr::rest})
              mine.removeArgAttr(i, name);
          for (unsigned i = 0; i < mine.getNumResults(); ++i)
            mine.removeResultAttr(
                i, StringAttr::get(mine.getContext(), attr::constraint));
          setConstraints(mine, copied, constraints, resting);
        } else {
          setConstraints(mine, *layerClasses, constraints, resting);
        }
      }
      call.setCallee(mine.getSymName());
      if (failed(applyRecompute(call, plan, diagnostics)))
        return failure();
    }
  warnOfRulesWithoutEffect(plan, effective, diagnostics);
  return failure(diagnostics.hasErrors());
}

namespace {
struct ApplyPlanPass : stretto::impl::ApplyPlanPassBase<ApplyPlanPass> {
  using ApplyPlanPassBase::ApplyPlanPassBase;

  void runOnOperation() override {
    Diagnostics diagnostics;
    FailureOr<Plan> plan = file.empty() ? FailureOr<Plan>(Plan::singleDevice())
                                        : readPlan(file, diagnostics);
    if (failed(plan) || failed(applyPlan(getOperation(), *plan, diagnostics))) {
      getOperation()->emitError("plan rejected\n") << diagnostics.summary();
      signalPassFailure();
    }
  }
};
} // namespace
