//===- SavedCopies.cpp - how saved values lie -----------------------------===//

#include "stretto/Transforms/Shard/SavedCopies.h"

#include "PassedAgain.h"
#include "mlir/IR/Builders.h"
#include "stretto/Transforms/Apply/RecomputePolicy.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace stretto;
using namespace stretto::shard;

static RankedTensorType tensor(Value value) {
  return cast<RankedTensorType>(value.getType());
}

static int64_t localBytes(RankedTensorType type, DistAttr dist) {
  int64_t bytes = llvm::divideCeil(type.getElementTypeBitWidth(), 8);
  for (int64_t extent : dist.localShape(type.getShape()))
    bytes *= extent;
  return bytes;
}

//===----------------------------------------------------------------------===//
// Inside one segment
//===----------------------------------------------------------------------===//

static OpOperand &savedOperand(SegmentOp forward, unsigned result) {
  return forward.getBody().front().getTerminator()->getOpOperand(result);
}

/// What a saved value was before it was moved to lie as it is saved.
static Value rootOf(Value value) {
  while (auto moved = value.getDefiningOp<ReshardOp>())
    value = moved.getX();
  return value;
}

/// Some use of `value` but `except` needs it just so.
static bool isUsedBesides(Value value, OpOperand &except) {
  return llvm::any_of(value.getUses(),
                      [&](OpOperand &use) { return &use != &except; });
}

/// The copies of a saved value that forward has whatever is saved: itself, and
/// what it is moved to for others. Partial sums are none.
static SmallVector<Value> copiesOf(OpOperand &saved) {
  SmallVector<Value> found, open = {rootOf(saved.get())};
  while (!open.empty()) {
    Value value = open.pop_back_val();
    bool isMade = !value.getDefiningOp<ReshardOp>();
    if (!getDist(value).isPartial() && (isMade || isUsedBesides(value, saved)))
      found.push_back(value);
    for (Operation *user : value.getUsers())
      if (auto moved = dyn_cast<ReshardOp>(user))
        open.push_back(moved.getResult());
  }
  return found;
}

/// How backward needs the argument, each way once.
static SmallVector<DistAttr> needsOf(BlockArgument argument) {
  llvm::SetVector<DistAttr> needs;
  for (Operation *user : argument.getUsers()) {
    auto moved = dyn_cast<ReshardOp>(user);
    needs.insert(getDist(moved ? moved.getResult() : Value(argument)));
  }
  return needs.takeVector();
}

/// Makes `forward` save the value as `dist`.
static void saveAs(SegmentOp forward, unsigned result, DistAttr dist) {
  OpOperand &saved = savedOperand(forward, result);
  Value before = saved.get(), now;
  for (Value copy : copiesOf(saved))
    if (getDist(copy) == dist)
      now = copy;
  if (!now) {
    OpBuilder b(saved.getOwner());
    Value root = rootOf(before);
    now = ReshardOp::create(b, root.getLoc(), withDist(tensor(root), dist),
                            root, b.getStringAttr("to be saved"));
  }
  saved.set(now);
  while (auto moved = before.getDefiningOp<ReshardOp>()) {
    if (!before.use_empty())
      break;
    before = moved.getX();
    moved.erase();
  }
  forward.setFunctionType(FunctionType::get(
      forward.getContext(), forward.getArgumentTypes(),
      forward.getBody().front().getTerminator()->getOperandTypes()));
}

/// Makes `backward` take the argument as `dist`; where it needs it as it was
/// before, that is made of it.
static void takeAs(SegmentOp backward, unsigned index, DistAttr dist) {
  BlockArgument argument = backward.getBody().front().getArgument(index);
  Type before = argument.getType();
  argument.setType(withDist(tensor(argument), dist));
  Operation *first = nullptr;
  SmallVector<OpOperand *> asBefore;
  for (OpOperand &use : llvm::make_early_inc_range(argument.getUses())) {
    auto moved = dyn_cast<ReshardOp>(use.getOwner());
    if (moved && moved.getResult().getType() == argument.getType()) {
      moved.getResult().replaceAllUsesWith(argument);
      moved.erase();
    } else if (!moved) {
      asBefore.push_back(&use);
    }
  }
  for (OpOperand *use : asBefore)
    if (!first || use->getOwner()->isBeforeInBlock(first))
      first = use->getOwner();
  if (first) {
    OpBuilder b(first);
    Value made = ReshardOp::create(b, argument.getLoc(), before, argument,
                                   b.getStringAttr("saved as forward used it"));
    for (OpOperand *use : asBefore)
      use->set(made);
  }
  backward.setFunctionType(FunctionType::get(
      backward.getContext(), backward.getBody().front().getArgumentTypes(),
      backward.getResultTypes()));
}

//===----------------------------------------------------------------------===//
// Who saves and who takes
//===----------------------------------------------------------------------===//

