//===- CollectiveReasons.cpp - why a collective, and how without it -------===//
//
// Everything is read off types and rules. A reduction is there because an
// operation sums over a dimension that is sharded; a gather because the axis
// that shards a dimension is taken by another one in the operation that reads
// the value, or because that operation needs the dimension whole. To be without
// it, one of these must change: they are named, with the plan lines behind
// them.
//
//===----------------------------------------------------------------------===//

#include "CollectiveReasons.h"
#include "Holdings.h"
#include "StepFlow.h"
#include "stretto/Dialect/Stretto/IR/Describe.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

using namespace mlir;
using namespace stretto;
using namespace stretto::driver;

static std::string join(ArrayRef<std::string> parts, StringRef between) {
  return llvm::join(parts, between);
}

static std::string axesOf(Operation *exchange) {
  auto group = exchange->getAttrOfType<GroupAttr>("group");
  return toString(group.getMesh(), group.getAxes());
}

namespace {

/// What one collective changes, by dimension.
struct Change {
  DistAttr from, to;
  SmallVector<AxisRef> reduced;
  SmallVector<unsigned> scattered, gathered;

  explicit Change(Operation *op)
      : from(getDist(op->getOperand(0))), to(getDist(op->getResult(0))),
        reduced(subtractAxes(from.getPartialAxes(), to.getPartialAxes())) {
    for (unsigned dim = 0; dim < from.getRank(); ++dim) {
      ArrayRef<AxisRef> before = from.getDimAxes(dim),
                        after = to.getDimAxes(dim);
      if (before == after)
        continue;
      bool loses = !subtractAxes(before, after).empty(),
           gains = !subtractAxes(after, before).empty();
      if (gains || !loses) // the order of axes alone may change
        scattered.push_back(dim);
      if (loses || !gains)
        gathered.push_back(dim);
    }
  }
};

class Reasoner {
public:
  Reasoner(ModuleOp module, StepOp step) : flow(step), holdings(module) {}

  std::vector<CollectiveReason> run();

private:
  CollectiveReason describe(SegmentOp segment, Operation *op,
                            ArrayRef<AxisRef> axes);
  CollectiveReason explain(SegmentOp segment, Operation *op);
  CollectiveReason explainHalo(SegmentOp segment, WindowOp op);
  void explainSum(SegmentOp segment, Operation *op, const Change &change,
                  CollectiveReason &reason);
  void explainConsumers(Operation *op, const Change &change,
                        CollectiveReason &reason);
  std::string wanted(Operation *consumer, Operation *op, const Change &change,
                     CollectiveReason &reason);
  void adviseSum(SegmentOp segment, Operation *op, const Change &change,
                 ArrayRef<Holding> sums, CollectiveReason &reason);
  void adviseGather(Operation *op, const Change &change,
                    CollectiveReason &reason);
  bool explainResting(SegmentOp segment, Operation *op, const Change &change,
                      CollectiveReason &reason);
  bool explainDetour(Operation *op, const Change &change,
                     CollectiveReason &reason);
  std::string shardHint(Operation *op, const Change &change);
  std::string dims(ArrayRef<unsigned> list, Value value, DistAttr dist,
                   DistAttr other, Operation *inside, CollectiveReason &reason);

  StepFlow flow;
  Holdings holdings;
};

} // namespace

static void remember(const Holding &holding, CollectiveReason &reason) {
  if (!holding.line.empty() &&
      !llvm::is_contained(reason.planLines, holding.line))
    reason.planLines.push_back(holding.line);
}

/// The axes of a dimension that `other` lacks, or all when only their order
/// differs.
static SmallVector<AxisRef> ownAxes(DistAttr dist, DistAttr other,
                                    unsigned dim) {
  SmallVector<AxisRef> own =
      subtractAxes(dist.getDimAxes(dim), other.getDimAxes(dim));
  return own.empty() ? SmallVector<AxisRef>(dist.getDimAxes(dim)) : own;
}

