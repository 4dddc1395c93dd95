//===- Tool.cpp - the command line of the interpreter ---------------------===//

#include "stretto/Interpreter/Tool.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "stretto/Dialect/Stretto/Transforms/Unbundle.h"
#include "stretto/Interpreter/GradientCheck.h"
#include "stretto/Interpreter/PlantBug.h"
#include "stretto/Model/Vocabulary.h"
#include "stretto/Runtime/Random.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/SourceMgr.h"

#include <cmath>

using namespace mlir;
using namespace stretto;
using namespace stretto::interp;
namespace cl = llvm::cl;

namespace {
/// Exit codes of all of Stretto's tools.
enum ExitCode { Ok = 0, Usage = 2, Rejected = 3, Differs = 5 };

struct Options {
  cl::OptionCategory category{"Options of the interpreter"};
  cl::opt<std::string> file{cl::Positional, cl::desc("<file.mlir>"),
                            cl::init("-"), cl::cat(category)};
  cl::opt<std::string> entry{
      "entry", cl::desc("segment, layer, kernel, step or model to evaluate"),
      cl::cat(category)};
  cl::list<std::string> compare{
      "compare", cl::multi_val(2), cl::value_desc("@a @b"),
      cl::desc("evaluate both on the same values and compare their results"),
      cl::cat(category)};
  cl::opt<std::string> derived{
      "check", cl::value_desc("derived.mlir"),
      cl::desc("is the localized file equal to this derived one?"),
      cl::cat(category)};
  cl::opt<bool> plant{
      "plant-bugs",
      cl::desc(
          "with --check: plant every bug at every place, one at a time, and "
          "say which ones are not found"),
      cl::cat(category)};
  cl::opt<std::string> model{
      "gradients", cl::value_desc("model.mlir"),
      cl::desc("are the derived file's gradients those of this model (with the "
               "recipe applied), by finite differences?"),
      cl::cat(category)};
  cl::opt<std::string> given{
      "inputs", cl::value_desc("file.safetensors"),
      cl::desc("values by binding or by argument (arg0, arg1, ...), instead of "
               "random ones"),
      cl::cat(category)};
  cl::opt<uint64_t> seed{"seed", cl::desc("of values and dropout"), cl::init(1),
                         cl::cat(category)};
  cl::opt<int64_t> steps{"steps", cl::desc("steps that --check compares"),
                         cl::init(5), cl::cat(category)};
  cl::opt<int64_t> intMax{
      "int-max",
      cl::desc("integers are drawn from [0, int-max); 0: fit the tables"),
      cl::init(0), cl::cat(category)};
  cl::opt<int64_t> extent{"extent", cl::desc("of dynamic dimensions"),
                          cl::init(4), cl::cat(category)};
  cl::opt<double> tolerance{"tolerance",
                            cl::desc("largest difference that is equal"),
                            cl::init(1e-10), cl::cat(category)};
  cl::opt<std::string> instance{
      "instance", cl::desc("path that keys random numbers of a segment"),
      cl::cat(category)};
  cl::opt<bool> ranks{
      "ranks", cl::desc("run a segment on all ranks of the module's mesh"),
      cl::cat(category)};
  cl::opt<bool> hex{"hex", cl::desc("print the bits of real numbers"),
                    cl::cat(category)};
  cl::opt<bool> json{"json", cl::desc("print the check's report as JSON"),
                     cl::cat(category)};
};

/// The results of one entry point: names and one tensor per rank.
using Results = std::vector<std::pair<std::string, RankTensors>>;

class Tool {
public:
  explicit Tool(const Options &options) : options(options) {
    registry.insert<StrettoDialect>();
    registerEvaluableModels(registry);
    context.appendDialectRegistry(registry);
    context.printOpOnDiagnostic(false);
  }

