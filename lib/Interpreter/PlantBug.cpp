//===- PlantBug.cpp - break a localized module on purpose -----------------===//

#include "stretto/Interpreter/PlantBug.h"
#include "stretto/Dialect/Stretto/IR/StrettoOps.h"
#include "stretto/Dialect/Stretto/Transforms/Unbundle.h"
#include "stretto/Interpreter/Passes.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/TypeSwitch.h"

#include <functional>

using namespace mlir;
using namespace stretto;
using namespace stretto::interp;

namespace stretto {
#define GEN_PASS_DEF_TESTPLANTBUG
#include "stretto/Interpreter/Passes.h.inc"
} // namespace stretto

/// A place, as the deed to be done there.
using Place = std::function<void()>;

static StepOp trainingStep(ModuleOp module) {
  return module.lookupSymbol<StepOp>("train");
}

/// Segments that the training step invokes.
static llvm::SetVector<SegmentOp> trainingSegments(ModuleOp module) {
  llvm::SetVector<SegmentOp> segments;
  if (StepOp step = trainingStep(module))
    step.walk([&](InvokeOp op) {
      if (auto segment = module.lookupSymbol<SegmentOp>(op.getCallee()))
        segments.insert(segment);
    });
  return segments;
}

//===----------------------------------------------------------------------===//
// drop-all-reduce, scale-gradient
//===----------------------------------------------------------------------===//

std::vector<AllReduceOp> interp::allReducesOf(ModuleOp module) {
  std::vector<AllReduceOp> ops;
  for (SegmentOp segment : trainingSegments(module))
    segment.walk([&](AllReduceOp op) { ops.push_back(op); });
  return ops;
}

static std::vector<Place> allReduces(ModuleOp module) {
  std::vector<Place> places;
  for (AllReduceOp op : allReducesOf(module))
    places.push_back([op]() mutable {
      op.getResult().replaceAllUsesWith(op.getX());
      op.erase();
    });
  return places;
}

static void doubleOperand(OpOperand &operand) {
  OpBuilder builder(operand.getOwner());
  Location loc = operand.getOwner()->getLoc();
  Value value = operand.get();
  operand.set(AddOp::create(builder, loc, value, value));
}

static std::vector<Place> gradients(ModuleOp module) {
  std::vector<Place> places;
  for (SegmentOp segment : trainingSegments(module)) {
    Operation *yield = segment.getBody().front().getTerminator();
    for (unsigned i = 0; i < segment.getNumResults(); ++i) {
      auto role = segment.getResultAttrOfType<StringAttr>(i, attr::role);
      if (role &&
          (role.getValue() == "grad" || role.getValue() == "accumulator"))
        places.push_back([=] { doubleOperand(yield->getOpOperand(i)); });
    }
  }
  return places;
}

//===----------------------------------------------------------------------===//
// wrong-axis
//===----------------------------------------------------------------------===//

/// Other axes of as many members; for a reduction any other axis, and half of
/// its own when there is none.
static GroupAttr otherGroup(GroupAttr group, bool keepsShape) {
  MeshAttr mesh = group.getMesh();
  auto only = [&](AxisRef ref) {
    return GroupAttr::get(group.getContext(), mesh, {ref});
  };
  int64_t members = group.getNumMembers();
  GroupAttr other;
  for (unsigned axis = 0; axis < mesh.getNumAxes(); ++axis) {
    AxisRef ref = mesh.axis(axis);
    if (llvm::is_contained(group.getAxes(), ref) || ref.size == 1)
      continue;
    if (ref.size == members)
      return only(ref);
    if (keepsShape)
      other = only(ref);
  }
  if (other || !keepsShape || group.getAxes().empty())
    return other;
  AxisRef own = group.getAxes().front();
  for (int64_t part = 2; part < own.size; ++part)
    if (own.size % part == 0)
      return only({own.axis, own.pre, part});
  if (group.getAxes().size() > 1)
    return only(own);
  return {};
}

/// Does anything depend on the values of `op`? iota reads only a shape.
static bool isRead(Operation *op) {
  return llvm::any_of(op->getUsers(),
                      [](Operation *user) { return !isa<IotaOp>(user); });
}

static std::vector<Place> groups(ModuleOp module) {
  std::vector<Place> places;
  for (SegmentOp segment : trainingSegments(module))
    segment.walk([&](Operation *op) {
      auto group = op->getAttrOfType<GroupAttr>("group");
      GroupAttr other =
          group && isRead(op)
              ? otherGroup(group, isa<AllReduceOp, KeepFirstOp>(op))
              : GroupAttr();
      if (other)
        places.push_back([=] { op->setAttr("group", other); });
    });
  return places;
}

