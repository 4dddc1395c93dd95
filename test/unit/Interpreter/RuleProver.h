//===- RuleProver.h - run an operation under placements ---------*- C++ -*-===//
//
// A sharding rule promises: shard the operands by any placement of the factors,
// run the operation on the shards, and the results lie as the rule says. The
// prover does that for every placement of two mesh axes, in both orders, with
// sizes that divide and sizes that do not, and with partial sums through every
// linear set, and compares with the whole operation on one rank.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_TEST_UNIT_INTERPRETER_RULEPROVER_H
#define STRETTO_TEST_UNIT_INTERPRETER_RULEPROVER_H

#include "OpSamples.h"
#include "mlir/IR/IRMapping.h"
#include "stretto/Dialect/Stretto/IR/Distribution.h"
#include "stretto/Interpreter/Layout.h"

#include <cmath>

namespace stretto::interp {

/// Runs one operation under placements.
class Prover {
public:
  explicit Prover(const Sample &sample)
      : program(
            "module attributes {stretto.mesh = #stretto.mesh<a = 2, b = 2>} "
            "{" +
            oneOp(sample.arguments, sample.op, sample.types, sample.results) +
            "}"),
        op(&program.find<SegmentOp>("f").getBody().front().front()),
        mesh(program.mesh()),
        rule(mlir::cast<ShardingRule>(op).getShardingRule()) {
    for (auto [i, value] : llvm::enumerate(op->getOperands()))
      operands.push_back(sampleValue(value.getType(), i));
    whole = evaluate(op, operands, {});
  }

  /// All placements; returns how many were run.
  int proveAll() {
    AxisRef a = mesh.axis(0), b = mesh.axis(1);
    for (unsigned f = 0; f <= rule.factors.size(); ++f)
      for (unsigned g = 0; g <= rule.factors.size(); ++g) {
        Placement placement(rule);
        if (!give(placement, f, a) || !give(placement, g, b))
          continue;
        prove(placement);
        if (f == g && f < rule.factors.size()) {
          std::reverse(placement.axes[f].begin(), placement.axes[f].end());
          shareAxes(placement, f);
          prove(placement);
        }
      }
    return proven;
  }

  int numPartial() const { return partial; }
  /// What the first unsound placement was, empty when there is none.
  const std::string &getComplaint() const { return complaint; }
  /// The rule under proof, for tests that break it.
  OpRule &getRule() { return rule; }

private:
  using Dists = llvm::SmallVector<DistAttr>;

  TensorVector evaluate(mlir::Operation *operation, const TensorVector &values,
                        llvm::ArrayRef<int64_t> coordinates) {
    EvalContext context;
    context.seed = 3;
    context.instance = 4;
    context.coordinates.assign(coordinates.begin(), coordinates.end());
    auto results = mlir::cast<Evaluable>(operation).evaluate(values, context);
    EXPECT_TRUE(mlir::succeeded(results)) << program.errors;
    return mlir::succeeded(results) ? *results : TensorVector();
  }

  bool give(Placement &placement, unsigned factor, AxisRef axis) {
    if (factor == rule.factors.size())
      return true; // the axis goes to nobody
    if (rule.factors[factor].kind == FactorKind::Blocked)
      return false;
    placement.axes[factor].push_back(axis);
    shareAxes(placement, factor);
    int64_t size = rule.factors[factor].size,
            members = productOf(placement.axes[factor]);
    if (size % members == 0)
      return true;
    placement.padded[factor] = (size + members - 1) / members * members;
    return canPad(factor);
  }

  /// The other side of a window lies on the same axes.
  void shareAxes(Placement &placement, unsigned factor) {
    int partner = rule.factors[factor].partner;
    if (partner < 0)
      return;
    placement.axes[partner] = placement.axes[factor];
    int64_t members = productOf(placement.axes[partner]),
            size = rule.factors[partner].size;
    if (size % members != 0)
      placement.padded[partner] = (size + members - 1) / members * members;
  }

