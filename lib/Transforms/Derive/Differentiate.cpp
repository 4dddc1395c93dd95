//===- Differentiate.cpp - a layer into forward and backward --------------===//
//
// The adjoint is written behind the layer's own operations in a private copy;
// then the copy is cut in two. What backward reads of forward decides the saved
// values: arguments are passed again, index arithmetic and what the recompute
// policy names are done again, and only the rest is saved.
//
//===----------------------------------------------------------------------===//

#include "LayerBody.h"
#include "LayerSegments.h"
#include "ReverseSweep.h"
#include "SavedValues.h"

using namespace mlir;
using namespace stretto;

namespace {
class Differentiator {
public:
  Differentiator(ModuleOp module, LayerOp layer, const TrainingUse &use,
                 const Precision &precision, StringRef name)
      : module(module), use(use), precision(precision), name(name),
        body(layer, LayerBody::Randomness::Keyed),
        local(body.layer(), module->getAttrOfType<MeshAttr>(attr::mesh)),
        source(layer.getSymNameAttr()) {}

  FailureOr<LayerDerivative> run() {
    own.insert(body.operations().begin(), body.operations().end());
    if (failed(writeAdjoint()))
      return failure();
    Slice backward = chooseSaved();
    emitForward();
    if (!roots.empty())
      emitBackward(backward);
    return derivative;
  }

private:
  LogicalResult writeAdjoint();
  void collectGradients(ReverseSweep &sweep, OpBuilder &b);
  Type sumType(unsigned parameter) const;
  SmallVector<Value> cotangentsOf(ReverseSweep &sweep, OpBuilder &b);
  Value accumulate(unsigned parameter, Value gradient, OpBuilder &b);
  Slice chooseSaved();
  void emitForward();
  void emitBackward(const Slice &backward);
  void declareBackwardArguments(FunctionBuilder &f, const Slice &backward,
                                IRMapping &mapping);
  unsigned argumentNumber(Value value) const {
    return cast<BlockArgument>(value).getArgNumber();
  }
  Value argument(unsigned index) const {
    return body.block().getArgument(index);
  }

  ModuleOp module;
  const TrainingUse &use;
  const Precision &precision;
  StringRef name;
  LayerBody body;
  LocalElements local; // before the adjoint is written
  StringAttr source;
  llvm::DenseSet<Operation *> own; // the layer's operations, not the adjoint's
  DenseMap<unsigned, Value> seeds; // cotangent block arguments, by result
  DenseMap<unsigned, Value> accumulators; // block arguments, by parameter
  SmallVector<Value> roots;               // what backward returns
  SmallVector<Value> terms;               // the last of them
  SmallVector<Value> saved;
  LayerDerivative derivative;
};
} // namespace

//===----------------------------------------------------------------------===//
// The adjoint
//===----------------------------------------------------------------------===//

LogicalResult Differentiator::writeAdjoint() {
  OpBuilder b(body.terminator());
  SmallVector<Value> wanted;
  for (unsigned i = 0; i < body.getNumArguments(); ++i)
    if (!body.isActivation(i) || use.active[i])
      wanted.push_back(argument(i));
  ReverseSweep sweep(b, body.operations(), wanted);
  for (unsigned index : use.cotangents.set_bits()) {
    Value result = body.result(index);
    Value seed = body.block().addArgument(result.getType(), result.getLoc());
    seeds[index] = seed;
    sweep.seed(result, seed);
  }
  if (failed(sweep.run()))
    return failure();
  collectGradients(sweep, b);
  return success();
}

/// The accumulator of a parameter after `gradient` was added to it.
Value Differentiator::accumulate(unsigned parameter, Value gradient,
                                 OpBuilder &b) {
  Value accumulator =
      body.block().addArgument(gradient.getType(), gradient.getLoc());
  accumulators[parameter] = accumulator;
  derivative.accumulators.push_back(parameter);
  return AddOp::create(b, gradient.getLoc(), accumulator, gradient);
}

/// The type of what backward makes of a parameter's gradient: the first sum.
Type Differentiator::sumType(unsigned parameter) const {
  return body.reducesTerms(parameter) ? precision.getReduce()
                                      : precision.getGradients();
}

