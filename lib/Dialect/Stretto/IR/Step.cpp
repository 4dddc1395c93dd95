//===- Step.cpp - segments, invocations, steps ----------------------------===//

#include "RuleUtils.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/FunctionImplementation.h"
#include "stretto/Dialect/Stretto/IR/Describe.h"
#include "llvm/Support/MathExtras.h"

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

/// May one be resharded to the other?
static bool differInDistribution(Type from, Type to) {
  DistAttr a = getDist(from), b = getDist(to);
  return a && b && a.getMesh() == b.getMesh() &&
         sameShapesAndElements(from, to);
}

/// The value that `function` returns as result `index`, if it says so.
static Value returnedValue(FunctionOpInterface function, unsigned index) {
  Region *body = function.getCallableRegion();
  if (!body || body->empty() || body->front().empty())
    return {};
  auto yield = dyn_cast<YieldOp>(body->front().back());
  return yield && index < yield.getNumOperands() ? yield.getOperand(index)
                                                 : Value();
}

static std::string symbolOf(FunctionOpInterface function) {
  return "@" + SymbolTable::getSymbolName(function).getValue().str();
}

/// `function` returns `has` as result `index`: how it would return `wanted`.
static std::string reshardBeforeYield(FunctionOpInterface function,
                                      unsigned index, Type has, Type wanted) {
  Value value = returnedValue(function, index);
  return symbolOf(function) + " returns " + describe(wanted) +
         ", after a last " +
         reshardText(value ? nameOf(value) : "%result", getDist(has),
                     getDist(wanted));
}

/// The first that differs of what a call passes or gets, and what `target`
/// says; how the two would fit.
static LogicalResult verifyCallTypes(Operation *call,
                                     FunctionOpInterface target, StringRef what,
                                     bool areResults, TypeRange theirs) {
  TypeRange expected(areResults ? target.getResultTypes()
                                : target.getArgumentTypes());
  StringRef verb = areResults ? "returns " : "takes ";
  if (theirs == expected)
    return success();
  if (theirs.size() != expected.size())
    return (call->emitOpError(areResults ? "gets " : "passes ")
            << theirs.size() << " values, but " << what << " "
            << symbolOf(target) << " " << verb << expected.size())
               .attachNote(target.getLoc())
           << "declared here";
  for (unsigned i = 0; i < theirs.size(); ++i) {
    if (theirs[i] == expected[i])
      continue;
    InFlightDiagnostic error =
        call->emitOpError(areResults ? "result " : "argument ")
        << i << " is " << describe(theirs[i]) << ", but " << what << " "
        << symbolOf(target) << " " << verb << describe(expected[i]);
    Diagnostic &note = error.attachNote(target.getLoc()) << "declared here";
    if (!differInDistribution(theirs[i], expected[i]))
      return error;
    if (areResults)
      note << "; this would fit: result " << i << " is "
           << describe(getDist(expected[i])) << ", or "
           << reshardBeforeYield(target, i, expected[i], theirs[i]);
    else
      note << "; this would fit: argument " << i << " of " << symbolOf(target)
           << " is " << describe(theirs[i]) << ", then "
           << reshardText("%arg" + std::to_string(i), getDist(theirs[i]),
                          getDist(expected[i]));
    return error;
  }
  return success();
}

/// The called symbol exists as an `OpT` that takes and returns these types.
template <typename OpT>
static LogicalResult verifyCallee(Operation *call, FlatSymbolRefAttr callee,
                                  StringRef what, TypeRange arguments,
                                  TypeRange results,
                                  SymbolTableCollection &symbols) {
  auto target = symbols.lookupNearestSymbolFrom<OpT>(call, callee);
  if (!target)
    return call->emitOpError("no ") << what << " @" << callee.getValue();
  return failure(
      failed(verifyCallTypes(call, target, what, false, arguments)) ||
      failed(verifyCallTypes(call, target, what, true, results)));
}

