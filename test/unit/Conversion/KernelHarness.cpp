//===- KernelHarness.cpp - compiled segments against the reference --------===//

#include "KernelHarness.h"

#include "LoadedKernels.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "stretto/Conversion/CompileKernels.h"
#include "stretto/Interpreter/Interpreter.h"
#include "stretto/Runtime/Random.h"
#include "stretto/Transforms/Fuse/Passes.h"
#include "llvm/ADT/TypeSwitch.h"
#include "gtest/gtest.h"
#include <cmath>
#include <cstring>
#include <map>

using namespace mlir;
using namespace stretto;
using namespace stretto::interp;

namespace {

constexpr uint64_t seed = 7, step = 3;
constexpr const char *instance = "layers.0";

RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// A tensor as bytes of its element type, 64-byte aligned.
class Memory {
public:
  explicit Memory(RankedTensorType type) : type(type) {
    size_t bytes = type.getNumElements() * elementBytes() + 64;
    storage.reset(
        static_cast<char *>(std::aligned_alloc(64, (bytes + 63) / 64 * 64)),
        std::free);
    std::memset(storage.get(), 0xff, bytes); // NaN until written
  }
  Memory(RankedTensorType type, const Tensor &tensor) : Memory(type) {
    for (int64_t i = 0; i < type.getNumElements(); ++i)
      set(i, tensor.isFloat() ? tensor.getFloats()[i]
                              : double(tensor.getInts()[i]));
  }
  void *data() const { return storage.get(); }
  float *floats() const { return reinterpret_cast<float *>(storage.get()); }
  double get(int64_t i) const {
    Type element = type.getElementType();
    if (element.isF32())
      return floats()[i];
    if (element.isInteger(32))
      return reinterpret_cast<int32_t *>(storage.get())[i];
    return storage.get()[i]; // i1
  }
  RankedTensorType type;

private:
  unsigned elementBytes() const {
    return (type.getElementType().getIntOrFloatBitWidth() + 7) / 8;
  }
  void set(int64_t i, double value) {
    if (type.getElementType().isF32())
      floats()[i] = float(value);
    else if (type.getElementType().isInteger(32))
      reinterpret_cast<int32_t *>(storage.get())[i] = int32_t(value);
    else
      storage.get()[i] = char(value);
  }
  std::shared_ptr<char> storage;
};

/// Executes a fused segment on one rank.
class Rank {
public:
  Rank(LoadedKernels &code, ArrayRef<int64_t> coordinates) : code(code) {
    context.seed = seed;
    context.step = step;
    context.instance = instanceKey(instance);
    context.coordinates.assign(coordinates.begin(), coordinates.end());
  }

  std::vector<Memory> run(SegmentOp segment, ArrayRef<Memory> arguments) {
    Block &block = segment.getBody().front();
    for (auto [value, memory] : llvm::zip(block.getArguments(), arguments))
      values.insert({value, memory});
    for (Operation &op : block.without_terminator())
      TypeSwitch<Operation *>(&op)
          .Case<LaunchOp, GemmOp>([&](auto op) { execute(op); })
          .Default([](Operation *op) {
            ADD_FAILURE() << "unexpected "
                          << op->getName().getStringRef().str();
          });
    std::vector<Memory> results;
    for (Value value : block.getTerminator()->getOperands())
      results.push_back(at(value));
    return results;
  }

private:
  Memory &at(Value value) {
    auto it = values.find(value);
    if (it == values.end())
      it = values.insert({value, Memory(typeOf(value))}).first;
    return it->second;
  }

  void execute(LaunchOp op) {
    std::vector<void *> buffers;
    for (Value operand : op.getOperands())
      buffers.push_back(at(operand).data());
    for (auto [result, alias] : llvm::zip(op.getResults(), op.getAliases())) {
      if (alias >= 0)
        values.insert({result, at(op.getOperands()[alias])});
      else
        buffers.push_back(at(result).data());
    }
    std::vector<int64_t> scalars;
    for (Attribute scalar : op.getScalars())
      scalars.push_back(*context.scalar(op, scalar));
    KernelFn kernel = code.find(op.getCallee().str());
    ASSERT_TRUE(kernel) << op.getCallee().str();
    kernel(buffers.data(), scalars.data());
  }

  void execute(GemmOp op) {
    if (op.getAcc())
      values.insert({op.getResult(), at(op.getAcc())});
    float *a = at(op.getA()).floats(), *b = at(op.getB()).floats(),
          *c = at(op.getResult()).floats();
    loop(op, 0, a, b, c);
  }
  void loop(GemmOp op, unsigned dim, float *a, float *b, float *c) {
    if (dim < op.getBatch().size()) {
      for (int64_t i = 0; i < op.getBatch()[dim]; ++i)
        loop(op, dim + 1, a + i * op.getABatch()[dim],
             b + i * op.getBBatch()[dim], c + i * op.getCBatch()[dim]);
      return;
    }
    for (int64_t m = 0; m < int64_t(op.getM()); ++m)
      for (int64_t n = 0; n < int64_t(op.getN()); ++n) {
        float &out = c[m * op.getCStrides()[0] + n * op.getCStrides()[1]];
        double sum = op.getAcc() ? out : 0;
        for (int64_t k = 0; k < int64_t(op.getK()); ++k)
          sum += double(a[m * op.getAStrides()[0] + k * op.getAStrides()[1]]) *
                 b[k * op.getBStrides()[0] + n * op.getBStrides()[1]];
        out = float(sum);
      }
  }

