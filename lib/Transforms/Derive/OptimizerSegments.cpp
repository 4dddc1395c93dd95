//===- OptimizerSegments.cpp - gradients to new parameters ----------------===//

#include "OptimizerSegments.h"
#include "Adjoints.h"
#include "StepBuilder.h"

using namespace mlir;
using namespace stretto;
using adjoint::Writer;

static constexpr int64_t numHyperValues = 4;

static ValueAttributes attributesOf(LayerOp layer, unsigned argument,
                                    StringRef role) {
  FunctionOpInterface function = layer;
  ValueAttributes attributes(layer.getContext(), role);
  attributes.copy(function.getArgAttrDict(argument),
                  {attr::dims, attr::constraint, attr::param});
  // Sums of gradients and the update are computed where the state rests.
  if (auto rest =
          function.getArgAttrOfType<DictionaryAttr>(argument, attr::rest))
    attributes.set(attr::constraint, rest.get("state"));
  return attributes;
}

/// "embed.reduce"; later ways of owning the layer's parameters are numbered.
FunctionBuilder OptimizerSegments::open(LayerOp layer, StringRef direction) {
  std::string name = layer.getSymName().str();
  unsigned number = names[name + "." + direction.str()]++;
  if (number)
    name += "." + std::to_string(number);
  return FunctionBuilder::segment(module, layer.getLoc(),
                                  Twine(name) + "." + direction, direction,
                                  layer.getSymNameAttr());
}

/// The key of what does not depend on how many segments use a parameter.
std::vector<OwnedParameter>
OptimizerSegments::withoutAccumulators(ArrayRef<OwnedParameter> owned) {
  Owned key(owned.begin(), owned.end());
  for (OwnedParameter &parameter : key)
    parameter.numAccumulators = 0;
  return key;
}

//===----------------------------------------------------------------------===//
// reduce
//===----------------------------------------------------------------------===//

SegmentOp OptimizerSegments::reduce(LayerOp layer,
                                    ArrayRef<OwnedParameter> owned) {
  SegmentOp &segment = reduces[{layer, Owned(owned.begin(), owned.end())}];
  if (segment)
    return segment;
  FunctionBuilder f = open(layer, "reduce");
  SmallVector<Value> gradients;
  for (const OwnedParameter &parameter : owned) {
    Type type =
        precision.gradient(layer.getArgumentTypes()[parameter.argument]);
    ValueAttributes rest =
        attributesOf(layer, parameter.argument, role::accumulator);
    Value gradient;
    for (unsigned k = 0; k < parameter.numAccumulators; ++k) {
      Value part = f.addArgument(type, rest);
      gradient =
          gradient ? AddOp::create(f.b, f.getLoc(), gradient, part) : part;
    }
    auto place = rest.get().getAs<ConstraintAttr>(attr::constraint);
    gradients.push_back(precision.reduceAt(
        f.b, gradient, place ? place : useOf(layer, parameter.argument)));
  }
  for (auto [parameter, gradient] : llvm::zip(owned, gradients))
    f.addResult(gradient, attributesOf(layer, parameter.argument, role::grad));
  return segment = f.finishSegment();
}

//===----------------------------------------------------------------------===//
// norm
//===----------------------------------------------------------------------===//

SegmentOp OptimizerSegments::norm(LayerOp layer,
                                  ArrayRef<OwnedParameter> owned) {
  SegmentOp &segment = norms[{layer, withoutAccumulators(owned)}];
  if (segment)
    return segment;
  FunctionBuilder f = open(layer, "norm");
  SmallVector<Value> gradients;
  for (const OwnedParameter &parameter : owned)
    gradients.push_back(f.addArgument(
        precision.gradient(layer.getArgumentTypes()[parameter.argument]),
        attributesOf(layer, parameter.argument, role::grad)));
  ValueAttributes partial(f.getContext(), role::partialScalar);
  Type scalar = RankedTensorType::get({}, f.b.getF32Type());
  Value normSquared = f.addArgument(scalar, partial);
  for (Value gradient : gradients) {
    Writer w(f.b, f.getLoc(), precision.getRest());
    auto all = llvm::seq<int64_t>(0, adjoint::typeOf(gradient).getRank());
    Value exact = w.convert(gradient);
    normSquared =
        w.add(normSquared, w.sum(w.mul(exact, exact), llvm::to_vector(all)));
  }
  f.addResult(normSquared, partial);
  return segment = f.finishSegment();
}

