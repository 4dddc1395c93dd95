//===- RestingChoices.cpp - when state is gathered and reduced ------------===//

#include "RestingChoices.h"
#include "StepFlow.h"
#include "mlir/IR/SymbolTable.h"
#include "stretto/Transforms/Apply/ApplyRecipe.h"
#include "llvm/ADT/MapVector.h"

#include <map>

using namespace mlir;
using namespace stretto;
using namespace stretto::driver;

/// Bytes on one rank, with another element type where one is given.
static int64_t localBytes(Type type, Type element = {}) {
  auto tensor = cast<RankedTensorType>(type);
  if (element)
    tensor = tensor.clone(element);
  int64_t bytes = std::max(1u, tensor.getElementTypeBitWidth() / 8);
  DistAttr dist = getDist(type);
  for (int64_t extent : dist ? dist.localShape(tensor.getShape())
                             : SmallVector<int64_t>(tensor.getShape()))
    bytes *= extent;
  return bytes;
}

static StringRef wordOf(SegmentOp segment, unsigned argument, StringRef name) {
  auto word = segment.getArgAttrOfType<StringAttr>(argument, name);
  return word ? word.getValue() : StringRef();
}

namespace {

/// What one parameter or gradient costs.
struct Tensor {
  int64_t exchange = 0; // bytes that one gather or reduction of it sends
  int64_t whole = 0;    // bytes that a copy holds beyond its shard
  int64_t uses = 0;     // passes of one micro-batch
};

class Chooser {
public:
  explicit Chooser(ModuleOp module)
      : symbols(module), reduceType(Float32Type::get(module.getContext())) {
    auto applied = readRecipeAttribute(module);
    if (succeeded(applied) &&
        applied->recipe.precision.reduce == FloatKind::BF16)
      reduceType = BFloat16Type::get(module.getContext());
  }

  std::vector<RestingChoice> run(StepOp step) {
    step.walk([&](InvokeOp invoke) { visit(invoke); });
    std::vector<RestingChoice> choices;
    for (StringRef chosen : {"pass", "microbatch", "step"})
      describe("gather", chosen, gathered[chosen], choices);
    for (StringRef chosen : {"microbatch", "step"})
      describe("reduce", chosen, reduced[chosen], choices);
    return choices;
  }

private:
  using Tensors = llvm::MapVector<Value, Tensor>;

  SegmentOp calleeOf(InvokeOp invoke) {
    return symbols.lookup<SegmentOp>(invoke.getCallee());
  }

  void visit(InvokeOp invoke) {
    SegmentOp segment = calleeOf(invoke);
    if (auto loop = invoke->getParentOfType<MicrobatchesOp>())
      microbatches = loop.getCount();
    if (segment.getDirection() == "gather")
      return visitGather(invoke);
    if (segment.getDirection() == "reduce")
      return visitReduce(invoke, segment);
  }

  /// Nothing is chosen about copies that every step makes.
  void visitGather(InvokeOp invoke) {
    auto when = invoke->getAttrOfType<StringAttr>(attr::gather);
    if (!when)
      return;
    for (auto [operand, result] :
         llvm::zip(invoke.getOperands(), invoke.getResults())) {
      // The copy may be of a narrower type: it is moved as that.
      auto copy = cast<RankedTensorType>(result.getType());
      int64_t more = localBytes(copy) -
                     localBytes(operand.getType(), copy.getElementType());
      if (more <= 0)
        continue;
      Tensor &tensor = gathered[when.getValue()][operand];
      tensor.exchange = tensor.whole = more;
      tensor.uses += llvm::range_size(result.getUses());
    }
  }

  /// The result of a backward that an accumulator of the step is.
  static OpResult madeBy(Value accumulator) {
    auto loop = accumulator.getDefiningOp<MicrobatchesOp>();
    if (!loop)
      return {};
    unsigned index = cast<OpResult>(accumulator).getResultNumber();
    Value inside = loop.getBody().front().getTerminator()->getOperand(index);
    return inside.getDefiningOp<InvokeOp>() ? cast<OpResult>(inside)
                                            : OpResult();
  }

  /// The raw gradient that the segment adds to the accumulator.
  static Value rawOf(SegmentOp segment, unsigned result) {
    Value value = segment.getBody().front().getTerminator()->getOperand(result);
    while (auto mask = value.getDefiningOp<MaskPadOp>())
      value = mask.getX();
    auto add = value.getDefiningOp<AddOp>();
    if (!add)
      return {};
    Value raw = isa<BlockArgument>(add.getLhs()) ? add.getRhs() : add.getLhs();
    // Conversions to the type of the reduction and back stand around it.
    while (raw.getDefiningOp() && (isExchange(raw.getDefiningOp()) ||
                                   isa<ConvertOp>(raw.getDefiningOp())))
      raw = raw.getDefiningOp()->getOperand(0);
    return raw;
  }

  void visitReduce(InvokeOp invoke, SegmentOp segment) {
    for (unsigned k = 0; k < segment.getNumResults(); ++k) {
      auto name = segment.getResultAttrOfType<StringAttr>(k, attr::param);
      if (!name)
        continue;
      Type shard = segment.getResultTypes()[k];
      for (auto [i, operand] : llvm::enumerate(invoke.getOperands()))
        if (wordOf(segment, i, attr::param) == name.getValue())
          addAccumulator(invoke.getResult(k), operand, shard);
    }
  }

  void addAccumulator(Value gradient, Value accumulator, Type shard) {
    OpResult made = madeBy(accumulator);
    if (!made)
      return;
    SegmentOp backward = calleeOf(cast<InvokeOp>(made.getOwner()));
    Value raw = rawOf(backward, made.getResultNumber());
    Type kept = cast<RankedTensorType>(shard).getElementType();
    if (!raw || localBytes(raw.getType(), kept) <= localBytes(shard))
      return;
    bool inBackward =
        bool(backward.getResultAttr(made.getResultNumber(), attr::rest));
    Tensor &tensor = reduced[inBackward ? "microbatch" : "step"][gradient];
    tensor.exchange =
        localBytes(raw.getType(), reduceType) - localBytes(shard, reduceType);
    tensor.whole += localBytes(raw.getType(), kept) - localBytes(shard);
    ++tensor.uses;
  }

  void describe(StringRef what, StringRef chosen, const Tensors &tensors,
                std::vector<RestingChoice> &choices) {
    if (tensors.empty())
      return;
    int64_t once = 0, perUse = 0, whole = 0;
    for (const auto &[value, tensor] : tensors) {
      once += tensor.exchange;
      perUse += tensor.exchange * tensor.uses;
      whole += tensor.whole;
    }
    RestingChoice choice{what.str(), chosen.str(), {}};
    if (what == "gather")
      choice.times = {{"pass", perUse * microbatches, 0},
                      {"microbatch", once * microbatches, whole},
                      {"step", once, whole}};
    else
      choice.times = {{"microbatch", perUse * microbatches, 0},
                      {"step", once, whole}};
    choices.push_back(std::move(choice));
  }

  SymbolTable symbols;
  Type reduceType; // in which ranks add gradients
  int64_t microbatches = 1;
  std::map<StringRef, Tensors> gathered, reduced;
};

} // namespace

int64_t RestingChoice::sentBytes() const {
  for (const Time &time : times)
    if (time.name == chosen)
      return time.sentBytes;
  return 0;
}

std::vector<RestingChoice> driver::explainResting(ModuleOp module) {
  auto step = module.lookupSymbol<StepOp>("train");
  return step ? Chooser(module).run(step) : std::vector<RestingChoice>();
}
