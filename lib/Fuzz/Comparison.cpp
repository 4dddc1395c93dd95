//===- Comparison.cpp - sharded against whole -----------------------------===//

#include "stretto/Fuzz/Comparison.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "stretto/Interpreter/Layout.h"
#include "stretto/Interpreter/PlantBug.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <random>

using namespace mlir;
using namespace stretto;
using namespace stretto::fuzz;
using namespace stretto::interp;

/// What the results of two runs may differ by, relative to the largest element:
/// f64 rounding times a dozen operations, two of which may divide by an almost
/// constant row's deviation.
static constexpr double tolerance = 1e-8;
/// Of values, when a planted bug was not noticed.
static constexpr int moreDraws = 8;
static constexpr llvm::StringLiteral shardPipeline =
    "propagate,assign,plan-reshards,localize,verify-local";

//===----------------------------------------------------------------------===//
// The program
//===----------------------------------------------------------------------===//

namespace {
/// Builds the segments and the step of a graph in a module of their own.
class ProgramBuilder {
public:
  explicit ProgramBuilder(SegmentOp graph)
      : graph(graph), builder(graph.getContext()),
        body(graph.getBody().front()),
        module(ModuleOp::create(graph.getLoc())) {
    (*module)->setAttrs(graph->getParentOp()->getAttrs());
    (*module)->removeAttr(splitAttr);
  }

  OwningOpRef<ModuleOp> build();

private:
  /// A segment of the operations [begin, end) from `arguments` to `results`.
  SegmentOp segment(StringRef name, unsigned begin, unsigned end,
                    ArrayRef<Value> arguments, ArrayRef<Value> results);
  DictionaryAttr describe(Value value, bool asResult, unsigned index);
  SmallVector<Value> readFrom(unsigned begin);
  StepOp makeStep();
  void call(SegmentOp callee, ArrayRef<Value> arguments,
            ArrayRef<Value> results);

  SegmentOp graph;
  OpBuilder builder;
  Block &body;
  OwningOpRef<ModuleOp> module;
  llvm::DenseMap<Value, Value> inStep;
};
} // namespace

DictionaryAttr ProgramBuilder::describe(Value value, bool asResult,
                                        unsigned index) {
  Operation *yield = body.getTerminator();
  if (asResult && index < yield->getNumOperands() &&
      yield->getOperand(index) == value)
    return graph.getResultAttrDict(index);
  if (auto argument = dyn_cast<BlockArgument>(value); argument && !asResult)
    return graph.getArgAttrDict(argument.getArgNumber());
  return builder.getDictionaryAttr(builder.getNamedAttr(
      "stretto.role", builder.getStringAttr("activation")));
}

SegmentOp ProgramBuilder::segment(StringRef name, unsigned begin, unsigned end,
                                  ArrayRef<Value> arguments,
                                  ArrayRef<Value> results) {
  builder.setInsertionPointToEnd(module->getBody());
  bool last = results.empty() ||
              llvm::equal(results, body.getTerminator()->getOperands());
  SmallVector<Attribute> argAttrs, resAttrs;
  for (auto [i, value] : llvm::enumerate(arguments))
    argAttrs.push_back(describe(value, false, i));
  for (auto [i, value] : llvm::enumerate(results))
    resAttrs.push_back(describe(value, last, last ? i : ~0u));
  auto type = builder.getFunctionType(
      llvm::to_vector(
          llvm::map_range(arguments, [](Value v) { return v.getType(); })),
      llvm::to_vector(
          llvm::map_range(results, [](Value v) { return v.getType(); })));
  auto made = SegmentOp::create(
      builder, graph.getLoc(), builder.getStringAttr(name), TypeAttr::get(type),
      builder.getStringAttr("forward"), StringAttr(), StringAttr(),
      builder.getArrayAttr(argAttrs), builder.getArrayAttr(resAttrs));
  Block *block = builder.createBlock(&made.getBody());
  IRMapping mapping;
  for (Value value : arguments)
    mapping.map(value, block->addArgument(value.getType(), graph.getLoc()));
  for (Operation &op : llvm::make_range(std::next(body.begin(), begin),
                                        std::next(body.begin(), end)))
    builder.clone(op, mapping);
  SmallVector<Value> yielded;
  for (Value value : results)
    yielded.push_back(mapping.lookup(value));
  YieldOp::create(builder, graph.getLoc(), yielded);
  return made;
}