/// "seq on {tp} (seq: tp at …)" of the listed dimensions, where `dist` has more
/// than `other`.
std::string Reasoner::dims(ArrayRef<unsigned> list, Value value, DistAttr dist,
                           DistAttr other, Operation *inside,
                           CollectiveReason &reason) {
  std::vector<std::string> parts;
  for (unsigned dim : list)
    for (AxisRef axis : ownAxes(dist, other, dim)) {
      Holding held = holdings.holding(
          dist.getMesh(), holdings.dimName(inside, value, dim), axis);
      remember(held, reason);
      parts.push_back(held.text());
    }
  return join(parts, ", ");
}

static void rememberParameters(Operation *op, CollectiveReason &reason) {
  for (Value operand : op->getOperands()) {
    while (Operation *before = operand.getDefiningOp()) {
      if (!isExchange(before))
        break;
      operand = before->getOperand(0);
    }
    auto argument = dyn_cast<BlockArgument>(operand);
    auto segment = argument
                       ? dyn_cast<SegmentOp>(argument.getOwner()->getParentOp())
                       : SegmentOp();
    if (!segment)
      continue;
    auto name = segment.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                     attr::param);
    if (name && !llvm::is_contained(reason.parameters, name.getValue()))
      reason.parameters.push_back(name.getValue().str());
  }
}

//===----------------------------------------------------------------------===//
// Causes
//===----------------------------------------------------------------------===//

/// "einsum (…) sums over ffn on {tp} (ffn: tp at …)".
void Reasoner::explainSum(SegmentOp segment, Operation *op,
                          const Change &change, CollectiveReason &reason) {
  Operations origins;
  for (AxisRef axis : change.reduced) {
    Operations made = flow.partialOrigins(op->getOperand(0), axis);
    origins.insert(made.begin(), made.end());
  }
  ReduceKind kind = change.from.getPartialKind();
  std::string verb =
      kind == ReduceKind::Sum
          ? " sums over "
          : " takes the " + stringifyReduceKind(kind).str() + " over ";
  std::vector<std::string> sentences;
  SmallVector<Holding> sums;
  for (Operation *origin : origins) {
    rememberParameters(origin, reason);
    std::vector<std::string> parts;
    for (const Holding &held : holdings.of(origin, change.reduced, true)) {
      remember(held, reason);
      parts.push_back(held.text());
      if (!llvm::is_contained(sums, held))
        sums.push_back(held);
    }
    if (!parts.empty())
      sentences.push_back(nameOf(origin) + verb + join(parts, ", "));
    else if (isExchange(origin)) {
      std::string sentence = "ranks of " + axesOf(origin) +
                             " have the same value, of which one brings it in";
      if (!llvm::is_contained(sentences, sentence))
        sentences.push_back(sentence);
    }
  }
  if (sentences.size() > 2) {
    size_t more = sentences.size() - 2;
    sentences.resize(2);
    sentences.push_back(std::to_string(more) + " more");
  }
  if (sentences.empty())
    sentences.push_back("every rank of " + reason.axes +
                        " has a term of the value");
  reason.cause = join(sentences, ", ");
  adviseSum(segment, op, change, sums, reason);
}

/// What `consumer` has to do with the change, as half a sentence.
std::string Reasoner::wanted(Operation *consumer, Operation *op,
                             const Change &change, CollectiveReason &reason) {
  Value value = op->getResult(0);
  std::string who = nameOf(consumer);
  if (isa<YieldOp>(consumer))
    who = "the caller of @" + reason.segment;
  if (!change.scattered.empty())
    return who + " has " +
           dims(change.scattered, value, change.to, change.from, op, reason);
  if (change.gathered.empty())
    return who + " needs the whole " +
           stringifyReduceKind(change.from.getPartialKind()).str();
  SmallVector<AxisRef> axes;
  std::vector<std::string> names;
  for (unsigned dim : change.gathered) {
    llvm::append_range(axes, subtractAxes(change.from.getDimAxes(dim),
                                          change.to.getDimAxes(dim)));
    names.push_back(holdings.dimName(op, value, dim));
  }
  std::vector<std::string> taken;
  for (const Holding &held : holdings.of(consumer, axes)) {
    remember(held, reason);
    taken.push_back(held.text());
  }
  std::string need = join(names, ", ") + " whole";
  return taken.empty()
             ? who + " needs " + need
             : who + " has " + join(taken, ", ") + ", so it needs " + need;
}

