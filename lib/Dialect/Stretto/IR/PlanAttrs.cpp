//===- PlanAttrs.cpp - initialisation and constraints ---------------------===//
//
// Assembly formats of what models and plans say before distributions exist.
//
//===----------------------------------------------------------------------===//

#include "AttrSyntax.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace stretto;

//===----------------------------------------------------------------------===//
// InitAttr
//===----------------------------------------------------------------------===//

InitAttr InitAttr::get(MLIRContext *context, InitKind kind, double a,
                       double b) {
  Builder builder(context);
  return get(context, kind, builder.getF64FloatAttr(a),
             builder.getF64FloatAttr(b));
}

FailureOr<InitAttr> stretto::parseInitBody(AsmParser &parser) {
  std::string keyword;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeywordOrString(&keyword))
    return failure();
  std::optional<InitKind> kind = symbolizeInitKind(keyword);
  if (!kind)
    return parser.emitError(loc, "unknown initialisation '")
           << keyword << "'; known: zeros, ones, normal, uniform, constant";
  SmallVector<double> values;
  if (succeeded(parser.parseOptionalLParen())) {
    do {
      if (parser.parseFloat(values.emplace_back()))
        return failure();
    } while (succeeded(parser.parseOptionalComma()));
    if (parser.parseRParen())
      return failure();
  }
  size_t expected = *kind == InitKind::Uniform  ? 2
                    : *kind >= InitKind::Normal ? 1
                                                : 0;
  if (values.size() != expected)
    return parser.emitError(loc) << keyword << " takes " << expected
                                 << " numbers, got " << values.size();
  values.resize(2, 0.0);
  return InitAttr::get(parser.getContext(), *kind, values[0], values[1]);
}

Attribute InitAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  FailureOr<InitAttr> init = parseInitBody(parser);
  if (failed(init) || parser.parseGreater())
    return {};
  return *init;
}

static void printDouble(AsmPrinter &printer, double value) {
  printer.printFloat(llvm::APFloat(value));
}

void stretto::printInitBody(AsmPrinter &printer, InitAttr init) {
  printer << stringifyInitKind(init.getKind());
  if (init.getKind() < InitKind::Normal)
    return;
  printer << "(";
  printDouble(printer, init.getA());
  if (init.getKind() == InitKind::Uniform) {
    printer << ", ";
    printDouble(printer, init.getB());
  }
  printer << ")";
}

void InitAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printInitBody(printer, *this);
  printer << ">";
}

//===----------------------------------------------------------------------===//
// ConstraintAttr
//===----------------------------------------------------------------------===//

ArrayRef<StringAttr> ConstraintAttr::getDimAxes(unsigned dim) const {
  int64_t begin = dim == 0 ? 0 : getDimEnds()[dim - 1];
  return getFlatAxes().slice(begin, getDimEnds()[dim] - begin);
}

Attribute ConstraintAttr::parse(AsmParser &parser, Type) {
  SmallVector<StringAttr> names;
  SmallVector<int64_t> ends, priorities;
  SmallVector<bool> open;
  std::string cause;
  auto parseEntry = [&]() -> ParseResult {
    if (succeeded(parser.parseOptionalQuestion())) {
      open.back() = true;
      return success();
    }
    std::string name;
    if (parser.parseKeywordOrString(&name))
      return failure();
    names.push_back(StringAttr::get(parser.getContext(), name));
    return success();
  };
  auto parseDim = [&]() -> ParseResult {
    open.push_back(false);
    priorities.push_back(0);
    if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Braces,
                                       parseEntry))
      return failure();
    ends.push_back(names.size());
    StringRef keyword;
    SMLoc loc = parser.getCurrentLocation();
    if (succeeded(parser.parseOptionalKeyword(&keyword)) &&
        (!keyword.consume_front("p") ||
         keyword.getAsInteger(10, priorities.back())))
      return parser.emitError(loc, "expected a priority such as p1");
    return success();
  };
  if (parser.parseLess() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseDim))
    return {};
  if (succeeded(parser.parseOptionalComma()) && parser.parseString(&cause))
    return {};
  if (parser.parseGreater())
    return {};
  return get(parser.getContext(), names, ends, open, priorities,
             StringAttr::get(parser.getContext(), cause));
}

void ConstraintAttr::print(AsmPrinter &printer) const {
  printer << "<[";
  for (unsigned dim = 0; dim < getRank(); ++dim) {
    printer << (dim ? ", {" : "{");
    llvm::interleaveComma(getDimAxes(dim), printer, [&](StringAttr name) {
      printer.printKeywordOrString(name.getValue());
    });
    if (getOpen()[dim])
      printer << (getDimAxes(dim).empty() ? "?" : ", ?");
    printer << "}";
    if (getPriorities()[dim])
      printer << "p" << getPriorities()[dim];
  }
  printer << "]";
  if (!getCause().getValue().empty())
    printer << ", " << getCause();
  printer << ">";
}
