//===- Step.cpp - segments, invocations, steps ----------------------------===//

#include "mlir/Interfaces/FunctionImplementation.h"
#include "stretto/Dialect/Stretto/IR/StrettoOps.h"

using namespace mlir;
using namespace stretto;

template <typename OpT>
static ParseResult parseFunction(OpAsmParser &parser, OperationState &result) {
  auto buildType = [](Builder &builder, ArrayRef<Type> inputs,
                      ArrayRef<Type> results,
                      function_interface_impl::VariadicFlag, std::string &) {
    return builder.getFunctionType(inputs, results);
  };
  return function_interface_impl::parseFunctionOp(
      parser, result, /*allowVariadic=*/false,
      OpT::getFunctionTypeAttrName(result.name), buildType,
      OpT::getArgAttrsAttrName(result.name),
      OpT::getResAttrsAttrName(result.name));
}

template <typename OpT> static void printFunction(OpAsmPrinter &printer, OpT op) {
  function_interface_impl::printFunctionOp(
      printer, op, /*isVariadic=*/false, op.getFunctionTypeAttrName(),
      op.getArgAttrsAttrName(), op.getResAttrsAttrName());
}

ParseResult SegmentOp::parse(OpAsmParser &parser, OperationState &result) {
  return parseFunction<SegmentOp>(parser, result);
}
void SegmentOp::print(OpAsmPrinter &printer) { printFunction(printer, *this); }

ParseResult StepOp::parse(OpAsmParser &parser, OperationState &result) {
  return parseFunction<StepOp>(parser, result);
}
void StepOp::print(OpAsmPrinter &printer) { printFunction(printer, *this); }

LogicalResult InvokeOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto segment =
      symbols.lookupNearestSymbolFrom<SegmentOp>(*this, getCalleeAttr());
  if (!segment)
    return emitOpError("no segment @") << getCallee();
  if (TypeRange(segment.getArgumentTypes()) != TypeRange(getOperands().getTypes()))
    return (emitOpError("operand types do not match segment @") << getCallee())
               .attachNote(segment.getLoc())
           << "declared here";
  if (TypeRange(segment.getResultTypes()) != TypeRange(getResults().getTypes()))
    return (emitOpError("result types do not match segment @") << getCallee())
               .attachNote(segment.getLoc())
           << "declared here";
  return success();
}

LogicalResult MicrobatchesOp::verify() {
  Block &block = getBody().front();
  if (block.getNumArguments() != getInputs().size() + getCarried().size())
    return emitOpError("body takes ")
           << block.getNumArguments() << " values, expected "
           << getInputs().size() + getCarried().size();
  for (Value input : getInputs()) {
    auto type = dyn_cast<RankedTensorType>(input.getType());
    if (!type || type.getRank() < 1 || type.getDimSize(0) != int64_t(getCount()))
      return emitOpError("inputs need the leading dimension ") << getCount();
  }
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (!yield || TypeRange(yield.getOperands()) != TypeRange(getResults()) ||
      TypeRange(getCarried()) != TypeRange(getResults()))
    return emitOpError("must yield one value per carried value, of its type");
  return success();
}
