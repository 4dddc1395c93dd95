//===- Indexed.cpp - operations whose data says where ---------------------===//

#include "RuleUtils.h"
#include "stretto/Dialect/Stretto/IR/Describe.h"

using namespace mlir;
using namespace stretto;
using namespace stretto::rule;

static bool isI32(Value value) {
  return tensor(value).getElementType().isInteger(32);
}

/// Offsets of the listed dimensions of a value's shard.
static ArrayAttr offsetsOf(MLIRContext *context, DistAttr dist,
                           ArrayRef<int64_t> dims, ArrayRef<int64_t> extents) {
  SmallVector<Attribute> offsets;
  for (int64_t dim : dims)
    offsets.push_back(OffsetAttr::ofShard(dist, dim, extents[dim]));
  return ArrayAttr::get(context, offsets);
}

static SmallVector<int64_t> pick(ArrayRef<int64_t> shape,
                                 ArrayRef<int64_t> dims) {
  return llvm::map_to_vector(dims, [&](int64_t dim) { return shape[dim]; });
}

/// Starts are one rank-0 i32 per listed dimension.
static LogicalResult verifyStarts(Operation *op, ValueRange starts,
                                  ArrayRef<int64_t> dims, int64_t rank) {
  if (starts.size() != dims.size())
    return op->emitOpError("lists ")
           << dims.size() << " dimensions but " << starts.size() << " starts";
  for (Value start : starts)
    if (!isI32(start) || !shape(start).empty())
      return op->emitOpError("starts must be i32 of rank 0");
  return verifyDims(op, dims, rank);
}

