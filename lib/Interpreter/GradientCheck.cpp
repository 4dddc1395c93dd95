//===- GradientCheck.cpp - derived gradients against the model ------------===//

#include "stretto/Interpreter/GradientCheck.h"
#include "stretto/Model/Vocabulary.h"
#include "stretto/Runtime/Random.h"

#include <cmath>

using namespace mlir;
using namespace stretto;
using namespace stretto::interp;

namespace {
using Parameters = std::map<std::string, Tensor>;

/// The loss of a model on a whole batch: sums and counts over micro-batches
/// first, then one division.
class Loss {
public:
  Loss(ModelOp model, uint64_t seed, int64_t microbatches,
       const InputSource &inputs)
      : model(model), machine(model->getParentOfType<ModuleOp>(), MeshAttr(),
                              seed, /*step=*/1) {
    for (int64_t k = 0; k < microbatches; ++k)
      batches.emplace_back();
    for (unsigned i = 0, e = model.getNumArguments(); i < e; ++i)
      addInput(i, microbatches, inputs);
  }

  FailureOr<double> at(const Parameters &parameters) {
    NamedValues bound;
    for (auto &[name, value] : parameters)
      bound[name] = {value};
    std::vector<double> sums, counts, weights;
    for (auto [k, batch] : llvm::enumerate(batches)) {
      FailureOr<ModelResult> result = machine.run(model, batch, bound, k);
      if (failed(result))
        return failure();
      sums.resize(result->losses.size());
      counts.resize(result->losses.size());
      weights.resize(result->losses.size());
      for (auto [i, term] : llvm::enumerate(result->losses)) {
        sums[i] += term.sum[0].getFloats()[0];
        counts[i] += term.count[0].getFloats()[0];
        weights[i] = term.weight;
      }
    }
    double loss = 0;
    for (size_t i = 0; i < sums.size(); ++i)
      loss += counts[i] > 0 ? weights[i] * sums[i] / counts[i] : 0;
    return loss;
  }

private:
  void addInput(unsigned index, int64_t microbatches,
                const InputSource &inputs) {
    auto type = cast<RankedTensorType>(model.getArgumentTypes()[index]);
    auto name = model.getArgAttrOfType<StringAttr>(index, attr::name);
    if (!name || !type.hasStaticShape())
      return; // the machine says so
    SmallVector<int64_t> shape{microbatches};
    llvm::append_range(shape, type.getShape());
    Tensor all = inputs(name.getValue(), shape,
                        !isa<FloatType>(type.getElementType()), 1);
    for (auto [k, batch] : llvm::enumerate(batches))
      batch[name.getValue().str()] = {
          slice(all, 0, k, 1).reshaped(type.getShape())};
  }

  ModelOp model;
  Machine machine;
  std::vector<NamedValues> batches;
};
} // namespace

/// Numbers random operations like the derived segments do: 1, 2, ... per layer.
static void keyRandomOperations(ModuleOp module) {
  module.walk([](LayerOp layer) {
    int64_t id = 0;
    for (Operation &op : layer.getBody().front()) {
      if (auto dropout = dyn_cast<DropoutOp>(op);
          dropout && !dropout.getP().isZero()) {
        auto type = cast<RankedTensorType>(dropout.getX().getType());
        dropout.setOpId(++id);
        dropout.setExtents(type.getShape());
        dropout.setSampleDim(0);
      }
      if (auto attention = dyn_cast<AttentionOp>(op);
          attention && !attention.getP().isZero())
        attention.setOpId(++id);
    }
  });
}

static double inner(const Tensor &a, const Tensor &b) {
  double sum = 0;
  for (auto [x, y] : llvm::zip(a.getFloats(), b.getFloats()))
    sum += x * y;
  return sum;
}

/// A unit vector: half along the gradient, half random.
static Tensor direction(const Tensor &gradient, uint64_t key) {
  double own = std::sqrt(inner(gradient, gradient));
  double random = 1 / std::sqrt(double(gradient.getNumElements()));
  Tensor result = gradient;
  for (auto [i, value] : llvm::enumerate(result.writeFloats()))
    value = (own > 0 ? value / own : 0) + random * random::normal(key, i);
  double norm = std::sqrt(inner(result, result));
  for (double &value : result.writeFloats())
    value /= norm;
  return result;
}

