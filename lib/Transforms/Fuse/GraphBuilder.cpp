//===- GraphBuilder.cpp - from tensor operations to a kernel graph --------===//

#include "stretto/Dialect/Stretto/Transforms/Decompose.h"
#include "stretto/Transforms/Fuse/KernelGraph.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>
#include <functional>
#include <map>

using namespace mlir;
using namespace stretto;
using namespace stretto::kernel;

static ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

static std::optional<Element> elementOf(Value value) {
  Type type = cast<RankedTensorType>(value.getType()).getElementType();
  if (type.isF32())
    return Element::F32;
  if (type.isF64())
    return Element::F64;
  if (type.isBF16())
    return Element::BF16;
  if (type.isF16())
    return Element::F16;
  if (type.isInteger(1))
    return Element::I1;
  if (type.isInteger(8))
    return Element::I8;
  if (type.isInteger(32))
    return Element::I32;
  if (type.isInteger(64))
    return Element::I64;
  return std::nullopt;
}

static bool isFloat(Element type) { return type <= Element::F16; }

static SmallVector<int64_t> stridesOf(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (unsigned dim = shape.size(); dim-- > 1;)
    strides[dim - 1] = strides[dim] * shape[dim];
  return strides;
}

namespace stretto::kernel {

class GraphBuilder {
public:
  GraphBuilder(ArrayRef<Operation *> ops, ValueRange inputs,
               ArrayRef<Output> outputs, std::string *why)
      : ops(ops), inputs(inputs), outputs(outputs), why(why) {}

  FailureOr<KernelGraph> run() {
    for (auto [index, input] : llvm::enumerate(inputs)) {
      inputIndex[input] = index;
      if (failed(addBuffer(input)))
        return failure();
    }
    for (Operation *op : ops)
      identify(op);
    for (const Output &output : outputs)
      if (output.value.getDefiningOp<ConstantOp>() ||
          inputIndex.count(output.value))
        (void)axesOf(output.value);
    if (!ok || failed(orderDims()))
      return failure();
    for (Operation *op : ops)
      lower(op);
    for (const Output &output : outputs)
      addRoot(output);
    if (!ok)
      return failure();
    for (auto [dim, half] : halves)
      g.splitDim(dim, half);
    for (auto &rope : ropes)
      finishRope(rope);
    g.simplify();
    return std::move(g);
  }

private:
  void fail(const Twine &message) {
    if (ok && why)
      *why = message.str();
    ok = false;
  }

  LogicalResult addBuffer(Value value) {
    auto element = elementOf(value);
    auto type = cast<RankedTensorType>(value.getType());
    if (!element || !type.hasStaticShape()) {
      fail("a tensor has no static shape or an unknown element type");
      return failure();
    }
    g.buffers.push_back({type.getNumElements(), *element});
    return success();
  }

  //===--------------------------------------------------------------------===//
  // Dimensions: which of them are one loop
  //===--------------------------------------------------------------------===//

  ArrayRef<unsigned> axesOf(Value value) {
    auto [it, fresh] = axes.try_emplace(value);
    if (fresh) {
      values.push_back(value);
      for (int64_t extent : shapeOf(value)) {
        it->second.push_back(rawExtents.size());
        classes.insert(rawExtents.size());
        rawExtents.push_back(extent);
      }
    }
    return it->second;
  }

  void unify(ArrayRef<unsigned> lhs, ArrayRef<unsigned> rhs) {
    for (auto [l, r] : llvm::zip(lhs, rhs))
      if (rawExtents[l] == rawExtents[r])
        classes.unionSets(l, r);
      else
        fail("extents differ");
  }

  /// Copies, because asking for one value's axes may move another's.
  SmallVector<unsigned> copyAxes(Value value) {
    return SmallVector<unsigned>(axesOf(value));
  }

  void alignTrailing(Value operand, Value result) {
    SmallVector<unsigned> from = copyAxes(operand), to = copyAxes(result);
    unify(from, ArrayRef(to).take_back(from.size()));
  }