/// The cotangents of the arguments, null where there is none. Those of
/// parameters are not rounded where their sums are wider than what the layer
/// computes in.
SmallVector<Value> Differentiator::cotangentsOf(ReverseSweep &sweep,
                                                OpBuilder &b) {
  Widener widener(precision.getCompute(), precision.getRest(),
                  /*shared=*/false);
  SmallVector<Value> cotangents;
  for (unsigned i = 0; i < body.getNumArguments(); ++i)
    cotangents.push_back(sweep.cotangentOf(argument(i)));
  for (auto [i, cotangent] : llvm::enumerate(cotangents))
    if (cotangent && !body.isActivation(i) && precision.isMixed() &&
        sumType(i) == precision.getRest())
      cotangent = widener.widen(cotangent);
  for (auto [i, cotangent] : llvm::enumerate(cotangents))
    if (cotangent)
      cotangent = body.isActivation(i)
                      ? convertTo(b, cotangent, elementOf(argument(i)))
                      : convertTo(b, cotangent, sumType(i),
                                  /*roundsParts=*/true);
  return cotangents;
}

/// Cotangents of activations as they are, those of parameters added to their
/// accumulators or, where they are reduced first, as terms of the sum.
void Differentiator::collectGradients(ReverseSweep &sweep, OpBuilder &b) {
  for (auto [i, cotangent] : llvm::enumerate(cotangentsOf(sweep, b))) {
    if (!cotangent)
      continue;
    if (body.isActivation(i)) {
      derivative.gradients.push_back(i);
      roots.push_back(cotangent);
    } else if (body.reducesTerms(i)) {
      derivative.terms.push_back(i);
      terms.push_back(cotangent);
    } else {
      roots.push_back(accumulate(i, cotangent, b));
    }
  }
  llvm::append_range(roots, terms);
}

//===----------------------------------------------------------------------===//
// What is saved
//===----------------------------------------------------------------------===//

/// Cuts the copy: what backward reads of forward is given up to the values that
/// are saved, the rest is computed again. A needed result of the layer is there
/// anyway.
Slice Differentiator::chooseSaved() {
  Slice reads(roots,
              [&](Value value) { return own.contains(value.getDefiningOp()); });
  llvm::DenseSet<Value> results;
  for (unsigned index : use.results.set_bits())
    results.insert(body.result(index));
  SavedValues values(body.operations(), reads.given, results, use.recompute,
                     local);
  derivative.saving = values.getProblem();
  llvm::DenseSet<Value> chosen = values.choose();
  Slice backward(roots, [&](Value value) { return chosen.contains(value); });
  for (unsigned index : use.results.set_bits())
    if (results.erase(body.result(index)) &&
        backward.given.contains(body.result(index))) {
      derivative.reusedResults.push_back(index);
      chosen.erase(body.result(index));
    }
  for (Operation *op : body.operations())
    for (Value value : op->getResults())
      if (chosen.contains(value))
        saved.push_back(value);
  derivative.numSaved = saved.size();
  return backward;
}

//===----------------------------------------------------------------------===//
// The two segments
//===----------------------------------------------------------------------===//

void Differentiator::emitForward() {
  FunctionBuilder f = FunctionBuilder::segment(
      module, LayerOp(body.layer()).getLoc(), name + ".fwd", "forward", source);
  SmallVector<Value> outputs;
  for (unsigned index : use.results.set_bits()) {
    derivative.results.push_back(index);
    outputs.push_back(body.result(index));
  }
  llvm::append_range(outputs, saved);
  Slice slice(outputs);
  IRMapping mapping;
  for (unsigned i = 0; i < body.getNumArguments(); ++i)
    if (slice.arguments.contains(argument(i))) {
      derivative.arguments.push_back(i);
      mapping.map(argument(i), f.addArgument(argument(i).getType(),
                                             body.argumentAttributes(i)));
    }
  cloneSlice(f.b, body.block(), slice, mapping);
  for (unsigned index : derivative.results)
    f.addResult(mapping.lookup(body.result(index)),
                body.resultAttributes(index, role::activation));
  for (Value value : saved)
    f.addResult(mapping.lookup(value), body.savedAttributes(value));
  derivative.forward = f.finishSegment();
  if (use.recompute.repeatsGathers())
    derivative.forward->setAttr(attr::repeatGathers,
                                UnitAttr::get(f.getContext()));
}

