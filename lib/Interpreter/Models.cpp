//===- Models.cpp - attaching evaluations to operations -------------------===//

#include "Models.h"
#include "stretto/Runtime/Random.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace stretto;
using namespace stretto::interp;

#include "stretto/Interpreter/Evaluable.cpp.inc"

uint64_t interp::instanceKey(StringRef path) { return llvm::xxh3_64bits(path); }

FailureOr<std::optional<int64_t>>
EvalContext::launchScalar(Operation *op, unsigned index) const {
  auto positions = op->getAttrOfType<DenseI64ArrayAttr>("stretto.scalars");
  if (!positions)
    return std::optional<int64_t>();
  if (index >= positions.size())
    return op->emitOpError("names ")
           << positions.size() << " launch scalars, needs " << index + 1;
  int64_t position = positions[index];
  if (position < 0)
    return std::optional<int64_t>(0);
  if (position >= int64_t(scalars.size()))
    return op->emitOpError("reads launch scalar ")
           << position << " of " << scalars.size();
  return std::optional<int64_t>(scalars[position]);
}

FailureOr<int64_t> EvalContext::offset(Operation *op, Attribute attribute,
                                       unsigned index) const {
  FailureOr<std::optional<int64_t>> fromLaunch = launchScalar(op, index);
  if (failed(fromLaunch))
    return failure();
  if (*fromLaunch)
    return **fromLaunch;
  if (!attribute)
    return 0;
  auto offset = dyn_cast<OffsetAttr>(attribute);
  if (!offset)
    return op->emitOpError("cannot evaluate the offset ") << attribute;
  if (coordinates.size() < offset.getMesh().getNumAxes() &&
      !offset.getAxes().empty())
    return op->emitOpError("has the offset ")
           << attribute
           << " but runs as one rank without a mesh; run it on the ranks of "
              "its mesh";
  return offset.evaluate(coordinates, microbatch);
}

FailureOr<int64_t> EvalContext::scalar(Operation *op,
                                       Attribute attribute) const {
  if (auto integer = dyn_cast<IntegerAttr>(attribute))
    return integer.getInt();
  auto word = dyn_cast<StringAttr>(attribute);
  if (!word)
    return offset(op, attribute);
  std::optional<int64_t> value =
      llvm::StringSwitch<std::optional<int64_t>>(word.getValue())
          .Case("seed", int64_t(seed))
          .Case("step", int64_t(step))
          .Case("instance", int64_t(instance))
          .Case("microbatch", microbatch)
          .Default(std::nullopt);
  if (!value)
    return op->emitOpError("has the unknown scalar ") << attribute;
  return *value;
}

uint64_t EvalContext::randomKey() const {
  return random::key(seed, step, instance);
}

LogicalResult interp::expectKinds(Operation *op, ArrayRef<Tensor> operands,
                                  StringRef kinds) {
  for (auto [i, operand, kind] : llvm::enumerate(operands, kinds))
    if (operand.isFloat() != (kind == 'r'))
      return op->emitOpError("operand #")
             << i << " must be " << (kind == 'r' ? "real" : "integer");
  return success();
}

LogicalResult interp::expectShape(Operation *op, const Tensor &tensor,
                                  ArrayRef<int64_t> shape, StringRef what) {
  if (tensor.getShape() == shape)
    return success();
  return op->emitOpError(what) << " is " << shapeText(tensor.getShape())
                               << " here, expected " << shapeText(shape);
}

void interp::registerEvaluableModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, StrettoDialect *) {
    attachElementwise(context);
    attachStructured(context);
    attachMovement(context);
    attachIndexed(context);
    attachRandom(context);
    attachNorms(context);
    attachAttention(context);
    attachLoss(context);
    attachOptimizers(context);
    attachCollectives(context);
  });
}