  LoadedKernels &code;
  EvalContext context;
  std::map<void *, Memory> unused;
  struct Less {
    bool operator()(Value l, Value r) const {
      return l.getAsOpaquePointer() < r.getAsOpaquePointer();
    }
  };
  std::map<Value, Memory, Less> values;
};

Tensor randomTensor(RankedTensorType type, uint64_t key,
                    const RunOptions &options) {
  Tensor tensor;
  if (isa<FloatType>(type.getElementType())) {
    tensor = Tensor::floats(type.getShape());
    for (auto [i, x] : llvm::enumerate(tensor.writeFloats()))
      x = float(options.offset + options.scale * random::normal(key, i));
    return tensor;
  }
  tensor = Tensor::ints(type.getShape());
  for (auto [i, x] : llvm::enumerate(tensor.writeInts()))
    x = options.lowInt +
        int64_t(random::uniform(key, i) * (options.highInt - options.lowInt));
  return tensor;
}

void compare(const Memory &actual, const Tensor &expected,
             const RunOptions &options, const std::string &what) {
  double largest = options.floor, tolerance = options.tolerance;
  auto value = [&](int64_t i) {
    return expected.isFloat() ? double(float(expected.getFloats()[i]))
                              : double(expected.getInts()[i]);
  };
  for (int64_t i = 0; i < expected.getNumElements(); ++i)
    if (std::isfinite(value(i)))
      largest = std::max(largest, std::fabs(value(i)));
  for (int64_t i = 0; i < expected.getNumElements(); ++i) {
    double want = value(i), got = actual.get(i);
    if (std::isnan(want) ? std::isnan(got) : want == got)
      continue;
    ASSERT_LE(std::fabs(got - want), tolerance * largest + 3e-45)
        << what << ", element " << i << ": got " << got << ", expected "
        << want;
  }
}

} // namespace

void expectSame(const std::string &segment, RunOptions options,
                const std::string &mesh) {
  SCOPED_TRACE(segment);
  DialectRegistry registry;
  registry.insert<StrettoDialect>();
  registerEvaluableModels(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  std::string text = mesh.empty()
                         ? segment
                         : "module attributes {stretto.mesh = #stretto.mesh<" +
                               mesh + ">} {\n" + segment + "\n}";
  auto module = parseSourceString<ModuleOp>(text, &context);
  ASSERT_TRUE(module) << text;
  auto meshAttr = module->getOperation()->getAttrOfType<MeshAttr>(attr::mesh);
  auto original = module->lookupSymbol<SegmentOp>("f");
  Machine machine(*module, meshAttr, seed, step);

  std::vector<RankTensors> arguments;
  for (auto [index, type] : llvm::enumerate(original.getArgumentTypes())) {
    RankTensors ranks;
    for (int64_t rank = 0; rank < machine.numRanks(); ++rank)
      ranks.push_back(randomTensor(cast<RankedTensorType>(type),
                                   random::key(1, index, rank), options));
    arguments.push_back(std::move(ranks));
  }
  auto expected = machine.call(original, arguments, instance);
  ASSERT_TRUE(succeeded(expected));

  OwningOpRef<ModuleOp> fused(module->clone());
  PassManager passes(&context);
  passes.addPass(createFusePass());
  ASSERT_TRUE(succeeded(passes.run(*fused)));
  std::string printed;
  llvm::raw_string_ostream(printed) << *fused;
  SCOPED_TRACE(printed);
  if (options.kernels >= 0)
    EXPECT_EQ(llvm::range_size(fused->getOps<KernelOp>()), options.kernels);
  KernelOptions compile;
  compile.cpu = options.cpu;
  auto library = compileKernels(*fused, compile);
  ASSERT_TRUE(succeeded(library));
  LoadedKernels code(library->image);
  auto segmentOp = fused->lookupSymbol<SegmentOp>("f");
  for (int64_t rank = 0; rank < machine.numRanks(); ++rank) {
    std::vector<Memory> memory;
    for (auto [type, tensors] :
         llvm::zip(original.getArgumentTypes(), arguments))
      memory.emplace_back(cast<RankedTensorType>(type), tensors[rank]);
    SmallVector<int64_t> coordinates;
    if (meshAttr)
      coordinates = meshAttr.coordinates(rank);
    auto results = Rank(code, coordinates).run(segmentOp, memory);
    for (auto [index, result] : llvm::enumerate(results))
      compare(result, (*expected)[index][rank], options,
              "result " + std::to_string(index) + " of rank " +
                  std::to_string(rank));
  }
}
