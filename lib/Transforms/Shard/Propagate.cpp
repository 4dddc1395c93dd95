//===- Propagate.cpp - which axes every factor holds ----------------------===//
//
// Constraints speak about dimensions of arguments and results; classes carry
// them to every dimension; each operation then settles which of its factors
// gets an axis that several want.
//
//===----------------------------------------------------------------------===//

#include "Padding.h"
#include "Requests.h"
#include "stretto/Dialect/Stretto/Analysis/DimClasses.h"
#include "stretto/Transforms/Shard/Passes.h"
#include "llvm/ADT/StringExtras.h"

namespace stretto {
#define GEN_PASS_DEF_PROPAGATEPASS
#include "stretto/Transforms/Shard/Passes.h.inc"
} // namespace stretto

using namespace mlir;
using namespace stretto;
using namespace stretto::shard;

namespace {

/// What a class of dimensions wants.
struct Wish {
  SmallVector<AxisRef> axes;
  int64_t priority = 0;
  StringRef cause;
};

/// One function body: wishes per class, decisions per operation.
class BodyPropagation {
public:
  BodyPropagation(SegmentOp segment, MeshAttr mesh)
      : segment(segment), mesh(mesh), classes(segment) {}

  LogicalResult collectWishes();
  LogicalResult decideOperations();
  void describeResults();

private:
  LogicalResult collect(Value value, ConstraintAttr constraint);
  const Wish *wishOf(Value value, unsigned dim) const {
    auto it = wishes.find(classes.classOf(value, dim));
    return it == wishes.end() ? nullptr : &it->second;
  }
  void decide(Operation *op);

  SegmentOp segment;
  MeshAttr mesh;
  DimClasses classes;
  llvm::DenseMap<unsigned, Wish> wishes;
};

/// A wish of one factor of one operation.
struct FactorWish {
  unsigned factor;
  SmallVector<AxisRef> axes;
  int64_t priority;
  bool contracted;
  StringRef cause;
};

} // namespace

/// The part of the cause that speaks of `dim`: there is one per dimension with
/// axes, in order, parted by semicolons.
static StringRef causeOfDim(ConstraintAttr constraint, unsigned dim) {
  SmallVector<StringRef> parts;
  constraint.getCause().getValue().split(parts, "; ");
  unsigned index = 0;
  for (unsigned i = 0; i < dim; ++i)
    index += !constraint.getDimAxes(i).empty();
  return index < parts.size() ? parts[index] : StringRef();
}

LogicalResult BodyPropagation::collect(Value value, ConstraintAttr constraint) {
  if (!constraint)
    return success();
  for (unsigned dim = 0; dim < constraint.getRank(); ++dim) {
    auto axes = resolveAxes(segment.getLoc(), mesh, constraint, dim);
    if (failed(axes))
      return failure();
    if (axes->empty())
      continue;
    StringRef cause = causeOfDim(constraint, dim);
    int64_t priority = constraint.getPriorities()[dim];
    Wish &wish = wishes[classes.classOf(value, dim)];
    if (wish.axes.empty() || priority < wish.priority)
      wish = {*axes, priority, cause};
  }
  return success();
}

LogicalResult BodyPropagation::collectWishes() {
  Block &body = segment.getBody().front();
  for (BlockArgument argument : body.getArguments())
    if (failed(
            collect(argument, segment.getArgAttrOfType<ConstraintAttr>(
                                  argument.getArgNumber(), attr::constraint))))
      return failure();
  for (auto [index, value] :
       llvm::enumerate(body.getTerminator()->getOperands()))
    if (failed(collect(value, segment.getResultAttrOfType<ConstraintAttr>(
                                  index, attr::constraint))))
      return failure();
  return success();
}

/// Wishes of the factors, split from those of (compound) dimensions.
static void collectFactorWishes(Value value, const DimFactors &dims,
                                const OpRule &rule,
                                function_ref<const Wish *(unsigned)> wishOf,
                                SmallVectorImpl<FactorWish> &wishes) {
  for (auto [dim, factors] : llvm::enumerate(dims)) {
    const Wish *wish = wishOf(dim);
    if (!wish)
      continue;
    SmallVector<int64_t> sizes;
    for (unsigned factor : factors)
      sizes.push_back(rule.factors[factor].size);
    auto split = splitAxes(wish->axes, sizes);
    if (failed(split))
      continue;
    for (auto [factor, axes] : llvm::zip(factors, *split)) {
      SmallVector<AxisRef> fitted = fitAxes(axes, rule.factors[factor].size);
      bool blocked = rule.factors[factor].kind == FactorKind::Blocked;
      bool uneven = isPartOfCompound(rule, factor) &&
                    paddedExtent(rule.factors[factor].size, fitted) != 0;
      if (fitted.empty() || blocked || uneven)
        continue;
      wishes.push_back({factor, fitted, wish->priority,
                        rule.factors[factor].kind == FactorKind::Reduction,
                        wish->cause});
    }
  }
}