SavedCopies::SavedValue &SavedCopies::valueAt(Border border, bool isResult) {
  SavedValue *&value =
      (isResult ? ofResults : ofArguments)[{border.segment, border.index}];
  if (!value) {
    values.push_back(std::make_unique<SavedValue>());
    value = values.back().get();
    (isResult ? value->results : value->arguments).push_back(border);
  }
  for (Border &entry : isResult ? value->results : value->arguments)
    if (entry.segment == border.segment && entry.index == border.index)
      ++entry.count;
  return *value;
}

SavedCopies::SavedValue &SavedCopies::unite(SavedValue &a, SavedValue &b) {
  if (&a == &b)
    return a;
  for (const Border &border : b.results)
    ofResults[{border.segment, border.index}] = &a;
  for (const Border &border : b.arguments)
    ofArguments[{border.segment, border.index}] = &a;
  a.results.append(b.results);
  a.arguments.append(b.arguments);
  a.isOpen &= b.isOpen;
  b = SavedValue();
  return a;
}

static bool isSaved(StringAttr role) {
  return role && role.getValue() == "saved";
}

/// The result of a segment that `made` is; none: another operation made it.
static std::optional<unsigned> resultIndex(TensorRef made) {
  auto producer = made.value.getDefiningOp<InvokeOp>();
  if (!producer)
    return std::nullopt;
  unsigned index = std::max(made.member, 0);
  for (Value before : producer.getResults().take_front(
           cast<OpResult>(made.value).getResultNumber()))
    index += isBundle(before.getType())
                 ? cast<TupleType>(before.getType()).size()
                 : 1;
  return index;
}

void SavedCopies::visit(InvokeOp invoke) {
  auto segment = symbols.lookup<SegmentOp>(invoke.getCallee());
  // A saved value that a step or a loop passes on is not ours.
  for (auto [index, made] : llvm::enumerate(invoke.getTensorResults()))
    if (isSaved(segment.getResultAttrOfType<StringAttr>(index, attr::role)))
      valueAt({segment, unsigned(index)}, true).isOpen &=
          llvm::all_of(made.value.getUsers(),
                       [](Operation *user) { return isa<InvokeOp>(user); });
  for (auto [index, operand] : llvm::enumerate(invoke.getTensorOperands())) {
    bool takes =
        isSaved(segment.getArgAttrOfType<StringAttr>(index, attr::role));
    std::optional<unsigned> result = resultIndex(operand);
    auto producer =
        result ? symbols.lookup<SegmentOp>(
                     operand.value.getDefiningOp<InvokeOp>().getCallee())
               : SegmentOp();
    bool saves =
        producer &&
        isSaved(producer.getResultAttrOfType<StringAttr>(*result, attr::role));
    if (saves && takes) {
      SavedValue &argument = valueAt({segment, unsigned(index)}, false);
      unite(*ofResults[{producer, *result}], argument);
    } else if (takes) {
      valueAt({segment, unsigned(index)}, false).isOpen = false;
    } else if (saves) {
      ofResults[{producer, *result}]->isOpen = false;
    }
  }
}

//===----------------------------------------------------------------------===//
// The choice
//===----------------------------------------------------------------------===//

/// Less time; among equals less memory.
bool SavedCopies::Price::isBelow(const Price &other) const {
  if (seconds < other.seconds * (1 - 1e-9))
    return true;
  return seconds <= other.seconds * (1 + 1e-9) && heldBytes < other.heldBytes;
}

const ReshardPath &SavedCopies::move(Value value, DistAttr from, DistAttr to) {
  RankedTensorType type = tensor(value);
  return planner.plan(from, to, type.getShape(),
                      llvm::divideCeil(type.getElementTypeBitWidth(), 8));
}

SavedCopies::Price SavedCopies::priceOf(const SavedValue &value,
                                        DistAttr saved) {
  Price price;
  auto add = [&](const ReshardPath &path, unsigned times) {
    price.seconds += times * path.seconds;
    price.sentBytes += times * path.bytes;
  };
  for (const Border &result : value.results) {
    OpOperand &operand = savedOperand(result.segment, result.index);
    price.heldBytes += result.count * localBytes(tensor(operand.get()), saved);
    SmallVector<Value> copies = copiesOf(operand);
    if (llvm::any_of(copies, [&](Value v) { return getDist(v) == saved; }))
      continue;
    // As `saveAs` makes it.
    Value root = rootOf(operand.get());
    add(move(root, getDist(root), saved), result.count);
  }
  for (const Border &argument : value.arguments) {
    SegmentOp backward = argument.segment;
    BlockArgument taken = backward.getBody().getArgument(argument.index);
    for (DistAttr need : needsOf(taken))
      if (need != saved)
        add(move(taken, saved, need), argument.count);
  }
  return price;
}

