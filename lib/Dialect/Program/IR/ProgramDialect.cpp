//===- ProgramDialect.cpp - the program dialect ---------------------------===//

#include "ProgramAssembly.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace stretto::exec;

#include "stretto/Dialect/Program/IR/ProgramDialect.cpp.inc"

void ProgramDialect::initialize() {
  registerAttributes();
  addOperations<
#define GET_OP_LIST
#include "stretto/Dialect/Program/IR/ProgramOps.cpp.inc"
      >();
}

uint64_t stretto::exec::elementBytes(Type type) {
  return (type.getIntOrFloatBitWidth() + 7) / 8;
}

uint64_t stretto::exec::tensorBytes(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return tensor.getNumElements() * elementBytes(tensor.getElementType());
}

ArrayRef<Attribute> stretto::exec::operandsOf(Operation *command) {
  auto operands = command->getAttrOfType<ArrayAttr>("uses");
  return operands ? operands.getValue() : ArrayRef<Attribute>();
}

//===----------------------------------------------------------------------===//
// Assembly
//===----------------------------------------------------------------------===//

/// `(` elements in their bare form `)`
template <typename Parse>
static ParseResult parseList(OpAsmParser &parser, ArrayAttr &list,
                             Parse parseElement) {
  SmallVector<Attribute> elements;
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren,
                                     [&]() -> ParseResult {
                                       auto element = parseElement(parser);
                                       if (failed(element))
                                         return failure();
                                       elements.push_back(*element);
                                       return success();
                                     }))
    return failure();
  list = parser.getBuilder().getArrayAttr(elements);
  return success();
}

template <typename AttrT>
static void printList(OpAsmPrinter &printer, ArrayAttr list) {
  printer << "(";
  llvm::interleaveComma(list.getAsRange<AttrT>(), printer, [&](AttrT element) {
    printBare(static_cast<AsmPrinter &>(printer), element);
  });
  printer << ")";
}

static ParseResult parseArguments(OpAsmParser &parser, ArrayAttr &list) {
  return parseList(parser, list, parseBareArgument);
}
static void printArguments(OpAsmPrinter &printer, Operation *, ArrayAttr list) {
  printList<ArgumentAttr>(printer, list);
}
static ParseResult parseOperands(OpAsmParser &parser, ArrayAttr &list) {
  return parseList(parser, list, parseBareOperand);
}
static void printOperands(OpAsmPrinter &printer, Operation *, ArrayAttr list) {
  printList<OperandAttr>(printer, list);
}
static ParseResult parseSlots(OpAsmParser &parser, ArrayAttr &list) {
  return parseList(parser, list, parseBareSlot);
}
static void printSlots(OpAsmPrinter &printer, Operation *, ArrayAttr list) {
  printList<SlotAttr>(printer, list);
}
static ParseResult parseSlot(OpAsmParser &parser, SlotAttr &slot) {
  FailureOr<SlotAttr> parsed = parseBareSlot(parser);
  if (failed(parsed))
    return failure();
  slot = *parsed;
  return success();
}
static void printSlot(OpAsmPrinter &printer, Operation *, SlotAttr slot) {
  printBare(printer, slot);
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

/// An operand lies within what it names and keeps to the declared access.
static LogicalResult verifyOperand(SegmentOp segment, Operation *command,
                                   OperandAttr operand) {
  uint64_t limit = segment.getScratch();
  if (!operand.getLocal()) {
    if (operand.getIndex() >= segment.getArguments().size())
      return command->emitOpError("there is no argument ")
             << operand.getIndex() << " of " << segment.getArguments().size();
    ArgumentAttr argument = segment.getArgument(operand.getIndex());
    limit = argument.getBytes();
    if (writes(operand.getAccess()) && !writes(argument.getAccess()))
      return command->emitOpError("writes argument '")
             << argument.getName().getValue() << "', which is read-only";
  }
  if (operand.getOffset() > limit ||
      operand.getBytes() > limit - operand.getOffset())
    return command->emitOpError("operand [")
           << operand.getOffset() << ", +" << operand.getBytes()
           << ") leaves the " << limit << " bytes of its "
           << (operand.getLocal() ? "scratch" : "argument");
  return success();
}

LogicalResult SegmentOp::verifyRegions() {
  for (Operation &command : getBody().getOps())
    for (Attribute operand : operandsOf(&command))
      if (failed(verifyOperand(*this, &command, cast<OperandAttr>(operand))))
        return failure();
  return success();
}

LogicalResult AttentionOp::verify() {
  if (getSizes().size() != 6)
    return emitOpError("needs 6 sizes (batch, q_len, kv_len, heads, kv_heads, "
                       "head_dim), got ")
           << getSizes().size();
  return success();
}

LogicalResult CallOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto segment =
      symbols.lookupNearestSymbolFrom<SegmentOp>(*this, getSegmentAttr());
  if (!segment)
    return emitOpError("no segment @") << getSegment();
  if (segment.getArguments().size() != getSlots().size())
    return emitOpError("gives ")
           << getSlots().size() << " slots to @" << getSegment()
           << ", which takes " << segment.getArguments().size();
  for (auto [index, slot] : llvm::enumerate(getSlots().getAsRange<SlotAttr>()))
    if (slot.getBytes() < segment.getArgument(index).getBytes())
      return emitOpError("slot ") << index << " has " << slot.getBytes()
                                  << " bytes, @" << getSegment() << " needs "
                                  << segment.getArgument(index).getBytes();
  uint64_t scratch = getScratch() ? getScratch()->getBytes() : 0;
  if (scratch < uint64_t(segment.getScratch()))
    return emitOpError("scratch has ") << scratch << " bytes, @" << getSegment()
                                       << " needs " << segment.getScratch();
  return success();
}

#define GET_OP_CLASSES
#include "stretto/Dialect/Program/IR/ProgramOps.cpp.inc"
