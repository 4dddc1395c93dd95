//===- Rope.cpp - rotary embedding as scalar nodes ------------------------===//

#include "Rope.h"
#include <functional>

using namespace mlir;
using namespace stretto;
using namespace stretto::kernel;

/// Index i of dimension `dim` (extent 2) becomes 1 - i.
static Node *turn(NodeFactory &make, Node *node, unsigned dim) {
  return make.substitute(node, DimMask(1) << dim, [&](Linear &linear) {
    linear.constant += linear.coefficients[dim];
    linear.coefficients[dim] = -linear.coefficients[dim];
  });
}

static Node *indexAlong(NodeFactory &make, unsigned dim) {
  Linear at;
  at.coefficients.assign(make.g.extents.size(), 0);
  at.coefficients[dim] = 1;
  return make.index(std::move(at));
}

/// Runs after the split: rope.dim is the half, the next dimension the pair.
static void lower(NodeFactory make, const Rope &rope) {
  Node *frequency = make.compute(Code::Frequency, Element::F64,
                                 {indexAlong(make, rope.dim + 1)});
  frequency->value = rope.base;
  frequency->count = rope.half;
  Node *position = make.compute(Code::Convert, Element::F64, {rope.position});
  Node *angle = make.compute(Code::Mul, Element::F64, {position, frequency});
  Node *cos = make.compute(Code::Cos, Element::F32, {angle});
  Node *sin = make.compute(Code::Sin, Element::F32, {angle});
  double first = rope.transposed ? 1 : -1;
  Node *isFirst = make.compare(ComparePredicate::EQ, indexAlong(make, rope.dim),
                               make.constant(0, Element::I64));
  Node *sign = make.select(isFirst, make.constant(first, Element::F32),
                           make.constant(-first, Element::F32));
  Node *partner = turn(make, rope.x, rope.dim);
  Node *rotated = make.compute(Code::Mul, Element::F32, {partner, sin});
  rope.result->operands = {
      make.compute(Code::Mul, Element::F32, {rope.x, cos}),
      make.compute(Code::Mul, Element::F32, {sign, rotated})};
}

/// Axes of every node from its operands.
static void recomputeAxes(KernelGraph &g) {
  DenseMap<Node *, bool> done;
  std::function<void(Node *)> visit = [&](Node *node) {
    if (!done.insert({node, true}).second)
      return;
    DimMask mask = node->address.axes();
    for (const Guard &guard : node->guards)
      mask |= guard.index.axes();
    for (Node *operand : node->operands) {
      visit(operand);
      mask |= operand->axes;
    }
    node->axes = mask & ~node->reduced;
  };
  for (auto &node : g.nodes)
    visit(node.get());
}

void kernel::lowerRopes(KernelGraph &graph, ArrayRef<Rope> ropes) {
  if (ropes.empty())
    return;
  graph.splitDim(ropes[0].dim, ropes[0].half);
  for (const Rope &rope : ropes) {
    lower(NodeFactory{graph}, rope);
    recomputeAxes(graph);
  }
}
