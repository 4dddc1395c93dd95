//===- KernelEmitter.cpp - a planned kernel as LLVM IR --------------------===//

#include "KernelEmitter.h"
#include "NodeEmitter.h"
#include "llvm/ADT/DenseSet.h"

using namespace llvm;
using namespace stretto;
using namespace stretto::kernel;

namespace {

/// An inner loop longer than this sums in blocks: rounding errors of long sums
/// stay small.
constexpr int64_t sumBlock = 4096;

class KernelEmitter : NodeEmitter {
public:
  KernelEmitter(Module &module, StringRef name, const KernelGraph &graph,
                const KernelPlan &plan)
      : NodeEmitter(module, name, graph, plan) {}

  void emit() {
    allocateTemps();
    for (const Root &root : g.roots)
      initialise(root);
    for (const Nest &nest : plan.nests)
      if (nest.prologue)
        emitNest(nest);
    for (const Nest &nest : plan.nests)
      evaluateOuter(nest, [](const Node *node) { return node->axes == 0; });
    loops(rowDims(), [&] {
      ScopeMark mark(outer);
      for (const Nest &nest : plan.nests)
        if (!nest.prologue)
          emitNest(nest);
    });
    b.CreateRetVoid();
  }

private:
  SmallVector<unsigned> rowDims() {
    SmallVector<unsigned> dims;
    for (unsigned dim = 0; dim < g.extents.size(); ++dim)
      if (plan.space.rows >> dim & 1)
        dims.push_back(dim);
    return dims;
  }

  /// Values that nests leave behind: temporaries, and arrays of reductions that
  /// keep inner dimensions.
  void allocateTemps() {
    for (const Nest &nest : plan.nests) {
      for (Node *node : nest.temps)
        allocateArray(node);
      if (nest.axes & ~nest.reduced)
        for (Node *node : nest.reduces)
          allocateArray(node);
    }
  }

  /// Sums start from the identity or from another buffer.
  void initialise(const Root &root) {
    if (root.kind == RootKind::Store || root.inPlace)
      return;
    const Buffer &buffer = g.buffers[root.buffer];
    uint64_t bytes = buffer.elements * bytesOf(buffer.type);
    Align align(bytesOf(buffer.type));
    if (root.initFrom >= 0) {
      annotate(b.CreateMemCpy(pointers[root.buffer], align,
                              pointers[root.initFrom], align, bytes),
               root.buffer);
      return;
    }
    if (root.kind == RootKind::Scatter || root.reduce == ReduceKind::Sum) {
      annotate(
          b.CreateMemSet(pointers[root.buffer], b.getInt8(0), bytes, align),
          root.buffer);
      return;
    }
    countedLoop(b.getInt64(0), b.getInt64(buffer.elements), [&](Value *i) {
      storeTo(root.buffer, i, identity(root.reduce, buffer.type));
    });
  }

  void loops(ArrayRef<unsigned> dims, function_ref<void()> body) {
    if (dims.empty())
      return body();
    countedLoop(b.getInt64(0), b.getInt64(g.extents[dims[0]]), [&](Value *iv) {
      indices[dims[0]] = iv;
      loops(dims.drop_front(), body);
    });
  }

  /// Evaluates, outside the loops of `nest`, nodes of its expressions for which
  /// `wanted` holds and which do not vary in the nest.
  void evaluateOuter(const Nest &nest,
                     function_ref<bool(const Node *)> wanted) {
    DenseSet<const Node *> seen;
    for (Node *node : nest.reduces)
      evaluateOuter(node->operands[0], seen, wanted);
    for (Node *node : nest.temps)
      for (Node *operand : node->operands)
        evaluateOuter(operand, seen, wanted);
    for (const Root *root : nest.roots) {
      evaluateOuter(root->value, seen, wanted);
      if (root->row)
        evaluateOuter(root->row, seen, wanted);
    }
  }
  void evaluateOuter(Node *node, DenseSet<const Node *> &seen,
                     function_ref<bool(const Node *)> wanted) {
    if (!seen.insert(node).second)
      return;
    bool isOuter = !plan.innerAxes(node) && wanted(node);
    if (plan.isMaterialised(node) && !isOuter)
      return;
    if (isOuter && !needsLaterReduction(node)) {
      eval(node);
      return;
    }
    if (node->kind != NodeKind::Reduce)
      for (Node *operand : node->operands)
        evaluateOuter(operand, seen, wanted);
  }
  bool needsLaterReduction(Node *node) {
    if (outer.lookup(node))
      return false;
    if (node->kind == NodeKind::Reduce)
      return true;
    return any_of(node->operands,
                  [&](Node *o) { return needsLaterReduction(o); });
  }

  //===--------------------------------------------------------------------===//
  // Nests
  //===--------------------------------------------------------------------===//

  struct Accumulator {
    Node *node;
    AllocaInst *total, *part;
  };