  int run() {
    if (!options.given.empty() && failed(readGiven()))
      return Rejected;
    OwningOpRef<ModuleOp> module = parse(options.file);
    if (!module)
      return Rejected;
    if (!options.derived.empty() && options.plant)
      return plantBugs(*module);
    if (!options.derived.empty())
      return report(*module, options.derived, interp::check);
    if (!options.model.empty())
      return report(*module, options.model, interp::checkGradients);
    if (!options.compare.empty())
      return compareEntries(*module);
    if (options.entry.empty()) {
      llvm::errs() << "error: nothing to do; give --entry, --compare, "
                      "--check or --gradients\n";
      return Usage;
    }
    FailureOr<Results> results = evaluate(*module, options.entry);
    if (failed(results))
      return Rejected;
    print(*results);
    return Ok;
  }

private:
  OwningOpRef<ModuleOp> parse(StringRef path) {
    std::string error;
    auto buffer = openInputFile(path, &error);
    if (!buffer) {
      llvm::errs() << "error: " << error << "\n";
      return {};
    }
    auto source = std::make_unique<llvm::SourceMgr>();
    source->AddNewSourceBuffer(std::move(buffer), llvm::SMLoc());
    handlers.push_back(
        std::make_unique<SourceMgrDiagnosticHandler>(*source, &context));
    sources.push_back(std::move(source));
    auto module = parseSourceFile<ModuleOp>(*sources.back(), &context);
    if (module)
      unbundleSteps(*module);
    return module;
  }

  LogicalResult readGiven() {
    std::string error;
    auto tensors = readSafetensors(options.given, error);
    if (failed(tensors)) {
      llvm::errs() << "error: " << error << "\n";
      return failure();
    }
    given = std::move(*tensors);
    return success();
  }

  FailureOr<Results> evaluate(ModuleOp module, StringRef name);
  FailureOr<Results> evaluateStep(StepOp step);
  FailureOr<Results> evaluateModel(ModelOp model);
  FailureOr<Results> evaluateFunction(FunctionOpInterface function);
  Tensor value(ModuleOp module, StringRef name, Type type, int64_t rank);
  RandomInputs randomInputs(ModuleOp module);
  Tensor modelInput(ModuleOp module, StringRef name, Type type);
  int compareEntries(ModuleOp module);
  /// Compares `module` with the one in another file; says how it went.
  using Check = FailureOr<CheckReport>(ModuleOp, ModuleOp,
                                       const CheckOptions &);
  CheckOptions checkOptions();
  /// Numbers of places and of bugs found; names those that are missed.
  int plantBugs(ModuleOp localized);
  int report(ModuleOp module, StringRef referencePath, Check *check);
  void print(const Results &results);
  void print(const Tensor &tensor);

  const Options &options;
  DialectRegistry registry;
  MLIRContext context;
  std::vector<std::unique_ptr<llvm::SourceMgr>> sources;
  std::vector<std::unique_ptr<SourceMgrDiagnosticHandler>> handlers;
  std::map<std::string, Tensor> given;
};
} // namespace

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// The value called `name`, as given or drawn by name and rank.
Tensor Tool::value(ModuleOp module, StringRef name, Type type, int64_t rank) {
  auto found = given.find(name.str());
  if (found != given.end())
    return found->second;
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return Tensor();
  SmallVector<int64_t> shape(tensor.getShape());
  for (int64_t &extent : shape)
    if (ShapedType::isDynamic(extent))
      extent = options.extent;
  if (isTooLarge(shape))
    return Tensor(); // the machine says so
  uint64_t key = random::key(options.seed, rank, instanceKey(name));
  if (isa<FloatType>(tensor.getElementType())) {
    Tensor result = Tensor::floats(shape);
    for (auto [i, x] : llvm::enumerate(result.writeFloats()))
      x = float(random::normal(key, i));
    return result;
  }
  int64_t limit = options.intMax ? options.intMax : vocabularyOf(module);
  if (tensor.getElementType().isInteger(1) || limit <= 0)
    limit = 2;
  Tensor result = Tensor::ints(shape);
  for (auto [i, x] : llvm::enumerate(result.writeInts()))
    x = int64_t(random::uniform(key, i) * double(limit));
  return result;
}

//===----------------------------------------------------------------------===//
// Entry points
//===----------------------------------------------------------------------===//

FailureOr<Results> Tool::evaluate(ModuleOp module, StringRef name) {
  name.consume_front("@");
  Operation *symbol = module.lookupSymbol(name);
  if (!symbol)
    return module.emitError() << "has no @" << name;
  if (auto step = dyn_cast<StepOp>(symbol))
    return evaluateStep(step);
  if (auto model = dyn_cast<ModelOp>(symbol))
    return evaluateModel(model);
  if (auto function = dyn_cast<FunctionOpInterface>(symbol))
    return evaluateFunction(function);
  return symbol->emitOpError("cannot be evaluated");
}

RandomInputs Tool::randomInputs(ModuleOp module) {
  RandomInputs inputs;
  inputs.seed = options.seed;
  inputs.vocabulary = options.intMax ? options.intMax : vocabularyOf(module);
  return inputs;
}