void Reasoner::explainConsumers(Operation *op, const Change &change,
                                CollectiveReason &reason) {
  std::vector<std::string> sentences;
  for (Operation *consumer : StepFlow::consumers(op->getResult(0))) {
    if (!isa<YieldOp>(consumer)) // which has all results of the segment
      rememberParameters(consumer, reason);
    std::string sentence = wanted(consumer, op, change, reason);
    if (!llvm::is_contained(sentences, sentence))
      sentences.push_back(sentence);
  }
  if (sentences.size() > 2) {
    size_t more = sentences.size() - 1;
    sentences.resize(1);
    sentences.push_back("so do " + std::to_string(more) + " more");
  }
  if (!sentences.empty())
    reason.cause += (reason.cause.empty() ? "" : "; ") + join(sentences, "; ");
}

//===----------------------------------------------------------------------===//
// Advice
//===----------------------------------------------------------------------===//

static double localBytes(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  double bytes = std::max(1u, type.getElementTypeBitWidth() / 8);
  for (int64_t extent : getDist(value).localShape(type.getShape()))
    bytes *= extent;
  return bytes;
}

static std::string bytesText(double bytes) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.0f B", bytes);
  return text;
}

/// A dimension over which the reader could take the sum in shards: parallel and
/// free of these axes there.
std::string Reasoner::shardHint(Operation *op, const Change &change) {
  auto group = op->getAttrOfType<GroupAttr>("group");
  Operations consumers = StepFlow::consumers(op->getResult(0));
  if (consumers.empty() || group.getAxes().size() != 1)
    return "";
  Operation *consumer = consumers.front();
  auto ruled = dyn_cast<ShardingRule>(consumer);
  if (!ruled || !holdings.of(consumer, group.getAxes()).empty())
    return "";
  OpRule rule = ruled.getShardingRule();
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  for (auto [i, operand] : llvm::enumerate(consumer->getOperands()))
    for (int64_t dim = 0; operand == op->getResult(0) && dim < type.getRank();
         ++dim) {
      ArrayRef<unsigned> factors = rule.operands[i][dim];
      StringRef name = holdings.knownName(op, operand, dim);
      if (factors.size() != 1 || name.empty() ||
          rule.factors[factors[0]].kind != FactorKind::Parallel ||
          !change.to.getDimAxes(dim).empty() ||
          type.getDimSize(dim) % group.getNumMembers() != 0)
        continue;
      return name.str() + " on " + toString(group.getMesh(), group.getAxes()) +
             " where " + nameOf(consumer) +
             " reads it makes this a reduce_scatter of " +
             bytesText(localBytes(operand) * (group.getNumMembers() - 1) /
                       group.getNumMembers());
    }
  return "";
}

/// A sum is without collective when the summed dimension is whole.
void Reasoner::adviseSum(SegmentOp segment, Operation *op, const Change &change,
                         ArrayRef<Holding> sums, CollectiveReason &reason) {
  std::vector<std::string> advice;
  for (const Holding &held : sums)
    advice.push_back("keep " + held.withoutIt());
  std::string all = join(advice, " and ");
  bool inLoop = llvm::any_of(flow.callsOf(segment), [](InvokeOp invoke) {
    return invoke->getParentOfType<MicrobatchesOp>();
  });
  if (!inLoop && all.empty())
    all = "accept it: the sum is over all ranks, whatever the plan; once per "
          "step, however many micro-batches";
  else if (!inLoop)
    all += ", or accept it: once per step, however many micro-batches";
  else
    all += all.empty() ? "" : ", or accept it";
  if (!change.scattered.empty()) {
    double members = reason.members;
    all +=
        "; with " +
        holdings.dimName(op, op->getResult(0), change.scattered[0]) +
        " whole this is an all_reduce of " +
        bytesText(2 * (members - 1) / members * localBytes(op->getOperand(0)));
  } else if (inLoop) {
    std::string hint = shardHint(op, change);
    all += hint.empty() ? "" : "; " + hint;
  }
  reason.avoid = all;
}

