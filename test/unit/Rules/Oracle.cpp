//===- Oracle.cpp - which placements of an operation are sound ------------===//

#include "Oracle.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "stretto/Dialect/Stretto/IR/Distribution.h"
#include "stretto/Dialect/Stretto/Transforms/Decompose.h"
#include "stretto/Fuzz/Comparison.h"
#include "stretto/Transforms/Shard/Passes.h"

#include <cmath>
#include <random>

using namespace mlir;
using namespace stretto;
using namespace stretto::rules;
using namespace stretto::interp;

//===----------------------------------------------------------------------===//
// Texts
//===----------------------------------------------------------------------===//

std::string Lie::text() const {
  if (dim >= 0)
    return "S" + std::to_string(dim);
  if (!partial)
    return "R";
  return *partial == ReduceKind::Sum
             ? "P"
             : "P" + stringifyReduceKind(*partial).str();
}

static std::string textOf(const Lies &lies) {
  std::string text;
  for (const Lie &lie : lies)
    text += (text.empty() ? "" : ", ") + lie.text();
  return lies.size() == 1 ? text : "(" + text + ")";
}

std::string Verdict::text() const {
  return textOf(operands) + (results.empty() ? "" : " → " + textOf(results));
}

static std::string replaceAll(std::string text, const std::string &what,
                              const std::string &by) {
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos;
       at += by.size())
    text.replace(at, what.size(), by);
  return text;
}

static std::string fill(std::string text, int64_t n) {
  for (auto [name, factor] : {std::pair("$n", 1), std::pair("$m", 2),
                              std::pair("$q", 4), std::pair("$p", 5)})
    text = replaceAll(text, name, std::to_string(factor * n));
  return replaceAll(text, "%", "%a");
}

/// "2xf32; f32" as "tensor<2xf32>", "tensor<f32>".
static std::vector<std::string> typesOf(const std::string &list) {
  std::vector<std::string> types;
  SmallVector<StringRef> parts;
  StringRef(list).split(parts, "; ", -1, false);
  for (StringRef part : parts)
    types.push_back("tensor<" + part.str() + ">");
  return types;
}

static std::string joined(const std::vector<std::string> &parts,
                          const std::string &prefix = "") {
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i)
    text += (i ? ", " : "") +
            (prefix.empty() ? "" : prefix + std::to_string(i) + ": ") +
            parts[i];
  return text;
}

static std::string moduleText(const Sample &sample, int64_t n) {
  std::vector<std::string> arguments = typesOf(fill(sample.arguments, n)),
                           results = typesOf(fill(sample.results, n));
  std::string op = fill(sample.op, n);
  bool functional =
      StringRef(op).starts_with("adamw") || StringRef(op).starts_with("sgd");
  std::string signature = joined(arguments) + " -> " + joined(results);
  if (functional)
    signature = "(" + joined(arguments) + ") -> (" + joined(results) + ")";
  if (arguments.empty())
    signature = joined(results);
  std::string names;
  for (size_t i = 0; i < results.size(); ++i)
    names += (i ? ", %r" : "%r") + std::to_string(i);
  return "module attributes {stretto.mesh = #stretto.mesh<a = " +
         std::to_string(n) + ">} {\nstretto.segment @graph(" +
         joined(arguments, "%a") + ") -> (" + joined(results) +
         ") attributes {direction = \"forward\"} {\n" + names + " = stretto." +
         op + " : " + signature + "\nstretto.yield " + names + " : " +
         joined(results) + "\n}\n}\n";
}