  /// Zeros are neutral in sums through a linear operand; elsewhere a padded
  /// factor must not be reduced. Compound dimensions are never padded.
  bool canPad(unsigned factor) {
    for (auto values : {&rule.operands, &rule.results})
      for (const DimFactors &dims : *values)
        for (const auto &dim : dims)
          if (dim.size() > 1 && llvm::is_contained(dim, factor))
            return false;
    if (rule.factors[factor].kind != FactorKind::Reduction ||
        rule.factors[factor].trims)
      return true;
    return rule.factors[factor].reduce == ReduceKind::Sum &&
           llvm::any_of(rule.linearSets, [&](const LinearSet &set) {
             return llvm::any_of(set.operands, [&](unsigned operand) {
               return hasFactor(rule.operands[operand], factor);
             });
           });
  }

  static bool hasFactor(const DimFactors &dims, unsigned factor) {
    return llvm::any_of(
        dims, [&](const auto &dim) { return llvm::is_contained(dim, factor); });
  }

  /// A minor factor of a dimension is sharded only when all major ones are
  /// whole on their axes.
  bool isBoxed(const Placement &placement) {
    for (auto values : {&rule.operands, &rule.results})
      for (const DimFactors &dims : *values)
        for (const auto &dim : dims) {
          bool open = false; // a more major factor is not wholly sharded
          for (unsigned factor : dim) {
            if (open && !placement.axes[factor].empty())
              return false;
            open |=
                productOf(placement.axes[factor]) != rule.factors[factor].size;
          }
        }
    return true;
  }

  void prove(const Placement &placement) {
    if (!isBoxed(placement))
      return;
    proveWith(placement, {}, {});
    llvm::SmallVector<AxisRef> used;
    for (auto &axes : placement.axes)
      llvm::append_range(used, axes);
    for (const LinearSet &set : rule.linearSets)
      for (unsigned axis : {0u, 1u})
        if (!axesOverlap(used, {mesh.axis(axis)})) {
          ++partial;
          proveWith(placement, {mesh.axis(axis)}, set);
        }
  }

  /// `passing` axes are partial in the operands of `set`.
  void proveWith(const Placement &placement, llvm::ArrayRef<AxisRef> passing,
                 const LinearSet &set) {
    Dists operandDists, resultDists;
    std::vector<RankTensors> parts;
    for (auto [i, value] : llvm::enumerate(operands)) {
      DistAttr dist = distributionOf(mesh, rule.operands[i], placement);
      operandDists.push_back(dist);
      Layout layout{dist, llvm::SmallVector<int64_t>(value.getShape())};
      parts.push_back(!passing.empty() && llvm::is_contained(set.operands, i)
                          ? summands(value, layout, passing[0])
                          : scatter(value, layout));
    }
    for (unsigned i = 0; i < op->getNumResults(); ++i)
      resultDists.push_back(distributionOf(mesh, rule.results[i], placement));
    std::vector<TensorVector> results =
        runLocal(operandDists, resultDists, parts);
    for (unsigned i = 0; i < op->getNumResults(); ++i)
      compare(i, placement,
              set.reaches(i) ? passing : llvm::ArrayRef<AxisRef>(),
              resultDists[i], results);
    ++proven;
  }

  /// Shards of terms whose sum over `axis` is `value`.
  RankTensors summands(const Tensor &value, const Layout &layout,
                       AxisRef axis) {
    Tensor first = randoms(value.getShape(), 77), second = value;
    for (auto [x, y] : llvm::zip(second.writeFloats(), first.getFloats()))
      x -= y;
    RankTensors ofFirst = scatter(first, layout),
                ofSecond = scatter(second, layout);
    RankTensors result;
    for (int64_t rank = 0; rank < mesh.getNumRanks(); ++rank)
      result.push_back(mesh.coordinate(axis, mesh.coordinates(rank)) == 0
                           ? ofFirst[rank]
                           : ofSecond[rank]);
    return result;
  }

  /// Results per rank of the operation on shards.
  std::vector<TensorVector> runLocal(const Dists &operandDists,
                                     const Dists &resultDists,
                                     const std::vector<RankTensors> &parts) {
    mlir::Block block;
    mlir::IRMapping mapping;
    for (auto [value, dist] : llvm::zip(op->getOperands(), operandDists))
      mapping.map(value, block.addArgument(localType(value.getType(), dist),
                                           op->getLoc()));
    mlir::OpBuilder builder(op->getContext());
    builder.setInsertionPointToEnd(&block);
    mlir::Operation *local = builder.clone(*op, mapping);
    for (auto [result, dist] : llvm::zip(local->getResults(), resultDists))
      result.setType(localType(result.getType(), dist));
    mlir::cast<ShardingRule>(local).localizeAttributes(operandDists,
                                                       resultDists, op);
    auto collective = mlir::dyn_cast<EvaluableCollective>(local);
    if (collective && collective.getEvaluationGroup())
      return exchange(collective, parts[0]);
    std::vector<TensorVector> results;
    for (int64_t rank = 0; rank < mesh.getNumRanks(); ++rank) {
      TensorVector own;
      for (const RankTensors &part : parts)
        own.push_back(part[rank]);
      results.push_back(evaluate(local, own, mesh.coordinates(rank)));
    }
    return results;
  }