/// A gather is not there when the dimension was never sharded, or when the axis
/// is not taken by another dimension in who reads it.
void Reasoner::adviseGather(Operation *op, const Change &change,
                            CollectiveReason &reason) {
  std::vector<std::string> shards, takers;
  SmallVector<AxisRef> axes;
  for (unsigned dim : change.gathered)
    for (AxisRef axis : ownAxes(change.from, change.to, dim)) {
      axes.push_back(axis);
      shards.push_back(
          holdings
              .holding(change.from.getMesh(),
                       holdings.dimName(op, op->getOperand(0), dim), axis)
              .withoutIt());
    }
  for (Operation *consumer : StepFlow::consumers(op->getResult(0)))
    for (const Holding &held : holdings.of(consumer, axes))
      if (!llvm::is_contained(takers, held.text()))
        takers.push_back(held.text());
  reason.avoid = "keep " + join(shards, " and ");
  if (!takers.empty())
    reason.avoid +=
        ", or do without " + join(takers, " and ") + " where it is read";
  if (!change.scattered.empty())
    reason.avoid += ", or shard the same dimension on both sides";
  reason.avoid += ", or accept it";
}

//===----------------------------------------------------------------------===//
// All of a step
//===----------------------------------------------------------------------===//

/// "gradient of attn.wq", "layer_norm result", "cotangent 1".
static std::string valueName(SegmentOp segment, Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isExchange(op))
      return (op->getName().stripDialect() + " result").str();
    value = op->getOperand(0);
  }
  unsigned index = cast<BlockArgument>(value).getArgNumber();
  auto role = segment.getArgAttrOfType<StringAttr>(index, attr::role);
  auto param = segment.getArgAttrOfType<StringAttr>(index, attr::param);
  std::string what = role ? role.getValue().str() : "argument";
  if (what == "accumulator")
    what = "gradient";
  return param ? what + " of " + param.getValue().str()
               : what + " " + std::to_string(index);
}