/// What is yielded has the types that the signature promises, distributions
/// included: else a missing reduction could leave through the border.
static LogicalResult verifyYield(FunctionOpInterface op) {
  Block &block = op.getFunctionBody().front();
  auto yield = block.empty() ? YieldOp() : dyn_cast<YieldOp>(block.back());
  if (!yield)
    return op.emitOpError("must end with stretto.yield");
  ArrayRef<Type> expected = op.getResultTypes();
  if (yield.getOperandTypes() == TypeRange(expected))
    return success();
  // What is wrong inside explains more than what leaves: it is told first.
  for (Operation &inner : block)
    if (failed(mlir::verify(&inner)))
      return failure();
  if (yield.getNumOperands() != expected.size())
    return yield.emitOpError("yields ")
           << yield.getNumOperands() << " values, expected " << expected.size();
  for (auto [index, value] : llvm::enumerate(yield.getOperands())) {
    if (value.getType() == expected[index])
      continue;
    InFlightDiagnostic error = yield.emitOpError("yields ")
                               << describe(value.getType()) << " as result "
                               << index << ", but " << symbolOf(op)
                               << " returns " << describe(expected[index]);
    if (!differInDistribution(value.getType(), expected[index]))
      return error;
    // Reshards are made in segments; a step has none.
    if (isa<StepOp>(op))
      error.attachNote(op.getLoc()) << "this would fit: " << symbolOf(op)
                                    << " returns " << describe(value.getType());
    else
      error.attachNote(value.getLoc())
          << "this would fit: " << reshardText(value, getDist(expected[index]));
    return error;
  }
  return success();
}

/// `stretto.alias` of a result names an argument of its type, and no other
/// result names it.
static LogicalResult verifyAliases(FunctionOpInterface op) {
  llvm::SmallDenseMap<int64_t, unsigned> taken;
  for (unsigned i = 0; i < op.getNumResults(); ++i) {
    Attribute attribute = op.getResultAttr(i, attr::alias);
    if (!attribute)
      continue;
    auto alias = dyn_cast<IntegerAttr>(attribute);
    if (!alias || !alias.getType().isSignlessInteger(64) ||
        alias.getInt() < 0 || alias.getInt() >= int64_t(op.getNumArguments()))
      return op.emitOpError("result ")
             << i << " is an alias of " << attribute << ", expected one of the "
             << op.getNumArguments() << " arguments";
    Type type = op.getResultTypes()[i],
         source = op.getArgumentTypes()[alias.getInt()];
    if (type != source)
      return op.emitOpError("result ")
             << i << " is " << type << ", but its alias, argument "
             << alias.getInt() << ", is " << source;
    auto [it, fresh] = taken.try_emplace(alias.getInt(), i);
    if (!fresh)
      return op.emitOpError("results ") << it->second << " and " << i
                                        << " alias argument " << alias.getInt();
  }
  return success();
}

template <typename OpT> static LogicalResult verifyFunction(OpT op) {
  return failure(failed(verifyYield(op)) || failed(verifyAliases(op)));
}
LogicalResult SegmentOp::verify() { return verifyFunction(*this); }
LogicalResult KernelOp::verify() { return verifyFunction(*this); }

//===----------------------------------------------------------------------===//
// launch and gemm
//===----------------------------------------------------------------------===//