  void identify(Operation *op) {
    TypeSwitch<Operation *>(op)
        .Case([&](ConstantOp) {}) // its users say along what it is constant
        .Case([&](IotaOp o) { (void)axesOf(o.getResult()); })
        .Case<ShardSliceOp, PadOp>([&](auto o) {
          if (!inputIndex.count(o.getX()))
            fail("a slice or pad reads a value of its own kernel");
          (void)axesOf(o.getResult());
        })
        .Case([&](ReduceOp o) {
          SmallVector<unsigned> from = copyAxes(o.getX()), kept;
          for (auto [dim, axis] : llvm::enumerate(from))
            if (!llvm::is_contained(o.getDims(), int64_t(dim)))
              kept.push_back(axis);
          unify(kept, copyAxes(o.getResult()));
        })
        .Case([&](BroadcastOp o) {
          SmallVector<unsigned> to = copyAxes(o.getResult()), used;
          for (int64_t dim : o.getDims())
            used.push_back(to[dim]);
          unify(copyAxes(o.getX()), used);
        })
        .Case([&](TransposeOp o) {
          SmallVector<unsigned> from = copyAxes(o.getX()), permuted;
          for (int64_t dim : o.getPermutation())
            permuted.push_back(from[dim]);
          unify(permuted, copyAxes(o.getResult()));
        })
        .Case([&](EmbeddingOp o) {
          if (!inputIndex.count(o.getTable()))
            fail("an embedding reads a table of its own kernel");
          SmallVector<unsigned> to = copyAxes(o.getResult());
          unify(copyAxes(o.getIds()), to);
        })
        .Case([&](EmbeddingGradOp o) {
          unify(copyAxes(o.getIds()), copyAxes(o.getDy()));
        })
        .Case([&](RopeOp o) {
          alignTrailing(o.getX(), o.getResult());
          unify(copyAxes(o.getPositions()), copyAxes(o.getX()));
        })
        .Default([&](Operation *o) {
          if (isScatterSum(o))
            return;
          for (Value operand : o->getOperands())
            alignTrailing(operand, o->getResult(0));
        });
  }

  /// acc + embedding_grad(...): a scatter that starts from acc.
  static EmbeddingGradOp scatterOf(Value value) {
    return value.getDefiningOp<EmbeddingGradOp>();
  }
  bool isInGroup(Operation *op) { return llvm::is_contained(ops, op); }
  bool isScatterSum(Operation *op) {
    return isa<AddOp>(op) && llvm::any_of(op->getOperands(), [&](Value v) {
             return scatterOf(v) && isInGroup(scatterOf(v));
           });
  }

  LogicalResult orderDims() {
    llvm::SmallDenseSet<Value> leaving;
    for (const Output &output : outputs)
      leaving.insert(output.value);
    auto weight = [&](Value v) {
      return shapeOf(v).size() * 2 + leaving.count(v);
    };
    SmallVector<std::pair<int64_t, unsigned>> ranked;
    for (auto [i, value] : llvm::enumerate(values))
      ranked.push_back({-int64_t(weight(value)), i});
    llvm::sort(ranked);
    SmallVector<unsigned> order;
    for (auto [rank, i] : ranked)
      insertAxes(axes[values[i]], order);
    for (auto [dim, axis] : llvm::enumerate(order)) {
      dimOf[axis] = dim;
      g.extents.push_back(rawExtents[axis]);
    }
    if (order.size() > 48)
      fail("too many dimensions");
    for (Value value : values)
      if (failed(checkDistinct(value)))
        return failure();
    return success(ok);
  }

  void insertAxes(ArrayRef<unsigned> list, SmallVectorImpl<unsigned> &order) {
    unsigned place = 0;
    for (unsigned axis : list) {
      unsigned leader = classes.getLeaderValue(axis);
      auto it = llvm::find(order, leader);
      if (it == order.end())
        it = order.insert(order.begin() + std::min<size_t>(place, order.size()),
                          leader);
      place = it - order.begin() + 1;
    }
  }

  unsigned dim(Value value, unsigned index) {
    return dimOf.lookup(classes.getLeaderValue(axes[value][index]));
  }

  LogicalResult checkDistinct(Value value) {
    DimMask seen = 0;
    for (unsigned i = 0; i < shapeOf(value).size(); ++i) {
      DimMask bit = DimMask(1) << dim(value, i);
      if ((seen & bit) && shapeOf(value)[i] != 1) {
        fail("a tensor meets its own transpose");
        return failure();
      }
      seen |= bit;
    }
    return success();
  }

  //===--------------------------------------------------------------------===//
  // Nodes
  //===--------------------------------------------------------------------===//