/// A copy of a parameter is made as the layers use it.
bool Reasoner::explainResting(SegmentOp segment, Operation *op,
                              const Change &change, CollectiveReason &reason) {
  if (segment.getDirection() != "gather" || change.gathered.empty())
    return false;
  Value value = op->getOperand(0);
  while (value.getDefiningOp() && isExchange(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument)
    return false;
  reason.cause = "it rests with " + dims(change.gathered, op->getOperand(0),
                                         change.from, change.to, op, reason);
  if (auto rest = segment.getArgAttrOfType<ConstraintAttr>(
          argument.getArgNumber(), attr::rest))
    reason.cause += " (" + rest.getCause().getValue().str() + ")";
  reason.cause += "; the layer works on it whole";
  reason.avoid =
      "let parameters and the optimizer's state rest as they are used (stage "
      "0: more memory), gather less often where parameters rest sharded "
      "('gather: step' or 'microbatch'), or accept it";
  return true;
}

/// Resharding may cut what several ranks have alike, so that each moves or
/// reduces a part, and put the parts together in the end.
bool Reasoner::explainDetour(Operation *op, const Change &change,
                             CollectiveReason &reason) {
  if (change.gathered.empty())
    return false;
  SmallVector<AxisRef> axes;
  for (unsigned dim : change.gathered)
    llvm::append_range(axes, ownAxes(change.from, change.to, dim));
  Operation *first = op;
  while (Operation *before = first->getOperand(0).getDefiningOp()) {
    if (!isExchange(before) && !isa<ShardSliceOp>(before))
      break;
    first = before;
  }
  if (first == op)
    return false;
  DistAttr source = getDist(first->getOperand(0));
  for (unsigned dim = 0; dim < source.getRank(); ++dim)
    if (llvm::any_of(source.getDimAxes(dim), [&](AxisRef axis) {
          return llvm::is_contained(axes, axis);
        }))
      return false;
  reason.cause = "a part of the way of " + reason.value + " from " +
                 stretto::describe(source) + " to " +
                 stretto::describe(change.to) + ": it was cut over " +
                 reason.axes +
                 ", so that each rank moves or reduces a part; here the parts "
                 "come together";
  reason.avoid = "be without the collective before it; the direct way would "
                 "send more bytes (`links` with a latency prefer fewer steps)";
  return true;
}

/// What and where, without the reason.
CollectiveReason Reasoner::describe(SegmentOp segment, Operation *op,
                                    ArrayRef<AxisRef> axes) {
  Value value = op->getOperand(0);
  auto type = cast<RankedTensorType>(value.getType());
  CollectiveReason reason;
  reason.segment = segment.getSymName().str();
  reason.layer = segment.getLayer().value_or("").str();
  reason.direction = segment.getDirection().str();
  reason.kind = op->getName().stripDialect().str();
  reason.axes = toString(getDist(value).getMesh(), axes);
  reason.members = productOf(axes);
  reason.shape.assign(type.getShape().begin(), type.getShape().end());
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    reason.dims.push_back(holdings.knownName(op, value, dim).str());
  reason.value = valueName(segment, value);
  Operation *maker = value.getDefiningOp();
  reason.location = placeOf(maker ? maker->getLoc() : op->getLoc());
  rememberParameters(op, reason);
  return reason;
}

/// Which collectives a window becomes is decided when shapes are local; the
/// Program says.
CollectiveReason Reasoner::explainHalo(SegmentOp segment, WindowOp op) {
  DistAttr dist = getDist(op.getX());
  ArrayRef<AxisRef> axes = dist.getDimAxes(op.getDim());
  CollectiveReason reason = describe(segment, op, axes);
  std::string name = holdings.dimName(op, op.getX(), op.getDim());
  std::vector<std::string> held, without;
  for (AxisRef axis : axes) {
    Holding holding = holdings.holding(dist.getMesh(), name, axis);
    remember(holding, reason);
    held.push_back(holding.text());
    without.push_back(holding.withoutIt());
  }
  reason.cause = driver::nameOf(op) +
                 " reads elements across the borders of shards: " + "it has " +
                 join(held, ", ");
  reason.avoid = "keep " + join(without, " and ") + ", or accept it";
  return reason;
}

CollectiveReason Reasoner::explain(SegmentOp segment, Operation *op) {
  CollectiveReason reason =
      describe(segment, op, op->getAttrOfType<GroupAttr>("group").getAxes());
  Value value = op->getOperand(0);
  Change change(op);
  if (explainResting(segment, op, change, reason) ||
      explainDetour(op, change, reason))
    return reason;
  if (!change.reduced.empty())
    explainSum(segment, op, change, reason);
  else if (!change.gathered.empty())
    adviseGather(op, change, reason);
  if (!change.gathered.empty())
    reason.cause += "it has " + dims(change.gathered, value, change.from,
                                     change.to, op, reason);
  explainConsumers(op, change, reason);
  return reason;
}

std::vector<CollectiveReason> Reasoner::run() {
  std::vector<CollectiveReason> reasons;
  for (SegmentOp segment : flow.segments())
    segment.walk([&](Operation *op) {
      auto window = dyn_cast<WindowOp>(op);
      if (window && !getDist(window.getX()).getDimAxes(window.getDim()).empty())
        reasons.push_back(explainHalo(segment, window));
      else if (isExchange(op))
        reasons.push_back(explain(segment, op));
      else
        return;
      op->setAttr("cause",
                  StringAttr::get(op->getContext(), Twine(reasons.size() - 1)));
    });
  return reasons;
}

std::vector<CollectiveReason> driver::explainCollectives(ModuleOp module) {
  auto step = module.lookupSymbol<StepOp>("train");
  if (!step)
    return {};
  return Reasoner(module, step).run();
}
