//===- BindShapes.cpp - dynamic dimensions become numbers -----------------===//
//
// Arguments get their sizes from their dimension names; every other type is
// inferred from its operands, in order.
//
//===----------------------------------------------------------------------===//

#include "BindShapes.h"
#include "stretto/Dialect/Stretto/IR/Describe.h"
#include "stretto/Dialect/Stretto/IR/StrettoOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace stretto;

static FailureOr<Type> bindArgument(FunctionOpInterface function,
                                    unsigned index, BoundSizes sizes) {
  auto type = cast<RankedTensorType>(function.getArgumentTypes()[index]);
  if (type.hasStaticShape())
    return Type(type);
  auto names = function.getArgAttrOfType<ArrayAttr>(index, attr::dims);
  SmallVector<int64_t> shape(type.getShape());
  for (auto [dim, extent] : llvm::enumerate(shape)) {
    if (!ShapedType::isDynamic(extent))
      continue;
    StringRef name = names ? cast<StringAttr>(names[dim]).getValue() : "_";
    if (name != "batch" && name != "seq") {
      function.emitOpError("dimension ")
          << dim << " ('" << name << "') of argument " << index
          << " is dynamic; the recipe binds only 'batch' and 'seq', write a "
             "number for others";
      return failure();
    }
    extent = name == "batch" ? sizes.batch : sizes.seq;
  }
  return Type(RankedTensorType::get(shape, type.getElementType()));
}

static LogicalResult bindArguments(FunctionOpInterface function,
                                   BoundSizes sizes) {
  Block &body = function.getFunctionBody().front();
  for (BlockArgument argument : body.getArguments()) {
    auto type = bindArgument(function, argument.getArgNumber(), sizes);
    if (failed(type))
      return failure();
    argument.setType(*type);
  }
  return success();
}

static LogicalResult inferResults(InferTypeOpInterface op) {
  SmallVector<Type> types;
  if (failed(op.inferReturnTypes(op->getContext(), op->getLoc(),
                                 op->getOperands(), op->getAttrDictionary(),
                                 op->getPropertiesStorage(), op->getRegions(),
                                 types)))
    return failure();
  for (auto [result, type] : llvm::zip(op->getResults(), types))
    result.setType(type);
  return success();
}

/// Extents of factors as far as the (bound) operands tell.
static SmallVector<int64_t> operandExtents(Operation *op, const OpRule &rule) {
  SmallVector<int64_t> extents(rule.factors.size(), ShapedType::kDynamic);
  for (auto [operand, dims] : llvm::zip(op->getOperands(), rule.operands)) {
    auto shape = cast<RankedTensorType>(operand.getType()).getShape();
    for (auto [factors, extent] : llvm::zip(dims, shape))
      if (factors.size() == 1)
        extents[factors[0]] = extent;
  }
  return extents;
}

/// The extent of a dimension whose parts the rule knows, else dynamic.
static int64_t productOfParts(const OpRule &rule, ArrayRef<unsigned> factors) {
  int64_t product = 1;
  for (unsigned factor : factors) {
    if (ShapedType::isDynamic(rule.factors[factor].size))
      return ShapedType::kDynamic;
    product *= rule.factors[factor].size;
  }
  return product;
}

/// For operations that state their result type: a dynamic dimension has the
/// extent of its factor in the operands.
static LogicalResult bindResults(ShardingRule op) {
  OpRule rule = op.getShardingRule();
  SmallVector<int64_t> extents = operandExtents(op, rule);
  for (auto [result, dims] : llvm::zip(op->getResults(), rule.results)) {
    auto type = cast<RankedTensorType>(result.getType());
    SmallVector<int64_t> shape(type.getShape());
    for (auto [dim, extent] : llvm::enumerate(shape)) {
      if (ShapedType::isDynamic(extent) && dims[dim].size() == 1)
        extent = extents[dims[dim][0]];
      if (ShapedType::isDynamic(extent))
        extent = productOfParts(rule, dims[dim]);
      if (ShapedType::isDynamic(extent))
        return op->emitOpError("extent of result dimension ")
               << dim
               << " is in no operand; write a number, or align with a "
                  "tensor that has the dimension";
    }
    result.setType(RankedTensorType::get(shape, type.getElementType()));
  }
  return success();
}

static LogicalResult bindOperation(Operation &op, SymbolTable &symbols) {
  if (auto call = dyn_cast<CallOp>(op)) {
    auto layer = symbols.lookup<LayerOp>(call.getCallee());
    for (auto [result, type] :
         llvm::zip(call.getResults(), layer.getResultTypes()))
      result.setType(type);
    return success();
  }
  if (auto infer = dyn_cast<InferTypeOpInterface>(op))
    return inferResults(infer);
  if (auto rule = dyn_cast<ShardingRule>(op))
    return bindResults(rule);
  if (op.getNumResults() == 0)
    return success();
  return op.emitOpError("has types that cannot be inferred");
}

static LogicalResult bindFunction(FunctionOpInterface function,
                                  SymbolTable &symbols, BoundSizes sizes) {
  if (failed(bindArguments(function, sizes)))
    return failure();
  Block &body = function.getFunctionBody().front();
  for (Operation &op : body)
    if (failed(bindOperation(op, symbols)))
      return failure();
  SmallVector<Type> results;
  if (auto yield = body.empty() ? YieldOp() : dyn_cast<YieldOp>(body.back()))
    llvm::append_range(results, yield.getOperandTypes());
  function.setType(FunctionType::get(function.getContext(),
                                     body.getArgumentTypes(), results));
  return success();
}

/// Extents that a program can be made for: none is 0, and sums of several
/// tensors' bytes stay far below 2^63.
static LogicalResult verifyExtents(Location loc, StringRef what, Type type) {
  constexpr int64_t most = int64_t(1) << 50;
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape())
    return success();
  int64_t elements = 1;
  for (auto [dim, extent] : llvm::enumerate(tensor.getShape())) {
    if (extent < 1)
      return emitError(loc)
             << what << " is " << describe(type) << ": dimension " << dim
             << " has no elements; use an extent of at least 1";
    if (llvm::MulOverflow(elements, extent, elements) || elements > most)
      return emitError(loc) << what << " is " << describe(type)
                            << ", more than the 2^50 elements that a tensor "
                               "may have; use smaller extents";
  }
  return success();
}

static LogicalResult verifyExtents(LayerOp layer) {
  for (BlockArgument argument : layer.getBody().getArguments())
    if (failed(verifyExtents(argument.getLoc(),
                             "argument " +
                                 std::to_string(argument.getArgNumber()) +
                                 " of @" + layer.getSymName().str(),
                             argument.getType())))
      return failure();
  for (Operation &op : layer.getBody().front())
    for (auto [index, type] : llvm::enumerate(op.getResultTypes()))
      if (failed(verifyExtents(op.getLoc(),
                               "result " + std::to_string(index) + " of " +
                                   op.getName().getStringRef().str(),
                               type)))
        return failure();
  return success();
}

LogicalResult stretto::bindShapes(ModuleOp module, BoundSizes sizes) {
  SymbolTable symbols(module);
  for (auto layer : module.getOps<LayerOp>())
    if (failed(bindFunction(layer, symbols, sizes)) ||
        failed(verifyExtents(layer)))
      return failure();
  for (auto model : module.getOps<ModelOp>())
    if (failed(bindFunction(model, symbols, sizes)))
      return failure();
  return success();
}
