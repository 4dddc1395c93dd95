//===- Describe.cpp - types and distributions for people ------------------===//

#include "stretto/Dialect/Stretto/IR/Describe.h"

#include "mlir/IR/Value.h"

using namespace mlir;
using namespace stretto;

void stretto::printBody(raw_ostream &os, DistAttr dist) {
  os << "[";
  for (unsigned dim = 0; dim < dist.getRank(); ++dim) {
    os << (dim ? ", " : "");
    printAxes(os, dist.getMesh(), dist.getDimAxes(dim));
  }
  os << "]";
  if (dist.isPartial()) {
    os << ", " << stringifyReduceKind(dist.getPartialKind()) << " ";
    printAxes(os, dist.getMesh(), dist.getPartialAxes());
  }
  if (llvm::any_of(dist.getPaddedExtents(), [](int64_t p) { return p != 0; })) {
    os << ", padded [";
    llvm::interleaveComma(dist.getPaddedExtents(), os);
    os << "]";
  }
}

std::string stretto::describe(DistAttr dist) {
  if (!dist)
    return "no distribution";
  std::string text;
  llvm::raw_string_ostream os(text);
  printBody(os, dist);
  return text;
}

std::string stretto::describe(MeshAttr mesh) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleaveComma(
      llvm::zip(mesh.getNames(), mesh.getSizes()), os, [&](auto pair) {
        os << std::get<0>(pair).getValue() << " = " << std::get<1>(pair);
      });
  return text.empty() ? "no axes" : text;
}

static void describe(raw_ostream &os, Type type) {
  if (auto bundle = dyn_cast<TupleType>(type)) {
    os << "(";
    llvm::interleaveComma(bundle.getTypes(), os,
                          [&](Type member) { describe(os, member); });
    os << ")";
    return;
  }
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor) {
    os << type;
    return;
  }
  for (int64_t size : tensor.getShape())
    if (ShapedType::isDynamic(size))
      os << "?x";
    else
      os << size << "x";
  os << tensor.getElementType();
  if (DistAttr dist = getDist(tensor))
    os << " " << describe(dist);
}

std::string stretto::describe(Type type) {
  std::string text;
  llvm::raw_string_ostream os(text);
  ::describe(os, type);
  return text;
}

std::string stretto::nameOf(Value value) {
  std::string text;
  llvm::raw_string_ostream os(text);
  // Verifying again to print nicely would come back to who asks.
  value.printAsOperand(os, OpPrintingFlags().assumeVerified());
  return text;
}

std::string stretto::reshardText(StringRef name, DistAttr from, DistAttr to) {
  return ("stretto.reshard " + name + " : " + describe(from) + " -> " +
          describe(to))
      .str();
}

std::string stretto::reshardText(Value value, DistAttr to) {
  return reshardText(nameOf(value), getDist(value), to);
}