//===----------------------------------------------------------------------===//
// update
//===----------------------------------------------------------------------===//

/// One parameter's optimizer step. `operands`: parameter, gradient, moments,
/// hyper, gscale, ok.
SmallVector<Value> OptimizerSegments::step(FunctionBuilder &f, LayerOp layer,
                                           unsigned argument,
                                           ArrayRef<Value> operands) {
  bool decays = !layer.getArgAttr(argument, attr::noDecay);
  auto number = [&](double value) { return f.b.getF64FloatAttr(value); };
  auto entry = [&](StringRef name, double value) {
    return f.b.getNamedAttr(name, number(value));
  };
  SmallVector<NamedAttribute> attributes = {
      entry("weight_decay", decays ? optimizer.weightDecay : 0.0)};
  if (optimizer.kind == OptimizerKind::Sgd) {
    attributes.push_back(entry("momentum", optimizer.momentum));
    auto sgd = SgdOp::create(f.b, f.getLoc(), operands, attributes);
    return SmallVector<Value>(sgd->getResults());
  }
  attributes.push_back(entry("beta1", optimizer.beta1));
  attributes.push_back(entry("beta2", optimizer.beta2));
  attributes.push_back(entry("eps", optimizer.epsilon));
  auto adamw = AdamWOp::create(f.b, f.getLoc(), operands, attributes);
  return SmallVector<Value>(adamw->getResults());
}

SegmentOp OptimizerSegments::update(LayerOp layer,
                                    ArrayRef<OwnedParameter> owned) {
  SegmentOp &segment = updates[{layer, withoutAccumulators(owned)}];
  if (segment)
    return segment;
  FunctionBuilder f = open(layer, "update");
  // One list per kind of operand, each over the owned parameters.
  SmallVector<SmallVector<Value>> groups;
  auto addGroup = [&](StringRef role) {
    SmallVector<Value> &group = groups.emplace_back();
    for (const OwnedParameter &parameter : owned) {
      Type type = layer.getArgumentTypes()[parameter.argument];
      group.push_back(
          f.addArgument(role == role::grad ? precision.gradient(type)
                                           : precision.master(type),
                        attributesOf(layer, parameter.argument, role)));
    }
  };
  addGroup(role::param);
  addGroup(role::grad);
  for (unsigned k = 0; k < numMoments(); ++k)
    addGroup(role::moment);
  ValueAttributes scalar(f.getContext(), role::scalar);
  Type element = f.b.getF32Type(), rank0 = RankedTensorType::get({}, element);
  Value shared[] = {
      f.addArgument(RankedTensorType::get({numHyperValues}, element), scalar),
      f.addArgument(rank0, scalar), f.addArgument(rank0, scalar)};

  SmallVector<SmallVector<Value>> updated; // per parameter
  for (unsigned k = 0; k < owned.size(); ++k) {
    SmallVector<Value> operands = llvm::map_to_vector(
        groups, [&](const SmallVector<Value> &group) { return group[k]; });
    operands[1] = convertTo(f.b, operands[1], precision.getRest());
    operands.append(std::begin(shared), std::end(shared));
    updated.push_back(step(f, layer, owned[k].argument, operands));
  }
  for (unsigned kind = 0; kind < 1 + numMoments(); ++kind)
    for (unsigned k = 0; k < owned.size(); ++k) {
      unsigned group = kind == 0 ? 0 : kind + 1; // gradients do not return
      f.addResult(updated[k][kind],
                  attributesOf(layer, owned[k].argument,
                               kind == 0 ? role::param : role::moment)
                      .alias(group * owned.size() + k));
    }
  return segment = f.finishSegment();
}
