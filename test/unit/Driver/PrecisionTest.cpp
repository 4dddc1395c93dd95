// What each value of a step is kept in, read off the IR: before and after
// fusion no value on its way to the loss, the norm, an accumulator or the
// optimizer is rounded more than the recipe says, and what layers hold is of 16
// bits, but for a few kinds of values that are named here.

#include "stretto/Dialect/Stretto/IR/StrettoOps.h"
#include "stretto/Driver/Compilation.h"
#include "stretto/Driver/Register.h"
#include "stretto/Model/Gpt.h"
#include "stretto/Model/Llama.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace stretto;

namespace {

struct Case {
  std::string name, precision, plan;
  bool llama = false;
};

Type elementOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? tensor.getElementType() : Type();
}
bool isNarrow(Value value) {
  Type element = elementOf(value.getType());
  return element && element.isBF16();
}
bool isWideTensor(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.getElementType().isF32() && type.getRank() > 0;
}
StringRef roleOfArgument(SegmentOp segment, unsigned index) {
  FunctionOpInterface function = segment;
  auto role = function.getArgAttrOfType<StringAttr>(index, attr::role);
  return role ? role.getValue() : "";
}
StringRef roleOfResult(SegmentOp segment, unsigned index) {
  FunctionOpInterface function = segment;
  auto role = function.getResultAttrOfType<StringAttr>(index, attr::role);
  return role ? role.getValue() : "";
}

/// A compilation that was stopped after a phase.
class Stopped {
public:
  Stopped(const Case &c, Phase phase) {
    static bool registered = (registerAllPasses(), true);
    (void)registered;
    llvm::SmallString<128> path;
    EXPECT_FALSE(llvm::sys::fs::createUniqueDirectory("precision", path));
    folder = path.str().str();
    writeModel(c.llama);
    write("recipe.yaml", "recipe: 1\nbatch: { global: 8 }\nsequence: 8\n"
                         "precision: { " +
                             c.precision + " }\n");
    write("plan.yaml", "plan: 1\n" + c.plan + "\n");
    CompileOptions options;
    options.model = folder;
    compilation = std::make_unique<Compilation>(options, log);
    EXPECT_EQ(compilation->compile(phase), exitOk) << messages;
  }
  ~Stopped() { llvm::sys::fs::remove_directories(folder); }

  ModuleOp module() { return compilation->module(); }

private:
  void write(const std::string &name, const std::string &text) {
    std::error_code code;
    llvm::raw_fd_ostream(folder + "/" + name, code) << text;
  }
  void writeModel(bool llama) {
    MLIRContext context;
    context.loadDialect<StrettoDialect>();
    Diagnostics diagnostics;
    GptOptions gpt;
    LlamaOptions other;
    for (TransformerOptions *options :
         {static_cast<TransformerOptions *>(&gpt),
          static_cast<TransformerOptions *>(&other)}) {
      options->layers = 2;
      options->embed = 16;
      options->heads = 4;
      options->vocab = 32;
      options->dropout = 0.1;
    }
    other.tied = false;
    auto module = llama ? buildLlama(&context, other, diagnostics)
                        : buildGpt(&context, gpt, diagnostics);
    ASSERT_TRUE(succeeded(module));
    std::string text;
    llvm::raw_string_ostream(text) << **module;
    write("model.mlir", text);
  }

  std::string folder, messages;
  llvm::raw_string_ostream log{messages};
  std::unique_ptr<Compilation> compilation;
};

const char *bf16 = "compute: bf16";
const char *bf16Sums = "compute: bf16, gradients: bf16";
const char *bf16Reduce = "compute: bf16, reduce: bf16";

std::vector<Case> cases() {
  return {
      {"one device", bf16, ""},
      {"bf16 gradients", bf16Sums,
       "mesh: { dp: 2 }\nshard: [{ match: \"*\", batch: dp }]"},
      {"bf16 reduction", bf16Reduce,
       "mesh: { dp: 2 }\nshard: [{ match: \"*\", batch: dp }]"},
      {"tensor parallel", bf16,
       "mesh: { dp: 2, tp: 2 }\nshard: [{ match: \"*\", batch: dp, heads: tp, "
       "kv_heads: tp, ffn: tp, vocab: tp }]\nmicro_batch_size: 2",
       true},
      {"zero 1", bf16,
       "mesh: { dp: 2 }\nshard: [{ match: \"*\", batch: dp }]\nzero: 1"},
      {"zero 2", bf16Sums,
       "mesh: { dp: 2 }\nshard: [{ match: \"*\", batch: dp }]\nzero: 2", true},
      {"zero 3", bf16,
       "mesh: { dp: 2 }\nshard: [{ match: \"*\", batch: dp }]\nzero: 3"},
      {"zero 3, bf16 reduction", bf16Reduce,
       "mesh: { dp: 4 }\nshard: [{ match: \"*\", batch: dp }]\nzero: 3", true},
  };
}

bool isLayer(SegmentOp segment) {
  StringRef direction = segment.getDirection();
  return direction == "forward" || direction == "backward" ||
         direction == "eval";
}

