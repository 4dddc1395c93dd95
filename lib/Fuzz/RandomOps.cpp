//===- RandomOps.cpp - operations of random graphs ------------------------===//
//
// One function per kind of operation: draws attributes and operands, says what
// is known of the result. Shapes are inferred; what does not verify is not
// added, so these functions need not be exact about what is allowed.
//
//===----------------------------------------------------------------------===//

#include "RandomMovement.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>

using namespace mlir;
using namespace stretto;
using namespace stretto::fuzz;

static ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

static SmallVector<int64_t> someDims(Generator &g, int64_t rank,
                                     int percent = 50) {
  SmallVector<int64_t> dims;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (g.chance(percent))
      dims.push_back(dim);
  return dims;
}

//===----------------------------------------------------------------------===//
// Pointwise
//===----------------------------------------------------------------------===//

static void addUnary(Generator &g) {
  static constexpr llvm::StringLiteral names[] = {
      "neg", "tanh", "sigmoid", "erf", "silu", "gelu", "exp"};
  StringRef name = g.oneOf(names);
  Value x = g.real();
  if (name == "exp")
    x = g.bounded(x);
  double magnitude = name == "exp" ? std::exp(g.known(x).magnitude)
                                   : std::max(1.0, g.known(x).magnitude);
  g.add(name, x, {name == "neg" && g.known(x).exact, magnitude});
}

/// log, sqrt or rsqrt of 1 + x^2, or something divided by it.
static void addOfPositive(Generator &g) {
  Value x = g.bounded(g.real());
  double largest = g.known(x).magnitude * g.known(x).magnitude + 1;
  Operation *square = g.add("mul", {x, x}, {false, largest});
  Operation *one = g.add("constant", {}, {true, 1},
                         g.attribute("value", g.builder.getF64FloatAttr(1)), 1,
                         Type(RankedTensorType::get({}, g.f32())));
  if (!square || !one)
    return;
  Operation *sum =
      g.add("add", {square->getResult(0), one->getResult(0)}, {false, largest});
  static constexpr llvm::StringLiteral names[] = {"log", "sqrt", "rsqrt",
                                                  "div"};
  StringRef name = g.oneOf(names);
  if (name != "div") {
    g.add(name, sum->getResult(0), {false, largest});
    return;
  }
  Value numerator = g.ofType(shapeOf(sum->getResult(0)), g.f32());
  g.add("div", {numerator, sum->getResult(0)},
        {false, g.known(numerator).magnitude});
}

/// Of the same shape, of the trailing dimensions, or a scalar.
static Value broadcastable(Generator &g, Value x, Type element) {
  ArrayRef<int64_t> shape = shapeOf(x);
  return g.ofType(
      shape.drop_front(g.chance(60) ? 0 : g.below(shape.size() + 1)), element);
}

static void addBinary(Generator &g) {
  static constexpr llvm::StringLiteral names[] = {"add", "add",     "sub",
                                                  "mul", "maximum", "minimum"};
  StringRef name = g.oneOf(names);
  Value a = g.real(), b = broadcastable(g, a, g.f32());
  if (g.chance(30))
    std::swap(a, b);
  const Known left = g.known(a), right = g.known(b);
  double magnitude = name == "mul" ? left.magnitude * right.magnitude
                                   : left.magnitude + right.magnitude;
  g.add(name, {a, b}, {left.exact && right.exact, magnitude});
}

static void addCompare(Generator &g) {
  Value a = g.exactReal();
  Value b = broadcastable(g, a, g.f32());
  if (!g.known(b).exact)
    b = g.newArgument(shapeOf(b), g.f32());
  auto predicate = ComparePredicateAttr::get(g.builder.getContext(),
                                             ComparePredicate(g.below(6)));
  g.add("compare", {a, b}, {true, 1}, g.attribute("predicate", predicate));
}

static void addSelect(Generator &g) {
  Value a = g.real(), b = broadcastable(g, a, g.f32());
  Value condition = broadcastable(g, a, g.i1());
  g.add("select", {condition, a, b},
        {g.known(a).exact && g.known(b).exact,
         std::max(g.known(a).magnitude, g.known(b).magnitude)});
}