  Linear linear() {
    Linear result;
    result.coefficients.assign(g.extents.size(), 0);
    return result;
  }
  Linear along(Value value, ArrayRef<int64_t> strides, unsigned from = 0) {
    Linear result = linear();
    for (auto [i, stride] : llvm::enumerate(strides))
      result.coefficients[dim(value, from + i)] += stride;
    return result;
  }
  Linear addressOf(Value value) {
    return along(value, stridesOf(shapeOf(value)));
  }

  Node *load(Value input, Linear address) {
    Node node(NodeKind::Load);
    node.type = *elementOf(input);
    node.buffer = inputIndex[input];
    node.axes = address.axes();
    node.address = std::move(address);
    return g.add(std::move(node));
  }
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
  Node *compute(Code code, Element type, ArrayRef<Node *> operands) {
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

  Node *nodeOf(Value value) {
    if (Node *known = nodes.lookup(value))
      return known;
    if (!inputIndex.count(value)) {
      fail("a value has no scalar form");
      return constant(0, Element::F32);
    }
    return nodes[value] = load(value, addressOf(value));
  }

  SmallVector<int64_t> scalarsOf(Operation *op) {
    auto list = op->getAttrOfType<DenseI64ArrayAttr>(attr::scalars);
    return list ? SmallVector<int64_t>(list.asArrayRef())
                : SmallVector<int64_t>();
  }
  /// First scalar of an operation that has at most one, or -1.
  int64_t offsetOf(Operation *op) {
    SmallVector<int64_t> list = scalarsOf(op);
    return list.empty() ? -1 : list[0];
  }
  void addOffset(Linear &linear, int64_t position, int64_t multiplier) {
    if (position >= 0)
      linear.scalars.push_back({unsigned(position), multiplier});
  }

  void lower(Operation *op) {
    exact = op->hasAttr(attr::exact) ||
            (op->getNumResults() == 1 && shapeOf(op->getResult(0)).empty());
    if (isa<EmbeddingGradOp>(op) || isScatterSum(op))
      return; // roots
    if (Node *node = lowerOp(op))
      nodes[op->getResult(0)] = node;
    else
      fail(Twine("no scalar form of '") + op->getName().getStringRef() + "'");
  }

  Node *lowerOp(Operation *op) {
    return TypeSwitch<Operation *, Node *>(op)
        .Case([&](ConstantOp o) {
          return constant(o.getValue().convertToDouble(), type(o));
        })
        .Case([&](IotaOp o) { return lowerIota(o); })
        .Case<BroadcastOp, TransposeOp>(
            [&](auto o) { return nodeOf(o.getX()); })
        .Case([&](ReduceOp o) { return lowerReduce(o); })
        .Case([&](CompareOp o) {
          return compare(o.getPredicate(), nodeOf(o.getLhs()),
                         nodeOf(o.getRhs()));
        })
        .Case([&](SelectOp o) {
          return select(nodeOf(o.getCondition()), nodeOf(o.getOnTrue()),
                        nodeOf(o.getOnFalse()));
        })
        .Case([&](ConvertOp o) {
          return compute(Code::Convert, type(o), {nodeOf(o.getX())});
        })
        .Case([&](DropoutOp o) { return lowerDropout(o); })
        .Case([&](MaskPadOp o) { return lowerMaskPad(o); })
        .Case([&](KeepFirstOp o) {
          Node *first = compare(ComparePredicate::EQ, scalar(offsetOf(o)),
                                constant(0, Element::I64));
          return select(first, nodeOf(o.getX()), constant(0, type(o)));
        })
        .Case([&](ShardSliceOp o) { return lowerSlice(o); })
        .Case([&](PadOp o) { return lowerPad(o); })
        .Case([&](EmbeddingOp o) { return lowerEmbedding(o); })
        .Case([&](RopeOp o) { return lowerRope(o); })
        .Default([&](Operation *o) { return lowerPointwise(o); });
  }

  Element type(Operation *op) {
    auto element = elementOf(op->getResult(0));
    if (!element)
      fail("unknown element type");
    return element.value_or(Element::F32);
  }

  Node *lowerPointwise(Operation *op) {
    auto code = TypeSwitch<Operation *, std::optional<Code>>(op)
                    .Case([](NegOp) { return Code::Neg; })
                    .Case([](ExpOp) { return Code::Exp; })
                    .Case([](LogOp) { return Code::Log; })
                    .Case([](SqrtOp) { return Code::Sqrt; })
                    .Case([](RsqrtOp) { return Code::Rsqrt; })
                    .Case([](TanhOp) { return Code::Tanh; })
                    .Case([](SigmoidOp) { return Code::Sigmoid; })
                    .Case([](ErfOp) { return Code::Erf; })
                    .Case([](AddOp) { return Code::Add; })
                    .Case([](SubOp) { return Code::Sub; })
                    .Case([](MulOp) { return Code::Mul; })
                    .Case([](DivOp) { return Code::Div; })
                    .Case([](MaximumOp) { return Code::Maximum; })
                    .Case([](MinimumOp) { return Code::Minimum; })
                    .Default([](Operation *) { return std::nullopt; });
    if (!code)
      return nullptr;
    bool needsFloat =
        (*code >= Code::Exp && *code <= Code::Erf) || *code == Code::Div;
    if (needsFloat && !isFloat(type(op)))
      return nullptr;
    bool isFunction = llvm::is_contained(
        {Code::Exp, Code::Log, Code::Tanh, Code::Sigmoid, Code::Erf}, *code);
    if (isFunction && type(op) != Element::F32)
      return nullptr;
    SmallVector<Node *> operands;
    for (Value operand : op->getOperands())
      operands.push_back(nodeOf(operand));
    return compute(*code, type(op), operands);
  }

  Node *lowerReduce(ReduceOp op) {
    Node node(NodeKind::Reduce);
    Node *x = nodeOf(op.getX());
    node.type = x->type;
    node.exact = op->hasAttr(attr::exact);
    node.reduce = op.getKind();
    for (int64_t d : op.getDims())
      node.reduced |= DimMask(1) << dim(op.getX(), d);
    node.operands = {x};
    node.axes = x->axes & ~node.reduced;
    return g.add(std::move(node));
  }

  Node *lowerIota(IotaOp op) {
    Linear at = linear();
    at.coefficients[dim(op.getResult(), op.getDim())] = 1;
    addOffset(at, offsetOf(op), 1);
    return compute(Code::Convert, Element::I32, {index(std::move(at))});
  }

  Node *lowerMaskPad(MaskPadOp op) {
    Linear at = linear();
    at.coefficients[dim(op.getResult(), op.getDim())] = 1;
    addOffset(at, offsetOf(op), 1);
    Node *inside = compare(ComparePredicate::LT, index(std::move(at)),
                           constant(double(op.getSize()), Element::I64));
    return select(inside, nodeOf(op.getX()),
                  constant(op.getValue().convertToDouble(), type(op)));
  }

  /// See Random.h: kept when 24 random bits reach ceil(p * 2^24).
  Node *lowerDropout(DropoutOp op) {
    double p = op.getP().convertToDouble();
    Node *x = nodeOf(op.getX());
    if (p == 0)
      return x;
    SmallVector<int64_t> positions = scalarsOf(op);
    ArrayRef<int64_t> shape = shapeOf(op.getX());
    // A segment has offsets by value; only their places in the graph matter.
    if (!isa<KernelOp>(op->getParentOp()))
      positions.assign(3 + shape.size(), -1);
    if (!op.getExtents() || positions.size() != 3 + shape.size()) {
      fail("dropout needs extents and the scalars seed, step, instance and one "
           "offset per dimension");
      return nullptr;
    }
    SmallVector<int64_t> strides = stridesOf(*op.getExtents());
    Linear element = along(op.getX(), strides);
    for (auto [i, stride] : llvm::enumerate(strides))
      addOffset(element, positions[3 + i], stride);
    Node *key = compute(
        Code::Key, Element::I64,
        {scalar(positions[0]), scalar(positions[1]), scalar(positions[2])});
    Node *keep =
        compute(Code::Keep, Element::I1, {key, index(std::move(element))});
    keep->threshold = int64_t(std::ceil(p * 16777216.0));
    keep->opId = op.getOpId();
    Node *scaled =
        compute(Code::Mul, x->type, {x, constant(1.0 / (1.0 - p), x->type)});
    return select(keep, scaled, constant(0, x->type));
  }

  Node *lowerSlice(ShardSliceOp op) {
    SmallVector<int64_t> strides = stridesOf(shapeOf(op.getX()));
    Linear address = along(op.getResult(), strides);
    int64_t block = shapeOf(op.getResult())[op.getDim()];
    addOffset(address, offsetOf(op), block * strides[op.getDim()]);
    return load(op.getX(), std::move(address));
  }

  Node *lowerPad(PadOp op) {
    ArrayRef<int64_t> from = shapeOf(op.getX()), to = shapeOf(op.getResult());
    Node *node = load(op.getX(), along(op.getResult(), stridesOf(from)));
    for (auto [d, extents] : llvm::enumerate(llvm::zip(from, to))) {
      auto [have, want] = extents;
      if (have >= want)
        continue;
      Guard guard{linear(), have};
      guard.index.coefficients[dim(op.getResult(), d)] = 1;
      node->guards.push_back(std::move(guard));
    }
    return node;
  }

  Node *rowIndex(Value ids, int64_t offset) {
    Node *row = compute(Code::Convert, Element::I64, {nodeOf(ids)});
    return offset < 0 ? row
                      : compute(Code::Sub, Element::I64, {row, scalar(offset)});
  }

  Node *lowerEmbedding(EmbeddingOp op) {
    Value table = op.getTable();
    SmallVector<int64_t> strides = stridesOf(shapeOf(table));
    unsigned lead = shapeOf(op.getIds()).size();
    Node *node = load(
        table, along(op.getResult(), ArrayRef(strides).drop_front(), lead));
    Node *row = rowIndex(op.getIds(), offsetOf(op));
    node->operands = {row};
    node->axes |= row->axes;
    node->rows = shapeOf(table)[0];
    node->rowStride = strides[0];
    return node;
  }

  //===--------------------------------------------------------------------===//
  // Rope: the head dimension is split into (half, pair); the partner of a lane
  // is the same expression with the half index turned around.
  //===--------------------------------------------------------------------===//

  struct Rope {
    Node *result; // becomes x cos + partner sin
    Node *x, *position;
    unsigned dim;
    int64_t half;
    double base;
    bool transposed;
  };

  Node *lowerRope(RopeOp op) {
    unsigned last = dim(op.getX(), 3);
    int64_t half = shapeOf(op.getX())[3] / 2;
    if (half == 1 ||
        llvm::any_of(halves, [&](auto &h) { return h.first != last; })) {
      fail("rope needs a head dimension above 2, one per kernel");
      return nullptr;
    }
    halves.insert({last, half});
    Node *x = nodeOf(op.getX()), *position = nodeOf(op.getPositions());
    Node *result = compute(Code::Add, x->type, {x, position});
    ropes.push_back({result, x, position, last, half,
                     op.getBase().convertToDouble(), op.getTransposed()});
    return result;
  }

  Node *alongDim(unsigned d) {
    Linear at = linear();
    at.coefficients[d] = 1;
    return index(std::move(at));
  }

  /// Runs after dimension `dim` was split: dim is the half, dim + 1 the pair.
  void finishRope(const Rope &rope) {
    exact = false;
    Node *frequency =
        compute(Code::Frequency, Element::F64, {alongDim(rope.dim + 1)});
    frequency->value = rope.base;
    frequency->count = rope.half;
    Node *position = compute(Code::Convert, Element::F64, {rope.position});
    Node *angle = compute(Code::Mul, Element::F64, {position, frequency});
    Node *cos = compute(Code::Cos, Element::F32, {angle});
    Node *sin = compute(Code::Sin, Element::F32, {angle});
    double first = rope.transposed ? 1 : -1;
    Node *isFirst = compare(ComparePredicate::EQ, alongDim(rope.dim),
                            constant(0, Element::I64));
    Node *sign = select(isFirst, constant(first, Element::F32),
                        constant(-first, Element::F32));
    DenseMap<Node *, Node *> turned;
    Node *partner = turn(rope.x, rope.dim, turned);
    Node *rotated = compute(Code::Mul, Element::F32, {partner, sin});
    Node *left = compute(Code::Mul, Element::F32, {rope.x, cos});
    Node *right = compute(Code::Mul, Element::F32, {sign, rotated});
    rope.result->operands = {left, right};
    recomputeAxes();
  }

  /// The expression with index i of `dim` (extent 2) replaced by 1 - i.
  Node *turn(Node *node, unsigned d, DenseMap<Node *, Node *> &done) {
    if (!(node->axes >> d & 1))
      return node;
    if (Node *known = done.lookup(node))
      return known;
    Node copy = *node;
    auto turnLinear = [&](Linear &l) {
      if (l.coefficients.empty())
        return;
      l.constant += l.coefficients[d];
      l.coefficients[d] = -l.coefficients[d];
    };
    turnLinear(copy.address);
    for (Guard &guard : copy.guards)
      turnLinear(guard.index);
    for (Node *&operand : copy.operands)
      operand = turn(operand, d, done);
    return done[node] = g.add(std::move(copy));
  }

  /// Axes of computed nodes from their operands, which come first in `order`.
  void recomputeAxes() {
    DenseMap<Node *, bool> done;
    std::function<void(Node *)> visit = [&](Node *node) {
      if (done.insert({node, true}).second == false)
        return;
      DimMask mask = node->address.axes();
      for (Node *operand : node->operands) {
        visit(operand);
        mask |= operand->axes;
      }
      node->axes = mask & ~node->reduced;
    };
    for (auto &node : g.nodes)
      visit(node.get());
  }

  //===--------------------------------------------------------------------===//
  // Roots
  //===--------------------------------------------------------------------===//

  void addRoot(const Output &output) {
    unsigned buffer = output.alias;
    if (output.alias < 0) {
      buffer = g.buffers.size();
      if (failed(addBuffer(output.value)))
        return;
    }
    g.buffers[buffer].written = true;
    Operation *op = output.value.getDefiningOp();
    if (op && isInGroup(op) && (isa<EmbeddingGradOp>(op) || isScatterSum(op)))
      return addScatter(op, buffer);
    Root root{RootKind::Store, nodeOf(output.value), buffer,
              addressOf(output.value)};
    g.roots.push_back(std::move(root));
  }

  void addScatter(Operation *op, unsigned buffer) {
    auto grad = dyn_cast<EmbeddingGradOp>(op);
    int start = -1;
    if (!grad) {
      for (unsigned i : {0, 1})
        if (auto found = scatterOf(op->getOperand(i)))
          grad = found;
      Value other = op->getOperand(op->getOperand(0) == grad.getResult());
      if (!inputIndex.count(other) || !grad->hasOneUse() ||
          other.getType() != grad.getType())
        return fail("a scatter is added to a value of its own kernel");
      start = inputIndex[other];
    }
    SmallVector<int64_t> strides = stridesOf(shapeOf(grad.getResult()));
    unsigned lead = shapeOf(grad.getIds()).size();
    Root root{RootKind::Scatter, nodeOf(grad.getDy()), buffer,
              along(grad.getDy(), ArrayRef(strides).drop_front(), lead)};
    root.row = rowIndex(grad.getIds(), offsetOf(grad));
    for (unsigned i = 0; i < lead; ++i)
      root.reduced |= DimMask(1) << dim(grad.getDy(), i);
    root.rows = shapeOf(grad.getResult())[0];
    root.rowStride = strides[0];
    root.inPlace = start == int(buffer);
    root.initFrom = root.inPlace ? -1 : start;
    g.roots.push_back(std::move(root));
  }

  ArrayRef<Operation *> ops;
  ValueRange inputs;
  ArrayRef<Output> outputs;
  std::string *why;
  bool ok = true, exact = false;
  KernelGraph g;
  DenseMap<Value, unsigned> inputIndex;
  DenseMap<Value, SmallVector<unsigned, 4>> axes;
  SmallVector<Value> values;
  SmallVector<int64_t> rawExtents;
  llvm::EquivalenceClasses<unsigned> classes;
  DenseMap<unsigned, unsigned> dimOf;
  DenseMap<Value, Node *> nodes;
  std::map<unsigned, int64_t> halves;
  SmallVector<Rope, 2> ropes;
};

} // namespace stretto::kernel

FailureOr<KernelGraph> KernelGraph::build(ArrayRef<Operation *> ops,
                                          ValueRange inputs,
                                          ArrayRef<Output> outputs,
                                          std::string *why) {
  return GraphBuilder(ops, inputs, outputs, why).run();
}

FailureOr<KernelGraph> KernelGraph::build(KernelOp kernel, std::string *why) {
  Block &body = kernel.getBody().front();
  SmallVector<Operation *> ops;
  for (Operation &op : body.without_terminator())
    ops.push_back(&op);
  SmallVector<Output> outputs;
  for (auto [i, value] : llvm::enumerate(body.getTerminator()->getOperands())) {
    auto alias = kernel.getResultAttrOfType<IntegerAttr>(i, attr::alias);
    outputs.push_back({value, alias ? int(alias.getInt()) : -1});
  }
  return build(ops, body.getArguments(), outputs, why);
}