/// Sums that end in f32 although they are of 16-bit values, and what only
/// collects them.
bool leadsToAccumulator(Value value) {
  return llvm::all_of(value.getUses(), [](OpOperand &use) {
    if (isa<YieldOp>(use.getOwner()))
      return true;
    return llvm::all_of(use.getOwner()->getResults(), leadsToAccumulator);
  });
}

/// Losses per token, log-sum-exps and what is made of them (rank-wise smaller
/// than activations by the width): their operation or readers tell them.
bool isStatistic(Value value) {
  auto isReader = [](OpOperand &use) {
    return isa<AttentionGradOp, CrossEntropyGradOp, CrossEntropyOp, ReduceOp,
               MulOp, YieldOp, BroadcastOp, ReduceScatterOp, AllReduceOp,
               AllGatherOp, ReshardOp, ShardSliceOp>(use.getOwner());
  };
  int64_t rank = cast<RankedTensorType>(value.getType()).getRank();
  if (auto lse = value.getDefiningOp<AttentionOp>())
    return value == lse.getLse();
  return rank <= 3 && llvm::all_of(value.getUses(), isReader);
}

} // namespace

TEST(Precision, StepsKeepMastersMomentsAndSumsInF32) {
  for (const Case &c : cases()) {
    SCOPED_TRACE(c.name);
    Stopped stopped(c, Phase::Derive);
    bool narrowSums = c.precision == bf16Sums;
    stopped.module().walk([&](SegmentOp segment) {
      SCOPED_TRACE(segment.getSymName().str());
      auto check = [&](StringRef role, Type type) {
        Type element = elementOf(type);
        if (!isa<FloatType>(element))
          return;
        if (role == "accumulator" || role == "grad")
          EXPECT_EQ(element.isBF16(), narrowSums) << role.str();
        if (role == "moment" || role == "scalar" || role == "partial_scalar")
          EXPECT_TRUE(element.isF32()) << role.str();
        if (role == "param" && segment.getDirection() == "update")
          EXPECT_TRUE(element.isF32());
        if (role == "param" && isLayer(segment))
          EXPECT_TRUE(element.isBF16());
      };
      for (auto [i, type] : llvm::enumerate(segment.getArgumentTypes()))
        check(roleOfArgument(segment, i), type);
      for (auto [i, type] : llvm::enumerate(segment.getResultTypes()))
        check(roleOfResult(segment, i), type);
    });
  }
}

/// Backwards from every accumulator to the sums that are added to it: nothing
/// was rounded to 16 bits on the way.
static void expectUnrounded(Value value, bool partsAreRounded) {
  Operation *op = value.getDefiningOp();
  if (!op || !isa<FloatType>(elementOf(value.getType())))
    return;
  EXPECT_FALSE(isNarrow(value))
      << "rounded by " << op->getName().getStringRef().str();
  if (op->hasTrait<WideSums>() || partsAreRounded)
    return;
  auto convert = dyn_cast<ConvertOp>(op);
  if (convert && isNarrow(convert.getX())) {
    ADD_FAILURE() << "a rounded value reaches an f32 sum";
    return;
  }
  for (Value operand : op->getOperands())
    expectUnrounded(operand, false);
}

TEST(Precision, GradientsReachTheirAccumulatorsUnrounded) {
  for (const Case &c : cases()) {
    if (c.precision != bf16)
      continue;
    SCOPED_TRACE(c.name);
    for (Phase phase : {Phase::Derive, Phase::Localize}) {
      Stopped stopped(c, phase);
      int accumulators = 0;
      stopped.module().walk([&](SegmentOp segment) {
        SCOPED_TRACE(segment.getSymName().str());
        if (segment.getDirection() != "backward")
          return;
        Operation *yield = segment.getBody().front().getTerminator();
        for (unsigned i = 0; i < yield->getNumOperands(); ++i)
          if (roleOfResult(segment, i) == "accumulator" ||
              roleOfResult(segment, i) == "term") {
            expectUnrounded(yield->getOperand(i), false);
            ++accumulators;
          }
      });
      EXPECT_GE(accumulators, 10);
    }
  }
}

TEST(Precision, LossesAreSummedUnrounded) {
  for (const Case &c : cases()) {
    SCOPED_TRACE(c.name);
    Stopped stopped(c, Phase::Derive);
    int sums = 0;
    stopped.module().walk([&](SegmentOp segment) {
      if (segment.getDirection() == "update")
        return;
      SCOPED_TRACE(segment.getSymName().str());
      Operation *yield = segment.getBody().front().getTerminator();
      for (Value value : yield->getOperands()) {
        auto type = dyn_cast<RankedTensorType>(value.getType());
        if (!type || type.getRank() != 0 || !value.getDefiningOp())
          continue;
        ++sums;
        // Back to where losses per token, or sums of rounded values, are made.
        SmallVector<Value> worklist{value};
        while (!worklist.empty()) {
          Value next = worklist.pop_back_val();
          auto argument = dyn_cast<BlockArgument>(next);
          bool isGradient =
              argument &&
              roleOfArgument(segment, argument.getArgNumber()) == "grad";
          EXPECT_TRUE(!isNarrow(next) || isGradient);
          Operation *op = next.getDefiningOp();
          if (!op || isa<CrossEntropyOp>(op))
            continue;
          if (auto reduce = dyn_cast<ReduceOp>(op);
              reduce && isNarrow(reduce.getX()))
            continue;
          llvm::append_range(worklist, op->getOperands());
        }
      }
    });
    EXPECT_GE(sums, 3);
  }
}