static void addConvert(Generator &g) {
  Shape shape = g.shape();
  Value x = g.ofType(shape, g.chance(50) ? g.i1() : g.i32());
  g.add("convert", x, {true, 16}, {}, 1,
        Type(RankedTensorType::get(shapeOf(x), g.f32())));
}

static void addDropout(Generator &g) {
  Value x = g.real(1);
  g.add("dropout", x, {g.known(x).exact, 2 * g.known(x).magnitude},
        {g.attribute("p", g.builder.getF64FloatAttr(0.5)),
         g.attribute("op_id", g.builder.getI64IntegerAttr(1 + g.below(9))),
         g.attribute("extents", g.builder.getDenseI64ArrayAttr(shapeOf(x)))});
}

//===----------------------------------------------------------------------===//
// Contractions and reductions
//===----------------------------------------------------------------------===//

/// Labels of two operands: equal extents may be the same label; what both have
/// is kept or contracted, what one has is kept.
static void addEinsum(Generator &g) {
  Value a = g.real(1, 3), b = g.real(1, 3);
  SmallVector<std::string> left, right, result;
  for (size_t i = 0; i < shapeOf(a).size(); ++i)
    left.push_back(std::string(1, char('a' + i)));
  double contracted = 1;
  SmallVector<bool> taken(left.size(), false);
  for (auto [j, extent] : llvm::enumerate(shapeOf(b))) {
    std::string label(1, char('p' + j));
    for (size_t i = 0; i < left.size(); ++i)
      if (!taken[i] && shapeOf(a)[i] == extent && g.chance(80)) {
        taken[i] = true;
        label = left[i];
        break;
      }
    right.push_back(label);
  }
  for (size_t i = 0; i < left.size(); ++i)
    if (!taken[i] || g.chance(30))
      result.push_back(left[i]);
    else
      contracted *= double(shapeOf(a)[i]);
  for (const std::string &label : right)
    if (!llvm::is_contained(left, label))
      result.push_back(label);
  for (size_t i = result.size(); i > 1; --i)
    if (g.chance(40))
      std::swap(result[i - 1], result[g.below(i)]);
  std::string spec = llvm::join(left, " ") + ", " + llvm::join(right, " ") +
                     " -> " + llvm::join(result, " ");
  g.add("einsum", {a, b},
        {g.known(a).exact && g.known(b).exact,
         contracted * g.known(a).magnitude * g.known(b).magnitude},
        g.attribute("spec", g.builder.getStringAttr(spec)));
}

static void addReduce(Generator &g) {
  Value x = g.real(1);
  auto kind = ReduceKind(g.chance(60) ? 0 : g.below(4));
  if (kind == ReduceKind::Prod)
    x = g.bounded(x);
  SmallVector<int64_t> dims = someDims(g, shapeOf(x).size());
  if (dims.empty())
    dims.push_back(g.below(shapeOf(x).size()));
  double count = 1;
  for (int64_t dim : dims)
    count *= double(shapeOf(x)[dim]);
  double magnitude = g.known(x).magnitude;
  if (kind == ReduceKind::Sum)
    magnitude *= count;
  if (kind == ReduceKind::Prod)
    magnitude = std::pow(std::max(magnitude, 1.0), count);
  g.add("reduce", x, {g.known(x).exact && kind != ReduceKind::Prod, magnitude},
        {g.attribute("kind", ReduceKindAttr::get(g.builder.getContext(), kind)),
         g.attribute("dims", g.builder.getDenseI64ArrayAttr(dims))});
}

static void addSoftmax(Generator &g) {
  Value x = g.real(1);
  g.add("softmax", x, {false, 1},
        g.attribute("dim",
                    g.builder.getI64IntegerAttr(g.below(shapeOf(x).size()))));
}

static void addNorm(Generator &g) {
  Value x = g.real(1);
  Value gamma = g.ofType(shapeOf(x).take_back(1), g.f32());
  Known known{false, 4 * g.known(gamma).magnitude};
  NamedAttribute eps = g.attribute("eps", g.builder.getF64FloatAttr(0.125));
  if (g.chance(50))
    g.add("rms_norm", {x, gamma}, known, eps);
  else
    g.add("layer_norm", {x, gamma, g.ofType(shapeOf(x).take_back(1), g.f32())},
          known, eps);
}