static bool isLaunchScalar(Attribute scalar) {
  auto word = dyn_cast<StringAttr>(scalar);
  if (word)
    return llvm::is_contained({"seed", "step", "instance", "microbatch"},
                              word.getValue());
  return isa<OffsetAttr, IntegerAttr>(scalar);
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  ArrayRef<int64_t> aliases = getAliases();
  if (aliases.size() != getResults().size())
    return emitOpError("expected one alias entry per result");
  for (auto [index, alias] : llvm::enumerate(aliases)) {
    if (alias < -1 || alias >= int64_t(getOperands().size()))
      return emitOpError("result ") << index << " is an alias of operand "
                                    << alias << " of " << getOperands().size();
    if (alias >= 0 &&
        getOperands()[alias].getType() != getResults()[index].getType())
      return emitOpError("result ") << index << " and its alias, operand "
                                    << alias << ", differ in type";
  }
  for (Attribute scalar : getScalars())
    if (!isLaunchScalar(scalar))
      return emitOpError("scalar ")
             << scalar
             << " is no #stretto.offset, integer, \"seed\", \"step\", "
             << "\"instance\" or \"microbatch\"";
  return verifyCallee<KernelOp>(*this, getCalleeAttr(), "kernel",
                                getOperandTypes(), getResultTypes(), symbols);
}

/// The last element that loops of `extents` with `strides` touch; nullopt when
/// an index is negative or too large to count.
static std::optional<int64_t> lastElement(ArrayRef<int64_t> extents,
                                          ArrayRef<int64_t> strides) {
  int64_t last = 0;
  for (auto [extent, stride] : llvm::zip(extents, strides)) {
    int64_t reach;
    if (stride < 0 || llvm::MulOverflow(extent - 1, stride, reach) ||
        llvm::AddOverflow(last, reach, last))
      return std::nullopt;
  }
  return last;
}

