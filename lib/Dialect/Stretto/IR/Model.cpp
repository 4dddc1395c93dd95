//===- Model.cpp - layers and their instances -----------------------------===//
//
// Assembly format and local verification of layer, model, call and loss. What
// needs the whole module (ties, loss counts) is checked by verify-model.
//
//===----------------------------------------------------------------------===//

#include "AttrSyntax.h"
#include "RuleUtils.h"
#include "mlir/Interfaces/FunctionImplementation.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace stretto;

//===----------------------------------------------------------------------===//
// Signatures: %x: type dims [a, b] …, params(%g: type dims [a] init ones
// no_decay)
//===----------------------------------------------------------------------===//

namespace {
struct Signature {
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<Attribute> attributes;
};
} // namespace

static ParseResult parseDims(OpAsmParser &parser, NamedAttrList &attrs) {
  SmallVector<Attribute> names;
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&]() {
        std::string name;
        if (parser.parseKeywordOrString(&name))
          return failure();
        names.push_back(parser.getBuilder().getStringAttr(name));
        return success();
      }))
    return failure();
  attrs.set(attr::dims, parser.getBuilder().getArrayAttr(names));
  return success();
}

/// `init` is written without its <>: init normal(0.02).
static ParseResult parseInit(OpAsmParser &parser, NamedAttrList &attrs) {
  FailureOr<InitAttr> init = parseInitBody(parser);
  if (failed(init))
    return failure();
  attrs.set(attr::init, *init);
  return success();
}

/// `nameAttr`: the attribute that keeps the argument's name.
static ParseResult parseArgument(OpAsmParser &parser, StringRef nameAttr,
                                 Signature &signature) {
  OpAsmParser::Argument argument;
  NamedAttrList attrs;
  if (parser.parseArgument(argument, /*allowType=*/true))
    return failure();
  attrs.set(nameAttr, parser.getBuilder().getStringAttr(
                          argument.ssaName.name.drop_front()));
  if (succeeded(parser.parseOptionalKeyword("name"))) {
    StringAttr name;
    if (parser.parseAttribute(name))
      return failure();
    attrs.set(nameAttr, name);
  }
  if (succeeded(parser.parseOptionalKeyword("dims")) &&
      parseDims(parser, attrs))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("init")) &&
      parseInit(parser, attrs))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("no_decay")))
    attrs.set(attr::noDecay, parser.getBuilder().getUnitAttr());
  if (parser.parseOptionalAttrDict(attrs) ||
      parser.parseOptionalLocationSpecifier(argument.sourceLoc))
    return failure();
  signature.arguments.push_back(argument);
  signature.attributes.push_back(attrs.getDictionary(parser.getContext()));
  return success();
}

static ParseResult parseSignature(OpAsmParser &parser, Signature &signature) {
  if (parser.parseLParen())
    return failure();
  if (succeeded(parser.parseOptionalRParen()))
    return success();
  do {
    if (succeeded(parser.parseOptionalKeyword("params"))) {
      if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, [&]() {
            return parseArgument(parser, attr::param, signature);
          }))
        return failure();
      break;
    }
    if (parseArgument(parser, attr::name, signature))
      return failure();
  } while (succeeded(parser.parseOptionalComma()));
  return parser.parseRParen();
}

