//===- DimensionNames.cpp - names of dimensions inside a layer ------------===//

#include "stretto/Transforms/Apply/DimensionNames.h"
#include "stretto/Dialect/Stretto/IR/StrettoOps.h"
#include <map>

using namespace mlir;
using namespace stretto;

DimensionNames::DimensionNames(FunctionOpInterface function)
    : anonymous(StringAttr::get(function.getContext(), "_")) {
  Block &body = function.getFunctionBody().front();
  for (BlockArgument argument : body.getArguments()) {
    auto dims = function.getArgAttrOfType<ArrayAttr>(argument.getArgNumber(),
                                                     attr::dims);
    if (!dims)
      continue;
    auto range = dims.getAsRange<StringAttr>();
    names[argument].assign(range.begin(), range.end());
  }
  for (Operation &op : body)
    follow(op);
}

/// A name belongs to the factors of a dimension; the first operand that names
/// them wins, and a name is used once per value.
void DimensionNames::follow(Operation &op) {
  auto interface = dyn_cast<ShardingRule>(op);
  if (!interface)
    return;
  OpRule rule = interface.getShardingRule();
  std::map<SmallVector<unsigned, 2>, StringAttr> byFactors;
  for (auto [operand, dims] : llvm::zip(op.getOperands(), rule.operands))
    for (auto [factors, name] : llvm::zip(dims, namesOf(operand)))
      if (name != anonymous)
        byFactors.try_emplace(factors, name);
  for (auto [result, dims] : llvm::zip(op.getResults(), rule.results)) {
    SmallVector<StringAttr, 4> found;
    for (const auto &factors : dims) {
      auto it = byFactors.find(factors);
      bool usable =
          it != byFactors.end() && !llvm::is_contained(found, it->second);
      found.push_back(usable ? it->second : anonymous);
    }
    names[result] = found;
  }
}

ArrayRef<StringAttr> DimensionNames::namesOf(Value value) const {
  auto it = names.find(value);
  return it == names.end() ? ArrayRef<StringAttr>() : ArrayRef(it->second);
}

ArrayAttr DimensionNames::attributeOf(Value value) const {
  ArrayRef<StringAttr> found = namesOf(value);
  if (llvm::all_of(found, [&](StringAttr name) { return name == anonymous; }))
    return ArrayAttr();
  return ArrayAttr::get(anonymous.getContext(),
                        SmallVector<Attribute>(found.begin(), found.end()));
}

std::optional<int64_t> DimensionNames::find(Value value, StringRef name) const {
  for (auto [dim, candidate] : llvm::enumerate(namesOf(value)))
    if (candidate.getValue() == name)
      return dim;
  return std::nullopt;
}