/// What the operations from index `begin` on (and the results) read of what is
/// before it.
SmallVector<Value> ProgramBuilder::readFrom(unsigned begin) {
  llvm::SmallSetVector<Value, 8> values;
  llvm::DenseSet<Operation *> later;
  for (Operation &op :
       llvm::make_range(std::next(body.begin(), begin), body.end()))
    later.insert(&op);
  for (Operation &op :
       llvm::make_range(std::next(body.begin(), begin), body.end()))
    for (Value operand : op.getOperands())
      if (!operand.getDefiningOp() || !later.contains(operand.getDefiningOp()))
        values.insert(operand);
  return values.takeVector();
}

StepOp ProgramBuilder::makeStep() {
  builder.setInsertionPointToEnd(module->getBody());
  auto binding = [&](const Twine &name) -> Attribute {
    return builder.getDictionaryAttr(
        builder.getNamedAttr("stretto.binding", builder.getStringAttr(name)));
  };
  SmallVector<Attribute> argAttrs, resAttrs;
  for (unsigned i = 0; i < graph.getNumArguments(); ++i)
    argAttrs.push_back(binding("param:x" + Twine(i)));
  for (unsigned i = 0; i < graph.getNumResults(); ++i)
    resAttrs.push_back(binding("output:y" + Twine(i)));
  auto step = StepOp::create(
      builder, graph.getLoc(), builder.getStringAttr("train"),
      TypeAttr::get(graph.getFunctionType()), StringAttr(),
      builder.getArrayAttr(argAttrs), builder.getArrayAttr(resAttrs));
  Block *block = builder.createBlock(&step.getBody());
  for (BlockArgument argument : body.getArguments())
    inStep[argument] = block->addArgument(argument.getType(), graph.getLoc());
  return step;
}

void ProgramBuilder::call(SegmentOp callee, ArrayRef<Value> arguments,
                          ArrayRef<Value> results) {
  SmallVector<Value> operands;
  for (Value value : arguments)
    operands.push_back(inStep.lookup(value));
  auto invoke = InvokeOp::create(
      builder, graph.getLoc(), callee.getResultTypes(), callee.getSymName(),
      operands, builder.getStringAttr("i"), ArrayAttr());
  for (auto [value, result] : llvm::zip(results, invoke.getResults()))
    inStep[value] = result;
}

OwningOpRef<ModuleOp> ProgramBuilder::build() {
  unsigned numOps = llvm::range_size(body) - 1;
  auto arguments = llvm::to_vector_of<Value>(body.getArguments());
  auto results = llvm::to_vector(body.getTerminator()->getOperands());
  auto split = graph->getParentOp()->getAttrOfType<IntegerAttr>(splitAttr);
  unsigned middle = split ? split.getInt() : 0;
  if (middle == 0 || middle >= numOps) {
    SegmentOp whole = segment("whole", 0, numOps, arguments, results);
    makeStep();
    call(whole, arguments, results);
  } else {
    SmallVector<Value> read = readFrom(middle), crossing;
    llvm::copy_if(read, std::back_inserter(crossing),
                  [](Value value) { return value.getDefiningOp(); });
    SegmentOp first = segment("first", 0, middle, arguments, crossing);
    SegmentOp second = segment("second", middle, numOps, read, results);
    makeStep();
    call(first, arguments, crossing);
    call(second, read, results);
  }
  SmallVector<Value> yielded;
  for (Value value : results)
    yielded.push_back(inStep.lookup(value));
  YieldOp::create(builder, graph.getLoc(), yielded);
  return std::move(module);
}