/// Along `dims` the box is no larger than the whole; elsewhere they are equal.
/// After localize the extents are those of shards.
static LogicalResult verifyBox(Operation *op, ArrayRef<int64_t> whole,
                               ArrayRef<int64_t> box, ArrayRef<int64_t> dims,
                               bool localized) {
  if (whole.size() != box.size())
    return op->emitOpError("has a box of rank ")
           << box.size() << " in a tensor of rank " << whole.size();
  for (auto [dim, extent] : llvm::enumerate(whole)) {
    bool listed = llvm::is_contained(dims, int64_t(dim));
    if (listed && localized)
      continue;
    bool fits = listed ? ShapedType::isDynamic(extent) || box[dim] <= extent
                       : compatible({box[dim]}, {extent});
    if (!fits)
      return op->emitOpError("has a box of ")
             << box[dim] << " along dimension " << dim << ", the extent is "
             << extent;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// dynamic_slice, dynamic_update_slice
//===----------------------------------------------------------------------===//

LogicalResult DynamicSliceOp::verify() {
  if (tensor(getX()).getElementType() != tensor(getResult()).getElementType())
    return emitOpError("must keep the element type");
  if (failed(verifyStarts(*this, getStarts(), getDims(), shape(getX()).size())))
    return failure();
  return verifyBox(*this, shape(getX()), shape(getResult()), getDims(),
                   getExtents().has_value());
}

/// A sliced dimension is a sum over the operand's shards, and any part of the
/// box may be asked for.
OpRule DynamicSliceOp::getShardingRule() {
  OpRule rule;
  SmallVector<unsigned> operand, result;
  for (auto [dim, extent] : llvm::enumerate(shape(getX()))) {
    bool listed = llvm::is_contained(getDims(), int64_t(dim));
    operand.push_back(rule.addFactor(extent, listed ? FactorKind::Reduction
                                                    : FactorKind::Parallel));
    result.push_back(listed ? rule.addFactor(shape(getResult())[dim])
                            : operand.back());
  }
  rule.operands.push_back(OpRule::plain(operand));
  rule.operands.append(getStarts().size(), DimFactors());
  rule.results.push_back(OpRule::plain(result));
  rule.linearSets = {{{0}}};
  return rule;
}

void DynamicSliceOp::localizeAttributes(ArrayRef<DistAttr> operands,
                                        ArrayRef<DistAttr> results,
                                        Operation *original) {
  auto source = cast<DynamicSliceOp>(original);
  ArrayRef<int64_t> extents = shape(source.getX()),
                    sizes = shape(source.getResult());
  setExtents(pick(extents, getDims()));
  setSizes(pick(sizes, getDims()));
  setOffsetsAttr(offsetsOf(getContext(), operands[0], getDims(), extents));
  setResultOffsetsAttr(offsetsOf(getContext(), results[0], getDims(), sizes));
}

LogicalResult DynamicUpdateSliceOp::inferReturnTypes(
    MLIRContext *, std::optional<Location>, ValueRange operands, DictionaryAttr,
    OpaqueProperties, RegionRange, SmallVectorImpl<Type> &inferred) {
  inferred.push_back(bareType(operands[0].getType()));
  return success();
}

LogicalResult DynamicUpdateSliceOp::verify() {
  if (tensor(getX()).getElementType() != tensor(getUpdate()).getElementType())
    return emitOpError("must keep the element type");
  if (failed(verifyStarts(*this, getStarts(), getDims(), shape(getX()).size())))
    return failure();
  return verifyBox(*this, shape(getX()), shape(getUpdate()), getDims(),
                   getExtents().has_value());
}

OpRule DynamicUpdateSliceOp::getShardingRule() {
  OpRule rule;
  SmallVector<unsigned> whole = rule.addFactors(shape(getX())), box(whole);
  for (int64_t dim : getDims())
    box[dim] = rule.addFactor(shape(getUpdate())[dim], FactorKind::Blocked);
  rule.operands = {OpRule::plain(whole), OpRule::plain(box)};
  rule.operands.append(getStarts().size(), DimFactors());
  rule.results.push_back(OpRule::plain(whole));
  rule.linearSets = {{{0, 1}}};
  return rule;
}

void DynamicUpdateSliceOp::localizeAttributes(ArrayRef<DistAttr> operands,
                                              ArrayRef<DistAttr>,
                                              Operation *original) {
  auto source = cast<DynamicUpdateSliceOp>(original);
  ArrayRef<int64_t> extents = shape(source.getX());
  setExtents(pick(extents, getDims()));
  setOffsetsAttr(offsetsOf(getContext(), operands[0], getDims(), extents));
}

//===----------------------------------------------------------------------===//
// gather, scatter_add
//===----------------------------------------------------------------------===//

/// The shape that gather gives, or failure when the ranks do not fit.
static FailureOr<SmallVector<int64_t>>
gatheredShape(std::optional<Location> loc, ArrayRef<int64_t> x,
              ArrayRef<int64_t> indices, int64_t dim, int64_t batch) {
  if (batch < 0 || dim < batch || dim >= int64_t(x.size()) ||
      batch > int64_t(indices.size()))
    return emitOptionalError(loc, "dimension ", dim, " with ", batch,
                             " batch dimensions does not fit operands of rank ",
                             x.size(), " and ", indices.size());
  if (!compatible(x.take_front(batch), indices.take_front(batch)))
    return emitOptionalError(loc, "operands differ in their batch dimensions");
  SmallVector<int64_t> result(x.take_front(dim));
  llvm::append_range(result, indices.drop_front(batch));
  llvm::append_range(result, x.drop_front(dim + 1));
  return result;
}

LogicalResult
GatherOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                           ValueRange operands, DictionaryAttr attributes,
                           OpaqueProperties properties, RegionRange regions,
                           SmallVectorImpl<Type> &inferred) {
  Adaptor adaptor(operands, attributes, properties, regions);
  auto result = gatheredShape(loc, shape(operands[0]), shape(operands[1]),
                              adaptor.getDim(), adaptor.getBatchDims());
  if (failed(result))
    return failure();
  inferred.push_back(make(*result, tensor(operands[0]).getElementType()));
  return success();
}

LogicalResult GatherOp::verify() {
  if (!isI32(getIndices()))
    return emitOpError("indices must be i32");
  return success();
}

namespace {
/// Factors of gather and of its adjoint: the gathered extent, the batch and
/// other dimensions of `x`, and those of the indices.
struct GatherFactors {
  GatherFactors(OpRule &rule, ArrayRef<int64_t> xShape,
                ArrayRef<int64_t> indexShape, int64_t dim, int64_t batch,
                FactorKind rows, FactorKind which)
      : x(rule.addFactors(xShape)) {
    rule.factors[x[dim]].kind = rows;
    indices.assign(x.begin(), x.begin() + batch);
    for (int64_t extent : indexShape.drop_front(batch))
      indices.push_back(rule.addFactor(extent, which));
    gathered.assign(x.begin(), x.begin() + dim);
    gathered.append(indices.begin() + batch, indices.end());
    gathered.append(x.begin() + dim + 1, x.end());
  }
  SmallVector<unsigned> x, indices, gathered;
};
} // namespace

OpRule GatherOp::getShardingRule() {
  OpRule rule;
  GatherFactors factors(rule, shape(getX()), shape(getIndices()), getDim(),
                        getBatchDims(), FactorKind::Reduction,
                        FactorKind::Parallel);
  rule.operands = {OpRule::plain(factors.x), OpRule::plain(factors.indices)};
  rule.results = {OpRule::plain(factors.gathered)};
  rule.linearSets = {{{0}}};
  return rule;
}

void GatherOp::localizeAttributes(ArrayRef<DistAttr> operands,
                                  ArrayRef<DistAttr>, Operation *original) {
  auto source = cast<GatherOp>(original);
  setOffsetAttr(OffsetAttr::ofShard(operands[0], getDim(),
                                    shape(source.getX())[getDim()]));
}

LogicalResult ScatterAddOp::verify() {
  if (!isI32(getIndices()))
    return emitOpError("indices must be i32");
  auto expected = gatheredShape(getLoc(), shape(getResult()),
                                shape(getIndices()), getDim(), getBatchDims());
  if (failed(expected))
    return failure();
  if (!compatible(shape(getUpdates()), *expected))
    return emitOpError("updates do not have the shape that gather would give");
  return success();
}

OpRule ScatterAddOp::getShardingRule() {
  OpRule rule;
  GatherFactors factors(rule, shape(getResult()), shape(getIndices()), getDim(),
                        getBatchDims(), FactorKind::Parallel,
                        FactorKind::Reduction);
  rule.operands = {OpRule::plain(factors.indices),
                   OpRule::plain(factors.gathered)};
  rule.results = {OpRule::plain(factors.x)};
  rule.linearSets = {{{1}}};
  return rule;
}

void ScatterAddOp::localizeAttributes(ArrayRef<DistAttr>,
                                      ArrayRef<DistAttr> results,
                                      Operation *original) {
  auto source = cast<ScatterAddOp>(original);
  setOffsetAttr(OffsetAttr::ofShard(results[0], getDim(),
                                    shape(source.getResult())[getDim()]));
}

//===----------------------------------------------------------------------===//
// top_k, arg_reduce
//===----------------------------------------------------------------------===//

LogicalResult
TopKOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc,
                         ValueRange operands, DictionaryAttr attributes,
                         OpaqueProperties properties, RegionRange regions,
                         SmallVectorImpl<Type> &inferred) {
  Adaptor adaptor(operands, attributes, properties, regions);
  SmallVector<int64_t> result(shape(operands[0]));
  int64_t dim = adaptor.getDim();
  if (dim < 0 || dim >= int64_t(result.size()))
    return emitOptionalError(loc, "top_k dimension ", dim, " is outside rank ",
                             result.size());
  result[dim] = int64_t(adaptor.getK()) * int64_t(adaptor.getBlocks());
  inferred.push_back(make(result, tensor(operands[0]).getElementType()));
  inferred.push_back(make(result, IntegerType::get(context, 32)));
  return success();
}