static void addNormGrad(Generator &g) {
  Value x = g.real(1), dy = g.ofType(shapeOf(x), g.f32());
  Value gamma = g.ofType(shapeOf(x).take_back(1), g.f32());
  double rows = double(ShapedType::getNumElements(shapeOf(x)));
  Known known{false,
              20 * rows * g.known(dy).magnitude * g.known(gamma).magnitude};
  NamedAttribute eps = g.attribute("eps", g.builder.getF64FloatAttr(0.125));
  Type full = x.getType(), row = gamma.getType();
  if (g.chance(50))
    g.add("rms_norm_grad", {x, gamma, dy}, known, eps, 2, {full, row});
  else
    g.add("layer_norm_grad", {x, gamma, dy}, known, eps, 3, {full, row, row});
}

//===----------------------------------------------------------------------===//
// Shapes and indices
//===----------------------------------------------------------------------===//

static void addTranspose(Generator &g) {
  Value x = g.real(2);
  SmallVector<int64_t> permutation;
  for (int64_t dim : llvm::seq<int64_t>(0, shapeOf(x).size()))
    permutation.insert(permutation.begin() + g.below(dim + 1), dim);
  g.add(
      "transpose", x, g.known(x),
      g.attribute("permutation", g.builder.getDenseI64ArrayAttr(permutation)));
}

static void addBroadcast(Generator &g) {
  Value x = g.real(0, 2);
  Shape shape(shapeOf(x));
  SmallVector<int64_t> dims =
      llvm::to_vector(llvm::seq<int64_t>(0, shape.size()));
  for (int64_t added = 1 + g.below(2); added > 0; --added) {
    int64_t at = g.below(shape.size() + 1);
    shape.insert(shape.begin() + at, g.extent());
    for (int64_t &dim : dims)
      dim += dim >= at;
  }
  g.add("broadcast", x, g.known(x),
        g.attribute("dims", g.builder.getDenseI64ArrayAttr(dims)), 1,
        Type(RankedTensorType::get(shape, g.f32())));
}

static void addIota(Generator &g) {
  Value like = g.real(1);
  Operation *iota = g.add(
      "iota", like, {true, 16},
      g.attribute("dim",
                  g.builder.getI64IntegerAttr(g.below(shapeOf(like).size()))));
  if (iota)
    g.add("convert", iota->getResult(0), {true, 16}, {}, 1, like.getType());
}

static void addEmbedding(Generator &g) {
  Value table = g.real(1, 2);
  Value ids = g.newArgument(g.shape(2), g.i32(),
                            shapeOf(table)[0] + (g.chance(20) ? 2 : 0));
  g.add("embedding", {table, ids}, g.known(table));
}

static void addEmbeddingGrad(Generator &g) {
  Value dy = g.real(1, 3);
  int64_t idRank = 1 + g.below(shapeOf(dy).size());
  int64_t rows = g.extent();
  Value ids = g.newArgument(shapeOf(dy).take_front(idRank), g.i32(), rows);
  Shape shape(shapeOf(dy).drop_front(idRank));
  shape.insert(shape.begin(), rows);
  double count = double(ShapedType::getNumElements(shapeOf(ids)));
  g.add("embedding_grad", {ids, dy},
        {g.known(dy).exact, count * g.known(dy).magnitude}, {}, 1,
        Type(RankedTensorType::get(shape, g.f32())));
}

//===----------------------------------------------------------------------===//
// Transformers
//===----------------------------------------------------------------------===//

static void addRope(Generator &g) {
  Shape shape = {g.extent(), g.extent(), 1 + g.below(4), 2 + 2 * g.below(2)};
  Value x = g.ofType(shape, g.f32());
  Value positions = g.newArgument(ArrayRef(shape).take_front(2), g.i32(), 16);
  g.add("rope", {x, positions}, {false, 2 * g.known(x).magnitude});
}

