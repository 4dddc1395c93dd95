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
/// Rows whose sum is taken on the stack before it is added to memory.
constexpr int64_t rowBlock = 64;
/// Side of a tile: as many lines as a cache set holds, for strides of powers of
/// two.
constexpr int64_t tileExtent = 8;

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
    emitRows(rowDims(), [&] {
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

  //===--------------------------------------------------------------------===//
  // Sums over rows: taken in blocks of rows on the stack, then added to memory
  //===--------------------------------------------------------------------===//

  struct Part {
    const Root *root;
    AllocaInst *array;
    Element type;
    DimMask axes() const { return root->address.axes(); }
  };

  void emitRows(ArrayRef<unsigned> dims, function_ref<void()> body) {
    allocateTotals();
    for (const Part &total : totals)
      overPart(total, [&](Value *address) {
        b.CreateStore(loadFrom(total.root->buffer, offset(total.root->address)),
                      address);
      });
    emitRowBlocks(dims, body);
    for (const Part &total : totals)
      overPart(total, [&](Value *address) {
        storeTo(total.root->buffer, offset(total.root->address),
                b.CreateLoad(typeOf(total.type), address));
      });
  }

  /// Sums into bf16 are kept in f32 over all rows, to be rounded once.
  void allocateTotals() {
    int64_t bytes = 0;
    for (const Root &root : g.roots) {
      Element type = g.buffers[root.buffer].type, wide = valueElement(type);
      if (root.kind != RootKind::Accumulate || type == wide)
        continue;
      bytes += g.extentOf(root.address.axes()) * bytesOf(wide);
      if (bytes <= maxArrayBytes)
        totals.push_back(
            {&root, allocateArray(wide, root.address.axes()), wide});
    }
  }

  void emitRowBlocks(ArrayRef<unsigned> dims, function_ref<void()> body) {
    if (dims.empty() || g.extents[dims.back()] < rowBlock / 2)
      return loops(dims, body);
    allocateParts();
    loops(dims.drop_back(), [&] {
      unsigned dim = dims.back();
      int64_t extent = g.extents[dim];
      if (parts.empty() || extent <= rowBlock)
        return emitBlock(dim, b.getInt64(0), b.getInt64(extent), body);
      countedLoop(b.getInt64(0), b.getInt64(divideCeil(extent, rowBlock)),
                  [&](Value *block) {
                    Value *from = b.CreateNSWMul(block, b.getInt64(rowBlock));
                    Value *end = b.CreateNSWAdd(from, b.getInt64(rowBlock));
                    emitBlock(dim, from,
                              b.CreateBinaryIntrinsic(Intrinsic::smin,
                                                      b.getInt64(extent), end),
                              body);
                  });
    });
  }

  void allocateParts() {
    int64_t bytes = 0;
    for (const Root &root : g.roots) {
      DimMask axes = root.address.axes();
      if (root.kind != RootKind::Accumulate || (axes & plan.space.rows))
        continue;
      Element type = valueElement(g.buffers[root.buffer].type);
      bytes += g.extentOf(axes) * bytesOf(type);
      if (bytes <= maxTempBytes)
        parts.push_back({&root, allocateArray(type, axes), type});
    }
  }

  void emitBlock(unsigned dim, Value *from, Value *to,
                 function_ref<void()> body) {
    for (const Part &part : parts)
      overPart(part, [&](Value *address) {
        b.CreateStore(identity(part.root->reduce, part.type), address);
      });
    countedLoop(from, to, [&](Value *iv) {
      indices[dim] = iv;
      body();
    });
    for (const Part &part : parts)
      overPart(part, [&](Value *address) {
        Value *sum = b.CreateLoad(typeOf(part.type), address);
        if (!addTo(totals, *part.root, sum))
          addToMemory(*part.root, sum);
      });
  }

  void overPart(const Part &part, function_ref<void(Value *)> body) {
    SmallVector<unsigned> dims;
    for (unsigned dim = 0; dim < g.extents.size(); ++dim)
      if (part.axes() >> dim & 1)
        dims.push_back(dim);
    loops(dims,
          [&] { body(arrayElement(part.array, part.type, part.axes())); });
  }

  bool addTo(ArrayRef<Part> list, const Root &root, Value *value) {
    for (const Part &part : list)
      if (part.root == &root) {
        Value *address = arrayElement(part.array, part.type, part.axes());
        Value *old = b.CreateLoad(typeOf(part.type), address);
        b.CreateStore(combine(root.reduce, part.type, false, old, value),
                      address);
        return true;
      }
    return false;
  }

  void addToMemory(const Root &root, Value *value) {
    Value *at = offset(root.address);
    Element type = g.buffers[root.buffer].type;
    storeTo(
        root.buffer, at,
        combine(root.reduce, type, false, loadFrom(root.buffer, at), value));
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
    if (root.initFrom >= 0 && g.buffers[root.initFrom].type != buffer.type)
      return countedLoop(b.getInt64(0), b.getInt64(buffer.elements),
                         [&](Value *i) {
                           storeTo(root.buffer, i, loadFrom(root.initFrom, i));
                         });
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

  /// Dimensions to walk in square tiles, so that lines of a transposed operand
  /// are used whole while they are in cache.
  DimMask tileOf(const Nest &nest) {
    DimMask crossed = g.crossedDim();
    DimMask last = DimMask(1) << (g.extents.size() - 1);
    bool fits = crossed && nest.reduces.empty() && (nest.axes & crossed) &&
                (nest.axes & last);
    return fits ? crossed | last : 0;
  }

  void loops(ArrayRef<unsigned> dims, DimMask tiled,
             function_ref<void()> body) {
    SmallVector<unsigned> plain, tile;
    for (unsigned dim : dims)
      (tiled >> dim & 1 ? tile : plain).push_back(dim);
    SmallVector<Value *> starts;
    loops(plain, [&] { tileLoops(tile, tile, starts, body); });
  }

  /// Loops over `tiles`, in them over the elements of a tile.
  void tileLoops(ArrayRef<unsigned> tiles, ArrayRef<unsigned> elements,
                 SmallVectorImpl<Value *> &starts, function_ref<void()> body) {
    Value *size = b.getInt64(tileExtent);
    if (!tiles.empty()) {
      int64_t count = llvm::divideCeil(g.extents[tiles[0]], tileExtent);
      return countedLoop(b.getInt64(0), b.getInt64(count), [&](Value *iv) {
        starts.push_back(b.CreateNSWMul(iv, size));
        tileLoops(tiles.drop_front(), elements, starts, body);
        starts.pop_back();
      });
    }
    if (elements.empty())
      return body();
    Value *from = starts[starts.size() - elements.size()];
    Value *to = b.CreateBinaryIntrinsic(Intrinsic::smin,
                                        b.getInt64(g.extents[elements[0]]),
                                        b.CreateNSWAdd(from, size));
    countedLoop(from, to, [&](Value *iv) {
      indices[elements[0]] = iv;
      tileLoops({}, elements.drop_front(), starts, body);
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
    loops(nest.keptDims(), tileOf(nest), [&] {
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
    if (root.kind == RootKind::Accumulate) {
      if (!addTo(parts, root, value) && !addTo(totals, root, value))
        addToMemory(root, value);
      return;
    }
    Value *at = offset(root.address);
    if (root.kind == RootKind::Store)
      return storeTo(root.buffer, at, value);
    // Rows out of range add nothing, to row 0.
    Value *valid = b.CreateICmpULT(row, b.getInt64(root.rows));
    Value *safe = b.CreateSelect(valid, row, b.getInt64(0));
    at = b.CreateNSWAdd(at, b.CreateNSWMul(safe, b.getInt64(root.rowStride)));
    Value *old = loadFrom(root.buffer, at);
    Value *sum = combine(ReduceKind::Sum, type, false, old, value);
    storeTo(root.buffer, at, b.CreateSelect(valid, sum, old));
  }

  SmallVector<Part> totals; // of all rows
  SmallVector<Part> parts;  // of a block of rows
};

} // namespace

void kernel::emitKernel(Module &module, StringRef name,
                        const KernelGraph &graph, const KernelPlan &plan) {
  KernelEmitter(module, name, graph, plan).emit();
}