LogicalResult TopKOp::verify() {
  int64_t dim = getDim(), k = getK(), blocks = getBlocks();
  if (failed(verifyDims(*this, {dim}, shape(getX()).size())))
    return failure();
  int64_t extent = shape(getX())[dim];
  bool whole = blocks == 1 && !getExtent();
  if (k < 1 || blocks < 1 ||
      (whole && !ShapedType::isDynamic(extent) && k > extent))
    return emitOpError("wants the ") << k << " largest of an extent of "
                                     << extent << " in " << blocks << " blocks";
  // In one block the rule wants the dimension whole.
  if (DistAttr dist = getDist(getX()); dist && blocks > 1)
    if (blocks % dist.getNumShards(dim) != 0)
      return emitOpError("cuts dimension ")
             << dim << " of " << describe(getX().getType()) << " in " << blocks
             << " blocks, but it lies in " << dist.getNumShards(dim)
             << " shards; use as many blocks, or a multiple";
  if (getIndices() &&
      (!isI32(getIndices()) || !compatible(shape(getIndices()), shape(getX()))))
    return emitOpError("indices must be i32 of the operand's shape");
  return success();
}

/// In blocks the dimension may be sharded: whole blocks per shard.
OpRule TopKOp::getShardingRule() {
  OpRule rule;
  SmallVector<unsigned> operand, result;
  for (auto [dim, extent] : llvm::enumerate(shape(getX()))) {
    if (dim != getDim()) {
      operand.push_back(rule.addFactor(extent));
      result.push_back(operand.back());
      continue;
    }
    operand.push_back(rule.addWindow(extent, shape(getValues())[dim]));
    result.push_back(operand.back() + 1);
    if (getBlocks() == 1)
      for (unsigned factor : {operand.back(), result.back()})
        rule.factors[factor].kind = FactorKind::Blocked;
  }
  rule.operands.assign(getOperation()->getNumOperands(),
                       OpRule::plain(operand));
  rule.results.assign(2, OpRule::plain(result));
  return rule;
}

