//===- Schedule.h - numbers of an optimizer step ----------------*- C++ -*-===//
//
// The learning rate and the bias corrections of step t, counted from 1: the one
// definition that the runner, the interpreter and `stretto check` share.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_RUNTIME_SCHEDULE_H
#define STRETTO_RUNTIME_SCHEDULE_H

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>

namespace stretto::runtime {

struct Schedule {
  double lr = 0, minLr = 0;
  int64_t warmup = 0, decaySteps = 0;
  std::string decay = "constant"; // constant, linear, cosine
};

/// With W = warmup and D = decaySteps:
///   t <= W:   lr * t / W
///   t >  W:   p = min(1, (t - W) / max(1, D - W)), and
///     constant  lr
///     linear    lr + (minLr - lr) * p
///     cosine    minLr + (lr - minLr) * (1 + cos(pi * p)) / 2
/// so step W runs at lr and step D (and all later ones) at minLr.
inline double learningRate(const Schedule &schedule, int64_t t) {
  if (t <= schedule.warmup)
    return schedule.lr * double(t) / double(schedule.warmup);
  int64_t span = std::max<int64_t>(1, schedule.decaySteps - schedule.warmup);
  double p = std::min(1.0, double(t - schedule.warmup) / double(span));
  if (schedule.decay == "linear")
    return schedule.lr + (schedule.minLr - schedule.lr) * p;
  if (schedule.decay == "cosine")
    return schedule.minLr + (schedule.lr - schedule.minLr) *
                                (1 + std::cos(3.14159265358979323846 * p)) / 2;
  return schedule.lr;
}

/// The input "$hyper" of step t: {lr(t), 1 - beta1^t, 1 - beta2^t, 0}.
inline std::array<float, 4> hyperParameters(const Schedule &schedule,
                                            double beta1, double beta2,
                                            int64_t t) {
  return {float(learningRate(schedule, t)),
          float(1 - std::pow(beta1, double(t))),
          float(1 - std::pow(beta2, double(t))), 0.0f};
}

} // namespace stretto::runtime

#endif // STRETTO_RUNTIME_SCHEDULE_H
