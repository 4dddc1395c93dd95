//===- Dimensions.cpp - which tensor dimensions are one loop --------------===//

#include "Dimensions.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace stretto;
using namespace stretto::kernel;

bool kernel::isScatterSum(Operation *op, ArrayRef<Operation *> ops) {
  return isa<AddOp>(op) && llvm::any_of(op->getOperands(), [&](Value value) {
           auto grad = value.getDefiningOp<EmbeddingGradOp>();
           return grad && llvm::is_contained(ops, grad);
         });
}

LogicalResult Dimensions::run(ArrayRef<Operation *> ops, ValueRange inputValues,
                              ArrayRef<Output> outputs) {
  inputs.assign(inputValues.begin(), inputValues.end());
  for (Operation *op : ops)
    identify(op, ops);
  for (const Output &output : outputs)
    if (output.value.getDefiningOp<ConstantOp>() ||
        llvm::is_contained(inputs, output.value))
      axesOf(output.value);
  if (reason.empty())
    orderLoops(outputs);
  for (Value value : values)
    if (reason.empty())
      checkDistinct(value);
  return success(reason.empty());
}

void Dimensions::fail(StringRef message) {
  if (reason.empty())
    reason = message.str();
}

//===----------------------------------------------------------------------===//
// Identification
//===----------------------------------------------------------------------===//

Dimensions::Axes Dimensions::axesOf(Value value) {
  auto [it, fresh] = axes.try_emplace(value);
  if (!fresh)
    return it->second;
  values.push_back(value);
  for (int64_t extent : shapeOf(value)) {
    it->second.push_back(rawExtents.size());
    classes.insert(rawExtents.size());
    rawExtents.push_back(extent);
  }
  return it->second;
}

void Dimensions::unify(ArrayRef<unsigned> lhs, ArrayRef<unsigned> rhs) {
  for (auto [l, r] : llvm::zip(lhs, rhs))
    if (rawExtents[l] == rawExtents[r])
      classes.unionSets(l, r);
    else
      fail("extents differ");
}

void Dimensions::alignTrailing(Value operand, Value result) {
  Axes from = axesOf(operand), to = axesOf(result);
  unify(from, ArrayRef(to).take_back(from.size()));
}

void Dimensions::requireInput(Value value, StringRef message) {
  if (!llvm::is_contained(inputs, value))
    fail(message);
}

/// Indices meet what they gather in the batch dimensions and from `dim` on.
void Dimensions::identifyIndexed(Value indices, Value gathered, int64_t dim,
                                 int64_t batch) {
  Axes which = axesOf(indices), all = axesOf(gathered);
  unify(ArrayRef(which).take_front(batch), ArrayRef(all).take_front(batch));
  unify(ArrayRef(which).drop_front(batch),
        ArrayRef(all).slice(dim, which.size() - batch));
}

