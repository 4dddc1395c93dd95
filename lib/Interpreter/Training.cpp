//===- Training.cpp - steps of training in the interpreter ----------------===//

#include "stretto/Interpreter/Training.h"
#include "stretto/Dialect/Stretto/Transforms/Unbundle.h"
#include "stretto/Runtime/Random.h"
#include "stretto/Runtime/Schedule.h"

using namespace mlir;
using namespace stretto;
using namespace stretto::interp;

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

/// 1 for the first counted tokens of every sample, else 0. Samples are counted
/// through all micro-batches: the first ones take the numbers in order, later
/// ones at random, so that no two shards of the batch count the same.
static Tensor raggedMask(ArrayRef<int64_t> shape, ArrayRef<int64_t> counted,
                         uint64_t key) {
  Tensor mask = Tensor::floats(shape);
  int64_t sequence = shape.back(), choices = counted.size();
  for (auto [element, value] : llvm::enumerate(mask.writeFloats())) {
    int64_t sample = int64_t(element) / sequence;
    int64_t choice = sample < choices
                         ? sample
                         : int64_t(random::uniform(key, sample) * choices);
    value = int64_t(element) % sequence < counted[choice];
  }
  return mask;
}

Tensor RandomInputs::operator()(StringRef name, ArrayRef<int64_t> shape,
                                bool integers, int64_t step) const {
  uint64_t key = random::key(seed, step, instanceKey(("input:" + name).str()));
  if (!integers && shape.size() == 3 && !counted.empty())
    return raggedMask(shape, counted, key);
  if (!integers) {
    Tensor result = Tensor::floats(shape);
    for (auto [element, value] : llvm::enumerate(result.writeFloats()))
      value = float(random::normal(key, element));
    return result;
  }
  constexpr int64_t bytes = 256; // what text is made of
  double bound = double(vocabulary ? vocabulary : bytes);
  Tensor result = Tensor::ints(shape);
  for (auto [element, value] : llvm::enumerate(result.writeInts()))
    value = int64_t(random::uniform(key, element) * bound);
  return result;
}

//===----------------------------------------------------------------------===//
// Hyper-parameters
//===----------------------------------------------------------------------===//

static double real(DictionaryAttr recipe, StringRef name, double otherwise) {
  auto value = recipe ? recipe.getAs<FloatAttr>(name) : FloatAttr();
  return value ? value.getValueAsDouble() : otherwise;
}

static int64_t integer(DictionaryAttr recipe, StringRef name) {
  auto value = recipe ? recipe.getAs<IntegerAttr>(name) : IntegerAttr();
  return value ? value.getInt() : 0;
}

