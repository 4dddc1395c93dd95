//===- ExchangeBlocks.cpp - the local part of an all-to-all ---------------===//

#include "ExchangeBlocks.h"

#include "stretto/Dialect/Stretto/IR/Permutation.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace stretto;

static int64_t product(ArrayRef<int64_t> sizes) {
  int64_t result = 1;
  for (int64_t size : sizes)
    result *= size;
  return result;
}

/// The verifier of the operation saw to it that the axes can be cut alike.
static void setOrder(ArrayRef<AxisRef> group, ArrayRef<AxisRef> to,
                     ExchangeBlocks &blocks) {
  SmallVector<AxisRef> members(group), numbers(to);
  bool alike = cutAlike(members, numbers);
  assert(alike && "unverified all-to-all");
  (void)alike;
  if (members == numbers)
    return;
  for (AxisRef ref : numbers)
    blocks.digits.push_back(ref.size);
  for (AxisRef ref : members)
    blocks.order.push_back(llvm::find(numbers, ref) - numbers.begin());
}

ExchangeBlocks ExchangeBlocks::of(AllToAllOp op) {
  ArrayRef<int64_t> shape =
      cast<RankedTensorType>(op.getX().getType()).getShape();
  int64_t split = op.getSplitDim(), concat = op.getConcatDim();
  ExchangeBlocks blocks;
  blocks.members = op.getGroup().getNumMembers();
  int64_t first = std::min(split, concat);
  blocks.outer = product(shape.take_front(first));
  blocks.before = product(shape.slice(first, split - first));
  blocks.block = product(shape.drop_front(split)) / blocks.members;
  if (op.getTo())
    setOrder(op.getGroup().getAxes(), op.getTo()->getAxes(), blocks);
  return blocks;
}

KernelOp stretto::moveBlocksKernel(ModuleOp module,
                                   const ExchangeBlocks &blocks, Type element) {
  SmallVector<int64_t> digits = blocks.digits, order = blocks.order;
  if (order.empty()) {
    digits = {blocks.members};
    order = {0};
  }
  // [outer, before, digits..., block] -> [outer, digits..., before, block]
  SmallVector<int64_t> from = {blocks.outer, blocks.before};
  SmallVector<int64_t> to = {blocks.outer}, permutation = {0};
  llvm::append_range(from, digits);
  for (int64_t digit : order) {
    to.push_back(digits[digit]);
    permutation.push_back(2 + digit);
  }
  from.push_back(blocks.block);
  to.append({blocks.before, blocks.block});
  permutation.append({1, int64_t(from.size()) - 1});

  std::string name = "move_blocks";
  llvm::raw_string_ostream os(name);
  for (auto [index, size] : llvm::enumerate(from))
    os << (index ? "x" : "_") << size;
  for (int64_t digit : blocks.order)
    os << "_" << digit;
  os << "_" << element;
  if (auto known = module.lookupSymbol<KernelOp>(name))
    return known;
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  Location loc = module.getLoc();
  auto fromType = RankedTensorType::get(from, element);
  auto toType = RankedTensorType::get(to, element);
  auto kernel = KernelOp::create(builder, loc, name,
                                 builder.getFunctionType({fromType}, {toType}),
                                 StringAttr(), ArrayAttr(), ArrayAttr());
  Block *body = &kernel.getBody().emplaceBlock();
  Value source = body->addArgument(fromType, loc);
  builder.setInsertionPointToStart(body);
  Value moved = TransposeOp::create(builder, loc, toType, source, permutation);
  YieldOp::create(builder, loc, moved);
  return kernel;
}
