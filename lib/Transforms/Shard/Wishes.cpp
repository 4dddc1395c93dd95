//===- Wishes.cpp - what every dimension is asked to lie on ---------------===//

#include "Wishes.h"

#include <set>

using namespace mlir;
using namespace stretto;
using namespace stretto::shard;

Wishes::Wishes(SegmentOp segment, MeshAttr mesh, const MoveCost &cost)
    : segment(segment), mesh(mesh), cost(cost),
      classes(segment, DimClasses::Ties::PassThrough) {}

//===----------------------------------------------------------------------===//
// Constraints
//===----------------------------------------------------------------------===//

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

LogicalResult Wishes::read(Value value, ConstraintAttr constraint,
                           Location loc) {
  if (!constraint || !classes.contains(value))
    return success();
  auto type = cast<RankedTensorType>(value.getType());
  if (constraint.getRank() != type.getRank())
    return emitError(loc) << "constraint of rank " << constraint.getRank()
                          << " on a value of rank " << type.getRank()
                          << "; write one {axes} or {?} per dimension";
  auto never = resolveNames(loc, mesh, constraint.getReplicatedAxes());
  if (failed(never) ||
      failed(resolveNames(loc, mesh, constraint.getPartialAxes())))
    return failure();
  for (unsigned dim = 0; dim < constraint.getRank(); ++dim) {
    auto axes = resolveAxes(loc, mesh, constraint, dim);
    if (failed(axes))
      return failure();
    unsigned node = classes.nodeOf(value, dim);
    if (!axes->empty()) {
      Wish wish;
      wish.axes = *axes;
      wish.priority = constraint.getPriorities()[dim];
      wish.open = constraint.getOpen()[dim];
      wish.cause = causeOfDim(constraint, dim).str();
      wish.node = node;
      anchors.push_back({node, wish});
    }
    llvm::append_range(refused[classes.classOf(node)], *never);
    if (!constraint.getOpen()[dim])
      closed.insert(classes.classOf(node));
  }
  return success();
}

LogicalResult Wishes::readConstraints() {
  Block &body = segment.getBody().front();
  for (BlockArgument argument : body.getArguments())
    if (failed(read(argument,
                    segment.getArgAttrOfType<ConstraintAttr>(
                        argument.getArgNumber(), attr::constraint),
                    segment.getLoc())))
      return failure();
  for (auto constrain : body.getOps<ConstrainOp>())
    if (failed(read(constrain.getResult(), constrain.getConstraint(),
                    constrain.getLoc())))
      return failure();
  for (auto [index, value] :
       llvm::enumerate(body.getTerminator()->getOperands()))
    if (failed(read(value,
                    segment.getResultAttrOfType<ConstraintAttr>(
                        index, attr::constraint),
                    segment.getLoc())))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Links between classes
//===----------------------------------------------------------------------===//

/// Operands that meet in a factor which no result has.
void Wishes::linkContractions(Operation *op, const OpRule &rule) {
  for (unsigned factor = 0; factor < rule.factors.size(); ++factor) {
    if (rule.factors[factor].kind != FactorKind::Reduction)
      continue;
    bool kept = llvm::any_of(
        llvm::seq<unsigned>(0, rule.results.size()),
        [&](unsigned result) { return rule.resultHasFactor(result, factor); });
    if (kept)
      continue;
    SmallVector<unsigned> nodes;
    for (auto [operand, dims] : llvm::zip(op->getOperands(), rule.operands))
      for (auto [dim, factors] : llvm::enumerate(dims))
        if (factors.size() == 1 && factors[0] == factor)
          nodes.push_back(classes.nodeOf(operand, dim));
    for (unsigned from : nodes)
      for (unsigned to : nodes)
        if (classes.classOf(from) != classes.classOf(to))
          links.push_back({from, to, op, /*unanimous=*/true, 0, 0, {}, false});
  }
}

/// A compound dimension and the dimensions that are one of its parts.
void Wishes::linkCompounds(Operation *op, const OpRule &rule) {
  SmallVector<std::pair<unsigned, SmallVector<unsigned, 2>>> nodes;
  auto collect = [&](Value value, const DimFactors &dims) {
    for (auto [dim, factors] : llvm::enumerate(dims))
      nodes.emplace_back(classes.nodeOf(value, dim), factors);
  };
  for (auto [operand, dims] : llvm::zip(op->getOperands(), rule.operands))
    collect(operand, dims);
  for (auto [result, dims] : llvm::zip(op->getResults(), rule.results))
    collect(result, dims);
  for (auto &[whole, parts] : nodes) {
    if (parts.size() < 2)
      continue;
    SmallVector<int64_t> sizes;
    for (unsigned factor : parts)
      sizes.push_back(rule.factors[factor].size);
    for (auto &[part, factors] : nodes) {
      const auto *at =
          factors.size() == 1 ? llvm::find(parts, factors[0]) : parts.end();
      if (at == parts.end())
        continue;
      unsigned index = at - parts.begin(), count = parts.size();
      links.push_back({whole, part, op, false, index, count, sizes, true});
      if (index == 0)
        links.push_back({part, whole, op, false, index, count, sizes, false});
    }
  }
}

static unsigned rankOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getRank();
}

