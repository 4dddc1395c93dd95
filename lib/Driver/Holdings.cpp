//===- Holdings.cpp - which dimension has which axis, in names ------------===//

#include "Holdings.h"

using namespace mlir;
using namespace stretto;
using namespace stretto::driver;

std::string driver::placeOf(Location location) {
  if (auto file = dyn_cast<FileLineColLoc>(location);
      file && file.getLine() > 0)
    return (file.getFilename().getValue() + ":" + Twine(file.getLine()) + ":" +
            Twine(file.getColumn()))
        .str();
  if (auto named = dyn_cast<NameLoc>(location))
    return placeOf(named.getChildLoc());
  if (auto fused = dyn_cast<FusedLoc>(location))
    for (Location part : fused.getLocations())
      if (std::string place = placeOf(part); !place.empty())
        return place;
  return "";
}

std::string driver::nameOf(Operation *op) {
  std::string place = placeOf(op->getLoc());
  return op->getName().stripDialect().str() +
         (place.empty() ? "" : " (" + place + ")");
}

std::string Holding::text() const {
  return dim + " on " + axes + (line.empty() ? "" : " (" + line + ")");
}

std::string Holding::withoutIt() const {
  return dim + " whole on " + axes +
         (line.empty() ? "" : " (no `" + line + "`)");
}

Holdings::Holdings(ModuleOp module) {
  for (SegmentOp segment : module.getOps<SegmentOp>())
    readPlanLines(segment);
}

/// Constraints say "heads: tp at plan.yaml:7:30; batch: dp at …".
void Holdings::readPlanLines(SegmentOp segment) {
  auto read = [&](Attribute attribute) {
    auto constraint = dyn_cast_or_null<ConstraintAttr>(attribute);
    if (!constraint)
      return;
    SmallVector<StringRef> entries;
    constraint.getCause().getValue().split(entries, "; ", -1, false);
    for (StringRef entry : entries) {
      auto [dim, rest] = entry.split(": ");
      SmallVector<StringRef> axes;
      rest.split(" at ").first.split(axes, " x "); // "dp x tp"
      for (StringRef axis : axes)
        lines.try_emplace({dim.str(), axis.trim().str()}, entry.str());
    }
  };
  FunctionOpInterface function = segment;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    read(function.getArgAttr(i, attr::constraint));
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    read(function.getResultAttr(i, attr::constraint));
}

StringRef Holdings::knownName(Operation *inside, Value value, unsigned dim) {
  auto segment = inside->getParentOfType<SegmentOp>();
  if (!segment)
    return "";
  std::unique_ptr<DimClasses> &entry = classes[segment];
  if (!entry)
    entry = std::make_unique<DimClasses>(segment);
  return entry->nameOf(value, dim);
}

std::string Holdings::dimName(Operation *inside, Value value, unsigned dim) {
  StringRef name = knownName(inside, value, dim);
  return name.empty() ? "dimension " + std::to_string(dim) : name.str();
}

/// The name that some operand or result gives the factor.
std::string Holdings::factorName(Operation *op, const OpRule &rule,
                                 unsigned factor) {
  std::string fallback = "a dimension";
  auto search = [&](ValueRange values, ArrayRef<DimFactors> all) {
    for (auto [value, dims] : llvm::zip(values, all))
      for (auto [dim, factors] : llvm::enumerate(dims))
        if (llvm::is_contained(factors, factor)) {
          fallback = dimName(op, value, dim);
          if (!StringRef(fallback).starts_with("dimension "))
            return true;
        }
    return false;
  };
  if (!search(op->getOperands(), rule.operands))
    search(op->getResults(), rule.results);
  return fallback;
}

Holding Holdings::holding(MeshAttr mesh, const std::string &dim, AxisRef axis) {
  auto line = lines.find({dim, mesh.getNames()[axis.axis].getValue().str()});
  return {dim, line == lines.end() ? "" : line->second, toString(mesh, axis),
          axis};
}

SmallVector<Holding> Holdings::of(Operation *op, ArrayRef<AxisRef> axes,
                                  bool summed) {
  SmallVector<Holding> found;
  auto ruled = dyn_cast<ShardingRule>(op);
  if (!ruled || op->getNumResults() == 0)
    return found;
  OpRule rule = ruled.getShardingRule();
  FailureOr<Placement> placement = readPlacement(op, rule);
  if (failed(placement))
    return found;
  auto isSummed = [&](unsigned factor) {
    return rule.factors[factor].kind == FactorKind::Reduction &&
           llvm::any_of(llvm::seq<unsigned>(0, op->getNumResults()),
                        [&](unsigned result) {
                          return !rule.resultHasFactor(result, factor);
                        });
  };
  MeshAttr mesh = getDist(op->getResult(0)).getMesh();
  for (unsigned factor = 0; factor < rule.factors.size(); ++factor)
    if (isSummed(factor) == summed)
      for (AxisRef axis : placement->axes[factor])
        if (axesOverlap(axis, axes))
          found.push_back(holding(mesh, factorName(op, rule, factor), axis));
  return found;
}

SmallVector<Holding> Holdings::of(Operation *op, ArrayRef<AxisRef> axes) {
  SmallVector<Holding> found = of(op, axes, /*summed=*/false);
  llvm::append_range(found, of(op, axes, /*summed=*/true));
  return found;
}
