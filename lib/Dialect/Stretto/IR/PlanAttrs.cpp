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

/// name | name:(pre)size | "any text"
static ParseResult parseAxisName(AsmParser &parser,
                                 SmallVectorImpl<StringAttr> &names) {
  std::string name;
  if (parser.parseKeywordOrString(&name))
    return failure();
  if (succeeded(parser.parseOptionalColon())) {
    int64_t pre = 0, size = 0;
    if (parser.parseLParen() || parser.parseInteger(pre) ||
        parser.parseRParen() || parser.parseInteger(size))
      return failure();
    name += ":(" + std::to_string(pre) + ")" + std::to_string(size);
  }
  names.push_back(StringAttr::get(parser.getContext(), name));
  return success();
}

static void printAxisName(AsmPrinter &printer, StringAttr name) {
  auto [axis, digits] = name.getValue().split(':');
  printer.printKeywordOrString(axis);
  if (!digits.empty())
    printer << ":" << digits;
}

static void printAxisNames(AsmPrinter &printer, ArrayRef<StringAttr> names) {
  llvm::interleaveComma(names, printer,
                        [&](StringAttr name) { printAxisName(printer, name); });
}

namespace {
/// What a constraint is made of, in the order of its syntax.
struct ConstraintParser {
  AsmParser &parser;
  SmallVector<StringAttr> names, replicated, partial;
  SmallVector<int64_t> ends, priorities;
  SmallVector<bool> open;
  std::string cause;

  explicit ConstraintParser(AsmParser &parser) : parser(parser) {}

  ParseResult parseEntry() {
    if (failed(parser.parseOptionalQuestion()))
      return parseAxisName(parser, names);
    open.back() = true;
    return success();
  }

  ParseResult parseDim() {
    open.push_back(false);
    priorities.push_back(0);
    if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Braces,
                                       [&]() { return parseEntry(); }))
      return failure();
    ends.push_back(names.size());
    StringRef keyword;
    SMLoc loc = parser.getCurrentLocation();
    if (failed(parser.parseOptionalKeyword(&keyword)))
      return success();
    if (!keyword.consume_front("p") ||
        keyword.getAsInteger(10, priorities.back()))
      return parser.emitError(loc, "expected a priority such as p1");
    return success();
  }

  /// replicated {..} | partial {..} | "cause"
  ParseResult parseClause() {
    StringRef keyword;
    SMLoc loc = parser.getCurrentLocation();
    if (failed(parser.parseOptionalKeyword(&keyword)))
      return parser.parseString(&cause);
    if (keyword != "replicated" && keyword != "partial")
      return parser.emitError(loc, "expected replicated {...}, partial {...} "
                                   "or the cause in quotes");
    auto &axes = keyword == "partial" ? partial : replicated;
    return parser.parseCommaSeparatedList(AsmParser::Delimiter::Braces, [&]() {
      return parseAxisName(parser, axes);
    });
  }

  ParseResult parse() {
    if (parser.parseLess() ||
        parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                       [&]() { return parseDim(); }))
      return failure();
    while (succeeded(parser.parseOptionalComma()))
      if (parseClause())
        return failure();
    return parser.parseGreater();
  }
};
} // namespace

Attribute ConstraintAttr::parse(AsmParser &parser, Type) {
  ConstraintParser p(parser);
  SMLoc loc = parser.getCurrentLocation();
  if (p.parse())
    return {};
  auto cause = StringAttr::get(parser.getContext(), p.cause);
  if (failed(verify([&]() { return parser.emitError(loc); }, p.names, p.ends,
                    p.open, p.priorities, p.replicated, p.partial, cause)))
    return {};
  return get(parser.getContext(), p.names, p.ends, p.open, p.priorities,
             p.replicated, p.partial, cause);
}

void ConstraintAttr::print(AsmPrinter &printer) const {
  printer << "<[";
  for (unsigned dim = 0; dim < getRank(); ++dim) {
    printer << (dim ? ", {" : "{");
    printAxisNames(printer, getDimAxes(dim));
    if (getOpen()[dim])
      printer << (getDimAxes(dim).empty() ? "?" : ", ?");
    printer << "}";
    if (getPriorities()[dim])
      printer << "p" << getPriorities()[dim];
  }
  printer << "]";
  for (auto [word, axes] : {std::pair("replicated", getReplicatedAxes()),
                            std::pair("partial", getPartialAxes())}) {
    if (axes.empty())
      continue;
    printer << ", " << word << " {";
    printAxisNames(printer, axes);
    printer << "}";
  }
  if (!getCause().getValue().empty())
    printer << ", " << getCause();
  printer << ">";
}

/// Invariants: lists of one length, priorities from 0; in one dimension an axis
/// stands once; an axis that must not shard the value shards no dimension, nor
/// is one both partial and sharding. (Two dimensions may wish one axis: the
/// priorities settle it.)
LogicalResult
ConstraintAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                       ArrayRef<StringAttr> flatAxes, ArrayRef<int64_t> dimEnds,
                       ArrayRef<bool> open, ArrayRef<int64_t> priorities,
                       ArrayRef<StringAttr> replicated,
                       ArrayRef<StringAttr> partial, StringAttr) {
  if (open.size() != dimEnds.size() || priorities.size() != dimEnds.size())
    return emitError() << "constraint lists do not have one length";
  int64_t begin = 0;
  for (auto [dim, end] : llvm::enumerate(dimEnds)) {
    if (end < begin || end > int64_t(flatAxes.size()))
      return emitError() << "constraint of dimension " << dim
                         << " ends outside its axes";
    if (priorities[dim] < 0)
      return emitError() << "priority " << priorities[dim] << " of dimension "
                         << dim << " is below 0";
    llvm::SmallDenseSet<StringAttr> seen;
    for (StringAttr name : flatAxes.slice(begin, end - begin))
      if (!seen.insert(name).second)
        return emitError() << "dimension " << dim << " names axis '"
                           << name.getValue() << "' twice";
    begin = end;
  }
  for (StringAttr name : flatAxes)
    for (auto [axes, word] :
         {std::pair(replicated, "replicated"), std::pair(partial, "partial")})
      if (llvm::is_contained(axes, name))
        return emitError() << "axis '" << name.getValue()
                           << "' shards a dimension and is " << word
                           << "; take it out of one of the two";
  return success();
}
