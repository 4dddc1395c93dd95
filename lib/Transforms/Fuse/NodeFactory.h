//===- NodeFactory.h - nodes of a kernel graph ------------------*- C++ -*-===//
//
// Makes nodes whose axes follow from their operands.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_LIB_TRANSFORMS_FUSE_NODEFACTORY_H
#define STRETTO_LIB_TRANSFORMS_FUSE_NODEFACTORY_H

#include "stretto/Transforms/Fuse/KernelGraph.h"

namespace stretto::kernel {

struct NodeFactory {
  KernelGraph &g;
  bool exact = false; // of computed nodes

  Node *constant(double value, Element type) {
    Node node(NodeKind::Constant);
    node.value = value;
    node.type = type;
    return g.add(std::move(node));
  }
  Node *index(Linear address) {
    Node node(NodeKind::Index);
    node.type = Element::I64;
    node.axes = address.axes();
    node.address = std::move(address);
    return g.add(std::move(node));
  }
  Node *scalar(int64_t position) {
    if (position < 0)
      return constant(0, Element::I64);
    Node node(NodeKind::Scalar);
    node.type = Element::I64;
    node.scalar = position;
    return g.add(std::move(node));
  }
  Node *compute(Code code, Element type, llvm::ArrayRef<Node *> operands) {
    Node node(NodeKind::Compute);
    node.code = code;
    node.type = type;
    node.exact = exact;
    for (Node *operand : operands) {
      node.operands.push_back(operand);
      node.axes |= operand->axes;
    }
    return g.add(std::move(node));
  }
  Node *compare(ComparePredicate predicate, Node *lhs, Node *rhs) {
    Node *node = compute(Code::Compare, Element::I1, {lhs, rhs});
    node->predicate = predicate;
    return node;
  }
  Node *select(Node *condition, Node *onTrue, Node *onFalse) {
    return compute(Code::Select, onTrue->type, {condition, onTrue, onFalse});
  }

  /// The expression with the loop indices `dims` replaced: `change` rewrites a
  /// linear form; `guard`, when given, restricts every load.
  Node *substitute(Node *node, DimMask dims,
                   llvm::function_ref<void(Linear &)> change,
                   const Guard *guard = nullptr);
};

} // namespace stretto::kernel

#endif // STRETTO_LIB_TRANSFORMS_FUSE_NODEFACTORY_H
