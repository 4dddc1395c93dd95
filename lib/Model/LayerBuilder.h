//===- LayerBuilder.h - writing a layer in C++ ------------------*- C++ -*-===//
//
// Builds one stretto.layer: declare activations, then parameters as they are
// needed, write the operations, finish with the results. The vocabulary is that
// of transformer blocks; TransformerParts.h puts it together.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_LIB_MODEL_LAYERBUILDER_H
#define STRETTO_LIB_MODEL_LAYERBUILDER_H

#include "stretto/Dialect/Stretto/IR/StrettoOps.h"

namespace stretto {

/// A logical dimension: its name and size.
struct Dim {
  llvm::StringRef name;
  int64_t size = mlir::ShapedType::kDynamic;
};

enum class Decay { Yes, No };

class LayerBuilder {
public:
  /// Opens a layer at the end of the module.
  LayerBuilder(mlir::ModuleOp module, llvm::StringRef name);

  /// Activations come before all parameters.
  mlir::Value activation(llvm::StringRef name, llvm::ArrayRef<Dim> dims,
                         mlir::Type element);
  /// Without `init` the parameter is only ever bound to another one.
  mlir::Value parameter(llvm::StringRef name, llvm::ArrayRef<Dim> dims,
                        InitAttr init, Decay decay);
  /// Adds the terminator and the signature.
  LayerOp finish(mlir::ValueRange results);

  mlir::Value add(mlir::Value lhs, mlir::Value rhs);
  mlir::Value mul(mlir::Value lhs, mlir::Value rhs);
  mlir::Value einsum(llvm::StringRef spec, mlir::Value lhs, mlir::Value rhs);
  /// Identity when p is 0. Each call draws its own mask.
  mlir::Value dropout(mlir::Value x, double p);
  /// Sum over all dimensions: rank 0.
  mlir::Value total(mlir::Value x);

  InitAttr zeros() { return init(InitKind::Zeros); }
  InitAttr ones() { return init(InitKind::Ones); }
  InitAttr normal(double stddev) { return init(InitKind::Normal, stddev); }

  /// The next identity of a random operation in this layer.
  int64_t nextRandomId() { return ++randomId; }

  mlir::OpBuilder &builder() { return b; }
  mlir::Location loc() { return b.getUnknownLoc(); }
  mlir::Type f32() { return b.getF32Type(); }
  mlir::Type i32() { return b.getI32Type(); }

private:
  mlir::Value argument(llvm::StringRef name, llvm::StringRef nameAttr,
                       llvm::ArrayRef<Dim> dims, mlir::Type element,
                       mlir::NamedAttrList attributes);
  InitAttr init(InitKind kind, double value = 0) {
    return InitAttr::get(b.getContext(), kind, value, 0.0);
  }

  mlir::OpBuilder b;
  LayerOp layer;
  llvm::SmallVector<mlir::Attribute> argumentAttributes;
  int64_t randomId = 0;
};

/// The tensor type of these dimensions.
mlir::RankedTensorType typeOf(llvm::ArrayRef<Dim> dims, mlir::Type element);
/// The `stretto.dims` attribute.
mlir::ArrayAttr namesOf(mlir::Builder &builder, llvm::ArrayRef<Dim> dims);

} // namespace stretto

#endif // STRETTO_LIB_MODEL_LAYERBUILDER_H
