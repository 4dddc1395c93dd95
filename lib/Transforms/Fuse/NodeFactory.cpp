//===- NodeFactory.cpp - nodes of a kernel graph --------------------------===//

#include "NodeFactory.h"
#include <functional>

using namespace mlir;
using namespace stretto;
using namespace stretto::kernel;

Node *NodeFactory::substitute(Node *root, DimMask dims,
                              llvm::function_ref<void(Linear &)> change,
                              const Guard *guard) {
  DenseMap<Node *, Node *> done;
  std::function<Node *(Node *)> visit = [&](Node *node) -> Node * {
    if (!(node->axes & dims))
      return node;
    if (Node *known = done.lookup(node))
      return known;
    Node copy = *node;
    for (Guard &own : copy.guards)
      change(own.index);
    if (!copy.address.coefficients.empty())
      change(copy.address);
    if (guard && copy.kind == NodeKind::Load)
      copy.guards.push_back(*guard);
    copy.axes = copy.address.axes();
    for (Guard &own : copy.guards)
      copy.axes |= own.index.axes();
    for (Node *&operand : copy.operands) {
      operand = visit(operand);
      copy.axes |= operand->axes;
    }
    copy.axes &= ~copy.reduced;
    return done[node] = g.add(std::move(copy));
  };
  return visit(root);
}