/// What the two ways cost an invocation of forward, where they differ.
void SavedCopies::note(const SavedValue &value, bool isKept, Price kept,
                       Price repeated) {
  unsigned count = 0;
  for (const Border &result : value.results)
    count += result.count;
  Builder b(module.getContext());
  auto number = [&](double total) {
    return b.getI64IntegerAttr(std::llround(total / count));
  };
  Value root = rootOf(
      savedOperand(value.results[0].segment, value.results[0].index).get());
  Operation *made = root.getDefiningOp();
  std::string name =
      made ? (made->getName().stripDialect() + " result").str() : "an argument";
  // An argument is there besides, as it lies.
  double besides =
      made ? 0 : double(count) * localBytes(tensor(root), getDist(root));
  NamedAttribute entries[] = {
      b.getNamedAttr("held", number(double(kept.heldBytes) -
                                    double(repeated.heldBytes) + besides)),
      b.getNamedAttr("kept", b.getBoolAttr(isKept)),
      b.getNamedAttr("sent", number(repeated.sentBytes - kept.sentBytes)),
      b.getNamedAttr("value", b.getStringAttr(name))};
  for (Border result : value.results)
    result.segment.setResultAttr(result.index, attr::savedCopy,
                                 b.getDictionaryAttr(entries));
}

/// True when the value is saved otherwise than it was.
bool SavedCopies::settle(SavedValue &value) {
  if (!value.isOpen || value.results.empty() || value.arguments.empty())
    return false;
  DistAttr before = getDist(
      savedOperand(value.results[0].segment, value.results[0].index).get());
  llvm::SetVector<DistAttr> candidates;
  candidates.insert(before);
  bool repeats = false;
  for (const Border &result : value.results) {
    repeats |= result.segment->hasAttr(attr::repeatGathers);
    for (Value copy : copiesOf(savedOperand(result.segment, result.index)))
      candidates.insert(getDist(copy));
  }
  if (candidates.size() == 1)
    return false;
  Price lies = priceOf(value, before);
  std::pair<DistAttr, Price> fast(before, lies), lean(before, lies);
  for (DistAttr dist : candidates) {
    Price price = priceOf(value, dist);
    if (price.isBelow(fast.second))
      fast = {dist, price};
    if (price.heldBytes <= lies.heldBytes && price.isBelow(lean.second))
      lean = {dist, price};
  }
  auto [dist, price] = repeats ? lean : fast;
  if (lean.first != fast.first)
    note(value, dist == fast.first, fast.second, lean.second);
  if (dist == before)
    return false;
  for (const Border &result : value.results)
    saveAs(result.segment, result.index, dist);
  for (const Border &argument : value.arguments)
    takeAs(argument.segment, argument.index, dist);
  return true;
}

void SavedCopies::updateSteps() {
  module.walk([&](InvokeOp invoke) {
    auto segment = symbols.lookup<SegmentOp>(invoke.getCallee());
    for (auto [result, type] :
         llvm::zip(invoke.getResults(), bundledLike(invoke.getResultTypes(),
                                                    segment.getResultTypes())))
      result.setType(type);
  });
}

void SavedCopies::run() {
  PassedAgain(module, planner).run();
  module.walk([&](InvokeOp invoke) { visit(invoke); });
  bool changed = false;
  for (std::unique_ptr<SavedValue> &value : values)
    changed |= settle(*value);
  if (changed)
    updateSteps();
}

//===----------------------------------------------------------------------===//
// What was chosen
//===----------------------------------------------------------------------===//

std::vector<SavedCopy> stretto::savedCopiesOf(ModuleOp distributed) {
  auto step = distributed.lookupSymbol<StepOp>("train");
  if (!step)
    return {};
  SymbolTable symbols(distributed);
  llvm::MapVector<std::pair<Operation *, unsigned>, SavedCopy> found;
  step.walk([&](InvokeOp invoke) {
    auto segment = symbols.lookup<SegmentOp>(invoke.getCallee());
    auto loop = invoke->getParentOfType<MicrobatchesOp>();
    for (unsigned i = 0; i < segment.getNumResults(); ++i) {
      auto entry =
          segment.getResultAttrOfType<DictionaryAttr>(i, attr::savedCopy);
      if (!entry)
        continue;
      SavedCopy &copy = found[{segment, i}];
      copy.layer = segment.getLayer().value_or(segment.getSymName()).str();
      copy.value = entry.getAs<StringAttr>("value").getValue().str();
      copy.location = savedOperand(segment, i).get().getLoc();
      copy.isKept = entry.getAs<BoolAttr>("kept").getValue();
      ++copy.instances;
      copy.heldBytes += entry.getAs<IntegerAttr>("held").getInt();
      copy.sentBytes += entry.getAs<IntegerAttr>("sent").getInt() *
                        (loop ? int64_t(loop.getCount()) : 1);
    }
  });
  std::vector<SavedCopy> copies;
  for (auto &[result, copy] : found)
    copies.push_back(std::move(copy));
  return copies;
}
