//===- EmitFunction.cpp - from planned steps to functions -----------------===//

#include "EmitFunction.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace stretto;

namespace {

// Left by localize on the arguments and results of steps.
constexpr StringLiteral distName = "stretto.dist";
constexpr StringLiteral globalShapeName = "stretto.global_shape";

/// How a tensor at the border of a step lies on the mesh.
struct GlobalTensor {
  Type element;
  SmallVector<int64_t> shape;
  DistAttr dist;
  ArrayAttr dims;

  /// From the attributes of a step's argument or result of local `type`.
  static GlobalTensor of(DictionaryAttr attrs, Type type) {
    GlobalTensor tensor;
    auto local = cast<RankedTensorType>(type);
    tensor.element = local.getElementType();
    tensor.shape.assign(local.getShape().begin(), local.getShape().end());
    if (!attrs)
      return tensor;
    tensor.dist = attrs.getAs<DistAttr>(distName);
    tensor.dims = attrs.getAs<ArrayAttr>(attr::dims);
    if (auto shape = attrs.getAs<DenseI64ArrayAttr>(globalShapeName))
      tensor.shape.assign(shape.asArrayRef().begin(), shape.asArrayRef().end());
    tensor.fitNames();
    return tensor;
  }

  /// Without the leading dimension, which counts micro-batches.
  void dropLeading() {
    shape.erase(shape.begin());
    if (dist) {
      SmallVector<SmallVector<AxisRef>> axes = dist.getDims();
      axes.erase(axes.begin());
      SmallVector<int64_t> padded(dist.getPaddedExtents());
      if (!padded.empty())
        padded.erase(padded.begin());
      dist =
          DistAttr::get(dist.getContext(), dist.getMesh(), axes,
                        dist.getPartialAxes(), dist.getPartialKind(), padded);
    }
    fitNames();
  }

private:
  /// Names belong to the last dimensions.
  void fitNames() {
    if (!dims || dims.size() <= shape.size())
      return;
    dims = ArrayAttr::get(dims.getContext(),
                          dims.getValue().take_back(shape.size()));
  }
};

StringRef bindingOf(DictionaryAttr attrs) {
  auto binding = attrs ? attrs.getAs<StringAttr>(attr::binding) : StringAttr();
  return binding ? binding.getValue() : StringRef();
}

StringRef nameOf(StringRef binding) { return binding.split(':').second; }

} // namespace

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

FlatSymbolRefAttr FunctionEmitter::helperSegment(bool fill, uint64_t bytes) {
  std::string name = ((fill ? "fill." : "copy.") + Twine(bytes)).str();
  MLIRContext *context = builder.getContext();
  exec::SegmentOp &segment = helpers[name];
  if (!segment) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(module, module->begin());
    auto use = [&](exec::Access access, unsigned index) {
      return exec::OperandAttr::get(context, access, false, index, 0, bytes);
    };
    auto argument = [&](StringRef name, exec::Access access) -> Attribute {
      return exec::ArgumentAttr::get(context, builder.getStringAttr(name),
                                     bytes, access);
    };
    SmallVector<Attribute> arguments;
    if (!fill)
      arguments.push_back(argument("from", exec::Access::Read));
    arguments.push_back(argument("to", exec::Access::Write));
    Location loc = builder.getUnknownLoc();
    segment = exec::SegmentOp::create(
        builder, loc, name, builder.getArrayAttr(arguments), 0, StringAttr());
    builder.createBlock(&segment.getBody());
    if (fill)
      exec::FillOp::create(builder, loc,
                           builder.getArrayAttr({use(exec::Access::Write, 0)}));
    else
      exec::CopyOp::create(builder, loc,
                           builder.getArrayAttr({use(exec::Access::Read, 0),
                                                 use(exec::Access::Write, 1)}));
  }
  return FlatSymbolRefAttr::get(context, segment.getSymName());
}

/// The fill of zeros where there are none.
static bool isEmpty(const PlannedCall &call) {
  return call.storages.empty() && !call.call;
}

