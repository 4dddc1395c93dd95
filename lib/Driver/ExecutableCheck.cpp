//===- ExecutableCheck.cpp - the executable against the reference ---------===//

#include "ExecutableCheck.h"
#include "stretto/Driver/Compilation.h"
#include "stretto/Runtime/Safetensors.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/LineIterator.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include <cmath>

using namespace mlir;
using namespace stretto;
using namespace stretto::driver;
using interp::Tensor;

static std::string inFolder(StringRef folder, const Twine &name) {
  SmallString<128> path(folder);
  llvm::sys::path::append(path, name);
  return path.str().str();
}

namespace {
/// Tensors of one safetensors file in 32 bits: f32 for floats, i32 for
/// integers.
class File32 {
public:
  void add(std::string name, ArrayRef<int64_t> shape, const Tensor &tensor) {
    append(tensor);
    entries.push_back({std::move(name),
                       tensor.isFloat() ? "F32" : "I32",
                       {shape.begin(), shape.end()},
                       0,
                       0});
  }
  void append(const Tensor &tensor) {
    auto put = [&](auto value) {
      data.append(reinterpret_cast<const char *>(&value), sizeof(value));
    };
    if (tensor.isFloat())
      for (double value : tensor.getFloats())
        put(float(value));
    else
      for (int64_t value : tensor.getInts())
        put(int32_t(value));
  }
  void addEntry(std::string name, StringRef type, ArrayRef<int64_t> shape) {
    entries.push_back(
        {std::move(name), type.str(), {shape.begin(), shape.end()}, 0, 0});
  }
  LogicalResult write(const std::string &path, std::string &error) {
    std::error_code code;
    llvm::raw_fd_ostream os(path, code);
    if (!code) {
      os << runtime::safetensorsHeader(entries, {}) << data;
      os.close();
      code = os.error();
      os.clear_error();
    }
    if (code)
      error = "cannot write '" + path + "': " + code.message();
    return failure(bool(code));
  }

private:
  std::vector<runtime::TensorEntry> entries;
  std::string data;
};
} // namespace

/// The train step's inputs with their logical shapes [M, samples, …].
static void
forEachInput(ModuleOp derived,
             function_ref<void(StringRef, ArrayRef<int64_t>, bool)> visit) {
  auto step = SymbolTable(derived).lookup<StepOp>("train");
  for (unsigned i = 0; i < step.getNumArguments(); ++i) {
    auto binding = step.getArgAttrOfType<StringAttr>(i, attr::binding);
    auto [kind, name] = binding.getValue().split(':');
    if (kind != "input")
      continue;
    auto type = cast<RankedTensorType>(step.getArgumentTypes()[i]);
    visit(name, type.getShape(), !isa<FloatType>(type.getElementType()));
  }
}

LogicalResult driver::writeRunInputs(StringRef folder,
                                     const interp::Trajectory &reference,
                                     const interp::InputSource &inputs,
                                     int64_t steps, ModuleOp derived,
                                     std::string &error) {
  File32 batches, parameters;
  forEachInput(derived,
               [&](StringRef name, ArrayRef<int64_t> shape, bool integers) {
                 // [M, samples, …] per step is [steps, global batch, …] in one
                 // file.
                 SmallVector<int64_t> whole{steps, shape[0] * shape[1]};
                 llvm::append_range(whole, shape.drop_front(2));
                 for (int64_t step = 1; step <= steps; ++step)
                   batches.append(inputs(name, shape, integers, step));
                 batches.addEntry(name.str(), integers ? "I32" : "F32", whole);
               });
  for (const auto &[binding, tensor] : reference.initial) {
    auto [kind, name] = StringRef(binding).split(':');
    if (kind == "param")
      parameters.add(name.str(), tensor.getShape(), tensor);
  }
  return success(succeeded(batches.write(
                     inFolder(folder, "batches.safetensors"), error)) &&
                 succeeded(parameters.write(
                     inFolder(folder, "initial.safetensors"), error)));
}

int driver::runExecutable(StringRef executable, StringRef folder, int64_t steps,
                          std::string &error) {
  std::string batches = inFolder(folder, "batches.safetensors"),
              initial = inFolder(folder, "initial.safetensors"),
              dump = inFolder(folder, "dump"),
              metrics = inFolder(folder, "metrics.jsonl"),
              out = inFolder(folder, "stdout"),
              log = inFolder(folder, "stderr"), count = std::to_string(steps);
  SmallVector<StringRef> words{
      executable, "--tokens",          batches,     "--load-params",
      initial,    "--steps",           count,       "--dump-state",
      dump,       "--dump-every-step", "--metrics", metrics,
      "--quiet"};
  std::optional<StringRef> redirects[] = {StringRef(""), StringRef(out),
                                          StringRef(log)};
  std::string message;
  int code = llvm::sys::ExecuteAndWait(executable, words, std::nullopt,
                                       redirects, 600, 0, &message);
  if (code == 0)
    return 0;
  if (auto buffer = llvm::MemoryBuffer::getFile(log))
    error = (*buffer)->getBuffer().str();
  error += message;
  return code < 0 ? exitRunFailed : code;
}

//===----------------------------------------------------------------------===//
// Tolerance
//===----------------------------------------------------------------------===//

/// f32 against f64 over a few steps (issue of accuracy, not of meaning).
static constexpr double f32Tolerance = 2e-4;

static bool isRounded(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.getElementType().isBF16();
}