  void emitNest(const Nest &nest) {
    evaluateOuter(nest, [](const Node *) { return true; });
    SmallVector<Accumulator> sums;
    SmallVector<unsigned> reduced = nest.reducedDims();
    for (Node *node : nest.reduces) {
      AllocaInst *total = allocateScalar(node->type);
      AllocaInst *part = total;
      if (isBlocked(reduced))
        part = allocateScalar(node->type);
      sums.push_back({node, total, part});
    }
    inNest = true;
    defining = nest.temps;
    loops(nest.keptDims(), [&] {
      inner.clear();
      for (Accumulator &sum : sums)
        b.CreateStore(identity(sum.node->reduce, sum.node->type), sum.total);
      reduceLoops(nest, reduced, sums);
      for (Accumulator &sum : sums)
        if (plan.innerAxes(sum.node))
          storeToArray(sum.node, b.CreateLoad(typeOf(sum.node), sum.total));
    });
    inner.clear();
    inNest = false;
    defining = {};
    for (Accumulator &sum : sums)
      if (!plan.innerAxes(sum.node))
        outer[sum.node] = b.CreateLoad(typeOf(sum.node), sum.total);
  }

  bool isBlocked(ArrayRef<unsigned> reduced) {
    return reduced.size() > 1 ||
           (!reduced.empty() && g.extents[reduced[0]] > 2 * sumBlock);
  }

  void reduceLoops(const Nest &nest, ArrayRef<unsigned> dims,
                   ArrayRef<Accumulator> sums) {
    if (dims.size() > 1) {
      return loops(dims.take_front(1),
                   [&] { reduceLoops(nest, dims.drop_front(), sums); });
    }
    if (dims.empty())
      return emitBody(nest, sums);
    unsigned dim = dims[0];
    Value *zero = b.getInt64(0), *extent = b.getInt64(g.extents[dim]);
    if (g.extents[dim] <= 2 * sumBlock || sums.empty())
      return sumRange(nest, dim, zero, extent, sums);
    int64_t blocks = (g.extents[dim] + sumBlock - 1) / sumBlock;
    countedLoop(zero, b.getInt64(blocks), [&](Value *block) {
      Value *from = b.CreateNSWMul(block, b.getInt64(sumBlock));
      Value *to = b.CreateBinaryIntrinsic(
          Intrinsic::smin, extent, b.CreateNSWAdd(from, b.getInt64(sumBlock)));
      sumRange(nest, dim, from, to, sums);
    });
  }

  void sumRange(const Nest &nest, unsigned dim, Value *from, Value *to,
                ArrayRef<Accumulator> sums) {
    for (const Accumulator &sum : sums)
      if (sum.part != sum.total)
        b.CreateStore(identity(sum.node->reduce, sum.node->type), sum.part);
    countedLoop(from, to, [&](Value *iv) {
      indices[dim] = iv;
      emitBody(nest, sums);
    });
    for (const Accumulator &sum : sums)
      if (sum.part != sum.total)
        accumulate(sum.node, sum.total,
                   b.CreateLoad(typeOf(sum.node), sum.part));
  }

  void accumulate(Node *node, AllocaInst *slot, Value *value) {
    Value *old = b.CreateLoad(typeOf(node), slot);
    b.CreateStore(combine(node->reduce, node->type, node->exact, old, value),
                  slot);
  }

  void emitBody(const Nest &nest, ArrayRef<Accumulator> sums) {
    inner.clear();
    for (Node *node : nest.temps)
      storeToArray(node, define(node));
    for (const Accumulator &sum : sums)
      accumulate(sum.node, sum.part, eval(sum.node->operands[0]));
    // Every value before any store: a store may be to a buffer that was read.
    SmallVector<Value *> values, rows;
    for (const Root *root : nest.roots) {
      values.push_back(eval(root->value));
      rows.push_back(root->row ? eval(root->row) : nullptr);
    }
    for (auto [root, value, row] : zip(nest.roots, values, rows))
      emitRoot(*root, value, row);
    inner.clear();
  }

  void emitRoot(const Root &root, Value *value, Value *row) {
    Element type = g.buffers[root.buffer].type;
    Value *at = offset(root.address);
    if (root.kind == RootKind::Store)
      return storeTo(root.buffer, at, value);
    if (root.kind == RootKind::Accumulate)
      return storeTo(
          root.buffer, at,
          combine(root.reduce, type, false, loadFrom(root.buffer, at), value));
    // Rows out of range add nothing, to row 0.
    Value *valid = b.CreateICmpULT(row, b.getInt64(root.rows));
    Value *safe = b.CreateSelect(valid, row, b.getInt64(0));
    at = b.CreateNSWAdd(at, b.CreateNSWMul(safe, b.getInt64(root.rowStride)));
    Value *old = loadFrom(root.buffer, at);
    Value *sum = combine(ReduceKind::Sum, type, false, old, value);
    storeTo(root.buffer, at, b.CreateSelect(valid, sum, old));
  }
};

} // namespace

void kernel::emitKernel(Module &module, StringRef name,
                        const KernelGraph &graph, const KernelPlan &plan) {
  KernelEmitter(module, name, graph, plan).emit();
}