void FunctionEmitter::emitCall(const PlannedStep &step,
                               const PlannedCall &call) {
  MLIRContext *context = builder.getContext();
  if (isEmpty(call))
    return;
  SmallVector<Attribute> slots;
  for (unsigned storage : call.storages)
    slots.push_back(step.plan.slot(context, storage));
  FlatSymbolRefAttr segment;
  exec::SlotAttr scratch;
  StringAttr instance = builder.getStringAttr("");
  Location loc = StepOp(step.step).getLoc();
  int64_t microbatch = 0;
  if (call.call) {
    StepCall stepCall = *call.call;
    segment = stepCall.invoke.getCalleeAttr();
    instance = stepCall.invoke.getInstanceAttr();
    loc = stepCall.invoke.getLoc();
    microbatch = stepCall.microbatch;
    if (call.scratch)
      scratch = step.plan.scratchSlot(context, *call.scratch);
  } else {
    segment = helperSegment(slots.size() == 1,
                            cast<exec::SlotAttr>(slots[0]).getBytes());
  }
  // Calls are numbered without those that are not there.
  int64_t missing = isEmpty(step.plan.calls().front());
  SmallVector<int64_t> after;
  for (unsigned other : call.after)
    after.push_back(int64_t(other) - missing);
  exec::CallOp::create(builder, loc, segment, builder.getArrayAttr(slots),
                       scratch, instance, builder.getI64IntegerAttr(microbatch),
                       call.stream ? builder.getI64IntegerAttr(call.stream)
                                   : IntegerAttr(),
                       after.empty() ? DenseI64ArrayAttr()
                                     : builder.getDenseI64ArrayAttr(after));
}

void FunctionEmitter::emitBindings(const PlannedStep &planned) {
  StepOp step = planned.step;
  MLIRContext *context = builder.getContext();
  for (auto [index, type] : llvm::enumerate(step.getArgumentTypes())) {
    StringRef binding = bindingOf(step.getArgAttrDict(index));
    bool hyper = binding == "hyper";
    if (!hyper && !binding.starts_with("input:"))
      continue;
    GlobalTensor tensor = GlobalTensor::of(step.getArgAttrDict(index), type);
    if (!hyper)
      tensor.dropLeading();
    exec::InputOp::create(
        builder, step.getLoc(), hyper ? "$hyper" : nameOf(binding),
        tensor.element, tensor.shape, tensor.dist, tensor.dims,
        builder.getArrayAttr(planned.plan.argumentSlots(context, index)));
  }
  for (auto [index, type] : llvm::enumerate(step.getResultTypes())) {
    DictionaryAttr attrs = step.getResultAttrDict(index);
    if (!bindingOf(attrs).starts_with("output:"))
      continue;
    GlobalTensor tensor = GlobalTensor::of(attrs, type);
    exec::OutputOp::create(
        builder, step.getLoc(), nameOf(bindingOf(attrs)), tensor.element,
        tensor.shape, tensor.dist, tensor.dims,
        builder.getArrayAttr({planned.plan.resultSlot(context, index)}));
  }
}

void FunctionEmitter::emitFunction(const PlannedStep &step) {
  StepOp op = step.step;
  module = builder.getBlock();
  auto function = exec::FunctionOp::create(builder, op.getLoc(),
                                           op.getSymName(), StringAttr());
  OpBuilder::InsertionGuard guard(builder);
  builder.createBlock(&function.getBody());
  emitBindings(step);
  for (const PlannedCall &call : step.plan.calls())
    emitCall(step, call);
}

//===----------------------------------------------------------------------===//
// Parameters and regions
//===----------------------------------------------------------------------===//

namespace {
struct Gradient {
  exec::SlotAttr slot;
  DistAttr dist;
  Type element;
};
} // namespace

