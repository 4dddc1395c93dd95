//===- FunctionBuilder.cpp - segments and steps, piece by piece -----------===//

#include "FunctionBuilder.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/CSE.h"

using namespace mlir;
using namespace stretto;

ValueAttributes &ValueAttributes::copy(DictionaryAttr from,
                                       ArrayRef<StringRef> names) {
  if (from)
    for (StringRef name : names)
      set(name, from.get(name));
  return *this;
}

FunctionBuilder::FunctionBuilder(FunctionOpInterface function)
    : b(function.getContext()), function(function) {
  b.setInsertionPointToEnd(&function.getFunctionBody().front());
}

FunctionBuilder FunctionBuilder::segment(ModuleOp module, Location loc,
                                         const Twine &name, StringRef direction,
                                         StringAttr layer) {
  OpBuilder b = OpBuilder::atBlockEnd(module.getBody());
  auto segment =
      SegmentOp::create(b, loc, b.getStringAttr(name),
                        b.getFunctionType({}, {}), b.getStringAttr(direction),
                        layer, StringAttr(), ArrayAttr(), ArrayAttr());
  segment.getBody().emplaceBlock();
  return FunctionBuilder(segment);
}

FunctionBuilder FunctionBuilder::step(ModuleOp module, Location loc,
                                      StringRef name) {
  OpBuilder b = OpBuilder::atBlockEnd(module.getBody());
  auto step =
      StepOp::create(b, loc, b.getStringAttr(name), b.getFunctionType({}, {}),
                     StringAttr(), ArrayAttr(), ArrayAttr());
  step.getBody().emplaceBlock();
  return FunctionBuilder(step);
}

BlockArgument FunctionBuilder::addArgument(Type type,
                                           const ValueAttributes &attributes) {
  argumentAttributes.push_back(attributes.get());
  return function.getFunctionBody().front().addArgument(type, getLoc());
}

void FunctionBuilder::addResult(Value value,
                                const ValueAttributes &attributes) {
  resultAttributes.push_back(attributes.get());
  results.push_back(value);
}

void FunctionBuilder::finish() {
  YieldOp::create(b, getLoc(), results);
  Block &body = function.getFunctionBody().front();
  function.setType(b.getFunctionType(body.getArgumentTypes(),
                                     ValueRange(results).getTypes()));
  function.setAllArgAttrs(argumentAttributes);
  function.setAllResultAttrs(resultAttributes);
}

void stretto::mergeEqualOperations(Operation *function) {
  IRRewriter rewriter(function->getContext());
  DominanceInfo dominance(function);
  eliminateCommonSubExpressions(rewriter, dominance, function);
}

SegmentOp FunctionBuilder::finishSegment() {
  finish();
  mergeEqualOperations(function);
  return cast<SegmentOp>(function);
}

//===----------------------------------------------------------------------===//
// Invocations
//===----------------------------------------------------------------------===//

Type stretto::bundleType(TypeRange tensors) {
  return tensors.size() == 1
             ? tensors.front()
             : TupleType::get(tensors.front().getContext(), tensors);
}

namespace {
/// The operands of an invocation, put together from tensors.
struct BundledOperands {
  SmallVector<Value> values;
  SmallVector<Attribute> picks;
  bool picksAny = false;

  BundledOperands(OpBuilder &b, ArrayRef<TensorRef> tensors) {
    while (!tensors.empty()) {
      Value value = tensors.front().value;
      SmallVector<int32_t> members;
      for (TensorRef tensor : tensors.take_while(
               [&](TensorRef next) { return next.value == value; }))
        if (tensor.member >= 0)
          members.push_back(tensor.member);
      values.push_back(value);
      tensors = tensors.drop_front(std::max<size_t>(members.size(), 1));
      if (isWhole(value, members))
        members.clear();
      picksAny |= !members.empty();
      picks.push_back(b.getDenseI32ArrayAttr(members));
    }
  }

private:
  static bool isWhole(Value value, ArrayRef<int32_t> members) {
    auto bundle = dyn_cast<TupleType>(value.getType());
    return bundle && llvm::equal(members, llvm::seq<int32_t>(0, bundle.size()));
  }
};
} // namespace

static SmallVector<Type> grouped(TypeRange types, ArrayRef<unsigned> groups) {
  SmallVector<Type> result;
  for (unsigned size : groups) {
    result.push_back(bundleType(types.take_front(size)));
    types = types.drop_front(size);
  }
  return result;
}

InvokeOp stretto::invoke(OpBuilder &b, SegmentOp segment,
                         ArrayRef<TensorRef> tensors, StringRef instance,
                         ArrayRef<unsigned> groups) {
  BundledOperands operands(b, tensors);
  SmallVector<Type> results = groups.empty()
                                  ? llvm::to_vector(segment.getResultTypes())
                                  : grouped(segment.getResultTypes(), groups);
  return InvokeOp::create(b, segment.getLoc(), results, segment.getSymName(),
                          operands.values, instance,
                          operands.picksAny ? b.getArrayAttr(operands.picks)
                                            : ArrayAttr());
}
