//===- Reasons.cpp - why a value moves ------------------------------------===//

#include "Reasons.h"

using namespace mlir;
using namespace stretto;
using namespace stretto::shard;

/// The value before it was resharded: only that one has dimension classes.
static Value origin(Value value) {
  while (auto moved = value.getDefiningOp<ReshardOp>())
    value = moved.getX();
  return value;
}

/// "gradient of attn.wq", "saved activation 3", "einsum result".
std::string Reasons::nameOf(Value value) const {
  value = origin(value);
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument)
    return (value.getDefiningOp()->getName().stripDialect() + " result").str();
  unsigned index = argument.getArgNumber();
  auto role = segment.getArgAttrOfType<StringAttr>(index, attr::role);
  auto param = segment.getArgAttrOfType<StringAttr>(index, attr::param);
  std::string text = role ? role.getValue().str() : "argument";
  if (text == "accumulator" || text == "term")
    text = "gradient";
  if (param)
    return text + " of " + param.getValue().str();
  return text + " " + std::to_string(index);
}

std::string Reasons::dimensionName(Value value, unsigned dim) const {
  StringRef name = classes.nameOf(origin(value), dim);
  return name.empty() ? "dimension " + std::to_string(dim) : name.str();
}

/// Names of the axes on which `dist` differs from `other`, to pick the plan
/// lines that speak of them.
static void collectAxes(DistAttr dist, DistAttr other,
                        SmallVectorImpl<StringRef> &names) {
  auto collect = [&](ArrayRef<AxisRef> axes) {
    for (AxisRef ref : axes)
      names.push_back(dist.getMesh().getNames()[ref.axis].getValue());
  };
  if (dist.getPartialAxes() != other.getPartialAxes())
    collect(dist.getPartialAxes());
  for (unsigned dim = 0; dim < dist.getRank(); ++dim)
    if (dist.getDimAxes(dim) != other.getDimAxes(dim))
      collect(dist.getDimAxes(dim));
}

/// The part of a distribution in which it differs from `other`.
static std::string difference(DistAttr dist, DistAttr other,
                              function_ref<std::string(unsigned)> nameOf) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (dist.getPartialAxes() != other.getPartialAxes() && dist.isPartial()) {
    os << stringifyReduceKind(dist.getPartialKind()) << " over ";
    printAxes(os, dist.getMesh(), dist.getPartialAxes());
  }
  for (unsigned dim = 0; dim < dist.getRank(); ++dim) {
    if (dist.getDimAxes(dim) == other.getDimAxes(dim))
      continue;
    os << (text.empty() ? "" : ", ") << nameOf(dim);
    if (dist.getDimAxes(dim).empty()) {
      os << " whole";
    } else {
      os << " on ";
      printAxes(os, dist.getMesh(), dist.getDimAxes(dim));
    }
  }
  return text.empty() ? (other.isPartial() ? "reduced" : "padded anew") : text;
}

std::string Reasons::describe(Value value, DistAttr target,
                              const Twine &consumer,
                              StringRef planCauses) const {
  DistAttr from = getDist(value);
  auto name = [&](unsigned dim) { return dimensionName(value, dim); };
  std::string text = nameOf(value) + ": " + difference(from, target, name) +
                     " -> " + difference(target, from, name) + "; for " +
                     consumer.str();
  SmallVector<StringRef> axes, lines;
  collectAxes(from, target, axes);
  collectAxes(target, from, axes);
  planCauses.split(lines, "; ", -1, /*KeepEmpty=*/false);
  for (StringRef line : lines) {
    // "heads: tp at plan.yaml:7:30"
    StringRef axis = line.split(": ").second.split(' ').first;
    if (llvm::is_contained(axes, axis))
      text += "; " + line.str();
  }
  return text;
}