void Wishes::linkCuts(Operation *op) {
  auto add = [&](Value from, Value to, unsigned dim) {
    links.push_back({classes.nodeOf(from, dim),
                     classes.nodeOf(to, dim),
                     op,
                     /*unanimous=*/false,
                     0,
                     0,
                     {},
                     false});
  };
  // The moved dimensions of what is windows when it is sharded lie alike, each
  // with its own extent; the others are one class.
  if (isa<SliceOp, PadOp, ConcatOp, WindowOp>(op))
    for (Value operand : op->getOperands())
      for (unsigned dim = 0; dim < rankOf(operand); ++dim)
        if (Value result = op->getResult(0);
            classes.classOf(operand, dim) != classes.classOf(result, dim)) {
          add(operand, result, dim);
          add(result, operand, dim);
        }
  if (auto constrain = dyn_cast<ConstrainOp>(op))
    for (unsigned dim = 0; dim < constrain.getConstraint().getRank(); ++dim)
      if (!constrain.getConstraint().getDimAxes(dim).empty() &&
          !constrain.getConstraint().getOpen()[dim])
        add(constrain.getResult(), constrain.getX(), dim);
  if (auto barrier = dyn_cast<PropagationBarrierOp>(op)) {
    for (unsigned dim = 0; dim < rankOf(barrier.getX()); ++dim) {
      if (barrier.getAllow() == PassDirection::Forward)
        add(barrier.getX(), barrier.getResult(), dim);
      if (barrier.getAllow() == PassDirection::Backward)
        add(barrier.getResult(), barrier.getX(), dim);
    }
  }
}

void Wishes::findLinks() {
  for (Operation &op : segment.getBody().front()) {
    auto ruled = dyn_cast<ShardingRule>(op);
    if (!ruled)
      continue;
    OpRule rule = ruled.getShardingRule();
    linkContractions(&op, rule);
    linkCompounds(&op, rule);
    linkCuts(&op);
  }
}

//===----------------------------------------------------------------------===//
// Levels
//===----------------------------------------------------------------------===//

/// Appends what is new to an open wish, or sets the first one.
bool Wishes::take(unsigned cls, const Wish &wish) {
  auto [it, fresh] = wishes.try_emplace(cls, wish);
  if (fresh)
    return true;
  Wish &has = it->second;
  bool extends =
      wish.axes.size() > has.axes.size() &&
      ArrayRef(wish.axes).take_front(has.axes.size()) == ArrayRef(has.axes);
  if (!has.open || (!extends && axesOverlap(has.axes, wish.axes)))
    return false;
  SmallVector<AxisRef> axes = extends ? wish.axes : has.axes;
  if (!extends)
    llvm::append_range(axes, wish.axes);
  has.axes = canonicalAxes(axes);
  has.open = wish.open;
  if (!wish.cause.empty() && wish.cause != has.cause)
    has.cause += (has.cause.empty() ? "" : "; ") + wish.cause;
  return true;
}

/// Seconds to bring all anchors of a class to one wish.
double Wishes::moveTo(ArrayRef<Anchor> all, ArrayRef<AxisRef> axes) const {
  double seconds = 0;
  for (const Anchor &anchor : all) {
    auto [value, dim] = classes.dimOf(anchor.node);
    auto type = cast<RankedTensorType>(value.getType());
    DimAxes from(type.getRank()), to(type.getRank());
    from[dim] = anchor.wish.axes;
    to[dim].assign(axes.begin(), axes.end());
    seconds += cost.move(type, from, to);
  }
  return seconds;
}

