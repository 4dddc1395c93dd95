//===- Origins.cpp - where the axes of a value come from ------------------===//

#include "stretto/Transforms/Shard/Origins.h"
#include "ModulePropagation.h"
#include "mlir/IR/OwningOpRef.h"
#include "stretto/Dialect/Stretto/Transforms/Unbundle.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace stretto;
using namespace stretto::shard;

namespace {

/// Names of the values of one segment: parameters and inputs by their own,
/// results by their operation and its place among those of its kind.
class ValueNames {
public:
  explicit ValueNames(SegmentOp segment) {
    Block &body = segment.getBody().front();
    for (BlockArgument argument : body.getArguments())
      add(argument, ofArgument(segment, argument.getArgNumber()));
    llvm::StringMap<unsigned> counts;
    for (Operation &op : body) {
      StringRef kind = op.getName().stripDialect();
      std::string name = (kind + "." + Twine(++counts[kind])).str();
      for (OpResult result : op.getResults())
        add(result,
            result.getResultNumber() == 0
                ? name
                : name + "#" + std::to_string(result.getResultNumber()));
    }
  }

  StringRef of(Value value) const { return names.find(value)->second; }
  ArrayRef<Value> all() const { return values; }

private:
  static std::string ofArgument(SegmentOp segment, unsigned index) {
    auto role = segment.getArgAttrOfType<StringAttr>(index, attr::role);
    auto param = segment.getArgAttrOfType<StringAttr>(index, attr::param);
    auto input = segment.getArgAttrOfType<StringAttr>(index, attr::name);
    std::string prefix =
        !role || role.getValue() == "param" || role.getValue() == "activation"
            ? ""
            : role.getValue().str() + " ";
    if (param)
      return prefix + param.getValue().str();
    if (input)
      return prefix + input.getValue().str();
    return prefix + "argument." + std::to_string(index);
  }
  void add(Value value, std::string name) {
    names[value] = std::move(name);
    values.push_back(value);
  }

  llvm::DenseMap<Value, std::string> names;
  SmallVector<Value> values;
};

/// Answers about one propagated module.
class OriginFinder {
public:
  explicit OriginFinder(ModuleOp module)
      : module(module), propagation(module) {}

  LogicalResult run() { return propagation.run(); }
  std::vector<ValueOrigins> find(StringRef tensor);

private:
  std::optional<ValueOrigins> describe(SegmentOp segment, Value value);
  void follow(SegmentOp segment, Value value, unsigned dim, DimOrigin &origin);
  std::vector<ValueOrigins> ofSegment(SegmentOp segment, StringRef value);
  std::vector<ValueOrigins> ofBinding(StringRef name);
  const ValueNames &namesOf(SegmentOp segment) {
    auto &entry = names[segment];
    if (!entry)
      entry = std::make_unique<ValueNames>(segment);
    return *entry;
  }

  ModuleOp module;
  ModulePropagation propagation;
  std::map<Operation *, std::unique_ptr<ValueNames>> names;
  unsigned depth = 0; // segments crossed
};

} // namespace

static std::string shapeOf(Value value) {
  std::string text = "[";
  llvm::raw_string_ostream os(text);
  llvm::interleaveComma(cast<RankedTensorType>(value.getType()).getShape(), os);
  return text + "]";
}

/// The wish in its own class: along the ties to where it entered, then by what
/// offered it, or into the segment whose result handed it on.
void OriginFinder::follow(SegmentOp segment, Value value, unsigned dim,
                          DimOrigin &origin) {
  const BodyPropagation *body = propagation.bodyOf(segment);
  const Wish *wish = body ? body->getWishes().of(value, dim) : nullptr;
  if (!wish) {
    origin.cause = "nobody asked; it lies as its operands do";
    return;
  }
  const DimClasses &classes = body->getWishes().dimClasses();
  const ValueNames &known = namesOf(segment);
  auto step = [&](unsigned node) {
    origin.way.push_back(known.of(classes.dimOf(node).first).str());
  };
  const Wishes &wishes = body->getWishes();
  unsigned entrance = classes.nodeOf(value, dim);
  for (DimClasses::Step tie :
       classes.wayTo(entrance, wishes.entrances(*wish))) {
    step(tie.node);
    entrance = tie.node;
  }
  if (wish->offeredBy) {
    step(*wish->offeredBy);
    auto [from, fromDim] = classes.dimOf(*wish->offeredBy);
    return follow(segment, from, fromDim, origin);
  }
  auto [entered, enteredDim] = classes.dimOf(entrance);
  auto argument = dyn_cast<BlockArgument>(entered);
  auto handed =
      argument ? propagation.inheritedFrom(segment, argument.getArgNumber())
               : std::nullopt;
  if (handed && depth < 8) {
    ++depth;
    auto [source, result] = *handed;
    Value given = source.getBody().front().getTerminator()->getOperand(result);
    origin.way.push_back(
        (source.getSymName() + ": " + namesOf(source).of(given)).str());
    return follow(source, given, enteredDim, origin);
  }
  StringRef cause = wishes.causeAt(entrance);
  origin.cause = !cause.empty() ? cause.str()
                 : argument     ? "the constraint of this argument"
                 : isa<ConstrainOp>(entered.getDefiningOp())
                     ? "the constraint that stands here"
                     : "the constraint of this result";
}

