//===- ModelGraph.cpp - a model read off the IR ---------------------------===//

#include "stretto/Transforms/Apply/ModelGraph.h"

using namespace mlir;
using namespace stretto;
using llvm::BitVector;

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

StringAttr ModelGraph::pathOf(CallOp call, unsigned argument) const {
  StringAttr name = getLayer(call).getParameterName(argument);
  return StringAttr::get(call.getContext(), call.getParameterPath(name));
}

unsigned ModelGraph::positionOf(CallOp call, unsigned argument) const {
  if (!call.getBind()) // declares all of its layer's
    return firstParameter.lookup(call) + argument - call.getOperands().size();
  return parameters.find(pathOf(call, argument)) - parameters.begin();
}

static bool bindsElsewhere(CallOp call, StringAttr name) {
  std::optional<DictionaryAttr> bind = call.getBind();
  return bind && bind->contains(name);
}

/// Calls `visit(call, layer argument)` for every parameter of every call.
template <typename Visit>
static LogicalResult forEachUse(const ModelGraph &graph, Visit visit) {
  for (CallOp call : graph.calls) {
    LayerOp layer = graph.getLayer(call);
    for (unsigned i = layer.getNumActivations(); i < layer.getNumArguments();
         ++i)
      if (failed(visit(call, i)))
        return failure();
  }
  return success();
}

static LogicalResult declare(ModelGraph &graph, CallOp call,
                             unsigned argument) {
  LayerOp layer = graph.getLayer(call);
  StringAttr name = layer.getParameterName(argument);
  if (bindsElsewhere(call, name))
    return success();
  StringAttr path = graph.pathOf(call, argument);
  if (!layer.getArgAttr(argument, attr::init))
    return (call.emitOpError("declares parameter '")
            << path.getValue() << "' without an initialisation; write `init …` "
            << "in the layer, or bind it to another parameter")
               .attachNote(layer.getLoc())
           << "layer @" << layer.getSymName();
  auto type = cast<RankedTensorType>(layer.getArgumentTypes()[argument]);
  auto [it, fresh] =
      graph.parameters.insert({path, {call, layer, argument, type}});
  if (!fresh)
    return (call.emitOpError("declares parameter '")
            << path.getValue() << "' again; scopes must differ")
               .attachNote(it->second.owner.getLoc())
           << "declared here";
  graph.firstParameter.try_emplace(call, graph.parameters.size() - 1);
  return success();
}

/// A bound parameter exists and is the same thing at both ends.
static LogicalResult checkTie(const ModelGraph &graph, CallOp call,
                              unsigned argument) {
  LayerOp layer = graph.getLayer(call);
  StringAttr name = layer.getParameterName(argument);
  if (!bindsElsewhere(call, name))
    return success();
  StringAttr path = graph.pathOf(call, argument);
  auto it = graph.parameters.find(path);
  if (it == graph.parameters.end())
    return call.emitOpError("binds '")
           << name.getValue() << "' to '" << path.getValue()
           << "', which no call declares; a call declares the parameters of "
              "its layer as SCOPE.NAME";
  ModelParameter owner = it->second;
  auto mismatch = [&](StringRef what) -> LogicalResult {
    return (call.emitOpError("binds '")
            << name.getValue() << "' to '" << path.getValue() << "', whose "
            << what << " differs")
               .attachNote(owner.owner.getLoc())
           << "declared here";
  };
  if (layer.getArgumentTypes()[argument] != owner.type)
    return mismatch("type");
  auto differs = [&](StringRef attribute) -> bool {
    Attribute mine = layer.getArgAttr(argument, attribute);
    return mine && mine != owner.layer.getArgAttr(owner.argument, attribute);
  };
  if (differs(attr::init))
    return mismatch("initialisation");
  if (differs(attr::noDecay))
    return mismatch("no_decay");
  return success();
}

//===----------------------------------------------------------------------===//
// The graph
//===----------------------------------------------------------------------===//

static FailureOr<ModelOp> onlyModel(ModuleOp module) {
  auto models = llvm::to_vector(module.getOps<ModelOp>());
  if (models.size() == 1)
    return models.front();
  module.emitError() << "expected one stretto.model, got " << models.size();
  return failure();
}

static LogicalResult collect(ModelGraph &graph, ModuleOp module) {
  SymbolTable symbols(module);
  for (Operation &op : graph.model.getBody().front()) {
    if (auto call = dyn_cast<CallOp>(op)) {
      graph.calls.push_back(call);
      graph.layerOf[call] = symbols.lookup<LayerOp>(call.getCallee());
    } else if (auto loss = dyn_cast<LossOp>(op)) {
      graph.losses.push_back(loss);
    } else if (auto output = dyn_cast<OutputOp>(op)) {
      graph.outputs.push_back(output);
    } else {
      return op.emitOpError("does not belong in a model; put it in a layer");
    }
  }
  return success();
}

/// Scopes name parameters and key random numbers: one call each.
static LogicalResult checkScopes(const ModelGraph &graph) {
  llvm::StringMap<CallOp> taken;
  for (CallOp call : graph.calls) {
    auto [it, fresh] = taken.try_emplace(call.getScope(), call);
    if (!fresh)
      return (call.emitOpError("has the scope '")
              << call.getScope() << "' of another call; scopes must differ")
                 .attachNote(it->second.getLoc())
             << "the other call";
  }
  return success();
}

FailureOr<ModelGraph> ModelGraph::read(ModuleOp module) {
  FailureOr<ModelOp> model = onlyModel(module);
  if (failed(model))
    return failure();
  ModelGraph graph;
  graph.model = *model;
  if (failed(collect(graph, module)) ||
      failed(forEachUse(graph,
                        [&](CallOp call, unsigned argument) {
                          return declare(graph, call, argument);
                        })) ||
      failed(forEachUse(graph,
                        [&](CallOp call, unsigned argument) {
                          return checkTie(graph, call, argument);
                        })) ||
      failed(checkScopes(graph)))
    return failure();
  return graph;
}

//===----------------------------------------------------------------------===//
// Flow inside a layer
//===----------------------------------------------------------------------===//

static bool isFloat(Value value) {
  return isa<FloatType>(
      cast<RankedTensorType>(value.getType()).getElementType());
}

LayerFlow::LayerFlow(LayerOp layer, Kind kind)
    : layer(layer), none(layer.getNumArguments()) {
  Block &body = layer.getBody().front();
  auto counts = [&](Value value) { return kind == Any || isFloat(value); };
  for (BlockArgument argument : body.getArguments())
    if (counts(argument)) {
      BitVector self(layer.getNumArguments());
      self.set(argument.getArgNumber());
      reaching[argument] = self;
    }
  for (Operation &op : body.without_terminator()) {
    BitVector joined(layer.getNumArguments());
    for (Value operand : op.getOperands())
      joined |= argumentsOf(operand);
    for (Value result : op.getResults())
      if (counts(result))
        reaching[result] = joined;
  }
}

const BitVector &LayerFlow::argumentsOf(Value value) const {
  auto it = reaching.find(value);
  return it == reaching.end() ? none : it->second;
}

const BitVector &LayerFlow::argumentsOfResult(unsigned index) const {
  return argumentsOf(
      LayerOp(layer).getBody().front().getTerminator()->getOperand(index));
}