void TopKOp::localizeAttributes(ArrayRef<DistAttr> operands, ArrayRef<DistAttr>,
                                Operation *original) {
  auto source = cast<TopKOp>(original);
  int64_t extent = shape(source.getX())[getDim()];
  setExtent(extent);
  setBlocks(getBlocks() / operands[0].getNumShards(getDim()));
  setOffsetAttr(OffsetAttr::ofShard(operands[0], getDim(), extent));
}

LogicalResult
ArgReduceOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc,
                              ValueRange operands, DictionaryAttr attributes,
                              OpaqueProperties properties, RegionRange regions,
                              SmallVectorImpl<Type> &inferred) {
  Adaptor adaptor(operands, attributes, properties, regions);
  SmallVector<int64_t> result(shape(operands[0]));
  int64_t dim = adaptor.getDim();
  if (dim < 0 || dim >= int64_t(result.size()))
    return emitOptionalError(loc, "arg_reduce dimension ", dim,
                             " is outside rank ", result.size());
  result.erase(result.begin() + dim);
  inferred.push_back(make(result, IntegerType::get(context, 32)));
  return success();
}

LogicalResult ArgReduceOp::verify() {
  if (getKind() != ReduceKind::Max && getKind() != ReduceKind::Min)
    return emitOpError("needs max or min, got ")
           << stringifyReduceKind(getKind());
  if (failed(verifyDims(*this, {int64_t(getDim())}, shape(getX()).size())))
    return failure();
  if (shape(getX())[getDim()] == 0)
    return emitOpError("along dimension ") << getDim() << " of extent 0";
  return success();
}

OpRule ArgReduceOp::getShardingRule() {
  OpRule rule;
  SmallVector<unsigned> operand = rule.addFactors(shape(getX())), kept(operand);
  rule.factors[operand[getDim()]].kind = FactorKind::Blocked;
  kept.erase(kept.begin() + getDim());
  rule.operands.push_back(OpRule::plain(operand));
  rule.results.push_back(OpRule::plain(kept));
  return rule;
}
