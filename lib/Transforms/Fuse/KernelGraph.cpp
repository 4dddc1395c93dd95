//===- KernelGraph.cpp - a kernel as scalar math over loops ---------------===//

#include "stretto/Transforms/Fuse/KernelGraph.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace stretto;
using namespace stretto::kernel;

DimMask Linear::axes() const {
  DimMask mask = 0;
  for (auto [dim, coefficient] : llvm::enumerate(coefficients))
    if (coefficient)
      mask |= DimMask(1) << dim;
  return mask;
}

bool Linear::operator==(const Linear &other) const {
  return coefficients == other.coefficients && constant == other.constant &&
         scalars == other.scalars;
}

Node *KernelGraph::add(Node node) {
  nodes.push_back(std::make_unique<Node>(std::move(node)));
  return nodes.back().get();
}

int64_t KernelGraph::extentOf(DimMask mask) const {
  int64_t product = 1;
  for (auto [dim, extent] : llvm::enumerate(extents))
    if (mask >> dim & 1)
      product *= extent;
  return product;
}

//===----------------------------------------------------------------------===//
// Changes of the iteration space
//===----------------------------------------------------------------------===//

template <typename Fn> void KernelGraph::forEachLinear(Fn fn) {
  for (auto &node : nodes) {
    fn(node->address);
    for (Guard &guard : node->guards)
      fn(guard.index);
  }
  for (Root &root : roots)
    fn(root.address);
}

template <typename Fn> void KernelGraph::forEachMask(Fn fn) {
  for (auto &node : nodes) {
    fn(node->axes);
    fn(node->reduced);
  }
  for (Root &root : roots)
    fn(root.reduced);
}

static DimMask below(unsigned dim) { return (DimMask(1) << dim) - 1; }

/// Bits above `dim` move up by one; bit `dim` is doubled.
static DimMask splitMask(DimMask mask, unsigned dim) {
  DimMask low = mask & below(dim), high = mask >> (dim + 1);
  DimMask both = mask >> dim & 1 ? DimMask(3) << dim : 0;
  return low | both | high << (dim + 2);
}

/// Bits above `dim` move down by one.
static DimMask removeFromMask(DimMask mask, unsigned dim) {
  return (mask & below(dim)) | (mask >> (dim + 1)) << dim;
}

void KernelGraph::splitDim(unsigned dim, int64_t inner) {
  int64_t outer = extents[dim] / inner;
  extents[dim] = outer;
  extents.insert(extents.begin() + dim + 1, inner);
  forEachLinear([&](Linear &linear) {
    if (linear.coefficients.empty())
      return;
    int64_t coefficient = linear.coefficients[dim];
    linear.coefficients[dim] = coefficient * inner;
    linear.coefficients.insert(linear.coefficients.begin() + dim + 1,
                               coefficient);
  });
  forEachMask([&](DimMask &mask) { mask = splitMask(mask, dim); });
}

void KernelGraph::removeDim(unsigned dim) {
  extents.erase(extents.begin() + dim);
  forEachLinear([&](Linear &linear) {
    if (!linear.coefficients.empty())
      linear.coefficients.erase(linear.coefficients.begin() + dim);
  });
  forEachMask([&](DimMask &mask) { mask = removeFromMask(mask, dim); });
}

bool KernelGraph::canMerge(unsigned dim) {
  bool fits = true;
  forEachLinear([&](Linear &linear) {
    if (!linear.coefficients.empty())
      fits &= linear.coefficients[dim] ==
              linear.coefficients[dim + 1] * extents[dim + 1];
  });
  forEachMask([&](DimMask &mask) {
    fits &= (mask >> dim & 1) == (mask >> (dim + 1) & 1);
  });
  return fits;
}

void KernelGraph::mergeDim(unsigned dim) {
  extents[dim + 1] *= extents[dim];
  removeDim(dim);
}

/// Drops nodes that no root needs.
void KernelGraph::sweep() {
  llvm::DenseSet<Node *> live;
  std::vector<Node *> work;
  for (Root &root : roots) {
    work.push_back(root.value);
    if (root.row)
      work.push_back(root.row);
  }
  while (!work.empty()) {
    Node *node = work.back();
    work.pop_back();
    if (live.insert(node).second)
      work.insert(work.end(), node->operands.begin(), node->operands.end());
  }
  llvm::erase_if(nodes, [&](auto &node) { return !live.count(node.get()); });
}

void KernelGraph::simplify() {
  sweep();
  DimMask used = 0;
  forEachLinear([&](Linear &linear) { used |= linear.axes(); });
  forEachMask([&](DimMask &mask) { used |= mask; });
  for (unsigned dim = extents.size(); dim-- > 0;)
    if (extents[dim] == 1 || !(used >> dim & 1))
      removeDim(dim);
  for (unsigned dim = extents.size(); dim-- > 1;)
    if (canMerge(dim - 1))
      mergeDim(dim - 1);
  dropEmptyReductions();
}

/// A reduction over dimensions of extent 1 is its operand.
void KernelGraph::dropEmptyReductions() {
  auto skip = [](Node *&node) {
    while (node && node->kind == NodeKind::Reduce && !node->reduced)
      node = node->operands[0];
  };
  for (auto &node : nodes)
    llvm::for_each(node->operands, skip);
  for (Root &root : roots) {
    skip(root.value);
    skip(root.row);
  }
}