OwningOpRef<ModuleOp> fuzz::makeProgram(ModuleOp graph) {
  SegmentOp segment = getGraph(graph);
  return segment ? ProgramBuilder(segment).build() : OwningOpRef<ModuleOp>();
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// Half numbers from -3 to 3, without 0 (which hides what is multiplied by it);
/// whole numbers below the argument's bound.
static Tensor drawValue(SegmentOp graph, unsigned index,
                        std::mt19937_64 &random) {
  auto type = cast<RankedTensorType>(graph.getArgumentTypes()[index]);
  if (isa<FloatType>(type.getElementType())) {
    Tensor value = Tensor::floats(type.getShape());
    for (double &x : value.writeFloats()) {
      int64_t half = int64_t(random() % 12) - 6;
      x = 0.5 * double(half < 0 ? half : half + 1);
    }
    return value;
  }
  auto bound = graph.getArgAttrOfType<IntegerAttr>(index, boundAttr);
  uint64_t limit = type.getElementType().isInteger(1) ? 2
                   : bound && bound.getInt() > 0      ? bound.getInt()
                                                      : 7;
  Tensor value = Tensor::ints(type.getShape());
  for (int64_t &x : value.writeInts())
    x = random() % limit;
  return value;
}

static std::string compareTensors(const Tensor &expected, const Tensor &got) {
  std::string text;
  llvm::raw_string_ostream os(text);
  double largest = 1;
  if (expected.isFloat())
    for (double x : expected.getFloats())
      if (std::isfinite(x))
        largest = std::max(largest, std::abs(x));
  forEachIndex(expected.getShape(), [&](ArrayRef<int64_t> at, int64_t i) {
    if (!text.empty())
      return;
    double a = expected.isFloat() ? expected.getFloats()[i]
                                  : double(expected.getInts()[i]);
    double b = got.isFloat() ? got.getFloats()[i] : double(got.getInts()[i]);
    bool equal = a == b || (std::isnan(a) && std::isnan(b)) ||
                 std::abs(a - b) <= tolerance * largest;
    if (equal)
      return;
    os << "element [";
    llvm::interleaveComma(at, os);
    os << "] is " << b << ", expected " << a;
  });
  return text;
}

//===----------------------------------------------------------------------===//
// The comparison
//===----------------------------------------------------------------------===//

LogicalResult fuzz::shard(ModuleOp program) {
  PassManager manager(program.getContext());
  return success(succeeded(parsePassPipeline(shardPipeline, manager)) &&
                 succeeded(manager.run(program)));
}

namespace {
class Comparison {
public:
  Comparison(ModuleOp graph, uint64_t seed, std::optional<Bug> bug)
      : graph(graph), random(seed), bug(bug) {}

  Outcome run() {
    std::string diagnostics;
    ScopedDiagnosticHandler handler(graph.getContext(),
                                    [&](Diagnostic &diagnostic) {
                                      diagnostics += diagnostic.str() + "\n";
                                      return success();
                                    });
    Outcome outcome;
    if (failed(compare(outcome)))
      return {Verdict::Refused, diagnostics};
    return outcome;
  }

private:
  LogicalResult compare(Outcome &outcome);
  LogicalResult compareResults(ModuleOp program, Outcome &outcome);
  LogicalResult runWhole(StepOp step);
  FailureOr<NamedValues> runSharded(StepOp step);
  bool isHarmless(ModuleOp program, int64_t allReduce);

  ModuleOp graph;
  std::mt19937_64 random;
  std::optional<Bug> bug;
  std::vector<Tensor> arguments;
  NamedValues expected;
};
} // namespace

LogicalResult Comparison::runWhole(StepOp step) {
  NamedValues bindings;
  for (auto [i, value] : llvm::enumerate(arguments))
    bindings["param:x" + std::to_string(i)] = {value};
  auto results = runStep(step, bindings, 1, 1);
  if (failed(results))
    return failure();
  expected = *results;
  return success();
}

FailureOr<NamedValues> Comparison::runSharded(StepOp step) {
  NamedValues bindings;
  for (auto [i, value] : llvm::enumerate(arguments)) {
    FailureOr<Layout> layout = layoutOfArgument(step, i);
    if (failed(layout))
      return failure();
    bindings["param:x" + std::to_string(i)] = scatter(value, *layout);
  }
  return runStep(step, bindings, 1, 1);
}

LogicalResult Comparison::compare(Outcome &outcome) {
  OwningOpRef<ModuleOp> program = makeProgram(graph);
  if (!program || failed(verify(*program)))
    return failure();
  OwningOpRef<ModuleOp> reference = program->clone();
  auto draw = [&] {
    SegmentOp segment = getGraph(graph);
    arguments.clear();
    for (unsigned i = 0; i < segment.getNumArguments(); ++i)
      arguments.push_back(drawValue(segment, i, random));
    return runWhole(*reference->getOps<StepOp>().begin());
  };
  if (failed(draw()) || failed(shard(*program)))
    return failure();
  if (!bug)
    return compareResults(*program, outcome);
  uint64_t places = countPlaces(*program, *bug);
  if (places == 0) {
    outcome = {Verdict::Different, "no place for the bug\n"};
    return success();
  }
  int64_t place = random() % places;
  OwningOpRef<ModuleOp> whole = program->clone();
  if (failed(plantBug(*program, *bug, place)) ||
      failed(compareResults(*program, outcome)))
    return failure();
  if (outcome.verdict != Verdict::Equal || *bug != Bug::DropAllReduce)
    return success();
  std::string dropped =
      allReducesOf(*whole)[place].getCause().value_or("").str();
  if ((outcome.harmless = isHarmless(*whole, place)))
    return success();
  // Other values may show it: the largest of all can be the largest of one.
  for (int more = 0; more < moreDraws && outcome.verdict == Verdict::Equal;
       ++more)
    if (failed(draw()) || failed(compareResults(*program, outcome)))
      return failure();
  if (outcome.verdict == Verdict::Equal)
    outcome.text = dropped;
  return success();
}

/// Adds `value` of a segment to the results of the program.
static void expose(ModuleOp program, Value value, StringRef name) {
  OpBuilder builder(program.getContext());
  auto segment = value.getDefiningOp()->getParentOfType<SegmentOp>();
  auto step = *program.getOps<StepOp>().begin();
  Operation *yield = segment.getBody().front().getTerminator();
  yield->insertOperands(yield->getNumOperands(), value);
  (void)segment.insertResult(segment.getNumResults(), value.getType(),
                             builder.getDictionaryAttr({}));
  SmallVector<InvokeOp> invokes;
  step.walk([&](InvokeOp op) {
    if (op.getCallee() == segment.getSymName())
      invokes.push_back(op);
  });
  for (InvokeOp old : invokes) {
    builder.setInsertionPoint(old);
    auto invoke = InvokeOp::create(
        builder, old.getLoc(), segment.getResultTypes(), old.getCallee(),
        old.getOperands(), old.getInstanceAttr(), old.getMembersAttr());
    old.replaceAllUsesWith(
        ValueRange(invoke.getResults()).take_front(old.getNumResults()));
    old.erase();
    Operation *end = step.getBody().front().getTerminator();
    end->insertOperands(end->getNumOperands(), invoke.getResults().back());
    (void)step.insertResult(step.getNumResults(), value.getType(),
                            builder.getDictionaryAttr(builder.getNamedAttr(
                                attr::binding, builder.getStringAttr(name))));
  }
}

/// Is there an element in which the two differ?
static Value differ(OpBuilder &builder, Value a, Value b) {
  auto type = RankedTensorType::get(
      cast<RankedTensorType>(a.getType()).getShape(), builder.getI1Type());
  return CompareOp::create(
      builder, a.getLoc(), type,
      ComparePredicateAttr::get(builder.getContext(), ComparePredicate::NE), a,
      b);
}

/// Where each reader of the all-reduce would make something else of the operand
/// alone.
static SmallVector<Value> differencesOfReaders(AllReduceOp op) {
  SmallVector<Value> differences;
  for (Operation *reader : llvm::to_vector(op->getUsers())) {
    OpBuilder builder(op->getContext());
    builder.setInsertionPointAfter(reader);
    if (reader->hasTrait<OpTrait::IsTerminator>()) {
      builder.setInsertionPoint(reader);
      differences.push_back(differ(builder, op.getX(), op.getResult()));
      continue;
    }
    IRMapping mapping;
    mapping.map(op.getResult(), op.getX());
    Operation *other = builder.clone(*reader, mapping);
    for (auto [a, b] : llvm::zip(reader->getResults(), other->getResults()))
      differences.push_back(differ(builder, a, b));
  }
  return differences;
}

/// Does a result of the program depend on the elements of `value`? iota reads
/// only a shape.
static bool isRead(ModuleOp program, Value value) {
  StepOp step = *program.getOps<StepOp>().begin();
  SmallVector<Value> open = {value};
  llvm::DenseSet<Value> seen;
  while (!open.empty()) {
    Value next = open.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    for (OpOperand &use : next.getUses()) {
      Operation *user = use.getOwner();
      unsigned index = use.getOperandNumber();
      if (isa<IotaOp>(user))
        continue;
      if (auto invoke = dyn_cast<InvokeOp>(user)) {
        auto callee = program.lookupSymbol<SegmentOp>(invoke.getCallee());
        open.push_back(callee.getBody().getArgument(index));
        continue;
      }
      llvm::append_range(open, user->getResults());
      if (!isa<YieldOp>(user))
        continue;
      auto segment = dyn_cast<SegmentOp>(user->getParentOp());
      if (!segment)
        return true;
      step.walk([&](InvokeOp invoke) {
        if (invoke.getCallee() == segment.getSymName())
          open.push_back(invoke.getResult(index));
      });
    }
  }
  return false;
}

/// Dropping the all-reduce changes nothing when no result depends on it, when
/// every rank has the same before and after it (but for the sign of zeros), or
/// when those who read it do not read what differs.
bool Comparison::isHarmless(ModuleOp program, int64_t allReduce) {
  AllReduceOp op = allReducesOf(program)[allReduce];
  if (!isRead(program, op.getResult()))
    return true;
  for (auto [i, value] : llvm::enumerate(differencesOfReaders(op)))
    expose(program, value, "output:probe" + std::to_string(i));
  auto results = runSharded(*program.getOps<StepOp>().begin());
  if (failed(results))
    return false;
  for (const auto &[name, differs] : *results)
    if (StringRef(name).starts_with("output:probe"))
      for (const Tensor &bits : differs)
        if (!llvm::all_of(bits.getInts(), [](int64_t bit) { return bit == 0; }))
          return false;
  return true;
}

LogicalResult Comparison::compareResults(ModuleOp program, Outcome &outcome) {
  SegmentOp segment = getGraph(graph);
  StepOp step = *program.getOps<StepOp>().begin();
  FailureOr<NamedValues> results = runSharded(step);
  if (failed(results))
    return failure();
  SmallVector<Result> described = getResults(segment);
  for (unsigned i = 0; i < step.getNumResults(); ++i) {
    std::string name = "output:y" + std::to_string(i);
    FailureOr<Layout> layout = layoutOfResult(step, i);
    if (failed(layout))
      return failure();
    Gathered gathered =
        gather((*results)[name], *layout, described[i].zeroPadding);
    std::string fault = gathered.faults.empty()
                            ? compareTensors(expected[name][0], gathered.value)
                            : gathered.faults.front();
    if (fault.empty())
      continue;
    outcome = {Verdict::Different,
               "result " + std::to_string(i) + ": " + fault + "\n"};
    break;
  }
  return success();
}

Outcome fuzz::compareRanks(ModuleOp graph, uint64_t seed,
                           std::optional<Bug> bug) {
  return Comparison(graph, seed, bug).run();
}
