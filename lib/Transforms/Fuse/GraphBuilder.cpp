//===- GraphBuilder.cpp - from tensor operations to a kernel graph --------===//

#include "Dimensions.h"
#include "Rope.h"
#include "stretto/Dialect/Stretto/Transforms/Decompose.h"
#include "stretto/Transforms/Fuse/KernelGraph.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>
#include <utility>

using namespace mlir;
using namespace stretto;
using namespace stretto::kernel;

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

/// Strides of the logical index of random numbers: row-major, with samples as
/// the most major dimension wherever they stand.
static SmallVector<int64_t> samplesFirst(ArrayRef<int64_t> extents,
                                         std::optional<uint64_t> sampleDim) {
  SmallVector<int64_t> others(extents);
  if (sampleDim)
    others[*sampleDim] = 1;
  SmallVector<int64_t> strides = stridesOf(others);
  if (sampleDim)
    strides[*sampleDim] = ShapedType::getNumElements(others);
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
    if (failed(dims.run(ops, inputs, outputs))) {
      fail(dims.why());
      return failure();
    }
    g.extents.assign(dims.extents().begin(), dims.extents().end());
    for (Operation *op : ops)
      lower(op);
    for (const Output &output : outputs)
      addRoot(output);
    if (!ok)
      return failure();
    lowerRopes(g, ropes);
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
  // Nodes
  //===--------------------------------------------------------------------===//

  unsigned dim(Value value, unsigned index) {
    return dims.loopOf(value, index);
  }

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
    node.type = valueElement(*elementOf(input));
    node.buffer = inputIndex[input];
    node.axes = address.axes();
    node.address = std::move(address);
    return g.add(std::move(node));
  }
  Node *nodeOf(Value value) {
    if (Node *known = nodes.lookup(value))
      return known;
    if (!inputIndex.count(value)) {
      fail("a value has no scalar form");
      return make.constant(0, Element::F32);
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
    make.exact =
        op->hasAttr(attr::exact) ||
        (op->getNumResults() == 1 && shapeOf(op->getResult(0)).empty());
    if (isa<EmbeddingGradOp, ScatterAddOp>(op) || isScatterSum(op, ops))
      return; // roots
    if (Node *node = lowerOp(op))
      nodes[op->getResult(0)] = node;
    else
      fail(Twine("no scalar form of '") + op->getName().getStringRef() + "'");
  }

  Node *lowerOp(Operation *op) {
    return TypeSwitch<Operation *, Node *>(op)
        .Case([&](ConstantOp o) {
          return make.constant(o.getValue().convertToDouble(), type(o));
        })
        .Case([&](IotaOp o) { return lowerIota(o); })
        .Case<BroadcastOp, TransposeOp>(
            [&](auto o) { return nodeOf(o.getX()); })
        .Case([&](ReduceOp o) { return lowerReduce(o); })
        .Case([&](CompareOp o) {
          return make.compare(o.getPredicate(), nodeOf(o.getLhs()),
                              nodeOf(o.getRhs()));
        })
        .Case([&](SelectOp o) {
          return make.select(nodeOf(o.getCondition()), nodeOf(o.getOnTrue()),
                             nodeOf(o.getOnFalse()));
        })
        .Case([&](ConvertOp o) {
          Node *x = nodeOf(o.getX());
          bool same = x->type == type(o);
          return same ? x : make.compute(Code::Convert, type(o), {x});
        })
        .Case([&](DropoutOp o) { return lowerDropout(o); })
        .Case([&](MaskPadOp o) { return lowerMaskPad(o); })
        .Case([&](KeepFirstOp o) {
          Node *first =
              make.compare(ComparePredicate::EQ, make.scalar(offsetOf(o)),
                           make.constant(0, Element::I64));
          return make.select(first, nodeOf(o.getX()),
                             make.constant(0, type(o)));
        })
        .Case([&](ShardSliceOp o) { return lowerSlice(o); })
        .Case([&](PadExtentOp o) { return lowerPad(o); })
        .Case([&](EmbeddingOp o) { return lowerEmbedding(o); })
        .Case([&](ReshapeOp o) {
          return load(o.getX(),
                      along(o.getResult(), stridesOf(shapeOf(o.getResult()))));
        })
        .Case([&](WindowOp o) { return lowerWindow(o); })
        .Case([&](GatherOp o) { return lowerGather(o); })
        .Case([&](DynamicSliceOp o) { return lowerDynamicSlice(o); })
        .Case([&](DynamicUpdateSliceOp o) { return lowerUpdate(o); })
        .Case([&](RopeOp o) { return lowerRope(o); })
        .Default([&](Operation *o) { return lowerPointwise(o); });
  }

  Element type(Operation *op) {
    auto element = elementOf(op->getResult(0));
    if (!element)
      fail("unknown element type");
    return valueElement(element.value_or(Element::F32));
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
    return make.compute(*code, type(op), operands);
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
    return make.compute(Code::Convert, Element::I32,
                        {make.index(std::move(at))});
  }

  Node *lowerMaskPad(MaskPadOp op) {
    Linear at = linear();
    at.coefficients[dim(op.getResult(), op.getDim())] = 1;
    addOffset(at, offsetOf(op), 1);
    Node *inside =
        make.compare(ComparePredicate::LT, make.index(std::move(at)),
                     make.constant(double(op.getSize()), Element::I64));
    return make.select(
        inside, nodeOf(op.getX()),
        make.constant(op.getValue().convertToDouble(), type(op)));
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
    SmallVector<int64_t> strides =
        samplesFirst(*op.getExtents(), op.getSampleDim());
    Linear element = along(op.getX(), strides);
    for (auto [i, stride] : llvm::enumerate(strides))
      addOffset(element, positions[3 + i], stride);
    Node *key =
        make.compute(Code::Key, Element::I64,
                     {make.scalar(positions[0]), make.scalar(positions[1]),
                      make.scalar(positions[2])});
    Node *keep = make.compute(Code::Keep, Element::I1,
                              {key, make.index(std::move(element))});
    keep->threshold = int64_t(std::ceil(p * 16777216.0));
    keep->opId = op.getOpId();
    Node *scaled = make.compute(Code::Mul, x->type,
                                {x, make.constant(1.0 / (1.0 - p), x->type)});
    return make.select(keep, scaled, make.constant(0, x->type));
  }

  /// A slice or pad of an input is a load with other strides, of a value of the
  /// kernel the same expression at other indices.
  Node *lowerSlice(ShardSliceOp op) {
    int64_t d = op.getDim(), block = shapeOf(op.getResult())[d];
    if (inputIndex.count(op.getX())) {
      SmallVector<int64_t> strides = stridesOf(shapeOf(op.getX()));
      Linear address = along(op.getResult(), strides);
      addOffset(address, offsetOf(op), block * strides[d]);
      return load(op.getX(), std::move(address));
    }
    return moved(nodeOf(op.getX()), dim(op.getX(), d), dim(op.getResult(), d),
                 offsetOf(op), block);
  }

  /// May index `from` of the expression become `to`? Not where it varies along
  /// both, where a sum inside runs over `to`, nor where a rope splits either.
  bool canMove(Node *root, unsigned from, unsigned to) {
    DimMask source = DimMask(1) << from, target = DimMask(1) << to;
    llvm::SmallPtrSet<Node *, 16> seen;
    SmallVector<Node *> work{root};
    while (!work.empty()) {
      Node *node = work.pop_back_val();
      if (!seen.insert(node).second)
        continue;
      if (node->kind == NodeKind::Compute && node->count) {
        unsigned split = ropes[node->count - 1].dim;
        if (split == from || split == to)
          return false;
      }
      if ((node->axes & source) && ((node->axes | node->reduced) & target))
        return false;
      llvm::append_range(work, node->operands);
    }
    return true;
  }

  /// The expression with index `from` replaced by `to` + scalar * block.
  Node *moved(Node *node, unsigned from, unsigned to, int64_t scalar,
              int64_t block, const Guard *guard = nullptr) {
    if (from == to)
      return node;
    if (!canMove(node, from, to)) {
      fail("a dimension is cut or padded inside a kernel that splits it or "
           "walks over both extents");
      return node;
    }
    auto change = [&](Linear &linear) {
      int64_t coefficient = std::exchange(linear.coefficients[from], 0);
      linear.coefficients[to] += coefficient;
      if (coefficient)
        addOffset(linear, scalar, coefficient * block);
    };
    return make.substitute(node, DimMask(1) << from, change, guard);
  }

  Guard below(PadExtentOp op, unsigned d) {
    Guard guard{linear(), shapeOf(op.getX())[d]};
    guard.index.coefficients[dim(op.getResult(), d)] = 1;
    return guard;
  }

  Node *lowerPad(PadExtentOp op) {
    ArrayRef<int64_t> from = shapeOf(op.getX()), to = shapeOf(op.getResult());
    bool isInput = inputIndex.count(op.getX());
    Node *node = isInput
                     ? load(op.getX(), along(op.getResult(), stridesOf(from)))
                     : nodeOf(op.getX());
    for (unsigned d = 0; d < from.size(); ++d) {
      bool grows = from[d] < to[d];
      Guard guard = below(op, d);
      if (isInput && grows)
        node->guards.push_back(guard);
      if (isInput)
        continue;
      node = moved(node, dim(op.getX(), d), dim(op.getResult(), d), -1, 0,
                   grows ? &guard : nullptr);
      if (grows)
        node = make.select(
            make.compare(ComparePredicate::LT, make.index(guard.index),
                         make.constant(double(guard.limit), Element::I64)),
            node, make.constant(0, node->type));
    }
    return node;
  }

  Node *rowIndex(Value ids, int64_t offset) {
    Node *row = make.compute(Code::Convert, Element::I64, {nodeOf(ids)});
    return offset < 0 ? row
                      : make.compute(Code::Sub, Element::I64,
                                     {row, make.scalar(offset)});
  }

  Node *lowerEmbedding(EmbeddingOp op) {
    Value table = op.getTable();
    SmallVector<int64_t> strides = stridesOf(shapeOf(table));
    unsigned lead = shapeOf(op.getIds()).size();
    return loadRow(table,
                   along(op.getResult(), ArrayRef(strides).drop_front(), lead),
                   0, rowIndex(op.getIds(), offsetOf(op)));
  }

  //===--------------------------------------------------------------------===//
  // Reads at another place
  //===--------------------------------------------------------------------===//

  /// A load whose index along `at` is `row`, zero where that is outside.
  Node *loadRow(Value input, Linear address, unsigned at, Node *row) {
    Node *node = load(input, std::move(address));
    node->operands = {row};
    node->axes |= row->axes;
    node->rows = shapeOf(input)[at];
    node->rowStride = stridesOf(shapeOf(input))[at];
    return node;
  }

  /// Address of an input whose dimensions are those of `value`, without `at`.
  Linear addressWithout(Value input, Value value, unsigned at) {
    SmallVector<int64_t> strides = stridesOf(shapeOf(input));
    strides[at] = 0;
    return along(value, strides);
  }

  /// Index of `value` along `d`, times `stride`.
  Linear indexAlong(Value value, unsigned d, int64_t stride = 1) {
    Linear at = linear();
    at.coefficients[dim(value, d)] = stride;
    return at;
  }

  Node *lowerWindow(WindowOp op) {
    unsigned d = op.getDim();
    if (op.getDilation() != 1 || op.getGroup()) {
      fail("a window with dilation or over a group has to be expanded first");
      return nullptr;
    }
    Linear at = indexAlong(op.getResult(), d, op.getStride());
    at.constant = op.getStart();
    addOffset(at, offsetOf(op), 1);
    return loadRow(op.getX(), addressWithout(op.getX(), op.getResult(), d), d,
                   make.index(std::move(at)));
  }

  /// Address in `x` of an element of what was gathered from it, along all
  /// dimensions but the gathered one.
  Linear gatheredAddress(Value x, Value gathered, unsigned at, unsigned which) {
    SmallVector<int64_t> strides = stridesOf(shapeOf(x));
    strides.erase(strides.begin() + at);
    strides.insert(strides.begin() + at, which, 0);
    return along(gathered, strides);
  }

  Node *lowerGather(GatherOp op) {
    unsigned which = shapeOf(op.getIndices()).size() - op.getBatchDims();
    return loadRow(
        op.getX(),
        gatheredAddress(op.getX(), op.getResult(), op.getDim(), which),
        op.getDim(), rowIndex(op.getIndices(), offsetOf(op)));
  }

  /// The start of a box, moved into [0, last].
  Node *clampedStart(Value start, int64_t last) {
    Node *node = make.compute(Code::Convert, Element::I64, {nodeOf(start)});
    node = make.compute(Code::Minimum, Element::I64,
                        {node, make.constant(double(last), Element::I64)});
    return make.compute(Code::Maximum, Element::I64,
                        {node, make.constant(0, Element::I64)});
  }

  Node *lowerDynamicSlice(DynamicSliceOp op) {
    if (op.getDims().size() != 1) {
      fail("a box of several dimensions has to be expanded first");
      return nullptr;
    }
    unsigned d = op.getDims()[0];
    int64_t extent =
        op.getExtents() ? (*op.getExtents())[0] : shapeOf(op.getX())[d];
    int64_t size =
        op.getSizes() ? (*op.getSizes())[0] : shapeOf(op.getResult())[d];
    SmallVector<int64_t> offsets = scalarsOf(op); // own, wanted
    Linear at = indexAlong(op.getResult(), d);
    if (offsets.size() == 2) {
      addOffset(at, offsets[0], -1);
      addOffset(at, offsets[1], 1);
    }
    Node *row = make.compute(Code::Add, Element::I64,
                             {make.index(std::move(at)),
                              clampedStart(op.getStarts()[0], extent - size)});
    return loadRow(op.getX(), addressWithout(op.getX(), op.getResult(), d), d,
                   row);
  }

  /// The update where the position falls into it, the operand elsewhere.
  Node *lowerUpdate(DynamicUpdateSliceOp op) {
    if (op.getDims().size() != 1) {
      fail("a box of several dimensions has to be expanded first");
      return nullptr;
    }
    unsigned d = op.getDims()[0];
    int64_t size = shapeOf(op.getUpdate())[d];
    int64_t extent =
        op.getExtents() ? (*op.getExtents())[0] : shapeOf(op.getX())[d];
    Linear at = indexAlong(op.getResult(), d);
    addOffset(at, offsetOf(op), 1);
    Node *row = make.compute(Code::Sub, Element::I64,
                             {make.index(std::move(at)),
                              clampedStart(op.getStarts()[0], extent - size)});
    Node *update =
        loadRow(op.getUpdate(),
                addressWithout(op.getUpdate(), op.getResult(), d), d, row);
    Node *x = nodeOf(op.getX());
    Node *below = make.compare(ComparePredicate::LT, row,
                               make.constant(double(size), Element::I64));
    Node *above =
        make.compare(ComparePredicate::GE, row, make.constant(0, Element::I64));
    return make.select(above, make.select(below, update, x), x);
  }

  /// The head dimension is split into (half, pair) when all nodes are there.
  Node *lowerRope(RopeOp op) {
    unsigned last = dim(op.getX(), 3);
    int64_t half = shapeOf(op.getX())[3] / 2;
    if (type(op) != Element::F32 || (!ropes.empty() && ropes[0].dim != last)) {
      fail("rope needs f32 and one head dimension per kernel");
      return nullptr;
    }
    Node *x = nodeOf(op.getX()), *position = nodeOf(op.getPositions());
    Node *result = make.compute(Code::Add, x->type, {x, position});
    ropes.push_back({result, x, position, last, half,
                     op.getBase().convertToDouble(), op.getTransposed()});
    result->count = ropes.size();
    return result;
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
    if (op && llvm::is_contained(ops, op) &&
        (isa<EmbeddingGradOp>(op) || isScatterSum(op, ops)))
      return addScatter(op, buffer);
    if (op && llvm::is_contained(ops, op) && isa<ScatterAddOp>(op))
      return addScatter(cast<ScatterAddOp>(op), buffer);
    Root root{RootKind::Store, nodeOf(output.value), buffer,
              addressOf(output.value)};
    g.roots.push_back(std::move(root));
  }

  void addScatter(Operation *op, unsigned buffer) {
    auto grad = dyn_cast<EmbeddingGradOp>(op);
    int start = -1;
    if (!grad) {
      for (unsigned i : {0, 1})
        if (auto found = op->getOperand(i).getDefiningOp<EmbeddingGradOp>())
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

  void addScatter(ScatterAddOp op, unsigned buffer) {
    unsigned at = op.getDim();
    unsigned which = shapeOf(op.getIndices()).size() - op.getBatchDims();
    Value updates = op.getUpdates();
    Root root{RootKind::Scatter, nodeOf(updates), buffer,
              gatheredAddress(op.getResult(), updates, at, which)};
    root.row = rowIndex(op.getIndices(), offsetOf(op));
    for (unsigned i = 0; i < which; ++i)
      root.reduced |= DimMask(1) << dim(updates, at + i);
    root.rows = shapeOf(op.getResult())[at];
    root.rowStride = stridesOf(shapeOf(op.getResult()))[at];
    g.roots.push_back(std::move(root));
  }

  ArrayRef<Operation *> ops;
  ValueRange inputs;
  ArrayRef<Output> outputs;
  std::string *why;
  bool ok = true;
  KernelGraph g;
  NodeFactory make{g};
  DenseMap<Value, unsigned> inputIndex;
  Dimensions dims;
  DenseMap<Value, Node *> nodes;
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