  /// Results per rank of an operation that works on groups of ranks.
  std::vector<TensorVector> exchange(EvaluableCollective op,
                                     const RankTensors &operand) {
    GroupAttr group = op.getEvaluationGroup();
    std::vector<TensorVector> results;
    for (int64_t rank = 0; rank < mesh.getNumRanks(); ++rank) {
      TensorVector members(group.getNumMembers());
      for (int64_t other = 0; other < mesh.getNumRanks(); ++other)
        if (isTogether(rank, other, group.getAxes()))
          members[group.member(mesh.coordinates(other))] = operand[other];
      results.push_back(
          {op.evaluateGroup(members)[group.member(mesh.coordinates(rank))]});
    }
    return results;
  }

  /// Do two ranks differ in `axes` only?
  bool isTogether(int64_t rank, int64_t other, llvm::ArrayRef<AxisRef> axes) {
    auto own = mesh.coordinates(rank), theirs = mesh.coordinates(other);
    for (unsigned axis = 0; axis < mesh.getNumAxes(); ++axis)
      if (own[axis] != theirs[axis] && !axesOverlap(axes, {mesh.axis(axis)}))
        return false;
    return true;
  }

  mlir::Type localType(mlir::Type type, DistAttr dist) {
    auto tensor = mlir::cast<mlir::RankedTensorType>(type);
    return mlir::RankedTensorType::get(dist.localShape(tensor.getShape()),
                                       tensor.getElementType());
  }

  /// Reduces result `index` over what the rule says is partial, gathers it and
  /// compares it with the whole.
  void compare(unsigned index, const Placement &placement,
               llvm::ArrayRef<AxisRef> passing, DistAttr dist,
               const std::vector<TensorVector> &results) {
    ReduceKind kind = ReduceKind::Sum;
    llvm::SmallVector<AxisRef> axes =
        reductionAxes(rule, index, placement, kind);
    llvm::append_range(axes, passing);
    RankTensors parts;
    for (int64_t rank = 0; rank < mesh.getNumRanks(); ++rank)
      parts.push_back(combine(members(rank, axes, index, results), kind));
    Tensor want = whole[index];
    Layout layout{dist, llvm::SmallVector<int64_t>(want.getShape())};
    Tensor got = gather(parts, layout, /*zeroPadding=*/false).value;
    if (!isNear(got, want) && complaint.empty())
      complaint = describe(index, dist, axes);
  }

  static bool isNear(const Tensor &got, const Tensor &want) {
    if (!want.isFloat())
      return got.identical(want);
    for (auto [x, y] : llvm::zip(got.getFloats(), want.getFloats()))
      if (!(x == y || std::abs(x - y) <= 1e-11 * (1 + std::abs(y))))
        return false;
    return true;
  }

  /// The values of all ranks that differ from `rank` in `axes` only.
  TensorVector members(int64_t rank, llvm::ArrayRef<AxisRef> axes,
                       unsigned index,
                       const std::vector<TensorVector> &results) {
    TensorVector values;
    for (int64_t other = 0; other < mesh.getNumRanks(); ++other)
      if (isTogether(rank, other, axes))
        values.push_back(results[other][index]);
    return values;
  }

  std::string describe(unsigned index, DistAttr dist,
                       llvm::ArrayRef<AxisRef> axes) {
    std::string text;
    llvm::raw_string_ostream os(text);
    os << "result " << index << " as " << dist << ", partial over "
       << toString(mesh, axes);
    return text;
  }

  TestProgram program;
  mlir::Operation *op;
  MeshAttr mesh;
  OpRule rule;
  TensorVector operands, whole;
  int proven = 0, partial = 0;
  std::string complaint;
};

} // namespace stretto::interp

#endif // STRETTO_TEST_UNIT_INTERPRETER_RULEPROVER_H