//===----------------------------------------------------------------------===//
// swap-shards
//===----------------------------------------------------------------------===//

/// The matrix that exchanges elements [0, block) with [block, 2 block) of n.
static Value exchangeMatrix(OpBuilder &builder, Location loc, int64_t n,
                            int64_t block, Type element) {
  auto integers = RankedTensorType::get({}, builder.getI32Type());
  auto number = [&](int64_t value) -> Value {
    return ConstantOp::create(builder, loc, integers,
                              builder.getF64FloatAttr(double(value)));
  };
  auto square = RankedTensorType::get({n, n}, element);
  Value like =
      ConstantOp::create(builder, loc, square, builder.getF64FloatAttr(0.0));
  auto index = [&](int64_t dim) -> Value {
    return IotaOp::create(builder, loc, like, builder.getI64IntegerAttr(dim),
                          OffsetAttr());
  };
  auto less = [&](Value lhs, Value rhs) -> Value {
    return CompareOp::create(builder, loc, ComparePredicate::LT, lhs, rhs);
  };
  Value row = index(0), column = index(1), size = number(block);
  Value up = AddOp::create(builder, loc, row, size);
  Value down = SubOp::create(builder, loc, row, size);
  Value inBoth = less(row, number(2 * block)), inFirst = less(row, size);
  Value moved = SelectOp::create(builder, loc, inBoth, down, row);
  Value target = SelectOp::create(builder, loc, inFirst, up, moved);
  Value hit =
      CompareOp::create(builder, loc, ComparePredicate::EQ, column, target);
  return ConvertOp::create(builder, loc, square, hit);
}

/// `value` with blocks 0 and 1 of `members` along `dim` exchanged.
static Value exchangeBlocks(OpBuilder &builder, Location loc, Value value,
                            int64_t dim, int64_t members) {
  auto type = cast<RankedTensorType>(value.getType());
  int64_t n = type.getDimSize(dim);
  Value matrix =
      exchangeMatrix(builder, loc, n, n / members, type.getElementType());
  std::string from, to;
  for (int64_t d = 0; d < type.getRank(); ++d) {
    std::string label = "d" + std::to_string(d);
    from += (d ? " " : "") + (d == dim ? "from" : label);
    to += (d ? " " : "") + (d == dim ? "to" : label);
  }
  return EinsumOp::create(
      builder, loc, builder.getStringAttr("to from, " + from + " -> " + to),
      matrix, value);
}

static bool isReal(Value value) {
  return isa<FloatType>(
      cast<RankedTensorType>(value.getType()).getElementType());
}

static void exchangeAfter(Operation *op, int64_t dim, int64_t members) {
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  Value result = op->getResult(0);
  SmallVector<OpOperand *> uses;
  for (OpOperand &use : result.getUses())
    uses.push_back(&use);
  Value exchanged = exchangeBlocks(builder, op->getLoc(), result, dim, members);
  for (OpOperand *use : uses)
    use->set(exchanged);
}

static void exchangeBefore(Operation *op, int64_t dim, int64_t members) {
  OpBuilder builder(op);
  op->setOperand(0, exchangeBlocks(builder, op->getLoc(), op->getOperand(0),
                                   dim, members));
}

static void addExchange(Operation *op, std::vector<Place> &places) {
  auto group = op->getAttrOfType<GroupAttr>("group");
  if (!group || !isReal(op->getOperand(0)) || group.getNumMembers() < 2 ||
      !isRead(op))
    return;
  int64_t members = group.getNumMembers();
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](AllGatherOp gather) {
        int64_t dim = gather.getDim();
        places.push_back([=] { exchangeAfter(op, dim, members); });
      })
      .Case([&](AllToAllOp exchange) {
        int64_t dim = exchange.getConcatDim();
        places.push_back([=] { exchangeAfter(op, dim, members); });
      })
      .Case<ReduceScatterOp, ShardSliceOp>([&](auto split) {
        int64_t dim = split.getDim();
        places.push_back([=] { exchangeBefore(op, dim, members); });
      });
}