std::optional<ValueOrigins> OriginFinder::describe(SegmentOp segment,
                                                   Value value) {
  const BodyPropagation *body = propagation.bodyOf(segment);
  const DimAxes *dims = body ? body->liesOn(value) : nullptr;
  if (!dims)
    return std::nullopt;
  DimClasses classes(segment);
  ValueOrigins result;
  result.segment = segment.getSymName().str();
  result.value = namesOf(segment).of(value).str();
  result.shape = shapeOf(value);
  for (auto [dim, axes] : llvm::enumerate(*dims)) {
    const Wish *wish = body->getWishes().of(value, dim);
    if (axes.empty() && !wish)
      continue;
    DimOrigin &origin = result.dims.emplace_back();
    StringRef name = classes.nameOf(value, dim);
    origin.dimension =
        name.empty() ? "dimension " + std::to_string(dim) : name.str();
    origin.axes = toString(propagation.getMesh(), axes);
    if (wish && canonicalAxes(wish->axes) != canonicalAxes(axes))
      origin.axes +=
          " (asked: " + toString(propagation.getMesh(), wish->axes) + ")";
    depth = 0;
    follow(segment, value, dim, origin);
  }
  return result;
}

std::vector<ValueOrigins> OriginFinder::ofSegment(SegmentOp segment,
                                                  StringRef value) {
  std::vector<ValueOrigins> found;
  for (Value candidate : namesOf(segment).all())
    if (value.empty() || namesOf(segment).of(candidate) == value)
      if (auto origins = describe(segment, candidate);
          origins && (!value.empty() || !origins->dims.empty()))
        found.push_back(*origins);
  return found;
}

/// The segment argument that first reads `value`, looking into loops.
static std::optional<std::pair<InvokeOp, unsigned>> firstRead(Value value) {
  OpOperand *first = nullptr; // uses are listed in no order
  for (OpOperand &use : value.getUses())
    if (isa<InvokeOp, MicrobatchesOp>(use.getOwner()) &&
        (!first || use.getOwner()->isBeforeInBlock(first->getOwner())))
      first = &use;
  if (!first)
    return std::nullopt;
  if (auto loop = dyn_cast<MicrobatchesOp>(first->getOwner()))
    return firstRead(
        loop.getBody().front().getArgument(first->getOperandNumber()));
  return std::make_pair(cast<InvokeOp>(first->getOwner()),
                        first->getOperandNumber());
}

std::vector<ValueOrigins> OriginFinder::ofBinding(StringRef name) {
  for (StepOp step : module.getOps<StepOp>())
    for (BlockArgument argument : step.getBody().front().getArguments()) {
      auto binding = step.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                       attr::binding);
      auto [kind, path] = binding ? binding.getValue().split(':')
                                  : std::pair<StringRef, StringRef>();
      if ((kind != "param" && kind != "input") || path != name)
        continue;
      auto read = firstRead(argument);
      SegmentOp segment =
          read ? propagation.lookup(read->first.getCallee()) : SegmentOp();
      if (!segment)
        continue;
      auto origins = describe(
          segment, segment.getBody().front().getArgument(read->second));
      if (origins)
        return {*origins};
    }
  return {};
}

std::vector<ValueOrigins> OriginFinder::find(StringRef tensor) {
  std::vector<ValueOrigins> found = ofBinding(tensor);
  if (!found.empty())
    return found;
  auto [segment, value] = tensor.split(':');
  if (SegmentOp named = propagation.lookup(segment))
    return ofSegment(named, value);
  return {};
}

FailureOr<std::vector<ValueOrigins>> stretto::originsOf(ModuleOp module,
                                                        StringRef tensor) {
  OwningOpRef<ModuleOp> copy = module.clone();
  OriginFinder finder(*copy);
  if (failed(finder.run()))
    return failure();
  unbundleSteps(*copy); // to find parameters by name
  return finder.find(tensor);
}