/// The gradient of every parameter that a step returns.
static llvm::StringMap<Gradient> gradientsOf(MLIRContext *context,
                                             ArrayRef<PlannedStep> steps) {
  llvm::StringMap<Gradient> gradients;
  for (const PlannedStep &planned : steps) {
    StepOp step = planned.step;
    for (unsigned i = 0; i < step.getResultTypes().size(); ++i) {
      DictionaryAttr attrs = step.getResultAttrDict(i);
      StringRef binding = bindingOf(attrs);
      if (binding.starts_with("grad:"))
        gradients.try_emplace(
            nameOf(binding),
            Gradient{planned.plan.resultSlot(context, i),
                     attrs.getAs<DistAttr>(distName),
                     cast<RankedTensorType>(step.getResultTypes()[i])
                         .getElementType()});
    }
  }
  return gradients;
}

/// How the moments of every parameter lie.
static llvm::StringMap<DistAttr> momentDists(ArrayRef<PlannedStep> steps) {
  llvm::StringMap<DistAttr> dists;
  for (const PlannedStep &planned : steps) {
    StepOp step = planned.step;
    for (unsigned i = 0; i < step.getArgumentTypes().size(); ++i) {
      DictionaryAttr attrs = step.getArgAttrDict(i);
      StringRef binding = bindingOf(attrs);
      if (binding.starts_with("moment"))
        dists.try_emplace(nameOf(binding), attrs.getAs<DistAttr>(distName));
    }
  }
  return dists;
}

void FunctionEmitter::emitParameters(ArrayRef<PlannedStep> steps,
                                     const PersistentMemory &persistent) {
  auto gradients = gradientsOf(builder.getContext(), steps);
  auto moments = momentDists(steps);
  llvm::StringSet<> seen;
  for (const PlannedStep &planned : steps) {
    StepOp step = planned.step;
    for (auto [index, type] : llvm::enumerate(step.getArgumentTypes())) {
      DictionaryAttr attrs = step.getArgAttrDict(index);
      StringRef binding = bindingOf(attrs), name = nameOf(binding);
      if (!binding.starts_with("param:") || !seen.insert(name).second)
        continue;
      SmallVector<Attribute> slots;
      for (StringRef moment : {"moment1:", "moment2:"})
        if (auto slot = persistent.lookup((moment + name).str()))
          slots.push_back(slot);
      GlobalTensor tensor = GlobalTensor::of(attrs, type);
      auto apart = [&](DistAttr dist) {
        return dist == tensor.dist ? DistAttr() : dist;
      };
      Gradient gradient = gradients.lookup(name);
      bool alike = !gradient.element || gradient.element == tensor.element;
      exec::ParameterOp::create(
          builder, step.getLoc(), name, tensor.element, tensor.shape,
          tensor.dist, tensor.dims, attrs.getAs<InitAttr>(attr::init),
          persistent.lookup(binding), gradient.slot,
          builder.getArrayAttr(slots), apart(gradient.dist),
          apart(moments.lookup(name)),
          alike ? TypeAttr() : TypeAttr::get(gradient.element));
    }
  }
}

void FunctionEmitter::emitRegions(ArrayRef<PlannedStep> steps,
                                  const PersistentMemory &persistent) {
  // Functions run one after another: what is alive when most is, is so in one.
  const PlannedStep *fullest =
      steps.empty()
          ? nullptr
          : &*llvm::max_element(steps, [](const auto &a, const auto &b) {
              return a.plan.mostAlive() < b.plan.mostAlive();
            });
  for (unsigned i = 0; i < numRegions; ++i) {
    auto region = exec::Region(i);
    RegionUse use = {persistent.bytes(region), persistent.bytes(region)};
    for (const PlannedStep &step : steps)
      use.fit(step.plan.use(region));
    if (fullest && exec::isTransient(region))
      use.live = fullest->plan.use(region).live;
    if (use.bytes)
      exec::RegionOp::create(
          builder, builder.getUnknownLoc(), region, use.bytes,
          use.live ? builder.getI64IntegerAttr(use.live) : IntegerAttr());
  }
}
