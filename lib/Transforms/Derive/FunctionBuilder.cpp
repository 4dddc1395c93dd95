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

InvokeOp stretto::invoke(OpBuilder &b, SegmentOp segment, ValueRange operands,
                         StringRef instance) {
  return InvokeOp::create(b, segment.getLoc(), segment.getResultTypes(),
                          segment.getSymName(), operands, instance);
}
