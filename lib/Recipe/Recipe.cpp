//===- Recipe.cpp - how a model is trained --------------------------------===//
#include "stretto/Recipe/Recipe.h"

#include "RecipeNames.h"
#include "stretto/Support/Text.h"
#include <algorithm>
#include <cmath>

using namespace stretto;

llvm::StringRef stretto::stringify(FloatKind kind) {
  return spell(floatNames, kind);
}
llvm::StringRef stretto::stringify(OptimizerKind kind) {
  return spell(optimizerNames, kind);
}
llvm::StringRef stretto::stringify(DecayKind kind) {
  return spell(decayNames, kind);
}
llvm::StringRef stretto::stringify(NonfinitePolicy policy) {
  return spell(nonfiniteNames, policy);
}

double Recipe::minLearningRate() const {
  return schedule.minLearningRate.value_or(optimizer.learningRate / 10);
}

double Recipe::learningRateAt(int64_t step) const {
  const double peak = optimizer.learningRate, least = minLearningRate();
  const int64_t warmup = schedule.warmup;
  if (step <= warmup)
    return peak * double(std::max<int64_t>(step, 0)) / double(warmup);
  if (schedule.decay == DecayKind::Constant)
    return peak;
  const int64_t length = decaySteps() - warmup;
  const double progress =
      length > 0 ? std::min(1.0, double(step - warmup) / double(length)) : 1.0;
  if (schedule.decay == DecayKind::Linear)
    return peak + (least - peak) * progress;
  constexpr double pi = 3.14159265358979323846;
  return least + (peak - least) * 0.5 * (1 + std::cos(pi * progress));
}

SourceLocation Recipe::locate(llvm::StringRef field) const {
  auto found = locations.find(field);
  return found == locations.end() ? SourceLocation() : found->second;
}

static void printOptimizer(const Recipe::Optimizer &optimizer,
                           llvm::raw_ostream &os) {
  os << "optimizer: { kind: " << stringify(optimizer.kind)
     << ", lr: " << formatNumber(optimizer.learningRate);
  if (optimizer.kind == OptimizerKind::AdamW)
    os << ", betas: [" << formatNumber(optimizer.beta1) << ", "
       << formatNumber(optimizer.beta2)
       << "], eps: " << formatNumber(optimizer.epsilon);
  else
    os << ", momentum: " << formatNumber(optimizer.momentum);
  os << ", weight_decay: " << formatNumber(optimizer.weightDecay)
     << ", clip: " << (optimizer.clip ? formatNumber(*optimizer.clip) : "none")
     << " }\n";
}

std::string Recipe::toYaml() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "recipe: " << version << "\n"
     << "batch: { global: " << globalBatch << " }\n"
     << "sequence: " << sequence << "\n"
     << "steps: " << steps << "\n"
     << "seed: " << seed << "\n"
     << "precision: { params: " << stringify(precision.params)
     << ", compute: " << stringify(precision.compute)
     << ", gradients: " << stringify(precision.gradients)
     << ", reduce: " << stringify(precision.reduce) << " }\n";
  printOptimizer(optimizer, os);
  os << "schedule: { warmup: " << schedule.warmup
     << ", decay: " << stringify(schedule.decay)
     << ", min_lr: " << formatNumber(minLearningRate())
     << ", decay_steps: " << decaySteps() << " }\n"
     << "eval: { every: " << eval.every
     << ", fraction: " << formatNumber(eval.fraction) << " }\n"
     << "nonfinite: " << stringify(nonfinite) << "\n";
  return text;
}