/// (8 (f(h) - f(-h)) - (f(2h) - f(-2h))) / 12 h along `along`.
static FailureOr<double> derivative(Loss &loss, Parameters parameters,
                                    const std::string &name,
                                    const Tensor &along) {
  constexpr double h = 2e-4; // rounding costs about 1e-12 of the loss
  Tensor start = parameters[name];
  double sum = 0;
  for (auto [factor, weight] :
       {std::pair(1, 8.0), {-1, -8.0}, {2, -1.0}, {-2, 1.0}}) {
    Tensor moved = start;
    for (auto [x, v] : llvm::zip(moved.writeFloats(), along.getFloats()))
      x += factor * h * v;
    parameters[name] = moved;
    FailureOr<double> value = loss.at(parameters);
    if (failed(value))
      return failure();
    sum += weight * *value;
  }
  return sum / (12 * h);
}

/// The number of micro-batches: the leading extent of the step's inputs.
static int64_t microbatchesOf(StepOp step) {
  for (unsigned i = 0, e = step.getNumArguments(); i < e; ++i) {
    auto binding = step.getArgAttrOfType<StringAttr>(i, attr::binding);
    if (binding && binding.getValue().starts_with("input:"))
      return cast<RankedTensorType>(step.getArgumentTypes()[i]).getDimSize(0);
  }
  return 1;
}

static LogicalResult compareGradients(Loss &loss, const Trajectory &trajectory,
                                      CheckReport &report) {
  const StepRecord &record = trajectory.steps[0];
  Parameters parameters;
  for (auto &[binding, value] : trajectory.initial)
    if (StringRef(binding).starts_with("param:"))
      parameters[binding.substr(6)] = value;
  double norm = 0;
  for (auto &[binding, value] : record)
    if (StringRef(binding).starts_with("grad:"))
      norm += inner(value.value, value.value);
  norm = std::sqrt(norm);
  for (auto &[binding, gradient] : record) {
    if (!StringRef(binding).starts_with("grad:"))
      continue;
    std::string name = binding.substr(5);
    uint64_t key = random::key(report.seed, 0, instanceKey("along:" + name));
    Tensor along = direction(gradient.value, key);
    FailureOr<double> slope = derivative(loss, parameters, name, along);
    if (failed(slope))
      return failure();
    CheckRow row;
    row.name = binding;
    row.step = 1;
    row.error = std::abs(*slope - inner(gradient.value, along));
    row.bound = report.tolerance * norm;
    report.rows.push_back(row);
  }
  return success();
}

FailureOr<CheckReport> interp::checkGradients(ModuleOp model, ModuleOp derived,
                                              const CheckOptions &options) {
  RandomInputs inputs;
  inputs.seed = options.seed;
  inputs.counted = options.counted;
  inputs.vocabulary =
      options.vocabulary ? options.vocabulary : vocabularyOf(derived);
  TrainingOptions training;
  training.seed = options.seed;
  training.steps = 1;
  training.inputs = inputs;
  training.noise = options.noise;
  FailureOr<Trajectory> trajectory = runTraining(derived, training);
  auto models = model.getOps<ModelOp>();
  if (models.empty())
    return model.emitError() << "has no stretto.model";
  if (failed(trajectory))
    return failure();
  OwningOpRef<ModuleOp> keyed = model.clone();
  keyRandomOperations(*keyed);
  Loss loss(*keyed->getOps<ModelOp>().begin(), options.seed,
            microbatchesOf(derived.lookupSymbol<StepOp>("train")), inputs);
  CheckReport report;
  report.title = "gradients against finite differences of the model";
  report.seed = options.seed;
  report.steps = 1;
  report.tolerance = options.tolerance;
  if (failed(compareGradients(loss, *trajectory, report)))
    return failure();
  return report;
}