static ParseResult parseDefinition(OpAsmParser &parser, OperationState &result,
                                   StringRef typeAttr, StringRef argAttrs,
                                   bool withResults) {
  StringAttr name;
  Signature signature;
  SmallVector<Type> results;
  if (parser.parseSymbolName(name, SymbolTable::getSymbolAttrName(),
                             result.attributes) ||
      parseSignature(parser, signature))
    return failure();
  if (withResults && succeeded(parser.parseOptionalArrow())) {
    if (succeeded(parser.parseOptionalLParen())) {
      if (failed(parser.parseOptionalRParen()))
        if (parser.parseTypeList(results) || parser.parseRParen())
          return failure();
    } else if (parser.parseType(results.emplace_back())) {
      return failure();
    }
  }
  SmallVector<Type> inputs;
  for (const OpAsmParser::Argument &argument : signature.arguments)
    inputs.push_back(argument.type);
  Builder &builder = parser.getBuilder();
  result.addAttribute(typeAttr,
                      TypeAttr::get(builder.getFunctionType(inputs, results)));
  result.addAttribute(argAttrs, builder.getArrayAttr(signature.attributes));
  if (parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  Region *body = result.addRegion();
  return parser.parseRegion(*body, signature.arguments);
}

static void printArgument(OpAsmPrinter &printer, BlockArgument argument,
                          DictionaryAttr attrs) {
  std::string ssa;
  llvm::raw_string_ostream os(ssa);
  printer.printOperand(argument, os);
  printer << ssa << ": " << argument.getType();
  SmallVector<StringRef> printed = {attr::param, attr::name, attr::dims,
                                    attr::init, attr::noDecay};
  StringRef nameAttr = attr::name;
  if (attrs.contains(attr::param))
    nameAttr = attr::param;
  if (auto name = attrs.getAs<StringAttr>(nameAttr))
    if (StringRef(ssa).drop_front() != name.getValue())
      printer << " name " << name;
  if (auto dims = attrs.getAs<ArrayAttr>(attr::dims)) {
    printer << " dims [";
    llvm::interleaveComma(
        dims.getAsRange<StringAttr>(), printer,
        [&](StringAttr dim) { printer.printKeywordOrString(dim.getValue()); });
    printer << "]";
  }
  if (auto init = attrs.getAs<InitAttr>(attr::init)) {
    printer << " init ";
    printInitBody(printer, init);
  }
  if (attrs.contains(attr::noDecay))
    printer << " no_decay";
  printer.printOptionalAttrDict(attrs.getValue(), printed);
}

/// More than two arguments have a line each:
///   @layer(%x: tensor<…> dims [batch, embed],
///       params(%g: tensor<…> dims [embed] init ones,
///              %w: …)) -> tensor<…>
template <typename OpT>
static void printSignature(OpAsmPrinter &printer, OpT op) {
  bool wraps = op.getNumArguments() > 2, inParams = false;
  printer << "(";
  for (BlockArgument argument : op.getBody().getArguments()) {
    DictionaryAttr attrs =
        function_interface_impl::getArgAttrDict(op, argument.getArgNumber());
    if (!attrs)
      attrs = DictionaryAttr::get(op.getContext());
    if (argument.getArgNumber() > 0) {
      printer << (wraps ? "," : ", ");
      if (wraps) {
        printer.printNewline();
        printer << (inParams ? "           " : "    ");
      }
    }
    if (!inParams && attrs.contains(attr::param)) {
      printer << "params(";
      inParams = true;
    }
    printArgument(printer, argument, attrs);
  }
  printer << (inParams ? "))" : ")");
}

template <typename OpT>
static void printDefinition(OpAsmPrinter &printer, OpT op) {
  printer << " ";
  printer.printSymbolName(op.getSymName());
  printSignature(printer, op);
  if (!op.getFunctionType().getResults().empty()) {
    printer << " -> ";
    bool one = op.getFunctionType().getNumResults() == 1;
    printer << (one ? "" : "(");
    llvm::interleaveComma(op.getFunctionType().getResults(), printer);
    printer << (one ? "" : ")");
  }
  printer.printOptionalAttrDictWithKeyword(
      op->getAttrs(), {op.getSymNameAttrName(), op.getFunctionTypeAttrName(),
                       op.getArgAttrsAttrName()});
  printer << " ";
  printer.printRegion(op.getBody(), /*printEntryBlockArgs=*/false);
}

//===----------------------------------------------------------------------===//
// layer and model
//===----------------------------------------------------------------------===//

ParseResult LayerOp::parse(OpAsmParser &parser, OperationState &result) {
  return parseDefinition(parser, result, getFunctionTypeAttrName(result.name),
                         getArgAttrsAttrName(result.name), true);
}
void LayerOp::print(OpAsmPrinter &printer) { printDefinition(printer, *this); }

ParseResult ModelOp::parse(OpAsmParser &parser, OperationState &result) {
  return parseDefinition(parser, result, getFunctionTypeAttrName(result.name),
                         getArgAttrsAttrName(result.name), false);
}
void ModelOp::print(OpAsmPrinter &printer) { printDefinition(printer, *this); }

StringAttr LayerOp::getParameterName(unsigned index) {
  return getArgAttrOfType<StringAttr>(index, attr::param);
}

unsigned LayerOp::getNumActivations() {
  unsigned count = 0;
  while (count < getNumArguments() && !getParameterName(count))
    ++count;
  return count;
}

static void nameArguments(Region &region, FunctionOpInterface op,
                          OpAsmSetValueNameFn setName) {
  for (BlockArgument argument : region.getArguments())
    for (StringRef nameAttr : {attr::param, attr::name})
      if (auto name = op.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                      nameAttr))
        setName(argument, name.getValue());
}

