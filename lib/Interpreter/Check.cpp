//===- Check.cpp - equal to one device? -----------------------------------===//

#include "stretto/Interpreter/Check.h"
#include "stretto/Dialect/Stretto/Transforms/Unbundle.h"
#include "stretto/Model/Vocabulary.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>

using namespace mlir;
using namespace stretto;
using namespace stretto::interp;

//===----------------------------------------------------------------------===//
// One tensor
//===----------------------------------------------------------------------===//

static double norm(const Tensor &x) {
  double sum = 0;
  if (x.isFloat())
    for (double value : x.getFloats())
      sum += value * value;
  return std::sqrt(sum);
}

static double distance(const Tensor &a, const Tensor &b) {
  double sum = 0;
  if (a.isFloat())
    for (auto [x, y] : llvm::zip(a.getFloats(), b.getFloats()))
      sum += (x - y) * (x - y);
  else
    for (auto [x, y] : llvm::zip(a.getInts(), b.getInts()))
      sum += double((x - y) * (x - y));
  return std::sqrt(sum);
}

namespace {
/// What bounds depend on besides the tensor itself.
struct Scale {
  double gradientNorm = 0;
  double learningRate = 0; // the largest so far
  int64_t step = 1;
  double tolerance = 0;
  const UpdateReplay *replay = nullptr;
  double updateTolerance = 0; // of replayed parameters; 0: the same
};
} // namespace

/// Half of "param:wq" before the colon.
static StringRef kindOf(StringRef binding) {
  return binding.take_until([](char c) { return c == ':'; });
}

static double boundOf(StringRef binding, const Tensor &reference,
                      const Scale &scale) {
  bool isReplayed =
      kindOf(binding) == "param" && scale.replay && scale.updateTolerance > 0;
  double tolerance = isReplayed ? scale.updateTolerance : scale.tolerance;
  double relative = tolerance * std::max(norm(reference), scale.gradientNorm);
  if (binding == "output:count")
    return 0;
  if (binding == "output:grad_norm")
    return scale.tolerance * norm(reference);
  if (kindOf(binding) != "param")
    return relative;
  double root = std::sqrt(double(reference.getNumElements()));
  return relative + scale.learningRate * root * double(scale.step) * tolerance;
}

/// What a tensor is compared with: the reference's, or, of a parameter, what
/// the other program's gradients make of it.
static const Tensor &expected(StringRef binding, const Tensor &reference,
                              const Scale &scale) {
  auto [kind, name] = binding.split(':');
  const Tensor *replayed =
      scale.replay && kind == "param" ? scale.replay->parameter(name) : nullptr;
  return replayed ? *replayed : reference;
}

static CheckRow compareTensor(StringRef binding, const Gathered &reference,
                              const Gathered &other, const Scale &scale) {
  CheckRow row;
  row.name = binding.str();
  row.step = scale.step;
  row.fault = llvm::join(other.faults, "; ");
  const Tensor &want = expected(binding, reference.value, scale),
               &got = other.value;
  if (want.getShape() != got.getShape() || want.isFloat() != got.isFloat()) {
    row.fault = "shape is " + shapeText(got.getShape()) + ", expected " +
                shapeText(want.getShape());
    return row;
  }
  row.error = distance(want, got);
  row.bound = boundOf(binding, want, scale);
  if (!std::isfinite(norm(want)) && row.fault.empty())
    row.fault = "the reference is not finite";
  return row;
}

//===----------------------------------------------------------------------===//
// Trajectories
//===----------------------------------------------------------------------===//

static double gradientNormOf(const StepRecord &record) {
  double sum = 0;
  for (auto &[binding, value] : record)
    if (kindOf(binding) == "grad")
      sum += std::pow(norm(value.value), 2);
  return std::sqrt(sum);
}

/// How bad a row is, for choosing which step to show.
static double badness(const CheckRow &row) {
  if (!row.fault.empty() || std::isnan(row.error))
    return INFINITY;
  if (row.error == 0)
    return 0;
  return row.bound == 0 ? INFINITY : row.error / row.bound;
}

namespace {
/// Rows by name in order of appearance; of each the worst.
class Rows {
public:
  void add(CheckRow row) {
    auto [entry, isNew] = index.try_emplace(row.name, rows.size());
    if (isNew)
      rows.push_back(std::move(row));
    else if (badness(row) > badness(rows[entry->second]))
      rows[entry->second] = std::move(row);
  }
  std::vector<CheckRow> take() { return std::move(rows); }

private:
  std::map<std::string, size_t> index;
  std::vector<CheckRow> rows;
};
} // namespace

/// Moments are not bounded (their errors show in the parameters), but their
/// replicas and padding are checked like everything else.
static void compareRecords(const StepRecord &reference, const StepRecord &other,
                           const Scale &scale, Rows &rows) {
  for (auto &[binding, value] : reference) {
    auto found = other.find(binding);
    if (found == other.end()) {
      CheckRow row;
      row.name = binding;
      row.step = scale.step;
      row.fault = "is not computed";
      rows.add(std::move(row));
      continue;
    }
    CheckRow row = compareTensor(binding, value, found->second, scale);
    if (StringRef(binding).starts_with("moment") && row.fault.empty())
      continue;
    rows.add(std::move(row));
  }
}

