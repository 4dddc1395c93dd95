//===- DimClasses.cpp - dimensions that move together ---------------------===//

#include "stretto/Dialect/Stretto/Analysis/DimClasses.h"

#include <deque>
#include <map>

using namespace mlir;
using namespace stretto;

void DimClasses::addNode(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type)
    return;
  first[value] = parent.size();
  for (int64_t i = 0; i < type.getRank(); ++i) {
    parent.push_back(parent.size());
    dims.emplace_back(value, i);
  }
}

unsigned DimClasses::find(unsigned node) const {
  while (parent[node] != node)
    node = parent[node] = parent[parent[node]];
  return node;
}

/// The older node stays the representative: classes keep the order of values.
void DimClasses::unite(unsigned a, unsigned b, Operation *op) {
  if (a != b)
    made.push_back({a, b, op});
  a = find(a);
  b = find(b);
  if (a != b)
    parent[std::max(a, b)] = std::min(a, b);
}

/// Does the operation cut what passes along dimension `dim` of its operand?
static bool cuts(Operation *op, unsigned dim) {
  if (isa<PropagationBarrierOp>(op))
    return true;
  auto constrain = dyn_cast<ConstrainOp>(op);
  return constrain && !constrain.getConstraint().getOpen()[dim];
}

/// A factor that every operand only sums over: no result shows its sharding.
static bool isContracted(const OpRule &rule, ArrayRef<unsigned> factors) {
  return llvm::all_of(factors, [&](unsigned factor) {
    for (unsigned result = 0; result < rule.results.size(); ++result)
      if (rule.resultHasFactor(result, factor))
        return false;
    return rule.factors[factor].kind == FactorKind::Reduction;
  });
}

void DimClasses::tie(Operation *op, Ties ties) {
  OpRule rule = cast<ShardingRule>(op).getShardingRule();
  bool passing = ties == Ties::PassThrough;
  if (isa<ShardAlikeOp>(op) && !passing) {
    // They lie alike, but every value keeps its own names.
    for (auto [from, to] : llvm::zip(op->getOperands(), op->getResults()))
      for (unsigned dim = 0; dim < rule.operands[0].size(); ++dim)
        unite(nodeOf(from, dim), nodeOf(to, dim), op);
    return;
  }
  std::map<SmallVector<unsigned, 2>, unsigned> nodeOfFactors;
  auto visit = [&](Value value, const DimFactors &factorsOf) {
    for (auto [dim, factors] : llvm::enumerate(factorsOf)) {
      if (passing && (cuts(op, dim) || isContracted(rule, factors)))
        continue;
      unsigned node = nodeOf(value, dim);
      // The two sides of a window lie on the same axes, but keep their names.
      SmallVector<unsigned, 2> key(factors);
      for (unsigned &factor : key)
        if (int partner = rule.factors[factor].partner; passing && partner >= 0)
          factor = std::min(factor, unsigned(partner));
      auto [it, fresh] = nodeOfFactors.try_emplace(key, node);
      if (!fresh)
        unite(it->second, node, op);
    }
  };
  for (auto [operand, factors] : llvm::zip(op->getOperands(), rule.operands))
    visit(operand, factors);
  for (auto [result, factors] : llvm::zip(op->getResults(), rule.results))
    visit(result, factors);
}

void DimClasses::nameClasses(FunctionOpInterface function) {
  Block &block = function.getFunctionBody().front();
  auto name = [&](Value value, ArrayAttr texts) {
    if (!texts || !first.contains(value))
      return;
    for (auto [dim, attr] : llvm::enumerate(texts))
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

static int64_t rankOf(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type ? type.getRank() : -1;
}

/// What has no rule, one operand and one result of its rank is the same value,
/// lying differently: reshards, collectives, padding.
static bool isMove(Operation &op) {
  return op.getNumOperands() == 1 && op.getNumResults() == 1 && isPure(&op) &&
         !isa<SymbolUserOpInterface>(op) &&
         rankOf(op.getOperand(0)) == rankOf(op.getResult(0)) &&
         rankOf(op.getResult(0)) > 0;
}

DimClasses::DimClasses(FunctionOpInterface function, Ties ties) {
  Block &block = function.getFunctionBody().front();
  for (Value argument : block.getArguments())
    addNode(argument);
  for (Operation &op : block) {
    for (Value result : op.getResults())
      addNode(result);
    if (isa<ShardingRule>(op))
      tie(&op, ties);
    else if (isMove(op))
      for (int64_t dim = 0; dim < rankOf(op.getResult(0)); ++dim)
        unite(nodeOf(op.getOperand(0), dim), nodeOf(op.getResult(0), dim), &op);
  }
  nameClasses(function);
}

/// Breadth first over the ties.
SmallVector<DimClasses::Step>
DimClasses::wayTo(unsigned from, ArrayRef<unsigned> targets) const {
  llvm::DenseMap<unsigned, SmallVector<Step, 2>> ways;
  for (const Tie &tie : made) {
    ways[tie.a].push_back({tie.op, tie.b});
    ways[tie.b].push_back({tie.op, tie.a});
  }
  llvm::DenseMap<unsigned, Step> cameBy; // the step back
  std::deque<unsigned> queue{from};
  cameBy[from] = {nullptr, from};
  while (!queue.empty() && !llvm::is_contained(targets, queue.front())) {
    unsigned node = queue.front();
    queue.pop_front();
    for (const Step &step : ways.lookup(node))
      if (cameBy.try_emplace(step.node, Step{step.op, node}).second)
        queue.push_back(step.node);
  }
  SmallVector<Step> way;
  if (queue.empty())
    return way;
  for (unsigned node = queue.front(); node != from; node = cameBy[node].node)
    way.push_back({cameBy[node].op, node});
  std::reverse(way.begin(), way.end());
  return way;
}