/// The constraints of one priority, class by class; where they differ the one
/// to which the others move most cheaply wins, then the one with more shards,
/// then the major axis.
void Wishes::takeAnchors(int64_t priority) {
  std::map<unsigned, SmallVector<Anchor>> byClass;
  for (const Anchor &anchor : anchors)
    if (anchor.wish.priority == priority)
      byClass[classes.classOf(anchor.node)].push_back(anchor);
  for (auto &[cls, group] : byClass) {
    std::map<std::vector<AxisRef>, double> seconds; // of every distinct wish
    for (const Anchor &anchor : group)
      seconds.try_emplace({anchor.wish.axes.begin(), anchor.wish.axes.end()});
    if (seconds.size() > 1)
      for (auto &[axes, cost] : seconds)
        cost = moveTo(group, axes);
    auto key = [&](const Anchor &anchor) {
      std::vector<AxisRef> axes(anchor.wish.axes.begin(),
                                anchor.wish.axes.end());
      return std::make_tuple(seconds[axes], -productOf(axes), axes,
                             anchor.wish.open, anchor.node);
    };
    llvm::stable_sort(group, [&](const Anchor &a, const Anchor &b) {
      return key(a) < key(b);
    });
    // Open ones take up what the others add.
    for (const Anchor &anchor : group)
      take(cls, anchor.wish);
  }
}

/// What `link` offers of a wish that was settled in this level.
std::optional<Wish> Wishes::offer(const Link &link, int64_t priority) const {
  const Wish *has = ofClass(classes.classOf(link.from));
  if (!has || has->priority != priority)
    return std::nullopt;
  Wish wish = *has;
  if (link.numParts > 1 && link.fromCompound) {
    auto split = splitWish(has->axes, link.sizes);
    if (failed(split))
      return std::nullopt;
    wish.axes = canonicalAxes((*split)[link.part]);
  }
  wish.node = link.to;
  wish.offeredBy = link.from;
  wish.via = link.via;
  unsigned cls = classes.classOf(link.to);
  auto refuses = refused.find(cls);
  if (wish.axes.empty() || closed.contains(cls) ||
      (refuses != refused.end() && axesOverlap(refuses->second, wish.axes)))
    return std::nullopt;
  return wish;
}

/// One round: what classes without a wish are offered by settled ones. All are
/// taken at once, so that the order of links does not matter.
bool Wishes::takeOffers(int64_t priority) {
  std::map<unsigned, SmallVector<std::optional<Wish>>> contracted, other;
  for (const Link &link : links) {
    unsigned cls = classes.classOf(link.to);
    if (!wishes.count(cls))
      (link.unanimous ? contracted : other)[cls].push_back(
          offer(link, priority));
  }
  std::map<unsigned, Wish> taken;
  auto propose = [&](unsigned cls, const Wish &wish) {
    auto [it, fresh] = taken.try_emplace(cls, wish);
    if (!fresh &&
        std::make_pair(-productOf(wish.axes), *wish.offeredBy) <
            std::make_pair(-productOf(it->second.axes), *it->second.offeredBy))
      it->second = wish;
  };
  for (auto &[cls, offers] : other)
    for (const std::optional<Wish> &wish : offers)
      if (wish)
        propose(cls, *wish);
  for (auto &[cls, offers] : contracted) {
    const std::optional<Wish> &first = offers[0];
    if (taken.count(cls) || !first)
      continue;
    bool agree = llvm::all_of(offers, [&first](const auto &wish) {
      return wish && wish->axes == first->axes;
    });
    if (agree)
      propose(cls, *first);
  }
  for (auto &[cls, wish] : taken)
    take(cls, wish);
  return !taken.empty();
}

LogicalResult Wishes::collect() {
  if (failed(readConstraints()))
    return failure();
  findLinks();
  std::set<int64_t> priorities;
  for (const Anchor &anchor : anchors)
    priorities.insert(anchor.wish.priority);
  for (int64_t priority : priorities) {
    takeAnchors(priority);
    while (takeOffers(priority)) {
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Where wishes came from
//===----------------------------------------------------------------------===//

SmallVector<unsigned> Wishes::entrances(const Wish &wish) const {
  SmallVector<unsigned> nodes;
  if (!wish.offeredBy)
    for (const Anchor &anchor : anchors)
      if (classes.classOf(anchor.node) == classes.classOf(wish.node) &&
          anchor.wish.axes == wish.axes)
        nodes.push_back(anchor.node);
  if (nodes.empty())
    nodes.push_back(wish.node);
  return nodes;
}

StringRef Wishes::causeAt(unsigned node) const {
  for (const Anchor &anchor : anchors)
    if (anchor.node == node)
      return anchor.wish.cause;
  return {};
}