static void addAttention(Generator &g) {
  int64_t batch = g.extent(), keys = g.extent(), kvHeads = 1 + g.below(4);
  int64_t queries = g.chance(70) ? keys : g.extent();
  // Wide heads: the scores are fewer than what head_dim on shards would gather.
  int64_t heads = kvHeads * (1 + g.below(3));
  int64_t width = 1 + g.below(g.chance(30) ? 12 : 4);
  Value q = g.ofType({batch, queries, heads, width}, g.f32());
  Value k = g.ofType({batch, keys, kvHeads, width}, g.f32());
  Value v = g.ofType({batch, keys, kvHeads, width}, g.f32());
  SmallVector<NamedAttribute> attributes = {
      g.attribute("scale", g.builder.getF64FloatAttr(0.25))};
  if (keys >= queries && g.chance(60))
    attributes.push_back(g.attribute("causal", g.builder.getUnitAttr()));
  if (g.chance(30)) {
    attributes.push_back(g.attribute("p", g.builder.getF64FloatAttr(0.25)));
    attributes.push_back(
        g.attribute("op_id", g.builder.getI64IntegerAttr(1 + g.below(9))));
  }
  Known known{false, std::max(2 * g.known(v).magnitude, 30.0)};
  Operation *op = g.add("attention", {q, k, v}, known, attributes, 2);
  if (!op || g.chance(50))
    return;
  Value dout = g.ofType(shapeOf(q), g.f32());
  double size = double(ShapedType::getNumElements(shapeOf(q)));
  g.add("attention_grad", {q, k, v, op->getResult(0), op->getResult(1), dout},
        {false, 2 * size * g.known(dout).magnitude}, attributes, 3,
        {q.getType(), k.getType(), v.getType()});
}

static void addCrossEntropy(Generator &g) {
  Value logits = g.real(1, 3);
  ArrayRef<int64_t> shape = shapeOf(logits);
  Value labels = g.newArgument(shape.drop_back(), g.i32(), shape.back());
  double smoothing = g.chance(50) ? 0.0 : 0.125;
  NamedAttribute smooth =
      g.attribute("smoothing", g.builder.getF64FloatAttr(smoothing));
  Operation *op = g.add("cross_entropy", {logits, labels},
                        {false, 4 * g.known(logits).magnitude + 4}, smooth, 2);
  if (!op || g.chance(50))
    return;
  Value dloss = g.ofType(shape.drop_back(), g.f32());
  g.add("cross_entropy_grad", {logits, labels, op->getResult(1), dloss},
        {false, 2 * g.known(dloss).magnitude},
        {smooth,
         g.attribute("vocabulary", g.builder.getI64IntegerAttr(shape.back()))});
}

//===----------------------------------------------------------------------===//
// What steers propagation
//===----------------------------------------------------------------------===//

static void addSteering(Generator &g) {
  Value x = g.real();
  Known known = g.known(x);
  switch (g.below(3)) {
  case 0:
    g.add("constrain", x, known,
          g.attribute("constraint", g.constraint(shapeOf(x), true)));
    return;
  case 1:
    g.add("propagation_barrier", x, known,
          g.attribute("allow",
                      PassDirectionAttr::get(g.builder.getContext(),
                                             PassDirection(g.below(3)))));
    return;
  default:
    Value y = g.ofType(shapeOf(x), g.f32());
    const Known &other = g.known(y);
    g.add("shard_alike", {x, y},
          {known.exact && other.exact,
           std::max(known.magnitude, other.magnitude)},
          {}, 2);
  }
}

ArrayRef<OpMaker> fuzz::operationKinds() {
  static constexpr OpMaker kinds[] = {
      addUnary,        addOfPositive,    addBinary,    addBinary,
      addBinary,       addCompare,       addSelect,    addConvert,
      addDropout,      addEinsum,        addEinsum,    addEinsum,
      addReduce,       addReduce,        addSoftmax,   addNorm,
      addNormGrad,     addTranspose,     addBroadcast, addIota,
      addEmbedding,    addEmbeddingGrad, addRope,      addAttention,
      addCrossEntropy, addSteering,      addReshape,   addSlice,
      addPad,          addConcat,        addBox,       addGather,
      addChoice};
  return kinds;
}
