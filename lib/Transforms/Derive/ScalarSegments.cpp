//===- ScalarSegments.cpp - loss arithmetic between layers ----------------===//

#include "ScalarSegments.h"
#include "Adjoints.h"
#include <limits>

using namespace mlir;
using namespace stretto;
using adjoint::Writer;

LossTerms::LossTerms(const ModelGraph &graph) {
  auto indexIn = [](SmallVector<Value> &list, Value value) -> unsigned {
    auto it = llvm::find(list, value);
    if (it == list.end())
      it = list.insert(list.end(), value);
    return it - list.begin();
  };
  for (LossOp loss : graph.losses)
    terms.push_back({indexIn(sums, loss.getSum()),
                     indexIn(counts, loss.getCount()),
                     loss.getWeight().convertToDouble()});
}

static Writer writerOf(FunctionBuilder &f, Type type) {
  return Writer(f.b, f.getLoc(), cast<RankedTensorType>(type).getElementType());
}

static SmallVector<Value> addArguments(FunctionBuilder &f, ValueRange like,
                                       StringRef role) {
  SmallVector<Value> arguments;
  for (Value value : like)
    arguments.push_back(
        f.addArgument(value.getType(), ValueAttributes(f.getContext(), role)));
  return arguments;
}

static Value scale(Writer &w, Value x, double factor) {
  return factor == 1 ? x : w.mul(x, factor);
}

SegmentOp stretto::makeSeedSegment(ModuleOp module, const LossTerms &loss) {
  FunctionBuilder f =
      FunctionBuilder::segment(module, module.getLoc(), "seed", "count");
  ValueAttributes scalar(f.getContext(), role::scalar);
  SmallVector<Value> counts = addArguments(f, loss.counts, role::partialScalar);
  SmallVector<Value> inverses;
  for (Value count : counts) {
    Writer w = writerOf(f, count.getType());
    Value some = w.compare(ComparePredicate::GT, count, w.constant(0));
    inverses.push_back(
        w.select(some, w.div(w.constant(1), count), w.constant(0)));
    f.addResult(inverses.back(), scalar);
  }
  for (const LossTerms::Term &term : loss.terms) {
    Writer w = writerOf(f, counts[term.count].getType());
    f.addResult(scale(w, inverses[term.count], term.weight), scalar);
  }
  f.addResult(counts.front(), scalar);
  return f.finishSegment();
}

SegmentOp stretto::makeLossAddSegment(ModuleOp module, Type type) {
  FunctionBuilder f =
      FunctionBuilder::segment(module, module.getLoc(), "loss.add", "finish");
  ValueAttributes partial(f.getContext(), role::partialScalar);
  Value sum = f.addArgument(type, partial);
  BlockArgument total = f.addArgument(type, partial);
  f.addResult(writerOf(f, type).add(total, sum),
              partial.alias(total.getArgNumber()));
  return f.finishSegment();
}

//===----------------------------------------------------------------------===//
// finish
//===----------------------------------------------------------------------===//

namespace {
struct FinishArguments {
  SmallVector<Value> sums, inverses;

  FinishArguments(FunctionBuilder &f, const LossTerms &loss)
      : sums(addArguments(f, loss.sums, role::partialScalar)),
        inverses(addArguments(f, loss.counts, role::scalar)) {}

  Value total(FunctionBuilder &f, const LossTerms &loss) const {
    Value total;
    for (const LossTerms::Term &term : loss.terms) {
      Writer w = writerOf(f, sums[term.sum].getType());
      Value mean = w.mul(sums[term.sum], inverses[term.count]);
      Value weighted = scale(w, mean, term.weight);
      total = total ? w.add(total, weighted) : weighted;
    }
    return total;
  }
};
} // namespace

/// 1 when every value is a finite f32 number, else 0. Comparisons are ordered,
/// so NaN fails them.
static Value allFinite(Writer &w, ValueRange values) {
  const double largest = std::numeric_limits<float>::max();
  Value ok = w.constant(1);
  for (Value value : values) {
    Value zero = w.constant(0);
    ok = w.select(w.compare(ComparePredicate::LE, value, w.constant(largest)),
                  ok, zero);
    ok = w.select(w.compare(ComparePredicate::GE, value, w.constant(-largest)),
                  ok, zero);
  }
  return ok;
}

/// min(1, clip / (norm + 1e-6)), as torch.nn.utils.clip_grad_norm_ has it.
static Value clipFactor(Writer &w, Value norm, double clip) {
  constexpr double guard = 1e-6;
  if (clip <= 0)
    return w.constant(1);
  return w.binary<MinimumOp>(w.div(w.constant(clip), w.add(norm, guard)),
                             w.constant(1));
}

SegmentOp stretto::makeFinishSegment(ModuleOp module, const LossTerms &loss,
                                     double clip) {
  FunctionBuilder f =
      FunctionBuilder::segment(module, module.getLoc(), "finish", "finish");
  ValueAttributes scalar(f.getContext(), role::scalar);
  FinishArguments arguments(f, loss);
  Type type = loss.sums.front().getType();
  Value normSquared =
      f.addArgument(type, ValueAttributes(f.getContext(), role::partialScalar));
  Writer w = writerOf(f, type);
  Value total = arguments.total(f, loss);
  Value norm = w.unary<SqrtOp>(normSquared);
  f.addResult(total, scalar);
  f.addResult(norm, scalar);
  f.addResult(clipFactor(w, norm, clip), scalar);
  f.addResult(allFinite(w, {norm, total}), scalar);
  return f.finishSegment();
}

SegmentOp stretto::makeEvalFinishSegment(ModuleOp module,
                                         const LossTerms &loss) {
  FunctionBuilder f = FunctionBuilder::segment(module, module.getLoc(),
                                               "finish.eval", "finish");
  ValueAttributes scalar(f.getContext(), role::scalar);
  FinishArguments arguments(f, loss);
  f.addResult(arguments.total(f, loss), scalar);
  return f.finishSegment();
}

//===----------------------------------------------------------------------===//
// Cotangents that meet
//===----------------------------------------------------------------------===//

SegmentOp CotangentSums::get(Type type, DictionaryAttr like) {
  SegmentOp &segment = made[{type, like}];
  if (segment)
    return segment;
  FunctionBuilder f = FunctionBuilder::segment(
      module, module.getLoc(), "sum." + Twine(made.size() - 1), "backward");
  ValueAttributes attributes(f.getContext(), role::cotangent);
  attributes.copy(like, {attr::dims, attr::constraint});
  Value lhs = f.addArgument(type, attributes);
  Value rhs = f.addArgument(type, attributes);
  f.addResult(writerOf(f, type).add(lhs, rhs), attributes);
  return segment = f.finishSegment();
}
