//===- RandomMovement.cpp - random moves, indices and choices -------------===//

#include "RandomMovement.h"

#include <numeric>

using namespace mlir;
using namespace stretto;
using namespace stretto::fuzz;

static ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

static NamedAttribute number(Generator &g, StringRef name, int64_t value) {
  return g.attribute(name, g.builder.getI64IntegerAttr(value));
}
static NamedAttribute numbers(Generator &g, StringRef name,
                              ArrayRef<int64_t> values) {
  return g.attribute(name, g.builder.getDenseI64ArrayAttr(values));
}

/// Splits an extent, merges neighbours, or both.
void fuzz::addReshape(Generator &g) {
  Value x = g.real(1, 3);
  Shape shape(shapeOf(x));
  if (g.chance(60) && shape.size() > 1) {
    int64_t at = g.below(shape.size() - 1);
    shape[at] *= shape[at + 1];
    shape.erase(shape.begin() + at + 1);
  }
  if (g.chance(60)) {
    int64_t at = g.below(shape.size()), part = 1 + g.below(4);
    if (shape[at] % part == 0) {
      shape[at] /= part;
      shape.insert(shape.begin() + at + g.below(2), part);
    }
  }
  g.add("reshape", x, g.known(x), {}, 1,
        Type(RankedTensorType::get(shape, g.f32())));
}

void fuzz::addSlice(Generator &g) {
  Value x = g.real(1);
  int64_t dim = g.below(shapeOf(x).size()), extent = shapeOf(x)[dim];
  int64_t start = g.below(extent), limit = start + 1 + g.below(extent - start);
  g.add("slice", x, g.known(x),
        {numbers(g, "dims", {dim}), numbers(g, "starts", {start}),
         numbers(g, "limits", {limit}),
         numbers(g, "strides", {1 + g.below(3)})});
}

void fuzz::addPad(Generator &g) {
  Value x = g.real(1);
  int64_t dim = g.below(shapeOf(x).size());
  double value = 0.5 * double(g.below(5)) - 1;
  g.add("pad", x,
        {g.known(x).exact, std::max(g.known(x).magnitude, std::abs(value))},
        {g.attribute("value", g.builder.getF64FloatAttr(value)),
         numbers(g, "dims", {dim}), numbers(g, "low", {g.below(6) - 2}),
         numbers(g, "high", {g.below(6) - 2}),
         numbers(g, "interior", {g.chance(25) ? 1 + g.below(2) : 0})});
}

void fuzz::addConcat(Generator &g) {
  Value x = g.real(1);
  int64_t dim = g.below(shapeOf(x).size());
  Shape other(shapeOf(x));
  other[dim] = g.extent();
  Value y = g.ofType(other, g.f32());
  g.add("concat", {x, y},
        {g.known(x).exact && g.known(y).exact,
         std::max(g.known(x).magnitude, g.known(y).magnitude)},
        number(g, "dim", dim));
}

/// A box somewhere, often partly outside before it is clamped.
void fuzz::addBox(Generator &g) {
  Value x = g.real(1);
  int64_t dim = g.below(shapeOf(x).size()), extent = shapeOf(x)[dim];
  Shape box(shapeOf(x));
  box[dim] = 1 + g.below(extent);
  Value start = g.newArgument({}, g.i32(), extent + 2);
  if (g.chance(50)) {
    g.add("dynamic_slice", {x, start}, g.known(x), numbers(g, "dims", {dim}), 1,
          Type(RankedTensorType::get(box, g.f32())));
    return;
  }
  Value update = g.ofType(box, g.f32());
  g.add("dynamic_update_slice", {x, update, start},
        {g.known(x).exact && g.known(update).exact,
         std::max(g.known(x).magnitude, g.known(update).magnitude)},
        numbers(g, "dims", {dim}));
}

void fuzz::addGather(Generator &g) {
  Value x = g.real(1, 3);
  int64_t dim = g.below(shapeOf(x).size());
  Value indices = g.newArgument(g.shape(1), g.i32(),
                                shapeOf(x)[dim] + (g.chance(20) ? 2 : 0));
  Operation *made =
      g.add("gather", {x, indices}, g.known(x), number(g, "dim", dim));
  if (!made || g.chance(50))
    return;
  Value updates = made->getResult(0);
  double meeting = double(shapeOf(indices)[0]);
  g.add("scatter_add", {indices, updates},
        {g.known(x).exact, g.known(x).magnitude * meeting},
        number(g, "dim", dim), 1, x.getType());
}

/// Ties are told apart by index, so exact values choose alike everywhere.
void fuzz::addChoice(Generator &g) {
  Value x = g.exactReal(1);
  int64_t dim = g.below(shapeOf(x).size());
  if (g.chance(50)) {
    auto kind = g.chance(50) ? ReduceKind::Max : ReduceKind::Min;
    g.add(
        "arg_reduce", x, {true, 64},
        {g.attribute("kind", ReduceKindAttr::get(g.builder.getContext(), kind)),
         number(g, "dim", dim)});
    return;
  }
  g.add("top_k", x, g.known(x),
        {number(g, "dim", dim), number(g, "k", 1 + g.below(shapeOf(x)[dim]))},
        2);
}
