//===- VerifyDerived.cpp - what holds after derive ------------------------===//

#include "stretto/Dialect/Stretto/IR/StrettoOps.h"
#include "stretto/Transforms/Derive/Passes.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace stretto;

namespace stretto {
#define GEN_PASS_DEF_VERIFYDERIVEDPASS
#include "stretto/Transforms/Derive/Passes.h.inc"
} // namespace stretto

using Bindings = llvm::StringMap<Type>;

static LogicalResult collect(StepOp step, bool results, Bindings &bindings) {
  FunctionOpInterface function = step;
  TypeRange types =
      results ? function.getResultTypes() : function.getArgumentTypes();
  for (auto [index, type] : llvm::enumerate(types)) {
    auto binding =
        results ? function.getResultAttrOfType<StringAttr>(index, attr::binding)
                : function.getArgAttrOfType<StringAttr>(index, attr::binding);
    StringRef what = results ? "result " : "argument ";
    if (!binding)
      return step.emitOpError(what) << index << " has no binding";
    if (!bindings.try_emplace(binding.getValue(), type).second)
      return step.emitOpError("binds '") << binding.getValue() << "' twice";
  }
  return success();
}

static bool sameShapes(Type lhs, Type rhs) {
  auto tensors = [](Type type) {
    auto bundle = dyn_cast<TupleType>(type);
    return bundle ? llvm::to_vector(bundle.getTypes())
                  : SmallVector<Type>{type};
  };
  return llvm::equal(tensors(lhs), tensors(rhs), [](Type l, Type r) {
    return cast<RankedTensorType>(l).getShape() ==
           cast<RankedTensorType>(r).getShape();
  });
}

/// Parameters and moments come back; every parameter has one gradient, which
/// may be of another element type.
static LogicalResult verifyTrain(StepOp step, const Bindings &arguments,
                                 const Bindings &results) {
  auto expect = [&](const Twine &name, Type type) -> LogicalResult {
    auto it = results.find(name.str());
    if (it == results.end())
      return step.emitOpError("does not return '") << name.str() << "'";
    bool agrees = StringRef(name.str()).starts_with("grad:")
                      ? sameShapes(it->second, type)
                      : it->second == type;
    if (!agrees)
      return step.emitOpError("returns '")
             << name.str() << "' as " << it->second << ", expected " << type;
    return success();
  };
  for (const auto &entry : arguments) {
    auto [kind, name] = entry.getKey().split(':');
    if (kind == "param" && failed(expect("grad:" + name, entry.getValue())))
      return failure();
    if ((kind == "param" || kind.starts_with("moment")) &&
        failed(expect(entry.getKey(), entry.getValue())))
      return failure();
  }
  for (const auto &entry : results) {
    auto [kind, name] = entry.getKey().split(':');
    if (kind == "grad" && !arguments.contains("param:" + name.str()))
      return step.emitOpError("returns a gradient of '")
             << name << "', which is no parameter";
  }
  return success();
}

static LogicalResult verifyStep(StepOp step) {
  Bindings arguments, results;
  if (failed(collect(step, false, arguments)) ||
      failed(collect(step, true, results)))
    return failure();
  return step.getSymName() == "train" ? verifyTrain(step, arguments, results)
                                      : success();
}

namespace {
struct VerifyDerived : stretto::impl::VerifyDerivedPassBase<VerifyDerived> {
  void runOnOperation() override {
    if (failed(verify(getOperation())))
      signalPassFailure();
  }

private:
  LogicalResult verify(ModuleOp module) {
    for (Operation &op : *module.getBody()) {
      if (isa<LayerOp, ModelOp>(op))
        return op.emitOpError("is left after derive");
      if (auto step = dyn_cast<StepOp>(op); step && failed(verifyStep(step)))
        return failure();
    }
    return success();
  }
};
} // namespace
