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

/// Items between parentheses; when there are many, each on a line of its own.
static void printItems(OpAsmPrinter &printer, unsigned count, StringRef indent,
                       llvm::function_ref<void(unsigned)> print) {
  printer << "(";
  for (unsigned i = 0; i < count; ++i) {
    if (i > 0)
      printer << (count > 2 ? "," : ", ");
    if (i > 0 && count > 2) {
      printer.printNewline();
      printer << indent;
    }
    print(i);
  }
  printer << ")";
}

/// Reads like func.func. Lines break where lists are long:
///   @f(%a: tensor<…> {…},
///       %b: tensor<…> {…},
///       %c: tensor<…> {…})
///       -> (tensor<…> {…}, tensor<…> {…})
///       attributes {…} {
template <typename OpT>
static void printFunction(OpAsmPrinter &printer, OpT op) {
  auto attributesOf = [](ArrayAttr all, unsigned index) {
    return all ? cast<DictionaryAttr>(all[index]).getValue()
               : ArrayRef<NamedAttribute>();
  };
  ArrayRef<Type> results = op.getResultTypes();
  bool wraps = op.getNumArguments() > 2 || results.size() > 2;
  auto startChapter = [&]() {
    if (wraps) {
      printer.printNewline();
      printer << "   ";
    }
  };
  printer << " ";
  printer.printSymbolName(op.getSymName());
  printItems(printer, op.getNumArguments(), "    ", [&](unsigned i) {
    printer.printRegionArgument(op.getBody().getArgument(i),
                                attributesOf(op.getArgAttrsAttr(), i));
  });
  if (!results.empty()) {
    startChapter();
    printer << " -> ";
    if (results.size() == 1 && attributesOf(op.getResAttrsAttr(), 0).empty())
      printer << results[0];
    else
      printItems(printer, results.size(), "        ", [&](unsigned i) {
        printer << results[i];
        printer.printOptionalAttrDict(attributesOf(op.getResAttrsAttr(), i));
      });
  }
  SmallVector<StringRef> elided = {
      op.getSymNameAttrName(), op.getFunctionTypeAttrName(),
      op.getArgAttrsAttrName(), op.getResAttrsAttrName()};
  if (llvm::any_of(op->getAttrs(), [&](NamedAttribute attribute) {
        return !llvm::is_contained(elided, attribute.getName().getValue());
      }))
    startChapter();
  printer.printOptionalAttrDictWithKeyword(op->getAttrs(), elided);
  printer << " ";
  printer.printRegion(op.getBody(), /*printEntryBlockArgs=*/false);
}

ParseResult SegmentOp::parse(OpAsmParser &parser, OperationState &result) {
  return parseFunction<SegmentOp>(parser, result);
}
void SegmentOp::print(OpAsmPrinter &printer) { printFunction(printer, *this); }

ParseResult StepOp::parse(OpAsmParser &parser, OperationState &result) {
  return parseFunction<StepOp>(parser, result);
}
void StepOp::print(OpAsmPrinter &printer) { printFunction(printer, *this); }

ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &result) {
  return parseFunction<KernelOp>(parser, result);
}
void KernelOp::print(OpAsmPrinter &printer) { printFunction(printer, *this); }

/// The called symbol exists as an `OpT` that takes and returns these types.
template <typename OpT>
static LogicalResult verifyCallee(Operation *call, FlatSymbolRefAttr callee,
                                  StringRef what, TypeRange arguments,
                                  TypeRange results,
                                  SymbolTableCollection &symbols) {
  auto target = symbols.lookupNearestSymbolFrom<OpT>(call, callee);
  if (!target)
    return call->emitOpError("no ") << what << " @" << callee.getValue();
  if (TypeRange(target.getArgumentTypes()) != arguments)
    return (call->emitOpError("operand types do not match ")
            << what << " @" << callee.getValue())
               .attachNote(target.getLoc())
           << "declared here";
  if (TypeRange(target.getResultTypes()) != results)
    return (call->emitOpError("result types do not match ")
            << what << " @" << callee.getValue())
               .attachNote(target.getLoc())
           << "declared here";
  return success();
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (getAliases().size() != getResults().size())
    return emitOpError("expected one alias entry per result");
  return verifyCallee<KernelOp>(*this, getCalleeAttr(), "kernel",
                                getOperandTypes(), getResultTypes(), symbols);
}

/// What is yielded has the types that the signature promises, distributions
/// included: else a missing reduction could leave through the border.
static LogicalResult verifyYield(SegmentOp segment) {
  Block &block = segment.getBody().front();
  auto yield = block.empty() ? YieldOp() : dyn_cast<YieldOp>(block.back());
  if (!yield)
    return segment.emitOpError("must end with stretto.yield");
  ArrayRef<Type> expected = segment.getResultTypes();
  if (yield.getNumOperands() != expected.size())
    return yield.emitOpError("yields ")
           << yield.getNumOperands() << " values, expected " << expected.size();
  for (auto [index, type] : llvm::enumerate(yield.getOperandTypes()))
    if (type != expected[index])
      return yield.emitOpError("yields ")
             << type << " as result " << index << ", but @"
             << segment.getSymName() << " returns " << expected[index];
  return success();
}

LogicalResult InvokeOp::verifySymbolUses(SymbolTableCollection &symbols) {
  SmallVector<TensorRef> operands = getTensorOperands();
  SmallVector<Type> arguments;
  arguments.reserve(operands.size());
  for (TensorRef operand : operands)
    arguments.push_back(operand.getType());
  if (failed(verifyCallee<SegmentOp>(*this, getCalleeAttr(), "segment",
                                     arguments, tensorTypesOf(getResultTypes()),
                                     symbols)))
    return failure();
  return verifyYield(
      symbols.lookupNearestSymbolFrom<SegmentOp>(*this, getCalleeAttr()));
}

/// A bound bundle says what its members are.
LogicalResult StepOp::verify() {
  auto check = [&](StringRef what, TypeRange types,
                   ArrayAttr attributes) -> LogicalResult {
    for (auto [index, type] : llvm::enumerate(types)) {
      auto bundle = dyn_cast<TupleType>(type);
      if (!bundle)
        continue;
      auto members = attributes ? cast<DictionaryAttr>(attributes[index])
                                      .getAs<MembersAttr>(attr::members)
                                : MembersAttr();
      if (!members)
        return emitOpError(what)
               << " " << index << " is a bundle without stretto.members";
      if (members.size() != bundle.size())
        return emitOpError(what)
               << " " << index << " is a bundle of " << bundle.size()
               << " with " << members.size() << " entries in stretto.members";
    }
    return success();
  };
  return success(
      succeeded(check("argument", getArgumentTypes(), getArgAttrsAttr())) &&
      succeeded(check("result", getResultTypes(), getResAttrsAttr())));
}

LogicalResult MicrobatchesOp::verify() {
  Block &block = getBody().front();
  if (block.getNumArguments() != getInputs().size() + getCarried().size())
    return emitOpError("body takes ")
           << block.getNumArguments() << " values, expected "
           << getInputs().size() + getCarried().size();
  for (Value input : getInputs()) {
    auto type = dyn_cast<RankedTensorType>(input.getType());
    if (!type || type.getRank() < 1 ||
        type.getDimSize(0) != int64_t(getCount()))
      return emitOpError("inputs need the leading dimension ") << getCount();
  }
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (!yield || TypeRange(yield.getOperands()) != TypeRange(getResults()) ||
      TypeRange(getCarried()) != TypeRange(getResults()))
    return emitOpError("must yield one value per carried value, of its type");
  return success();
}