void Dimensions::identify(Operation *op, ArrayRef<Operation *> ops) {
  TypeSwitch<Operation *>(op)
      .Case([&](ConstantOp) {}) // its users say along what it is constant
      .Case([&](IotaOp o) { axesOf(o.getResult()); })
      .Case<ShardSliceOp, PadExtentOp>([&](auto o) {
        Axes to = axesOf(o.getResult());
        if (llvm::is_contained(inputs, o.getX()))
          return; // a load with other strides
        for (auto [l, r] : llvm::zip(axesOf(o.getX()), to))
          if (rawExtents[l] == rawExtents[r])
            classes.unionSets(l, r);
      })
      .Case([&](ReduceOp o) {
        Axes kept;
        for (auto [dim, axis] : llvm::enumerate(axesOf(o.getX())))
          if (!llvm::is_contained(o.getDims(), int64_t(dim)))
            kept.push_back(axis);
        unify(kept, axesOf(o.getResult()));
      })
      .Case([&](BroadcastOp o) {
        Axes to = axesOf(o.getResult()), used;
        for (int64_t dim : o.getDims())
          used.push_back(to[dim]);
        unify(axesOf(o.getX()), used);
      })
      .Case([&](TransposeOp o) {
        Axes from = axesOf(o.getX()), permuted;
        for (int64_t dim : o.getPermutation())
          permuted.push_back(from[dim]);
        unify(permuted, axesOf(o.getResult()));
      })
      .Case([&](EmbeddingOp o) {
        requireInput(o.getTable(),
                     "an embedding reads a table of its own kernel");
        unify(axesOf(o.getIds()), axesOf(o.getResult()));
      })
      .Case([&](EmbeddingGradOp o) {
        unify(axesOf(o.getIds()), axesOf(o.getDy()));
      })
      .Case<ReshapeOp, WindowOp>([&](auto o) {
        requireInput(o.getX(), "elements move along a dimension of a value of "
                               "its own kernel");
        axesOf(o.getResult());
      })
      .Case([&](DynamicSliceOp o) {
        requireInput(o.getX(), "a box of a value of its own kernel");
        axesOf(o.getResult());
        axesOf(o.getStarts()[0]);
      })
      .Case([&](DynamicUpdateSliceOp o) {
        requireInput(o.getUpdate(), "an update from its own kernel");
        unify(axesOf(o.getX()), axesOf(o.getResult()));
        axesOf(o.getStarts()[0]);
      })
      .Case([&](GatherOp o) {
        requireInput(o.getX(), "a gather reads a value of its own kernel");
        identifyIndexed(o.getIndices(), o.getResult(), o.getDim(),
                        o.getBatchDims());
      })
      .Case([&](ScatterAddOp o) {
        identifyIndexed(o.getIndices(), o.getUpdates(), o.getDim(),
                        o.getBatchDims());
      })
      .Case([&](RopeOp o) {
        unify(axesOf(o.getX()), axesOf(o.getResult()));
        unify(axesOf(o.getPositions()), axesOf(o.getX()));
      })
      .Default([&](Operation *o) {
        if (isScatterSum(o, ops))
          return;
        for (Value operand : o->getOperands())
          alignTrailing(operand, o->getResult(0));
      });
}

//===----------------------------------------------------------------------===//
// Order of the loops
//===----------------------------------------------------------------------===//

/// As the tensors of the highest rank have them, results before others.
void Dimensions::orderLoops(ArrayRef<Output> outputs) {
  SmallVector<std::tuple<int64_t, bool, unsigned>> ranked;
  for (auto [i, value] : llvm::enumerate(values)) {
    bool leaves = llvm::any_of(
        outputs, [v = value](const Output &o) { return o.value == v; });
    ranked.push_back({-int64_t(shapeOf(value).size()), !leaves, i});
  }
  llvm::sort(ranked);
  SmallVector<unsigned> order;
  for (auto [rank, stays, i] : ranked)
    insertAxes(axes[values[i]], order);
  for (auto [loop, axis] : llvm::enumerate(order)) {
    loopOfAxis[axis] = loop;
    loops.push_back(rawExtents[axis]);
  }
  if (order.size() > 48)
    fail("too many dimensions");
}

void Dimensions::insertAxes(ArrayRef<unsigned> list,
                            SmallVectorImpl<unsigned> &order) {
  unsigned place = 0;
  for (unsigned axis : list) {
    unsigned leader = classes.getLeaderValue(axis);
    auto *it = llvm::find(order, leader);
    if (it == order.end())
      it = order.insert(order.begin() + std::min<size_t>(place, order.size()),
                        leader);
    place = it - order.begin() + 1;
  }
}

unsigned Dimensions::loopOf(Value value, unsigned index) const {
  return loopOfAxis.lookup(
      classes.getLeaderValue(axes.find(value)->second[index]));
}

void Dimensions::checkDistinct(Value value) {
  DimMask seen = 0;
  for (auto [index, extent] : llvm::enumerate(shapeOf(value))) {
    DimMask bit = DimMask(1) << loopOf(value, index);
    if ((seen & bit) && extent != 1)
      fail("a tensor meets its own transpose");
    seen |= bit;
  }
}