FailureOr<Results> Tool::evaluateStep(StepOp step) {
  auto module = step->getParentOfType<ModuleOp>();
  RandomInputs inputs = randomInputs(module);
  TrainingOptions training;
  training.seed = options.seed;
  training.inputs = [&](StringRef name, ArrayRef<int64_t> shape, bool integers,
                        int64_t t) {
    auto found = given.find(("input:" + name).str());
    return found != given.end() ? found->second
                                : inputs(name, shape, integers, t);
  };
  std::map<std::string, Tensor> state = given;
  if (failed(initialState(step, training, state)))
    return failure();
  FailureOr<StepRecord> record = runOnce(step, state, training, 1);
  if (failed(record))
    return failure();
  Results results;
  for (auto &[binding, result] : *record) {
    for (const std::string &fault : result.faults)
      llvm::errs() << "warning: " << binding << ": " << fault << "\n";
    results.push_back({binding, {result.value}});
  }
  return results;
}

/// Like the input of a step with one micro-batch.
Tensor Tool::modelInput(ModuleOp module, StringRef name, Type type) {
  Tensor like = value(module, name, type, 0);
  if (given.count(name.str()) || like.isNull())
    return like;
  SmallVector<int64_t> shape{1};
  llvm::append_range(shape, like.getShape());
  return randomInputs(module)(name, shape, !like.isFloat(), 1)
      .reshaped(like.getShape());
}

FailureOr<Results> Tool::evaluateModel(ModelOp model) {
  auto module = model->getParentOfType<ModuleOp>();
  NamedValues inputs, parameters;
  for (unsigned i = 0, e = model.getNumArguments(); i < e; ++i)
    if (auto name = model.getArgAttrOfType<StringAttr>(i, attr::name))
      inputs[name.getValue().str()] = {
          modelInput(module, name.getValue(), model.getArgumentTypes()[i])};
  model.walk([&](CallOp call) {
    auto layer = module.lookupSymbol<LayerOp>(call.getCallee());
    for (unsigned i = layer.getNumActivations(); i < layer.getNumArguments();
         ++i) {
      std::string path =
          call.getParameterPath(layer.getParameterName(i).getValue());
      parameters[path] = {value(module, path, layer.getArgumentTypes()[i], 0)};
    }
  });
  Machine machine(module, MeshAttr(), options.seed, 1);
  FailureOr<ModelResult> result = machine.run(model, inputs, parameters);
  if (failed(result))
    return failure();
  Results results;
  for (auto [i, term] : llvm::enumerate(result->losses)) {
    results.push_back({"sum" + std::to_string(i), term.sum});
    results.push_back({"count" + std::to_string(i), term.count});
  }
  results.push_back({"loss", {Tensor::scalar(result->loss())}});
  for (auto &[name, output] : result->outputs)
    results.push_back({name, output});
  return results;
}

FailureOr<Results> Tool::evaluateFunction(FunctionOpInterface function) {
  auto module = function->getParentOfType<ModuleOp>();
  MeshAttr mesh =
      options.ranks ? module->getAttrOfType<MeshAttr>(attr::mesh) : MeshAttr();
  if (options.ranks && !mesh)
    return module.emitError() << "has no stretto.mesh to run on";
  Machine machine(module, mesh, options.seed, 1);
  SmallVector<RankTensors> arguments;
  for (auto [i, type] : llvm::enumerate(function.getArgumentTypes())) {
    RankTensors argument;
    for (int64_t rank = 0; rank < machine.numRanks(); ++rank)
      argument.push_back(value(module, "arg" + std::to_string(i), type, rank));
    arguments.push_back(std::move(argument));
  }
  FailureOr<SmallVector<RankTensors>> values =
      machine.call(function, arguments, options.instance);
  if (failed(values))
    return failure();
  Results results;
  for (auto [i, result] : llvm::enumerate(*values))
    results.push_back({"result" + std::to_string(i), result});
  return results;
}

//===----------------------------------------------------------------------===//
// Output
//===----------------------------------------------------------------------===//

