//===- StrettoDialect.cpp - the stretto dialect ---------------------------===//

#include "stretto/Dialect/Stretto/IR/StrettoDialect.h"
#include "stretto/Dialect/Stretto/IR/StrettoOps.h"

using namespace mlir;
using namespace stretto;

#include "stretto/Dialect/Stretto/IR/StrettoDialect.cpp.inc"
#include "stretto/Dialect/Stretto/IR/StrettoInterfaces.cpp.inc"

#define GET_OP_CLASSES
#include "stretto/Dialect/Stretto/IR/StrettoOps.cpp.inc"

namespace {
/// Bundles repeat from instance to instance: `!bundle`, `!bundle1`, ….
struct Aliases : public OpAsmDialectInterface {
  using OpAsmDialectInterface::OpAsmDialectInterface;
  AliasResult getAlias(Type type, llvm::raw_ostream &os) const override {
    if (!isBundle(type))
      return AliasResult::NoAlias;
    os << "bundle";
    return AliasResult::OverridableAlias;
  }
};
} // namespace

void StrettoDialect::initialize() {
  registerAttributes();
  addInterfaces<Aliases>();
  addOperations<
#define GET_OP_LIST
#include "stretto/Dialect/Stretto/IR/StrettoOps.cpp.inc"
      >();
}

bool stretto::isSumType(Type sum, Type element) {
  if (sum == element)
    return true;
  return isa<FloatType>(sum) && isa<FloatType>(element) &&
         sum.getIntOrFloatBitWidth() > element.getIntOrFloatBitWidth();
}

Type stretto::statisticsType(Type element) {
  bool small = isa<FloatType>(element) && element.getIntOrFloatBitWidth() < 32;
  return small ? Float32Type::get(element.getContext()) : element;
}

static bool
sameShapes(TypeRange lhs, TypeRange rhs,
           llvm::function_ref<bool(Type left, Type right)> sameElements) {
  if (lhs.size() != rhs.size())
    return false;
  for (auto [l, r] : llvm::zip(lhs, rhs)) {
    auto lt = dyn_cast<RankedTensorType>(l), rt = dyn_cast<RankedTensorType>(r);
    if (!lt || !rt || lt.getShape() != rt.getShape() ||
        !sameElements(lt.getElementType(), rt.getElementType()))
      return false;
  }
  return true;
}

bool stretto::sameShapesAndElements(TypeRange lhs, TypeRange rhs) {
  return sameShapes(lhs, rhs, [](Type l, Type r) { return l == r; });
}

bool stretto::sameShapesAndWiderElements(TypeRange narrow, TypeRange wide) {
  return sameShapes(narrow, wide,
                    [](Type l, Type r) { return isSumType(r, l); });
}

LogicalResult stretto::verifyWideSums(Operation *op) {
  auto elementOf = [](Value value) {
    return cast<RankedTensorType>(value.getType()).getElementType();
  };
  Type element;
  for (Value operand : op->getOperands()) {
    Type own = elementOf(operand);
    if (!isa<FloatType>(own))
      continue;
    if (element && own != element)
      return op->emitOpError("operands are ")
             << element << " and " << own << "; use stretto.convert";
    element = own;
  }
  for (Value result : op->getResults())
    if (element && !isSumType(elementOf(result), element))
      return op->emitOpError("operands are ")
             << element << ", the result " << elementOf(result) << ", expected "
             << element << " or a wider float";
  return success();
}

DistAttr stretto::getDist(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? dyn_cast_or_null<DistAttr>(tensor.getEncoding()) : DistAttr();
}

DistAttr stretto::getDist(Value value) { return getDist(value.getType()); }

RankedTensorType stretto::withDist(RankedTensorType type, DistAttr dist) {
  return RankedTensorType::get(type.getShape(), type.getElementType(), dist);
}

RankedTensorType stretto::bareType(Type type) {
  return withDist(cast<RankedTensorType>(type), DistAttr());
}

int64_t stretto::productOf(ArrayRef<AxisRef> axes) {
  int64_t product = 1;
  for (AxisRef ref : axes)
    product *= ref.size;
  return product;
}

SmallVector<AxisRef> stretto::canonicalAxes(ArrayRef<AxisRef> axes) {
  SmallVector<AxisRef> result;
  for (AxisRef ref : axes) {
    if (ref.size == 1)
      continue;
    if (!result.empty() && result.back().axis == ref.axis &&
        result.back().pre * result.back().size == ref.pre) {
      result.back().size *= ref.size;
      continue;
    }
    result.push_back(ref);
  }
  return result;
}

/// Of six ranks the halves (1)2 and the pairs (3)2 share no digit of a number
/// in either of 2 x 3 and 3 x 2, and still depend on each other.
static bool clash(AxisRef a, AxisRef b) {
  if (a.axis != b.axis)
    return false;
  if (a.pre > b.pre)
    std::swap(a, b);
  return b.pre % (a.pre * a.size) != 0;
}

bool stretto::axesOverlap(ArrayRef<AxisRef> lhs, ArrayRef<AxisRef> rhs) {
  return llvm::any_of(lhs, [&](AxisRef l) {
    return llvm::any_of(rhs, [&](AxisRef r) { return clash(l, r); });
  });
}