Tensor interp::hyperParameters(ModuleOp module, int64_t t) {
  auto recipe = module->getAttrOfType<DictionaryAttr>(attr::recipe);
  runtime::Schedule schedule;
  schedule.lr = real(recipe, "lr", 1e-3);
  schedule.minLr = real(recipe, "min_lr", 0);
  schedule.warmup = integer(recipe, "warmup");
  schedule.decaySteps = integer(recipe, "decay_steps");
  if (auto decay = recipe ? recipe.getAs<StringAttr>("decay") : StringAttr())
    schedule.decay = decay.getValue().str();
  std::array<float, 4> hyper = runtime::hyperParameters(
      schedule, real(recipe, "beta1", 0.9), real(recipe, "beta2", 0.95), t);
  return Tensor::of({4}, std::vector<double>(hyper.begin(), hyper.end()));
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

/// "param:wq" as {"param", "wq"}.
static std::pair<StringRef, StringRef> splitBinding(StringRef binding) {
  return binding.split(':');
}

static bool isState(StringRef binding) {
  StringRef kind = splitBinding(binding).first;
  return kind == "param" || kind.starts_with("moment");
}

/// The global value of argument `index` at step t, if it is not state.
static FailureOr<Tensor> feed(StepOp step, unsigned index, StringRef binding,
                              const Layout &layout,
                              const TrainingOptions &options, int64_t t) {
  auto [kind, name] = splitBinding(binding);
  if (kind == "hyper")
    return hyperParameters(step->getParentOfType<ModuleOp>(), t);
  Type element =
      cast<RankedTensorType>(step.getArgumentTypes()[index]).getElementType();
  if (kind != "input")
    return step.emitOpError("argument #")
           << index << " has the unknown binding '" << binding << "'";
  Tensor value =
      options.inputs(name, layout.globalShape, !isa<FloatType>(element), t);
  if (value.isNull() || value.getShape() != ArrayRef(layout.globalShape))
    return step.emitOpError("input '")
           << name << "' was not given with the shape "
           << shapeText(layout.globalShape);
  return value;
}

FailureOr<StepRecord>
interp::runOnce(StepOp step, const std::map<std::string, Tensor> &state,
                const TrainingOptions &options, int64_t t) {
  NamedValues bindings;
  for (unsigned i = 0, e = step.getNumArguments(); i < e; ++i) {
    auto binding = step.getArgAttrOfType<StringAttr>(i, attr::binding);
    FailureOr<Layout> layout = layoutOfArgument(step, i);
    if (!binding)
      return step.emitOpError("argument #") << i << " has no binding";
    if (failed(layout))
      return failure();
    auto known = state.find(binding.getValue().str());
    FailureOr<Tensor> value =
        known != state.end()
            ? FailureOr<Tensor>(known->second)
            : feed(step, i, binding.getValue(), *layout, options, t);
    if (failed(value))
      return failure();
    bindings[binding.getValue().str()] = scatter(*value, *layout);
  }
  FailureOr<NamedValues> results = runStep(step, bindings, options.seed, t);
  if (failed(results))
    return failure();
  StepRecord record;
  for (auto [i, result] : llvm::enumerate(*results)) {
    FailureOr<Layout> layout = layoutOfResult(step, i);
    if (failed(layout))
      return failure();
    // Pads of state and gradients stay zero; an output's are anybody's.
    bool isOutput = StringRef(result.first).starts_with("output:");
    record[result.first] = gather(result.second, *layout, !isOutput);
  }
  return record;
}

static Tensor withNoise(Tensor value, const TrainingOptions &options,
                        StringRef name) {
  if (options.noise == 0)
    return value;
  uint64_t key =
      random::key(options.seed, 0, instanceKey(("noise:" + name).str()));
  for (auto [i, x] : llvm::enumerate(value.writeFloats()))
    x = float(x + options.noise * random::normal(key, i));
  return value;
}

LogicalResult interp::initialState(StepOp step, const TrainingOptions &options,
                                   std::map<std::string, Tensor> &state) {
  for (unsigned i = 0, e = step.getNumArguments(); i < e; ++i) {
    auto binding = step.getArgAttrOfType<StringAttr>(i, attr::binding);
    if (!binding || !isState(binding.getValue()) ||
        state.count(binding.getValue().str()))
      continue;
    FailureOr<Layout> layout = layoutOfArgument(step, i);
    if (failed(layout))
      return failure();
    auto [kind, name] = splitBinding(binding.getValue());
    Tensor value = Tensor::floats(layout->globalShape);
    auto given = options.parameters.find(name.str());
    if (kind == "param" && given != options.parameters.end())
      value = given->second;
    else if (kind == "param")
      value =
          withNoise(initialValue(step.getArgAttrOfType<InitAttr>(i, attr::init),
                                 layout->globalShape, options.seed, name),
                    options, name);
    if (value.getShape() != ArrayRef(layout->globalShape))
      return step.emitOpError("parameter '")
             << name << "' is given as " << shapeText(value.getShape())
             << ", expected " << shapeText(layout->globalShape);
    state[binding.getValue().str()] = value;
  }
  return success();
}

FailureOr<Trajectory> interp::runTraining(ModuleOp module,
                                          const TrainingOptions &options,
                                          StringRef name) {
  unbundleSteps(module);
  auto step = module.lookupSymbol<StepOp>(name);
  if (!step)
    return module.emitError() << "has no step @" << name;
  Trajectory trajectory;
  if (failed(initialState(step, options, trajectory.initial)))
    return failure();
  std::map<std::string, Tensor> state = trajectory.initial;
  for (int64_t t = 1; t <= options.steps; ++t) {
    FailureOr<StepRecord> record = runOnce(step, state, options, t);
    if (failed(record))
      return failure();
    for (auto &[binding, result] : *record)
      if (isState(binding))
        state[binding] = result.value;
    trajectory.steps.push_back(std::move(*record));
  }
  return trajectory;
}