std::unique_ptr<MLIRContext> rules::makeContext() {
  DialectRegistry registry;
  registry.insert<StrettoDialect>();
  registerEvaluableModels(registry);
  registerDecomposableModels(registry);
  auto context =
      std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  context->loadDialect<StrettoDialect>();
  context->getDiagEngine().registerHandler(
      [](Diagnostic &) { return success(); });
  static bool passes = (registerShardPasses(), true);
  (void)passes;
  return context;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// Positive reals (for log and sqrt; `scalar` for rank 0, where it is given),
/// integers below twice the ranks.
static Tensor draw(RankedTensorType type, int64_t n, std::mt19937_64 &random,
                   std::optional<double> scalar = std::nullopt) {
  if (isa<FloatType>(type.getElementType())) {
    Tensor value = Tensor::floats(type.getShape());
    std::uniform_real_distribution<double> uniform(0.5, 2.0);
    for (double &x : value.writeFloats())
      x = type.getRank() == 0 && scalar ? *scalar : uniform(random);
    return value;
  }
  Tensor value = Tensor::ints(type.getShape());
  for (int64_t &x : value.writeInts())
    x = random() % (type.getElementType().isInteger(1) ? 2 : 2 * n);
  return value;
}

static bool isNear(const Tensor &a, const Tensor &b) {
  if (a.getShape() != b.getShape() || a.isFloat() != b.isFloat())
    return false;
  if (!a.isFloat())
    return a.identical(b);
  for (auto [x, y] : llvm::zip(a.getFloats(), b.getFloats()))
    if (!(std::abs(x - y) <= 1e-9 * (1 + std::abs(y))))
      return false;
  return true;
}

//===----------------------------------------------------------------------===//
// The judge
//===----------------------------------------------------------------------===//

namespace {
class Judge {
public:
  Judge(ModuleOp module, int64_t n)
      : module(module), n(n),
        op(&(*module.getOps<SegmentOp>().begin()).getBody().front().front()),
        mesh(module->getAttrOfType<MeshAttr>(attr::mesh)),
        rule(cast<ShardingRule>(op).getShardingRule()) {
    for (uint64_t seed : {1, 2}) {
      std::mt19937_64 random(seed);
      Draw &one = draws.emplace_back();
      for (Value operand : op->getOperands()) {
        // 1 is what makes an optimizer move.
        one.values.push_back(draw(typeOf(operand), n, random, 1.0));
        one.terms.push_back(draw(typeOf(operand), n, random));
      }
      one.whole = runWhole(one.values);
    }
  }

  std::vector<Verdict> run() {
    if (draws[0].whole.empty())
      return {};
    std::vector<Verdict> verdicts;
    Lies lies(op->getNumOperands());
    forEachCombination(lies, 0, [&] {
      Verdict verdict = judgeOperands(lies);
      if (verdict.sound || !verdict.unsound.empty())
        verdicts.push_back(verdict);
    });
    for (const Lies &blocked : blockedPlacements())
      addDecomposition(verdicts, blocked);
    return verdicts;
  }

private:
  struct Draw {
    TensorVector values, terms; // a partial sum is terms and values - terms
    TensorVector whole;
  };
  struct Parts {
    std::vector<RankTensors> results;
  };

  static RankedTensorType typeOf(Value value) {
    return cast<RankedTensorType>(value.getType());
  }
  DistAttr distOf(const Lie &lie, RankedTensorType type) const {
    SmallVector<SmallVector<AxisRef>> dims(type.getRank());
    SmallVector<AxisRef> partial;
    if (lie.dim >= 0)
      dims[lie.dim].push_back(mesh.axis(0));
    if (lie.partial)
      partial.push_back(mesh.axis(0));
    return DistAttr::get(mesh.getContext(), mesh, dims, partial,
                         lie.partial.value_or(ReduceKind::Sum));
  }
  Type localType(const Lie &lie, RankedTensorType type) const {
    return RankedTensorType::get(distOf(lie, type).localShape(type.getShape()),
                                 type.getElementType());
  }

  /// Replicated, and every dimension that divides.
  std::vector<Lie> shardings(RankedTensorType type) const {
    std::vector<Lie> all{{}};
    for (int d = 0; d < type.getRank(); ++d)
      if (type.getDimSize(d) % n == 0)
        all.push_back({d, std::nullopt});
    return all;
  }

  void forEachCombination(Lies &lies, unsigned at,
                          function_ref<void()> body) const {
    if (at == lies.size())
      return body();
    RankedTensorType type = typeOf(op->getOperand(at));
    std::vector<Lie> choices = shardings(type);
    if (isa<FloatType>(type.getElementType()))
      choices.push_back({-1, ReduceKind::Sum});
    for (const Lie &choice : choices) {
      lies[at] = choice;
      forEachCombination(lies, at + 1, body);
    }
  }

  TensorVector runWhole(const TensorVector &values) {
    EvalContext context;
    context.seed = 3;
    context.instance = instanceKey("");
    auto results = cast<Evaluable>(op).evaluate(values, context);
    return succeeded(results) ? *results : TensorVector();
  }

  RankTensors partsOf(const Lie &lie, const Tensor &value, const Tensor &term,
                      RankedTensorType type) const {
    if (!lie.partial)
      return scatter(
          value, {distOf(lie, type), SmallVector<int64_t>(type.getShape())});
    RankTensors parts;
    for (int64_t rank = 0; rank < n; ++rank) {
      Tensor part = rank == 0 ? value : term;
      if (rank == 0)
        for (auto [x, y] : llvm::zip(part.writeFloats(), term.getFloats()))
          x -= double(n - 1) * y;
      parts.push_back(part);
    }
    return parts;
  }

  /// Do the extents of the local operation agree with each other?
  static bool isConsistent(Operation *local) {
    OpRule rule = cast<ShardingRule>(local).getShardingRule();
    auto fits = [&](ValueRange values, ArrayRef<DimFactors> all) {
      for (auto [value, dims] : llvm::zip(values, all))
        for (auto [extent, factors] :
             llvm::zip(typeOf(value).getShape(), dims)) {
          int64_t product = 1;
          for (unsigned factor : factors)
            product *= rule.factors[factor].size;
          if (product != extent)
            return false;
        }
      return true;
    };
    return fits(local->getOperands(), rule.operands) &&
           fits(local->getResults(), rule.results);
  }

  /// Result types of the operation on parts; empty when it has none.
  SmallVector<Type> inferTypes(Block &block) const {
    auto inferable = dyn_cast<InferTypeOpInterface>(op);
    SmallVector<Type> types;
    if (inferable && failed(inferable.inferReturnTypes(
                         op->getContext(), op->getLoc(), block.getArguments(),
                         op->getAttrDictionary(), op->getPropertiesStorage(),
                         op->getRegions(), types)))
      types.clear();
    return types;
  }

  /// The operation on the parts of one draw; nothing when it does not verify.
  std::optional<Parts> runLocal(const Lies &operands, const Lies &results,
                                const Draw &one) {
    OpBuilder builder(op->getContext());
    OwningOpRef<ModuleOp> local = ModuleOp::create(op->getLoc());
    (*local)->setAttr(attr::mesh, mesh);
    builder.setInsertionPointToEnd(local->getBody());
    SmallVector<Type> argumentTypes, resultTypes;
    SmallVector<DistAttr> operandDists, resultDists;
    for (auto [value, lie] : llvm::zip(op->getOperands(), operands)) {
      argumentTypes.push_back(localType(lie, typeOf(value)));
      operandDists.push_back(distOf(lie, typeOf(value)));
    }
    for (auto [value, lie] : llvm::zip(op->getResults(), results)) {
      resultTypes.push_back(localType(lie, typeOf(value)));
      resultDists.push_back(distOf(lie, typeOf(value)));
    }
    auto segment = SegmentOp::create(
        builder, op->getLoc(), builder.getStringAttr("local"),
        TypeAttr::get(builder.getFunctionType(argumentTypes, resultTypes)),
        builder.getStringAttr("forward"), StringAttr(), StringAttr(),
        ArrayAttr(), ArrayAttr());
    Block *block = builder.createBlock(&segment.getBody());
    IRMapping mapping;
    for (auto [value, type] : llvm::zip(op->getOperands(), argumentTypes))
      mapping.map(value, block->addArgument(type, op->getLoc()));
    Operation *clone = builder.clone(*op, mapping);
    for (auto [result, type] : llvm::zip(clone->getResults(), resultTypes))
      result.setType(type);
    if (!isConsistent(clone))
      return std::nullopt;
    cast<ShardingRule>(clone).localizeAttributes(operandDists, resultDists, op);
    YieldOp::create(builder, op->getLoc(), clone->getResults());
    if (failed(verify(*local)))
      return std::nullopt;
    std::vector<RankTensors> parts;
    for (auto [i, lie] : llvm::enumerate(operands))
      parts.push_back(
          partsOf(lie, one.values[i], one.terms[i], typeOf(op->getOperand(i))));
    auto values = Machine(*local, mesh, 3, 0).call(segment, parts, "");
    if (failed(values))
      return std::nullopt;
    return Parts{{values->begin(), values->end()}};
  }

  bool matches(const Lie &lie, const RankTensors &parts, const Tensor &whole,
               RankedTensorType type) const {
    if (lie.partial)
      return isNear(combine(parts, *lie.partial), whole);
    RankTensors wanted = scatter(
        whole, {distOf(lie, type), SmallVector<int64_t>(type.getShape())});
    return llvm::all_of(llvm::zip(parts, wanted), [](auto pair) {
      return isNear(std::get<0>(pair), std::get<1>(pair));
    });
  }

  /// How a result whose parts have the shape of `sharding` may be called.
  static std::vector<Lie> names(const Lie &sharding) {
    std::vector<Lie> all{sharding};
    if (sharding.dim < 0)
      for (ReduceKind kind : {ReduceKind::Sum, ReduceKind::Max, ReduceKind::Min,
                              ReduceKind::Prod})
        all.push_back({-1, kind});
    return all;
  }

  /// Does the verifier take the operation with these types?
  bool isOffered(const Lies &operands, const Lies &results) {
    OpBuilder builder(op->getContext());
    Block block;
    IRMapping mapping;
    for (auto [value, lie] : llvm::zip(op->getOperands(), operands))
      mapping.map(value, block.addArgument(withDist(typeOf(value),
                                                    distOf(lie, typeOf(value))),
                                           op->getLoc()));
    builder.setInsertionPointToEnd(&block);
    Operation *clone = builder.clone(*op, mapping);
    for (auto [result, lie] : llvm::zip(clone->getResults(), results))
      result.setType(withDist(typeOf(result), distOf(lie, typeOf(result))));
    return succeeded(verify(clone));
  }

  /// All shardings of the results whose local shapes fit.
  std::vector<Lies> resultShardings(const Lies &operands) {
    Block block;
    for (auto [value, lie] : llvm::zip(op->getOperands(), operands))
      block.addArgument(localType(lie, typeOf(value)), op->getLoc());
    SmallVector<Type> inferred = inferTypes(block);
    if (inferred.empty() && isa<InferTypeOpInterface>(op))
      return {};
    std::vector<Lies> all{{}};
    for (auto [i, result] : llvm::enumerate(op->getResults())) {
      std::vector<Lies> longer;
      for (const Lie &lie : shardings(typeOf(result)))
        if (inferred.empty() || localType(lie, typeOf(result)) == inferred[i])
          for (Lies lies : all) {
            lies.push_back(lie);
            longer.push_back(lies);
          }
      all = longer;
    }
    return all;
  }

  /// Do the operands' parts have the same extent wherever dimensions belong
  /// together? (Otherwise the operation on them does not verify.)
  bool haveCommonExtents(const Lies &operands) const {
    llvm::DenseMap<unsigned, int64_t> extents;
    for (auto [i, dims] : llvm::enumerate(rule.operands))
      for (auto [d, factors] : llvm::enumerate(dims)) {
        if (factors.size() != 1)
          continue;
        int64_t extent = typeOf(op->getOperand(i)).getDimSize(d) /
                         (operands[i].dim == int(d) ? n : 1);
        if (extents.try_emplace(factors[0], extent).first->second != extent)
          return false;
      }
    return true;
  }

  Verdict judgeOperands(const Lies &operands) {
    Verdict verdict;
    verdict.operands = operands;
    if (!haveCommonExtents(operands))
      return verdict;
    for (const Lies &shape : resultShardings(operands)) {
      std::vector<Parts> runs;
      for (const Draw &one : draws) {
        auto parts = runLocal(operands, shape, one);
        if (!parts)
          break;
        runs.push_back(std::move(*parts));
      }
      if (runs.size() != draws.size())
        continue;
      Lies names(shape.size());
      judgeResults(verdict, shape, runs, names, 0, true);
    }
    return verdict;
  }

  /// Tries every way to call the results from index `at` on.
  void judgeResults(Verdict &verdict, const Lies &shape,
                    const std::vector<Parts> &runs, Lies &results, unsigned at,
                    bool sound) {
    if (at == shape.size()) {
      bool offered = isOffered(verdict.operands, results);
      if (sound && (!verdict.sound || (offered && !verdict.offered)))
        verdict.results = results;
      verdict.sound |= sound;
      verdict.offered |= sound && offered;
      if (!sound && offered)
        verdict.unsound = textOf(verdict.operands) + " → " + textOf(results);
      return;
    }
    for (const Lie &name : names(shape[at])) {
      bool right = true;
      for (auto [run, one] : llvm::zip(runs, draws))
        right &= matches(name, run.results[at], one.whole[at],
                         typeOf(op->getResult(at)));
      results[at] = name;
      judgeResults(verdict, shape, runs, results, at + 1, sound && right);
    }
  }

  //===--------------------------------------------------------------------===//
  // Decomposition
  //===--------------------------------------------------------------------===//

  /// For every dimension that the rule wants whole: all operands that have it
  /// sharded on it.
  std::vector<Lies> blockedPlacements() const {
    std::vector<Lies> all;
    for (auto [index, factor] : llvm::enumerate(rule.factors)) {
      if (factor.kind != FactorKind::Blocked)
        continue;
      Lies lies(op->getNumOperands());
      bool any = false;
      for (auto [operand, dims] : llvm::enumerate(rule.operands))
        for (auto [d, factors] : llvm::enumerate(dims)) {
          int64_t extent = typeOf(op->getOperand(operand)).getDimSize(d);
          if (!llvm::is_contained(factors, unsigned(index)) || extent % n != 0)
            continue;
          lies[operand].dim = d;
          any = true;
        }
      if (any && !llvm::is_contained(all, lies))
        all.push_back(lies);
    }
    return all;
  }

  void addDecomposition(std::vector<Verdict> &verdicts, const Lies &lies) {
    for (const Verdict &known : verdicts)
      if (known.operands == lies && known.available())
        return;
    llvm::erase_if(
        verdicts, [&](const Verdict &known) { return known.operands == lies; });
    Verdict verdict;
    verdict.operands = lies;
    OwningOpRef<ModuleOp> graph = graphWith(lies);
    verdict.decomposed = keepsArguments(*graph);
    if (verdict.decomposed) {
      fuzz::Outcome outcome = fuzz::compareRanks(*graph, 1);
      if (outcome.verdict != fuzz::Verdict::Equal)
        verdict.unsound = textOf(lies) + " decomposed: " + outcome.text;
    }
    verdicts.push_back(verdict);
  }

  /// The sample as a graph whose arguments are asked to lie so.
  OwningOpRef<ModuleOp> graphWith(const Lies &lies) {
    OwningOpRef<ModuleOp> graph = module.clone();
    SegmentOp segment = *graph->getOps<SegmentOp>().begin();
    MLIRContext *context = op->getContext();
    for (auto [i, lie] : llvm::enumerate(lies)) {
      std::string dims;
      for (int d = 0; d < typeOf(op->getOperand(i)).getRank(); ++d)
        dims += (d ? ", " : "") + std::string(d == lie.dim ? "{a}" : "{}");
      segment.setArgAttr(i, attr::role, StringAttr::get(context, "activation"));
      segment.setArgAttr(i, attr::constraint,
                         fuzz::parseConstraint(*context, "[" + dims + "]"));
    }
    for (unsigned i = 0; i < segment.getNumResults(); ++i)
      segment.setResultAttr(i, attr::role,
                            StringAttr::get(context, "activation"));
    return graph;
  }

  /// After assign: does no reshard take a dimension of an argument together?
  static bool keepsArguments(ModuleOp graph) {
    OwningOpRef<ModuleOp> program = fuzz::makeProgram(graph);
    PassManager manager(graph.getContext());
    if (!program || failed(parsePassPipeline("propagate,assign", manager)) ||
        failed(manager.run(*program)))
      return false;
    bool keeps = true;
    program->walk([&](ReshardOp reshard) {
      DistAttr from = getDist(reshard.getX()),
               to = getDist(reshard.getResult());
      if (!isa<BlockArgument>(reshard.getX()))
        return;
      for (unsigned d = 0; d < from.getRank(); ++d)
        keeps &= from.getDimAxes(d).empty() || !to.getDimAxes(d).empty();
    });
    return keeps;
  }

  ModuleOp module;
  int64_t n;
  Operation *op;
  MeshAttr mesh;
  OpRule rule;
  std::vector<Draw> draws;
};
} // namespace

OwningOpRef<ModuleOp> rules::parseSample(MLIRContext &context,
                                         const Sample &sample,
                                         int64_t numRanks) {
  return parseSourceString<ModuleOp>(moduleText(sample, numRanks),
                                     ParserConfig(&context));
}

std::vector<Verdict> rules::judge(MLIRContext &context, const Sample &sample,
                                  int64_t numRanks) {
  OwningOpRef<ModuleOp> module = parseSample(context, sample, numRanks);
  return module ? Judge(*module, numRanks).run() : std::vector<Verdict>();
}