void Tool::print(const Tensor &tensor) {
  llvm::raw_ostream &os = llvm::outs();
  os << shapeText(tensor.getShape()) << ": [";
  for (int64_t i = 0; i < tensor.getNumElements(); ++i) {
    os << (i ? ", " : "");
    if (!tensor.isFloat())
      os << tensor.getInts()[i];
    else if (options.hex)
      os << llvm::format_hex(llvm::bit_cast<uint64_t>(tensor.getFloats()[i]),
                             18);
    else
      os << llvm::format("%.9g", tensor.getFloats()[i]);
  }
  os << "]\n";
}

void Tool::print(const Results &results) {
  for (auto &[name, tensors] : results)
    for (auto [rank, tensor] : llvm::enumerate(tensors)) {
      llvm::outs() << name;
      if (tensors.size() > 1)
        llvm::outs() << " on rank " << rank;
      llvm::outs() << " ";
      print(tensor);
    }
}

/// Largest absolute difference; infinite when shapes or kinds differ.
static double largestDifference(const Tensor &a, const Tensor &b) {
  if (a.getShape() != b.getShape() || a.isFloat() != b.isFloat())
    return INFINITY;
  double largest = 0;
  for (int64_t i = 0; i < a.getNumElements(); ++i) {
    double x = a.isFloat() ? a.getFloats()[i] : double(a.getInts()[i]);
    double y = b.isFloat() ? b.getFloats()[i] : double(b.getInts()[i]);
    if (x == y || (std::isnan(x) && std::isnan(y)))
      continue;
    double difference = std::abs(x - y);
    if (!(difference <= largest))
      largest = std::isnan(difference) ? INFINITY : difference;
  }
  return largest;
}

int Tool::compareEntries(ModuleOp module) {
  FailureOr<Results> a = evaluate(module, options.compare[0]),
                     b = evaluate(module, options.compare[1]);
  if (failed(a) || failed(b))
    return Rejected;
  if (a->size() != b->size()) {
    llvm::errs() << "error: " << options.compare[0] << " has " << a->size()
                 << " results, " << options.compare[1] << " has " << b->size()
                 << "\n";
    return Rejected;
  }
  bool equal = true;
  for (auto [left, right] : llvm::zip(*a, *b)) {
    double largest = 0;
    for (auto [x, y] : llvm::zip(left.second, right.second))
      largest = std::max(largest, largestDifference(x, y));
    bool ok = largest <= options.tolerance;
    equal &= ok;
    llvm::outs() << left.first << ": max difference "
                 << llvm::format("%.3e", largest) << (ok ? "" : " TOO LARGE")
                 << "\n";
  }
  return equal ? Ok : Differs;
}

CheckOptions Tool::checkOptions() {
  CheckOptions result;
  result.seed = options.seed;
  result.steps = options.steps;
  result.tolerance = options.tolerance;
  result.vocabulary = options.intMax;
  return result;
}

int Tool::plantBugs(ModuleOp localized) {
  OwningOpRef<ModuleOp> derived = parse(options.derived);
  if (!derived)
    return Rejected;
  bool allFound = true;
  for (StringRef kind :
       {"drop-all-reduce", "scale-gradient", "wrong-axis", "swap-shards"}) {
    Bug bug = *parseBug(kind);
    int64_t places = countPlaces(localized, bug), found = 0;
    for (int64_t nth = 0; nth < places; ++nth) {
      OwningOpRef<ModuleOp> broken = localized.clone();
      if (failed(plantBug(*broken, bug, nth)))
        return Rejected;
      auto report = interp::check(*derived, *broken, checkOptions());
      if (failed(report) || !report->ok())
        ++found;
      else
        llvm::outs() << kind << " at place " << nth << " was not found\n";
    }
    llvm::outs() << kind << ": " << found << " of " << places << " found\n";
    allFound &= found == places;
  }
  return allFound ? Ok : Differs;
}

int Tool::report(ModuleOp module, StringRef referencePath, Check *check) {
  OwningOpRef<ModuleOp> reference = parse(referencePath);
  if (!reference)
    return Rejected;
  FailureOr<CheckReport> report = check(*reference, module, checkOptions());
  if (failed(report))
    return Rejected;
  if (options.json)
    llvm::outs() << report->toJson() << "\n";
  else
    report->print(llvm::outs());
  return report->ok() ? Ok : Differs;
}

int interp::interpretMain(int argc, char **argv) {
  Options options;
  cl::HideUnrelatedOptions(options.category);
  if (!cl::ParseCommandLineOptions(argc, argv, "Evaluate Stretto IR in f64\n",
                                   &llvm::errs()))
    return Usage;
  return Tool(options).run();
}
