//===- Graph.cpp - a graph to be sharded ----------------------------------===//

#include "stretto/Fuzz/Graph.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace stretto;
using namespace stretto::fuzz;

OwningOpRef<ModuleOp> fuzz::makeGraph(MLIRContext &context, MeshAttr mesh) {
  Location loc = UnknownLoc::get(&context);
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  (*module)->setAttr("stretto.mesh", mesh);
  OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
  auto graph = SegmentOp::create(builder, loc, builder.getStringAttr(graphName),
                                 TypeAttr::get(builder.getFunctionType({}, {})),
                                 builder.getStringAttr("forward"), StringAttr(),
                                 StringAttr(), builder.getArrayAttr({}),
                                 builder.getArrayAttr({}));
  builder.createBlock(&graph.getBody());
  YieldOp::create(builder, loc, ValueRange());
  return module;
}

SegmentOp fuzz::getGraph(ModuleOp module) {
  auto graph = module.lookupSymbol<SegmentOp>(graphName);
  if (!graph || !module->getAttrOfType<MeshAttr>("stretto.mesh")) {
    module.emitError("needs a segment '@") << graphName << "' and stretto.mesh";
    return {};
  }
  return graph;
}

static void updateType(SegmentOp graph) {
  Block &body = graph.getBody().front();
  graph.setFunctionType(
      FunctionType::get(graph.getContext(), body.getArgumentTypes(),
                        body.getTerminator()->getOperandTypes()));
}

/// The attributes of an argument or result of the graph.
static DictionaryAttr describe(MLIRContext *context, StringRef role,
                               ConstraintAttr constraint, int64_t bound = 0) {
  Builder builder(context);
  NamedAttrList attributes;
  attributes.set("stretto.role", builder.getStringAttr(role));
  attributes.set("stretto.constraint", constraint);
  if (bound)
    attributes.set(boundAttr, builder.getI64IntegerAttr(bound));
  return attributes.getDictionary(context);
}

Value fuzz::addArgument(SegmentOp graph, RankedTensorType type,
                        ConstraintAttr constraint, int64_t bound) {
  Value argument = graph.getBody().front().addArgument(type, graph.getLoc());
  SmallVector<DictionaryAttr> attributes;
  graph.getAllArgAttrs(attributes);
  attributes.push_back(
      describe(graph.getContext(), "activation", constraint, bound));
  updateType(graph);
  graph.setAllArgAttrs(attributes);
  return argument;
}

SmallVector<Result> fuzz::getResults(SegmentOp graph) {
  SmallVector<Result> results;
  for (auto [i, value] :
       llvm::enumerate(graph.getBody().front().getTerminator()->getOperands()))
    results.push_back(
        {value,
         graph.getResultAttrOfType<ConstraintAttr>(i, "stretto.constraint"),
         graph.getResultAttrOfType<StringAttr>(i, "stretto.role") ==
             StringAttr::get(graph.getContext(), "cotangent")});
  return results;
}

void fuzz::setResults(SegmentOp graph, ArrayRef<Result> results) {
  SmallVector<Value> values;
  for (const Result &result : results)
    values.push_back(result.value);
  graph.getBody().front().getTerminator()->setOperands(values);
  updateType(graph);
  SmallVector<DictionaryAttr> attributes;
  for (const Result &result : results)
    attributes.push_back(describe(
        graph.getContext(), result.zeroPadding ? "cotangent" : "activation",
        result.constraint));
  graph.setAllResultAttrs(attributes);
}

Operation *fuzz::tryCreate(OpBuilder &builder, StringRef name,
                           ValueRange operands,
                           ArrayRef<NamedAttribute> attributes,
                           unsigned numResults, ArrayRef<Type> types) {
  MLIRContext *context = builder.getContext();
  ScopedDiagnosticHandler silence(context,
                                  [](Diagnostic &) { return success(); });
  OperationState state(UnknownLoc::get(context), name);
  state.addOperands(operands);
  state.addAttributes(attributes);
  if (types.empty()) // inferred below, when the attributes are in their place
    for (unsigned i = 0; i < numResults; ++i)
      state.addTypes(operands.front().getType());
  else
    state.addTypes(types);
  Operation *op = builder.create(state);
  if (types.empty()) {
    auto inferable = dyn_cast<InferTypeOpInterface>(op);
    SmallVector<Type> inferred;
    if (!inferable ||
        failed(inferable.inferReturnTypes(
            context, op->getLoc(), operands, op->getAttrDictionary(),
            op->getPropertiesStorage(), op->getRegions(), inferred)) ||
        inferred.size() != op->getNumResults()) {
      op->erase();
      return nullptr;
    }
    for (auto [result, type] : llvm::zip(op->getResults(), inferred))
      result.setType(type);
  }
  if (succeeded(verify(op)))
    return op;
  op->erase();
  return nullptr;
}

void fuzz::removeDeadCode(SegmentOp graph) {
  Block &body = graph.getBody().front();
  Operation *module = graph->getParentOp();
  auto split = module->getAttrOfType<IntegerAttr>(splitAttr);
  int64_t index = llvm::range_size(body), before = split ? split.getInt() : 0;
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body))) {
    --index;
    if (!op.use_empty() || op.hasTrait<OpTrait::IsTerminator>())
      continue;
    op.erase();
    before -= split && index < split.getInt();
  }
  if (split)
    module->setAttr(splitAttr, IntegerAttr::get(split.getType(), before));
  llvm::BitVector unused(body.getNumArguments());
  for (BlockArgument argument : body.getArguments())
    if (argument.use_empty())
      unused.set(argument.getArgNumber());
  SmallVector<DictionaryAttr> attributes, kept;
  graph.getAllArgAttrs(attributes);
  for (auto [index, attribute] : llvm::enumerate(attributes))
    if (!unused.test(index))
      kept.push_back(attribute);
  body.eraseArguments(unused);
  updateType(graph);
  graph.setAllArgAttrs(kept);
}

ConstraintAttr fuzz::parseConstraint(MLIRContext &context, StringRef dims) {
  std::string text = ("#stretto.constraint<" + dims + ">").str();
  return cast<ConstraintAttr>(parseAttribute(text, &context));
}