void LayerOp::getAsmBlockArgumentNames(Region &region,
                                       OpAsmSetValueNameFn setName) {
  nameArguments(region, *this, setName);
}
void ModelOp::getAsmBlockArgumentNames(Region &region,
                                       OpAsmSetValueNameFn setName) {
  nameArguments(region, *this, setName);
}

/// dims has one name per dimension, none twice ("_" stands for no name).
static LogicalResult verifyDimNames(FunctionOpInterface op) {
  for (unsigned i = 0; i < op.getNumArguments(); ++i) {
    auto type = dyn_cast<RankedTensorType>(op.getArgumentTypes()[i]);
    if (!type)
      return op->emitOpError("argument ") << i << " is not a ranked tensor";
    auto dims = op.getArgAttrOfType<ArrayAttr>(i, attr::dims);
    if (!dims)
      continue;
    if (int64_t(dims.size()) != type.getRank())
      return op->emitOpError("argument ")
             << i << " has rank " << type.getRank() << " and " << dims.size()
             << " dimension names";
    llvm::StringSet<> seen;
    for (Attribute dim : dims) {
      auto name = dyn_cast<StringAttr>(dim);
      if (!name)
        return op->emitOpError("dimension names must be strings");
      if (name.getValue() != "_" && !seen.insert(name.getValue()).second)
        return op->emitOpError("argument ")
               << i << " names dimension '" << name.getValue() << "' twice";
    }
  }
  return success();
}

LogicalResult LayerOp::verify() {
  if (failed(verifyDimNames(*this)))
    return failure();
  llvm::StringSet<> names;
  bool inParams = false;
  for (unsigned i = 0; i < getNumArguments(); ++i) {
    StringAttr name = getParameterName(i);
    if (!name) {
      if (inParams)
        return emitOpError("activations must come before parameters");
      continue;
    }
    inParams = true;
    if (!names.insert(name.getValue()).second)
      return emitOpError("parameter '") << name.getValue() << "' twice";
    if (!cast<RankedTensorType>(getArgumentTypes()[i]).hasStaticShape())
      return emitOpError("parameter '")
             << name.getValue() << "' needs a static shape";
  }
  Block &block = getBody().front();
  auto yield = block.empty() ? YieldOp() : dyn_cast<YieldOp>(block.back());
  if (!yield)
    return emitOpError("must end with stretto.yield");
  if (TypeRange(yield.getOperands()) != TypeRange(getResultTypes()))
    return yield.emitOpError("types do not match the results of layer @")
           << getSymName();
  return success();
}

LogicalResult ModelOp::verify() { return verifyDimNames(*this); }

//===----------------------------------------------------------------------===//
// call and loss
//===----------------------------------------------------------------------===//

std::string CallOp::getParameterPath(StringRef name) {
  if (std::optional<DictionaryAttr> bind = getBind())
    if (auto target = bind->getAs<StringAttr>(name))
      return target.getValue().str();
  return (getScope() + "." + name).str();
}

LogicalResult CallOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto layer = symbols.lookupNearestSymbolFrom<LayerOp>(*this, getCalleeAttr());
  if (!layer)
    return emitOpError("no layer @") << getCallee();
  unsigned activations = layer.getNumActivations();
  TypeRange expected =
      TypeRange(layer.getArgumentTypes()).take_front(activations);
  if (expected != TypeRange(getOperands().getTypes()))
    return (emitOpError("passes ")
            << getOperands().size() << " activations that do not match the "
            << activations << " of layer @" << getCallee())
               .attachNote(layer.getLoc())
           << "declared here";
  if (TypeRange(layer.getResultTypes()) != TypeRange(getResults().getTypes()))
    return (emitOpError("result types do not match layer @") << getCallee())
               .attachNote(layer.getLoc())
           << "declared here";
  if (std::optional<DictionaryAttr> bind = getBind())
    for (NamedAttribute entry : *bind) {
      bool known = llvm::any_of(llvm::seq(activations, layer.getNumArguments()),
                                [&](unsigned i) {
                                  return layer.getParameterName(i).getValue() ==
                                         entry.getName().getValue();
                                });
      if (!known)
        return emitOpError("binds '")
               << entry.getName().getValue() << "', which is no parameter of @"
               << getCallee();
      if (!isa<StringAttr>(entry.getValue()))
        return emitOpError("bind values must be parameter paths");
    }
  return success();
}

LogicalResult LossOp::verify() {
  if (rule::tensor(getSum()).getRank() != 0 ||
      rule::tensor(getCount()).getRank() != 0)
    return emitOpError("sum and count must have rank 0; reduce them first");
  return success();
}