std::vector<CheckRow> interp::compareTrajectories(
    const Trajectory &reference, const Trajectory &other,
    ArrayRef<double> learningRates, double tolerance, UpdateReplay *replay) {
  Rows rows;
  Scale scale;
  scale.tolerance = tolerance;
  scale.replay = replay;
  size_t steps = std::min(reference.steps.size(), other.steps.size());
  for (size_t i = 0; i < steps; ++i) {
    scale.step = int64_t(i) + 1;
    scale.gradientNorm = gradientNormOf(reference.steps[i]);
    if (i < learningRates.size())
      scale.learningRate = std::max(scale.learningRate, learningRates[i]);
    if (replay)
      replay->step([&](StringRef name) -> const Tensor * {
        auto found = other.steps[i].find(("grad:" + name).str());
        return found == other.steps[i].end() ? nullptr : &found->second.value;
      });
    compareRecords(reference.steps[i], other.steps[i], scale, rows);
  }
  return rows.take();
}

std::vector<CheckRow>
interp::compareWithDump(const Trajectory &reference, int64_t t,
                        const std::map<std::string, Tensor> &dump,
                        double learningRate, double tolerance,
                        UpdateReplay *replay, double updateTolerance) {
  const StepRecord &record = reference.steps[t - 1];
  Scale scale{gradientNormOf(record), learningRate, t, tolerance, replay,
              updateTolerance};
  if (replay)
    replay->step([&](StringRef name) -> const Tensor * {
      auto found = dump.find(("grad/" + name).str());
      return found == dump.end() ? nullptr : &found->second;
    });
  Rows rows;
  for (auto &[binding, value] : record) {
    StringRef kind = kindOf(binding);
    std::string name = binding;
    name[kind.size()] = '/';
    auto found = dump.find(name);
    bool needed = kind == "grad" || kind == "param";
    if (!needed && (kind != "output" || found == dump.end()))
      continue;
    CheckRow row;
    if (found != dump.end())
      row = compareTensor(binding, value, {found->second, {}}, scale);
    else
      row.name = binding, row.step = t, row.fault = "is not in the dump";
    rows.add(std::move(row));
  }
  return rows.take();
}

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

/// State for the other entry points: what the last step left.
static std::map<std::string, Tensor> finalState(const Trajectory &trajectory) {
  std::map<std::string, Tensor> state = trajectory.initial;
  if (!trajectory.steps.empty())
    for (auto &[binding, value] : trajectory.steps.back())
      if (state.count(binding))
        state[binding] = value.value;
  return state;
}

/// Every step but @train, once, both with the reference's parameters.
static LogicalResult compareOtherSteps(ModuleOp derived, ModuleOp localized,
                                       const Trajectory &reference,
                                       const TrainingOptions &training,
                                       double tolerance,
                                       std::vector<CheckRow> &rows) {
  std::map<std::string, Tensor> state = finalState(reference);
  for (auto step : derived.getOps<StepOp>()) {
    if (step.getSymName() == "train")
      continue;
    auto other = localized.lookupSymbol<StepOp>(step.getSymName());
    if (!other)
      return localized.emitError() << "has no step @" << step.getSymName();
    FailureOr<StepRecord> want = runOnce(step, state, training, 1);
    FailureOr<StepRecord> got = runOnce(other, state, training, 1);
    if (failed(want) || failed(got))
      return failure();
    Rows compared;
    compareRecords(*want, *got, Scale{0, 0, 1, tolerance}, compared);
    for (CheckRow &row : compared.take()) {
      row.name = (step.getSymName() + " " + row.name).str();
      rows.push_back(std::move(row));
    }
  }
  return success();
}

FailureOr<CheckReport> interp::check(ModuleOp derived, ModuleOp localized,
                                     const CheckOptions &options) {
  unbundleSteps(derived);
  unbundleSteps(localized);
  RandomInputs inputs;
  inputs.seed = options.seed;
  inputs.counted = options.counted;
  inputs.vocabulary =
      options.vocabulary ? options.vocabulary : vocabularyOf(derived);
  TrainingOptions training;
  training.seed = options.seed;
  training.steps = options.steps;
  training.inputs = inputs;
  training.noise = options.noise;
  FailureOr<Trajectory> reference = runTraining(derived, training);
  FailureOr<Trajectory> other = runTraining(localized, training);
  if (failed(reference) || failed(other))
    return failure();
  std::vector<double> learningRates;
  for (int64_t t = 1; t <= options.steps; ++t)
    learningRates.push_back(hyperParameters(derived, t).getFloats()[0]);
  CheckReport report;
  report.seed = options.seed;
  report.steps = options.steps;
  report.tolerance = options.tolerance;
  if (MeshAttr mesh = meshOf(localized.lookupSymbol<StepOp>("train")))
    report.ranks = mesh.getNumRanks();
  std::optional<UpdateReplay> replay =
      UpdateReplay::of(derived, reference->initial);
  report.rows =
      compareTrajectories(*reference, *other, learningRates, options.tolerance,
                          replay ? &*replay : nullptr);
  if (options.otherSteps &&
      failed(compareOtherSteps(derived, localized, *reference, training,
                               options.tolerance, report.rows)))
    return failure();
  return report;
}