/// Gathers the sharded gradient that a segment yields, exchanges two shards and
/// slices it again.
static void exchangeGradient(OpOperand &yielded, GroupAttr group, int64_t dim) {
  OpBuilder builder(yielded.getOwner());
  Location loc = yielded.getOwner()->getLoc();
  auto local = cast<RankedTensorType>(yielded.get().getType());
  SmallVector<int64_t> shape(local.getShape());
  shape[dim] *= group.getNumMembers();
  auto create = [&](StringRef name, Type type, Value operand) {
    OperationState state(loc, name, operand, type);
    state.addAttribute("group", group);
    state.addAttribute("dim", builder.getI64IntegerAttr(dim));
    return builder.create(state)->getResult(0);
  };
  Value whole = create(AllGatherOp::getOperationName(),
                       RankedTensorType::get(shape, local.getElementType()),
                       yielded.get());
  Value exchanged =
      exchangeBlocks(builder, loc, whole, dim, group.getNumMembers());
  yielded.set(create(ShardSliceOp::getOperationName(), local, exchanged));
}

/// Sharded gradients among the results of the step, each segment's result once.
static void addGradientShards(ModuleOp module, std::vector<Place> &places) {
  StepOp step = trainingStep(module);
  llvm::SetVector<std::pair<Operation *, unsigned>> seen;
  for (OpOperand &yielded :
       step.getBody().front().getTerminator()->getOpOperands()) {
    unsigned index = yielded.getOperandNumber();
    auto binding = step.getResultAttrOfType<StringAttr>(index, attr::binding);
    auto dist = step.getResultAttrOfType<DistAttr>(index, "stretto.dist");
    auto invoke = yielded.get().getDefiningOp<InvokeOp>();
    if (!binding || !binding.getValue().starts_with("grad:") || !dist ||
        !invoke)
      continue;
    unsigned result = cast<OpResult>(yielded.get()).getResultNumber();
    auto segment = module.lookupSymbol<SegmentOp>(invoke.getCallee());
    if (!seen.insert({segment, result}))
      continue;
    Operation *end = segment.getBody().front().getTerminator();
    for (unsigned dim = 0; dim < dist.getRank(); ++dim)
      if (!dist.getDimAxes(dim).empty()) {
        auto group = GroupAttr::get(module.getContext(), dist.getMesh(),
                                    dist.getDimAxes(dim));
        places.push_back(
            [=] { exchangeGradient(end->getOpOperand(result), group, dim); });
      }
  }
}

static std::vector<Place> shards(ModuleOp module) {
  std::vector<Place> places;
  for (SegmentOp segment : trainingSegments(module))
    segment.walk([&](Operation *op) { addExchange(op, places); });
  if (trainingStep(module))
    addGradientShards(module, places);
  return places;
}

//===----------------------------------------------------------------------===//
// The doors
//===----------------------------------------------------------------------===//

static std::vector<Place> placesOf(ModuleOp module, Bug bug) {
  unbundleSteps(module);
  switch (bug) {
  case Bug::DropAllReduce:
    return allReduces(module);
  case Bug::ScaleGradient:
    return gradients(module);
  case Bug::WrongAxis:
    return groups(module);
  case Bug::SwapShards:
    return shards(module);
  }
  return {};
}

std::optional<Bug> interp::parseBug(StringRef kind) {
  return llvm::StringSwitch<std::optional<Bug>>(kind)
      .Case("drop-all-reduce", Bug::DropAllReduce)
      .Case("scale-gradient", Bug::ScaleGradient)
      .Case("wrong-axis", Bug::WrongAxis)
      .Case("swap-shards", Bug::SwapShards)
      .Default(std::nullopt);
}

int64_t interp::countPlaces(ModuleOp module, Bug bug) {
  return placesOf(module, bug).size();
}

LogicalResult interp::plantBug(ModuleOp module, Bug bug, int64_t nth) {
  std::vector<Place> places = placesOf(module, bug);
  if (nth < 0 || nth >= int64_t(places.size()))
    return module.emitError() << "the training step has " << places.size()
                              << " places for this bug, got place " << nth;
  places[nth]();
  return success();
}

namespace {
struct TestPlantBug : stretto::impl::TestPlantBugBase<TestPlantBug> {
  using TestPlantBugBase::TestPlantBugBase;

  void runOnOperation() override {
    std::optional<Bug> bug = parseBug(kind);
    if (!bug) {
      getOperation().emitError()
          << "unknown bug '" << kind << "'; known are drop-all-reduce, "
          << "scale-gradient, wrong-axis, swap-shards";
      return signalPassFailure();
    }
    if (failed(plantBug(getOperation(), *bug, nth)))
      signalPassFailure();
  }
};
} // namespace