/// Extents are positive and every operand holds all that the loops touch.
LogicalResult GemmOp::verify() {
  SmallVector<int64_t> batch(getBatch());
  auto loops = [&](int64_t rows, int64_t columns) {
    SmallVector<int64_t> extents = batch;
    extents.append({rows, columns});
    return extents;
  };
  int64_t m = getM(), n = getN(), k = getK();
  for (int64_t extent : loops(m, n))
    if (extent < 1 || k < 1)
      return emitOpError("sizes must be positive, got m ")
             << m << ", n " << n << ", k " << k << ", batch [" << batch << "]";
  auto elementOf = [](Value value) {
    return cast<RankedTensorType>(value.getType()).getElementType();
  };
  Type element = elementOf(getA());
  if (elementOf(getB()) != element)
    return emitOpError("a is ")
           << element << ", b " << elementOf(getB()) << "; use stretto.convert";
  if (!isSumType(elementOf(getResult()), element))
    return emitOpError("a and b are ")
           << element << ", the result " << elementOf(getResult())
           << ", expected " << element << " or a wider float";
  if (getAcc() && getAcc().getType() != getResult().getType())
    return emitOpError("acc is ")
           << getAcc().getType() << ", the result " << getResult().getType();
  struct Part {
    StringRef name;
    Value value;
    ArrayRef<int64_t> strides, batchStrides;
    SmallVector<int64_t> extents;
  };
  for (const Part &part :
       {Part{"a", getA(), getAStrides(), getABatch(), loops(m, k)},
        Part{"b", getB(), getBStrides(), getBBatch(), loops(k, n)},
        Part{"c", getResult(), getCStrides(), getCBatch(), loops(m, n)}}) {
    if (part.strides.size() != 2 || part.batchStrides.size() != batch.size())
      return emitOpError("expected 2 strides and ")
             << batch.size() << " batch strides of " << part.name << ", got "
             << part.strides.size() << " and " << part.batchStrides.size();
    SmallVector<int64_t> strides(part.batchStrides);
    llvm::append_range(strides, part.strides);
    std::optional<int64_t> last = lastElement(part.extents, strides);
    auto type = cast<RankedTensorType>(part.value.getType());
    if (!type.hasStaticShape())
      return emitOpError() << part.name << " needs a static shape";
    if (!last || *last >= type.getNumElements())
      return emitOpError("sizes and strides leave ")
             << part.name << ", which has " << type.getNumElements()
             << " elements";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// invoke and microbatches
//===----------------------------------------------------------------------===//

LogicalResult InvokeOp::verifySymbolUses(SymbolTableCollection &symbols) {
  SmallVector<Type> arguments;
  for (TensorRef operand : getTensorOperands())
    arguments.push_back(operand.getType());
  return verifyCallee<SegmentOp>(*this, getCalleeAttr(), "segment", arguments,
                                 tensorTypesOf(getResultTypes()), symbols);
}

/// The slice [k] along the leading dimension has the type of `slice`; how it
/// lies on the mesh is settled by assign.
static bool isSliceOf(RankedTensorType whole, Type slice) {
  auto type = dyn_cast<RankedTensorType>(slice);
  return type && type.getElementType() == whole.getElementType() &&
         type.getShape() == whole.getShape().drop_front();
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
      succeeded(verifyFunction(*this)) &&
      succeeded(check("argument", getArgumentTypes(), getArgAttrsAttr())) &&
      succeeded(check("result", getResultTypes(), getResAttrsAttr())));
}

/// A carried value has one type: where it enters, in the body, where it is
/// yielded and as a result.
static LogicalResult verifyCarried(MicrobatchesOp loop, unsigned index,
                                   Type taken, Value yielded) {
  Type enters = loop.getCarried()[index].getType(),
       returned = loop.getResult(index).getType();
  auto complain = [&](StringRef what, Type has) {
    return loop.emitOpError("carried value ")
           << index << " enters as " << describe(enters) << ", but the " << what
           << " " << describe(has);
  };
  if (taken != enters)
    return complain("body takes", taken)
           << "; this would fit: the body takes " << describe(enters);
  if (yielded.getType() != enters) {
    InFlightDiagnostic error = complain("body yields", yielded.getType());
    auto invoke = yielded.getDefiningOp<InvokeOp>();
    auto segment = invoke ? SymbolTable::lookupNearestSymbolFrom<SegmentOp>(
                                invoke, invoke.getCalleeAttr())
                          : SegmentOp();
    if (!segment || !differInDistribution(yielded.getType(), enters))
      return error << "; carry one type";
    auto result = cast<OpResult>(yielded).getResultNumber();
    error.attachNote(segment.getLoc())
        << "this would fit: "
        << reshardBeforeYield(segment, result, yielded.getType(), enters);
    return error;
  }
  if (returned != enters)
    return complain("loop returns", returned)
           << "; this would fit: result " << index << " is "
           << describe(enters);
  return success();
}

LogicalResult MicrobatchesOp::verify() {
  Block &block = getBody().front();
  if (block.getNumArguments() != getInputs().size() + getCarried().size())
    return emitOpError("body takes ")
           << block.getNumArguments() << " values, expected "
           << getInputs().size() + getCarried().size();
  for (auto [input, slice] : llvm::zip(getInputs(), block.getArguments())) {
    auto type = dyn_cast<RankedTensorType>(input.getType());
    if (!type || type.getRank() < 1 ||
        type.getDimSize(0) != int64_t(getCount()))
      return emitOpError("inputs need the leading dimension ")
             << getCount() << ", got " << describe(input.getType());
    if (!isSliceOf(type, slice.getType()))
      return emitOpError("the body takes ")
             << describe(slice.getType()) << " as a slice of " << describe(type)
             << "; a slice has the shape without its leading dimension";
  }
  auto yield = block.empty() ? YieldOp() : dyn_cast<YieldOp>(block.back());
  if (!yield || yield.getNumOperands() != getCarried().size() ||
      getNumResults() != getCarried().size())
    return emitOpError("must yield and return the ")
           << getCarried().size() << " values that it carries, yields "
           << (yield ? yield.getNumOperands() : 0) << " and returns "
           << getNumResults();
  for (unsigned i = 0; i < getCarried().size(); ++i)
    if (failed(verifyCarried(
            *this, i, block.getArgument(getInputs().size() + i).getType(),
            yield.getOperand(i))))
      return failure();
  return success();
}
