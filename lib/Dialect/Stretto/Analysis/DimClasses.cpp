//===- DimClasses.cpp - dimensions that move together ---------------------===//

#include "stretto/Dialect/Stretto/Analysis/DimClasses.h"

#include <map>

using namespace mlir;
using namespace stretto;

void DimClasses::addNode(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type)
    return;
  first[value] = parent.size();
  for (int64_t i = 0; i < type.getRank(); ++i)
    parent.push_back(parent.size());
}

unsigned DimClasses::find(unsigned node) const {
  while (parent[node] != node)
    node = parent[node] = parent[parent[node]];
  return node;
}

/// The older node stays the representative: classes keep the order of values.
void DimClasses::unite(unsigned a, unsigned b) {
  a = find(a);
  b = find(b);
  if (a != b)
    parent[std::max(a, b)] = std::min(a, b);
}

unsigned DimClasses::classOf(Value value, unsigned dim) const {
  return find(first.lookup(value) + dim);
}

StringRef DimClasses::nameOf(unsigned cls) const { return names.lookup(cls); }

DimClasses::DimClasses(FunctionOpInterface function) {
  Block &block = function.getFunctionBody().front();
  for (Value argument : block.getArguments())
    addNode(argument);
  for (Operation &op : block) {
    for (Value result : op.getResults())
      addNode(result);
    auto ruled = dyn_cast<ShardingRule>(op);
    if (!ruled)
      continue;
    OpRule rule = ruled.getShardingRule();
    std::map<SmallVector<unsigned, 2>, unsigned> nodeOfFactors;
    auto visit = [&](Value value, const DimFactors &dims) {
      for (auto [dim, factors] : llvm::enumerate(dims)) {
        unsigned node = first.lookup(value) + dim;
        auto [it, fresh] = nodeOfFactors.try_emplace(factors, node);
        if (!fresh)
          unite(it->second, node);
      }
    };
    for (auto [operand, dims] : llvm::zip(op.getOperands(), rule.operands))
      visit(operand, dims);
    for (auto [result, dims] : llvm::zip(op.getResults(), rule.results))
      visit(result, dims);
  }
  auto name = [&](Value value, ArrayAttr dims) {
    if (!dims || !first.contains(value))
      return;
    for (auto [dim, attr] : llvm::enumerate(dims))
      if (auto text = dyn_cast<StringAttr>(attr))
        if (!text.getValue().empty() && text.getValue() != "_")
          names.try_emplace(classOf(value, dim), text.getValue());
  };
  for (BlockArgument argument : block.getArguments())
    name(argument, function.getArgAttrOfType<ArrayAttr>(argument.getArgNumber(),
                                                        attr::dims));
  if (!block.mightHaveTerminator())
    return;
  Operation *terminator = block.getTerminator();
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    name(terminator->getOperand(i),
         function.getResultAttrOfType<ArrayAttr>(i, attr::dims));
}
