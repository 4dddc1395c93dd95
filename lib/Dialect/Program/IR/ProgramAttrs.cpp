//===- ProgramAttrs.cpp - memory words of the executable ------------------===//

#include "ProgramAssembly.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace stretto::exec;

#include "stretto/Dialect/Program/IR/ProgramEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "stretto/Dialect/Program/IR/ProgramAttrs.cpp.inc"

void ProgramDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "stretto/Dialect/Program/IR/ProgramAttrs.cpp.inc"
      >();
}

/// `[` offset `,` bytes `]`
static ParseResult parseRange(AsmParser &parser, uint64_t &offset,
                              uint64_t &bytes) {
  return failure(parser.parseLSquare() || parser.parseInteger(offset) ||
                 parser.parseComma() || parser.parseInteger(bytes) ||
                 parser.parseRSquare());
}

static ParseResult parseAccess(AsmParser &parser, Access &access) {
  StringRef keyword;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&keyword))
    return failure();
  std::optional<Access> parsed = symbolizeAccess(keyword);
  if (!parsed)
    return parser.emitError(loc, "expected r, w or rw, got '")
           << keyword << "'";
  access = *parsed;
  return success();
}

FailureOr<SlotAttr> stretto::exec::parseBareSlot(AsmParser &parser) {
  StringRef keyword;
  uint64_t offset, bytes;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&keyword))
    return failure();
  std::optional<Region> region = symbolizeRegion(keyword);
  if (!region)
    return parser.emitError(loc, "unknown region '") << keyword << "'";
  unsigned value = 0;
  if (parser.parseLSquare() || parser.parseInteger(offset) ||
      parser.parseComma() || parser.parseInteger(bytes))
    return failure();
  if (succeeded(parser.parseOptionalColon()) && parser.parseInteger(value))
    return failure();
  if (parser.parseRSquare())
    return failure();
  return SlotAttr::get(parser.getContext(), *region, offset, bytes, value);
}

void stretto::exec::printBare(AsmPrinter &printer, SlotAttr slot) {
  printer << stringifyRegion(slot.getRegion()) << "[" << slot.getOffset()
          << ", " << slot.getBytes();
  if (slot.getValue())
    printer << " : " << slot.getValue();
  printer << "]";
}

FailureOr<OperandAttr> stretto::exec::parseBareOperand(AsmParser &parser) {
  Access access;
  StringRef space;
  if (parseAccess(parser, access))
    return failure();
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&space))
    return failure();
  bool local = space.consume_front("local");
  unsigned index = 0;
  if ((!local && !space.consume_front("arg")) || space.getAsInteger(10, index))
    return parser.emitError(loc, "expected arg<number> or local<number>");
  uint64_t offset, bytes;
  if (parseRange(parser, offset, bytes))
    return failure();
  return OperandAttr::get(parser.getContext(), access, local, index, offset,
                          bytes);
}

void stretto::exec::printBare(AsmPrinter &printer, OperandAttr operand) {
  printer << stringifyAccess(operand.getAccess()) << " ";
  printer << (operand.getLocal() ? "local" : "arg") << operand.getIndex() << "["
          << operand.getOffset() << ", " << operand.getBytes() << "]";
}

FailureOr<ArgumentAttr> stretto::exec::parseBareArgument(AsmParser &parser) {
  std::string name;
  uint64_t bytes;
  Access access;
  if (parser.parseKeywordOrString(&name) || parser.parseColon() ||
      parser.parseInteger(bytes) || parseAccess(parser, access))
    return failure();
  return ArgumentAttr::get(parser.getContext(),
                           StringAttr::get(parser.getContext(), name), bytes,
                           access);
}

void stretto::exec::printBare(AsmPrinter &printer, ArgumentAttr argument) {
  printer.printKeywordOrString(argument.getName().getValue());
  printer << ": " << argument.getBytes() << " "
          << stringifyAccess(argument.getAccess());
}

/// `<` bare form `>`
template <typename AttrT, typename Parse>
static Attribute parseInAngles(AsmParser &parser, Parse parse) {
  if (parser.parseLess())
    return {};
  FailureOr<AttrT> attr = parse(parser);
  if (failed(attr) || parser.parseGreater())
    return {};
  return *attr;
}
template <typename AttrT>
static void printInAngles(AsmPrinter &printer, AttrT attr) {
  printer << "<";
  printBare(printer, attr);
  printer << ">";
}

Attribute SlotAttr::parse(AsmParser &parser, Type) {
  return parseInAngles<SlotAttr>(parser, parseBareSlot);
}
void SlotAttr::print(AsmPrinter &printer) const {
  printInAngles(printer, *this);
}
Attribute OperandAttr::parse(AsmParser &parser, Type) {
  return parseInAngles<OperandAttr>(parser, parseBareOperand);
}
void OperandAttr::print(AsmPrinter &printer) const {
  printInAngles(printer, *this);
}
Attribute ArgumentAttr::parse(AsmParser &parser, Type) {
  return parseInAngles<ArgumentAttr>(parser, parseBareArgument);
}
void ArgumentAttr::print(AsmPrinter &printer) const {
  printInAngles(printer, *this);
}