void Differentiator::declareBackwardArguments(FunctionBuilder &f,
                                              const Slice &backward,
                                              IRMapping &mapping) {
  auto declare = [&](Value value, const ValueAttributes &attributes) {
    mapping.map(value, f.addArgument(value.getType(), attributes));
  };
  for (Value value : saved)
    declare(value, body.savedAttributes(value));
  for (unsigned index : derivative.reusedResults)
    declare(body.result(index), body.resultAttributes(index, role::activation));
  for (unsigned i = 0; i < body.getNumArguments(); ++i)
    if (backward.arguments.contains(argument(i))) {
      derivative.reusedArguments.push_back(i);
      declare(argument(i), body.argumentAttributes(i));
    }
  for (unsigned index : use.cotangents.set_bits())
    if (backward.arguments.contains(seeds[index])) {
      derivative.cotangents.push_back(index);
      declare(seeds[index], body.resultAttributes(index, role::cotangent));
    }
  for (unsigned i : derivative.accumulators)
    declare(accumulators[i], body.argumentAttributes(i, role::accumulator));
}

void Differentiator::emitBackward(const Slice &backward) {
  FunctionBuilder f =
      FunctionBuilder::segment(module, LayerOp(body.layer()).getLoc(),
                               name + ".bwd", "backward", source);
  IRMapping mapping;
  declareBackwardArguments(f, backward, mapping);
  cloneSlice(f.b, body.block(), backward, mapping);
  // The roots come as gradients and accumulators of ascending arguments, then
  // terms; activations precede parameters, so the order is already right.
  unsigned root = 0;
  for (unsigned i : derivative.gradients)
    f.addResult(mapping.lookup(roots[root++]),
                body.argumentAttributes(i, role::cotangent));
  unsigned firstAccumulator =
      f.getNumArguments() - derivative.accumulators.size();
  for (auto [k, i] : llvm::enumerate(derivative.accumulators))
    f.addResult(mapping.lookup(roots[root++]),
                body.argumentAttributes(i, role::accumulator)
                    .alias(firstAccumulator + k));
  for (unsigned i : derivative.terms)
    f.addResult(mapping.lookup(roots[root++]),
                body.argumentAttributes(i, role::term));
  derivative.backward = f.finishSegment();
}

FailureOr<LayerDerivative>
stretto::differentiateLayer(ModuleOp module, LayerOp layer,
                            const TrainingUse &use, const Precision &precision,
                            StringRef name) {
  return Differentiator(module, layer, use, precision, name).run();
}

//===----------------------------------------------------------------------===//
// Forward only
//===----------------------------------------------------------------------===//

ForwardSegment stretto::makeForwardSegment(ModuleOp module, LayerOp layer,
                                           const ForwardUse &use,
                                           StringRef name) {
  LayerBody body(layer, LayerBody::Randomness::None);
  FunctionBuilder f = FunctionBuilder::segment(
      module, layer.getLoc(), name, use.direction, layer.getSymNameAttr());
  ForwardSegment made;
  SmallVector<Value> outputs;
  for (unsigned index : use.results.set_bits())
    outputs.push_back(body.result(index));
  for (unsigned index : use.accumulated.set_bits())
    outputs.push_back(body.result(index));
  Slice slice(outputs);
  IRMapping mapping;
  for (BlockArgument argument : body.block().getArguments())
    if (slice.arguments.contains(argument)) {
      unsigned i = argument.getArgNumber();
      made.arguments.push_back(i);
      mapping.map(argument, f.addArgument(argument.getType(),
                                          body.argumentAttributes(i)));
    }
  cloneSlice(f.b, body.block(), slice, mapping);
  for (unsigned index : use.results.set_bits()) {
    made.results.push_back(index);
    f.addResult(mapping.lookup(body.result(index)),
                body.resultAttributes(index, role::activation));
  }
  for (unsigned index : use.accumulated.set_bits()) {
    made.accumulated.push_back(index);
    ValueAttributes attributes(f.getContext(), role::partialScalar);
    Value term = mapping.lookup(body.result(index));
    BlockArgument total = f.addArgument(term.getType(), attributes);
    f.addResult(AddOp::create(f.b, term.getLoc(), total, term),
                attributes.alias(total.getArgNumber()));
  }
  made.segment = f.finishSegment();
  return made;
}