void BodyPropagation::decide(Operation *op) {
  auto ruled = dyn_cast<ShardingRule>(op);
  if (!ruled)
    return;
  OpRule rule = ruled.getShardingRule();
  SmallVector<FactorWish> factorWishes;
  auto visit = [&](Value value, const DimFactors &dims) {
    collectFactorWishes(
        value, dims, rule, [&](unsigned dim) { return wishOf(value, dim); },
        factorWishes);
  };
  for (auto [operand, dims] : llvm::zip(op->getOperands(), rule.operands))
    visit(operand, dims);
  for (auto [result, dims] : llvm::zip(op->getResults(), rule.results))
    visit(result, dims);
  llvm::stable_sort(factorWishes, [](const FactorWish &a, const FactorWish &b) {
    return std::tie(a.priority, a.contracted, a.factor) <
           std::tie(b.priority, b.contracted, b.factor);
  });
  SmallVector<SmallVector<AxisRef>> decided(rule.factors.size());
  SmallVector<int64_t> priorities(rule.factors.size(), 0);
  SmallVector<AxisRef> used;
  SmallVector<StringRef> causes;
  for (const FactorWish &wish : factorWishes) {
    if (!decided[wish.factor].empty() || axesOverlap(wish.axes, used))
      continue;
    decided[wish.factor] = wish.axes;
    priorities[wish.factor] = wish.priority;
    llvm::append_range(used, wish.axes);
    if (!wish.cause.empty() && !llvm::is_contained(causes, wish.cause))
      causes.push_back(wish.cause);
  }
  if (!used.empty())
    op->setAttr("stretto.factors", makeConstraint(mesh, decided, priorities,
                                                  llvm::join(causes, "; ")));
}

LogicalResult BodyPropagation::decideOperations() {
  for (Operation &op : segment.getBody().front())
    decide(&op);
  return success();
}

/// What the classes of the results want: the backward that receives them as
/// saved values inherits it.
void BodyPropagation::describeResults() {
  Operation *yield = segment.getBody().front().getTerminator();
  for (auto [index, value] : llvm::enumerate(yield->getOperands())) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type || segment.getResultAttr(index, attr::constraint))
      continue;
    SmallVector<SmallVector<AxisRef>> dims(type.getRank());
    SmallVector<int64_t> priorities(type.getRank(), 0);
    bool any = false;
    SmallVector<StringRef> causes;
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      if (const Wish *wish = wishOf(value, dim)) {
        dims[dim] = wish->axes;
        priorities[dim] = wish->priority;
        causes.push_back(wish->cause);
        any = true;
      }
    if (any)
      segment.setResultAttr(
          index, attr::constraint,
          makeConstraint(mesh, dims, priorities, llvm::join(causes, "; ")));
  }
}

namespace {
struct PropagatePass : stretto::impl::PropagatePassBase<PropagatePass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    MeshAttr mesh = meshOf(module);
    SymbolTable symbols(module);
    llvm::DenseSet<Operation *> done;
    WalkResult result = module.walk([&](InvokeOp invoke) {
      auto segment = symbols.lookup<SegmentOp>(invoke.getCallee());
      if (!done.insert(segment).second)
        return WalkResult::advance();
      inherit(invoke, segment, symbols);
      BodyPropagation body(segment, mesh);
      if (failed(body.collectWishes()) || failed(body.decideOperations()))
        return WalkResult::interrupt();
      body.describeResults();
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }

  /// Arguments without a constraint take that of the result that feeds them.
  static void inherit(InvokeOp invoke, SegmentOp segment,
                      SymbolTable &symbols) {
    for (auto [index, operand] : llvm::enumerate(invoke.getOperands())) {
      auto producer = operand.getDefiningOp<InvokeOp>();
      if (!producer || segment.getArgAttr(index, attr::constraint))
        continue;
      auto source = symbols.lookup<SegmentOp>(producer.getCallee());
      unsigned result = cast<OpResult>(operand).getResultNumber();
      if (Attribute constraint = source.getResultAttr(result, attr::constraint))
        segment.setArgAttr(index, attr::constraint, constraint);
    }
  }
};
} // namespace
