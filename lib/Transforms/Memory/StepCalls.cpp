//===- StepCalls.cpp - a step as a flat list of calls ---------------------===//

#include "StepCalls.h"

#include "llvm/ADT/DenseMap.h"

using namespace mlir;
using namespace stretto;

namespace {

class Unroller {
public:
  Unroller(SymbolTable &symbols, StepCalls &out) : symbols(symbols), out(out) {}

  LogicalResult run(StepOp step) {
    Block &block = step.getBody().front();
    for (BlockArgument argument : block.getArguments())
      numbers[argument] = add(StepValue::Kind::Argument, argument.getType(),
                              argument.getArgNumber());
    if (failed(visit(block)))
      return failure();
    out.yields = use(block.getTerminator()->getOperands(), out.calls.size());
    return success();
  }

private:
  unsigned add(StepValue::Kind kind, Type type, unsigned argument = 0,
               int64_t slice = 0) {
    out.values.push_back(
        {kind, cast<RankedTensorType>(type), argument, slice, -1});
    return out.values.size() - 1;
  }

  /// The number of `value` for one user. Zeros are made anew for every user:
  /// each may update its own in place.
  unsigned numberFor(Value value) {
    if (value.getDefiningOp<ZerosOp>())
      return add(StepValue::Kind::Zeros, value.getType());
    return numbers.lookup(value);
  }

  SmallVector<unsigned> use(OperandRange operands, int64_t time) {
    SmallVector<unsigned> result;
    for (Value operand : operands) {
      result.push_back(numberFor(operand));
      out.values[result.back()].lastUse = time;
    }
    return result;
  }

  LogicalResult visit(Block &block) {
    for (Operation &op : block.without_terminator()) {
      if (isa<ZerosOp>(op))
        continue;
      if (auto invoke = dyn_cast<InvokeOp>(op))
        visit(invoke);
      else if (auto loop = dyn_cast<MicrobatchesOp>(op)) {
        if (failed(visit(loop)))
          return failure();
      } else
        return op.emitOpError("cannot be in a step; expected invoke, "
                              "microbatches or zeros");
    }
    return success();
  }

  void visit(InvokeOp invoke) {
    StepCall call;
    call.invoke = invoke;
    call.segment = symbols.lookup<SegmentOp>(invoke.getCallee());
    call.operands = use(invoke.getOperands(), out.calls.size());
    call.microbatch = microbatch;
    for (OpResult result : invoke.getOperation()->getResults())
      call.results.push_back(
          numbers[result] = add(StepValue::Kind::Result, result.getType()));
    out.calls.push_back(std::move(call));
  }

  LogicalResult visit(MicrobatchesOp loop) {
    if (inLoop)
      return loop.emitOpError("cannot be in another micro-batch loop");
    Block &body = loop.getBody().front();
    SmallVector<unsigned> carried;
    for (Value value : loop.getCarried())
      carried.push_back(numberFor(value));
    inLoop = true;
    for (microbatch = 0; microbatch < int64_t(loop.getCount()); ++microbatch) {
      if (failed(bindArguments(loop, carried)) || failed(visit(body)))
        return failure();
      carried.clear();
      for (Value value : body.getTerminator()->getOperands())
        carried.push_back(numberFor(value));
    }
    inLoop = false;
    microbatch = 0;
    for (auto [result, number] : llvm::zip(loop.getResults(), carried))
      numbers[result] = number;
    return success();
  }

  /// Slices of the inputs, then the carried values.
  LogicalResult bindArguments(MicrobatchesOp loop, ArrayRef<unsigned> carried) {
    Block &body = loop.getBody().front();
    unsigned numInputs = loop.getInputs().size();
    for (auto [index, input] : llvm::enumerate(loop.getInputs())) {
      auto argument = dyn_cast<BlockArgument>(input);
      if (!argument)
        return loop.emitOpError("input ")
               << index << " is not an argument of the step";
      BlockArgument slice = body.getArgument(index);
      numbers[slice] = add(StepValue::Kind::InputSlice, slice.getType(),
                           argument.getArgNumber(), microbatch);
    }
    for (auto [index, number] : llvm::enumerate(carried))
      numbers[body.getArgument(numInputs + index)] = number;
    return success();
  }

  SymbolTable &symbols;
  StepCalls &out;
  llvm::DenseMap<Value, unsigned> numbers;
  int64_t microbatch = 0;
  bool inLoop = false;
};

} // namespace

void StepCalls::reorder(ArrayRef<unsigned> order) {
  SmallVector<StepCall> reordered;
  for (unsigned index : order)
    reordered.push_back(std::move(calls[index]));
  calls = std::move(reordered);
  for (auto [time, call] : llvm::enumerate(calls))
    for (unsigned operand : call.operands)
      values[operand].lastUse = time;
  for (unsigned value : yields)
    values[value].lastUse = calls.size();
}

FailureOr<StepCalls> StepCalls::of(StepOp step, SymbolTable &symbols) {
  StepCalls calls;
  if (failed(Unroller(symbols, calls).run(step)))
    return failure();
  return calls;
}