/// The contiguous dimension of a load that is strided along the last one.
DimMask KernelGraph::crossedDim() const {
  for (auto &node : nodes) {
    const auto &coefficients = node->address.coefficients;
    if (node->kind != NodeKind::Load || coefficients.size() < 2 ||
        coefficients.back() == 0 || coefficients.back() == 1)
      continue;
    for (unsigned dim = 0; dim + 1 < coefficients.size(); ++dim)
      if (coefficients[dim] == 1)
        return DimMask(1) << dim;
  }
  return 0;
}

//===----------------------------------------------------------------------===//
// Row space
//===----------------------------------------------------------------------===//

namespace {

class SpaceChooser {
public:
  SpaceChooser(KernelGraph &graph, std::string *why) : g(graph), why(why) {
    sweep();
  }

  FailureOr<Space> run() {
    space.inner = innerDims();
    space.rows = g.allDims() & ~space.inner;
    for (Root &root : g.roots)
      accumulateOverRows(root);
    sweep();
    for (Root &root : g.roots)
      if (failed(checkRoot(root)))
        return failure();
    for (auto &node : g.nodes)
      if (node->kind == NodeKind::Reduce && (node->reduced & space.rows))
        return fail("a reduction over rows is used inside the kernel");
    return space;
  }

private:
  LogicalResult fail(const char *message) {
    if (why)
      *why = message;
    return failure();
  }

  /// Drops dead nodes and counts uses.
  void sweep() {
    g.sweep();
    uses.clear();
    for (Root &root : g.roots) {
      ++uses[root.value];
      if (root.row)
        ++uses[root.row];
    }
    for (auto &node : g.nodes)
      for (Node *operand : node->operands)
        ++uses[operand];
  }

  /// The reduction that `root` stores, alone or added to what its own or
  /// another buffer holds at the same place. `start` becomes that load or null.
  Node *storedReduction(const Root &root, Node *&start) {
    start = nullptr;
    Node *value = root.value;
    if (root.kind != RootKind::Store || uses[value] != 1)
      return nullptr;
    if (value->kind == NodeKind::Reduce)
      return value;
    if (value->kind != NodeKind::Compute || value->code != Code::Add)
      return nullptr;
    for (unsigned i : {0, 1}) {
      Node *load = value->operands[i], *sum = value->operands[1 - i];
      if (load->kind == NodeKind::Load && !load->isGather() &&
          load->guards.empty() && load->address == root.address &&
          sum->kind == NodeKind::Reduce && sum->reduce == ReduceKind::Sum &&
          uses[sum] == 1) {
        start = load;
        return sum;
      }
    }
    return nullptr;
  }

  /// Reductions whose result the kernel goes on with need their dimensions
  /// inside a row; without any, the last dimension is the inner one.
  DimMask innerDims() {
    llvm::DenseSet<Node *> stored;
    Node *start;
    for (Root &root : g.roots)
      if (Node *reduction = storedReduction(root, start))
        stored.insert(reduction);
    DimMask main = 0, side = 0;
    for (auto &node : g.nodes) {
      if (node->kind == NodeKind::Compute &&
          (node->code == Code::Cos || node->code == Code::Sin))
        main |= (g.allDims() & ~node->axes) | lastDim(g.allDims());
      if (node->kind != NodeKind::Reduce || stored.count(node.get()))
        continue;
      (node->axes ? main : side) |= node->reduced;
    }
    if (main & ~side)
      return main | side;
    DimMask rest = g.allDims() & ~side;
    return side | lastDim(rest) | g.crossedDim();
  }

  static DimMask lastDim(DimMask mask) {
    return mask ? DimMask(1) << llvm::Log2_64(mask) : 0;
  }

  void accumulateOverRows(Root &root) {
    Node *start;
    Node *reduction = storedReduction(root, start);
    if (!reduction || !(reduction->reduced & space.rows))
      return;
    root.kind = RootKind::Accumulate;
    root.reduce = reduction->reduce;
    root.reduced = reduction->reduced & space.rows;
    if (start) {
      root.inPlace = start->buffer == root.buffer;
      root.initFrom = root.inPlace ? -1 : int(start->buffer);
    }
    reduction->reduced &= space.inner;
    reduction->axes |= reduction->operands[0]->axes & space.rows;
    root.value = reduction->reduced ? reduction : reduction->operands[0];
  }

  LogicalResult checkRoot(const Root &root) {
    DimMask axes = root.address.axes() | root.reduced;
    bool isWhole = root.kind == RootKind::Store && !(axes & space.rows);
    if (!isWhole && (space.rows & ~axes))
      return fail("a result does not have the rows of the kernel");
    if (root.value->axes & ~axes)
      return fail("a result lacks a dimension of its value");
    return checkAlias(root);
  }

  /// A buffer updated in place is read only where it is written.
  LogicalResult checkAlias(const Root &root) {
    for (auto &node : g.nodes) {
      if (node->kind != NodeKind::Load || node->buffer != root.buffer)
        continue;
      if (root.kind != RootKind::Store || node->isGather() ||
          !node->guards.empty() || !(node->address == root.address))
        return fail("a buffer updated in place is read elsewhere");
    }
    return success();
  }

  KernelGraph &g;
  std::string *why;
  Space space;
  llvm::DenseMap<Node *, unsigned> uses;
};

} // namespace

FailureOr<Space> kernel::chooseSpace(KernelGraph &graph, std::string *why) {
  return SpaceChooser(graph, why).run();
}