TEST(Precision, LayersHoldNothingElseInF32) {
  for (const Case &c : cases()) {
    SCOPED_TRACE(c.name);
    for (Phase phase : {Phase::Derive, Phase::Localize}) {
      Stopped stopped(c, phase);
      stopped.module().walk([&](SegmentOp segment) {
        if (!isLayer(segment) ||
            StringRef(segment.getSymName()).starts_with("output"))
          return;
        SCOPED_TRACE(segment.getSymName().str());
        segment.getBody().walk([&](Operation *op) {
          for (Value result : op->getResults())
            if (isWideTensor(result))
              EXPECT_TRUE(leadsToAccumulator(result) || isStatistic(result))
                  << op->getName().getStringRef().str();
        });
        for (BlockArgument argument : segment.getBody().getArguments()) {
          StringRef role = roleOfArgument(segment, argument.getArgNumber());
          if (isWideTensor(argument) && role != "accumulator")
            EXPECT_TRUE(isStatistic(argument)) << role.str();
        }
      });
    }
  }
}

/// After fusion: matrix products read 16 bits and add to their accumulators in
/// the accumulators' own type.
TEST(Precision, ProductsAccumulateInTheTypeOfGradients) {
  for (const Case &c : cases()) {
    SCOPED_TRACE(c.name);
    Stopped stopped(c, Phase::Fuse);
    int inPlace = 0;
    stopped.module().walk([&](GemmOp gemm) {
      EXPECT_TRUE(isNarrow(gemm.getA()) && isNarrow(gemm.getB()));
      auto acc = dyn_cast_or_null<BlockArgument>(gemm.getAcc());
      if (!acc) // no sum, or one of activations
        return;
      ++inPlace;
      EXPECT_EQ(isNarrow(gemm.getAcc()), c.precision == bf16Sums);
    });
    if (c.name == "one device" || c.name == "bf16 gradients")
      EXPECT_GE(inPlace, 6);
    stopped.module().walk([&](SegmentOp segment) {
      SCOPED_TRACE(segment.getSymName().str());
      if (segment.getDirection() != "update")
        return;
      for (auto [i, type] : llvm::enumerate(segment.getResultTypes()))
        EXPECT_TRUE(elementOf(type).isF32());
    });
  }
}

/// The kernels that update an accumulator in place add to it what was summed in
/// its type.
TEST(Precision, FusedKernelsAddUnroundedSums) {
  for (const Case &c : cases()) {
    if (c.precision != bf16)
      continue;
    SCOPED_TRACE(c.name);
    Stopped stopped(c, Phase::Fuse);
    llvm::StringSet<> kernels; // that write accumulators
    stopped.module().walk([&](SegmentOp segment) {
      StringRef direction = segment.getDirection();
      if (direction != "backward" && direction != "accumulate")
        return;
      for (auto launch : segment.getBody().getOps<LaunchOp>())
        for (int64_t alias : launch.getAliases())
          if (alias >= 0 && isWideTensor(launch.getOperands()[alias]))
            kernels.insert(launch.getCallee());
    });
    EXPECT_GE(kernels.size(), 2u);
    stopped.module().walk([&](KernelOp kernel) {
      if (!kernels.contains(kernel.getSymName()))
        return;
      SCOPED_TRACE(kernel.getSymName().str());
      FunctionOpInterface function = kernel;
      Operation *yield = kernel.getBody().front().getTerminator();
      for (unsigned i = 0; i < yield->getNumOperands(); ++i)
        if (function.getResultAttr(i, attr::alias))
          expectUnrounded(yield->getOperand(i), false);
    });
  }
}

TEST(Precision, RanksAddInTheTypeOfReduce) {
  for (const Case &c : cases()) {
    SCOPED_TRACE(c.name);
    Stopped stopped(c, Phase::Localize);
    stopped.module().walk([&](SegmentOp segment) {
      StringRef direction = segment.getDirection();
      if (direction != "reduce")
        return;
      SCOPED_TRACE(segment.getSymName().str());
      segment.walk([&](Operation *op) {
        if (!isa<AllReduceOp, ReduceScatterOp>(op))
          return;
        auto type = cast<RankedTensorType>(op->getResult(0).getType());
        if (type.getRank() == 0)
          EXPECT_TRUE(type.getElementType().isF32()); // the norm
        else
          EXPECT_EQ(type.getElementType().isBF16(), c.precision == bf16Reduce);
      });
    });
  }
}
