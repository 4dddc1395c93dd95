//===- ExchangeBlocks.cpp - the local part of an all-to-all ---------------===//

#include "ExchangeBlocks.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace stretto;

static int64_t product(ArrayRef<int64_t> sizes) {
  int64_t result = 1;
  for (int64_t size : sizes)
    result *= size;
  return result;
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
  return blocks;
}

KernelOp stretto::moveBlocksKernel(ModuleOp module,
                                   const ExchangeBlocks &blocks, Type element) {
  std::string name =
      llvm::formatv("move_blocks_{0}x{1}x{2}x{3}_{4}", blocks.outer,
                    blocks.before, blocks.members, blocks.block, element);
  if (auto known = module.lookupSymbol<KernelOp>(name))
    return known;
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  Location loc = module.getLoc();
  auto from = RankedTensorType::get(
      {blocks.outer, blocks.before, blocks.members, blocks.block}, element);
  auto to = RankedTensorType::get(
      {blocks.outer, blocks.members, blocks.before, blocks.block}, element);
  auto kernel = KernelOp::create(builder, loc, name,
                                 builder.getFunctionType({from}, {to}),
                                 StringAttr(), ArrayAttr(), ArrayAttr());
  Block *body = &kernel.getBody().emplaceBlock();
  Value source = body->addArgument(from, loc);
  builder.setInsertionPointToStart(body);
  Value moved = TransposeOp::create(builder, loc, to, source,
                                    ArrayRef<int64_t>{0, 2, 1, 3});
  YieldOp::create(builder, loc, moved);
  return kernel;
}
