//===- FunctionBuilder.h - segments and steps, piece by piece ---*- C++ -*-===//
//
// Private to the room: builds a segment or a step by declaring arguments and
// results one at a time, each with its attributes.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_LIB_TRANSFORMS_DERIVE_FUNCTIONBUILDER_H
#define STRETTO_LIB_TRANSFORMS_DERIVE_FUNCTIONBUILDER_H

#include "stretto/Dialect/Stretto/IR/StrettoOps.h"

namespace stretto {

/// Roles of the values at the border of a segment.
namespace role {
constexpr llvm::StringLiteral activation = "activation";
constexpr llvm::StringLiteral param = "param";
constexpr llvm::StringLiteral saved = "saved";
constexpr llvm::StringLiteral cotangent = "cotangent";
constexpr llvm::StringLiteral accumulator = "accumulator";
/// What one micro-batch adds to an accumulator, before it is reduced.
constexpr llvm::StringLiteral term = "term";
constexpr llvm::StringLiteral grad = "grad";
constexpr llvm::StringLiteral moment = "moment";
constexpr llvm::StringLiteral scalar = "scalar";
constexpr llvm::StringLiteral partialScalar = "partial_scalar";
} // namespace role

/// Attributes of one argument or result.
class ValueAttributes {
public:
  explicit ValueAttributes(mlir::MLIRContext *context) : builder(context) {}
  ValueAttributes(mlir::MLIRContext *context, llvm::StringRef role)
      : builder(context) {
    set(attr::role, builder.getStringAttr(role));
  }

  ValueAttributes &set(llvm::StringRef name, mlir::Attribute value) {
    if (value)
      list.set(name, value);
    return *this;
  }
  ValueAttributes &binding(const llvm::Twine &what) {
    return set(attr::binding, builder.getStringAttr(what));
  }
  ValueAttributes &alias(unsigned argument) {
    return set(attr::alias, builder.getI64IntegerAttr(argument));
  }
  /// Takes over the entries `names` of `from`.
  ValueAttributes &copy(mlir::DictionaryAttr from,
                        llvm::ArrayRef<llvm::StringRef> names);
  mlir::DictionaryAttr get() const {
    return list.getDictionary(builder.getContext());
  }

private:
  mlir::Builder builder;
  mlir::NamedAttrList list;
};

/// Fills the body of a function whose block is empty; `finish` adds the
/// terminator and the signature.
class FunctionBuilder {
public:
  explicit FunctionBuilder(mlir::FunctionOpInterface function);

  static FunctionBuilder segment(mlir::ModuleOp module, mlir::Location loc,
                                 const llvm::Twine &name,
                                 llvm::StringRef direction,
                                 mlir::StringAttr layer = {});
  static FunctionBuilder step(mlir::ModuleOp module, mlir::Location loc,
                              llvm::StringRef name);

  mlir::BlockArgument addArgument(mlir::Type type,
                                  const ValueAttributes &attributes);
  void addResult(mlir::Value value, const ValueAttributes &attributes);
  void finish();
  /// The same for a segment, whose equal operations are merged.
  SegmentOp finishSegment();

  unsigned getNumArguments() const { return argumentAttributes.size(); }
  unsigned getNumResults() const { return results.size(); }
  mlir::MLIRContext *getContext() { return b.getContext(); }
  mlir::Location getLoc() { return function.getLoc(); }

  mlir::OpBuilder b;
  mlir::FunctionOpInterface function;

private:
  llvm::SmallVector<mlir::DictionaryAttr> argumentAttributes, resultAttributes;
  llvm::SmallVector<mlir::Value> results;
};

/// Merges equal operations of a function's body.
void mergeEqualOperations(mlir::Operation *function);

/// A segment call; `operands` as the segment declares them. Neighbouring
/// members of a bundle are passed together. `groups`: sizes of the runs of
/// results that become a bundle each (1: a value of its own); none: all are
/// values of their own.
InvokeOp invoke(mlir::OpBuilder &b, SegmentOp segment,
                llvm::ArrayRef<TensorRef> operands, llvm::StringRef instance,
                llvm::ArrayRef<unsigned> groups = {});

/// The type of `tensors` as one value: the tensor itself when there is one.
mlir::Type bundleType(mlir::TypeRange tensors);

} // namespace stretto

#endif // STRETTO_LIB_TRANSFORMS_DERIVE_FUNCTIONBUILDER_H