/// Values that are rounded to bf16 along the longest chain of operations.
static int64_t longestChain(SegmentOp segment) {
  DenseMap<Value, int64_t> depths;
  int64_t longest = 0;
  for (Operation &op : segment.getBody().front()) {
    int64_t before = 0;
    for (Value operand : op.getOperands())
      before = std::max(before, depths.lookup(operand));
    for (Value result : op.getResults()) {
      depths[result] = before + isRounded(result);
      longest = std::max(longest, depths[result]);
    }
  }
  return longest;
}

/// Roundings on a path through all invocations of the training step, one
/// micro-batch after the other.
static int64_t countRoundings(ModuleOp derived) {
  llvm::StringMap<int64_t> chains;
  int64_t roundings = 0;
  for (auto segment : derived.getOps<SegmentOp>())
    chains[segment.getSymName()] = longestChain(segment);
  auto train = derived.lookupSymbol<StepOp>("train");
  if (!train)
    return 0;
  train.walk(
      [&](InvokeOp invoke) { roundings += chains.lookup(invoke.getCallee()); });
  // Accumulators are rounded once more for every further micro-batch.
  train.walk([&](MicrobatchesOp loop) {
    for (Type type : loop.getResultTypes())
      if (auto sum = dyn_cast<RankedTensorType>(type);
          sum && sum.getElementType().isBF16()) {
        roundings += loop.getCount() - 1;
        return;
      }
  });
  return roundings;
}

bool driver::roundsBelowF32(ModuleOp derived) {
  return countRoundings(derived) > 0;
}

double driver::executableTolerance(ModuleOp derived) {
  constexpr double unitRoundoff = 1.0 / 256; // 8 bits of significand
  return std::max(f32Tolerance, 2 * unitRoundoff *
                                    std::sqrt(double(countRoundings(derived))));
}

static std::string dumpOf(StringRef folder, int64_t step) {
  std::string name;
  llvm::raw_string_ostream(name)
      << llvm::format("dump/step-%06d.safetensors", int(step));
  return inFolder(folder, name);
}

LogicalResult driver::followExecutable(StringRef folder, ModuleOp derived,
                                       int64_t steps,
                                       const interp::TrainingOptions &options,
                                       interp::Trajectory &reference,
                                       std::string &error) {
  auto train = derived.lookupSymbol<StepOp>("train");
  std::map<std::string, Tensor> state = reference.initial;
  reference.steps.clear();
  for (int64_t step = 1; step <= steps; ++step) {
    FailureOr<interp::StepRecord> record =
        interp::runOnce(train, state, options, step);
    auto dump = interp::readSafetensors(dumpOf(folder, step), error);
    if (failed(record) || failed(dump))
      return failure();
    for (auto &[binding, value] : state) {
      auto [kind, name] = StringRef(binding).split(':');
      auto had = dump->find((kind + "/" + name).str());
      auto computed = record->find(binding);
      if (kind == "param" && had != dump->end())
        value = had->second;
      else if (computed != record->end())
        value = computed->second.value;
    }
    reference.steps.push_back(std::move(*record));
  }
  return success();
}

/// Loss and gradient norm of every training step, as outputs of its dump.
static FailureOr<std::vector<std::map<std::string, Tensor>>>
readMetrics(StringRef path, std::string &error) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer) {
    error =
        ("cannot read '" + path + "': " + buffer.getError().message()).str();
    return failure();
  }
  std::vector<std::map<std::string, Tensor>> steps;
  for (llvm::line_iterator line(**buffer); !line.is_at_eof(); ++line) {
    auto parsed = llvm::json::parse(*line);
    if (!parsed) {
      error = llvm::toString(parsed.takeError());
      return failure();
    }
    const llvm::json::Object *values = parsed->getAsObject();
    if (!values || !values->getNumber("loss") ||
        !values->getNumber("grad_norm"))
      continue; // an evaluation
    auto &outputs = steps.emplace_back();
    for (StringRef name : {"loss", "grad_norm"})
      outputs[("output/" + name).str()] =
          Tensor::of({}, std::vector<double>{*values->getNumber(name)});
  }
  return steps;
}

FailureOr<interp::CheckReport>
driver::compareDumps(StringRef folder, const interp::Trajectory &reference,
                     ArrayRef<double> learningRates, ModuleOp derived,
                     interp::UpdateReplay *replay, std::string &error) {
  interp::CheckReport report;
  report.tolerance = executableTolerance(derived);
  report.title = report.tolerance > f32Tolerance
                     ? "executable with layers in bf16"
                     : "executable in f32";
  report.steps = int64_t(reference.steps.size());
  auto metrics = readMetrics(inFolder(folder, "metrics.jsonl"), error);
  if (failed(metrics))
    return failure();
  if (int64_t(metrics->size()) != report.steps) {
    error = "the executable reported " + std::to_string(metrics->size()) +
            " steps, expected " + std::to_string(report.steps);
    return failure();
  }
  for (int64_t step = 1; step <= report.steps; ++step) {
    auto dump = interp::readSafetensors(dumpOf(folder, step), error);
    if (failed(dump))
      return failure();
    dump->insert((*metrics)[step - 1].begin(), (*metrics)[step - 1].end());
    for (interp::CheckRow &row : interp::compareWithDump(
             reference, step, *dump, learningRates[step - 1], report.tolerance,
             replay, f32Tolerance)) {
      row.step = step;
      report.rows.push_back(row);
    }
  }
  return report;
}
