//===- UpdateReplay.cpp - the optimizer on another's gradients ------------===//

#include "stretto/Interpreter/UpdateReplay.h"

#include "Optimizers.h"
#include "stretto/Dialect/Stretto/IR/StrettoOps.h"
#include "stretto/Interpreter/Training.h"

using namespace mlir;
using namespace stretto;
using namespace stretto::interp;

std::optional<UpdateReplay>
UpdateReplay::of(ModuleOp derived,
                 const std::map<std::string, Tensor> &initial) {
  auto recipe = derived->getAttrOfType<DictionaryAttr>(attr::recipe);
  auto train = derived.lookupSymbol<StepOp>("train");
  auto kind = recipe ? recipe.getAs<StringAttr>("optimizer") : StringAttr();
  if (!train || !kind ||
      (kind.getValue() != "adamw" && kind.getValue() != "sgd"))
    return std::nullopt;
  auto number = [&](StringRef name) {
    auto value = recipe.getAs<FloatAttr>(name);
    return value ? value.getValueAsDouble() : 0.0;
  };
  UpdateReplay replay;
  replay.module = derived;
  replay.isSgd = kind.getValue() == "sgd";
  replay.beta1 = number("beta1");
  replay.beta2 = number("beta2");
  replay.eps = number("epsilon");
  replay.momentum = number("momentum");
  replay.decay = number("weight_decay");
  replay.clip = number("clip");
  for (unsigned i = 0; i < train.getNumArguments(); ++i) {
    auto binding = train.getArgAttrOfType<StringAttr>(i, attr::binding);
    StringRef name = binding ? binding.getValue() : StringRef();
    if (!name.consume_front("param:"))
      continue;
    auto value = initial.find(binding.getValue().str());
    if (value == initial.end())
      return std::nullopt;
    Tensor zeros = value->second.zerosLike(value->second.getShape());
    replay.states[name.str()] = {value->second, zeros, zeros,
                                 !train.getArgAttr(i, attr::noDecay)};
  }
  return replay;
}

void UpdateReplay::update(State &state, const Tensor &gradient, double gscale) {
  double rate = state.decays ? decay : 0;
  AdamW adamw{beta1, beta2, eps, rate};
  Sgd sgd{momentum, rate};
  MutableArrayRef<double> p = state.parameter.writeFloats(),
                          m = state.moment1.writeFloats(),
                          v = state.moment2.writeFloats();
  for (auto [i, g] : llvm::enumerate(gradient.getFloats()))
    if (isSgd)
      sgd.update(p[i], m[i], g * gscale, hyper);
    else
      adamw.update(p[i], m[i], v[i], g * gscale, hyper);
}

bool UpdateReplay::step(Gradients gradients) {
  double squares = 0;
  for (auto &[name, state] : states) {
    const Tensor *gradient = gradients(name);
    if (isBroken || !gradient || !gradient->isFloat() ||
        gradient->getShape() != state.parameter.getShape())
      return !(isBroken = true);
    for (double g : gradient->getFloats())
      squares += g * g;
  }
  hyper = hyperParameters(module, ++steps).getFloats().vec();
  double norm = std::sqrt(squares);
  if (!std::isfinite(norm))
    return true;
  double gscale = clip > 0 ? std::min(1.0, clip / (norm + 1e-6)) : 1.0;
  for (auto &[name, state] : states)
    update(state, *gradients(name), gscale);
  return true;
}

const Tensor *UpdateReplay::parameter(StringRef name) const {
  auto state = states.find(name);
  return isBroken || state == states.end() ? nullptr : &state->second.parameter;
}
