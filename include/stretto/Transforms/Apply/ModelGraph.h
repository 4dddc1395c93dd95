//===- ModelGraph.h - a model read off the IR -------------------*- C++ -*-===//
//
// The one model of a module with its calls, parameters, loss terms and outputs,
// and what flows where inside a layer. Reading it checks ties.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_TRANSFORMS_APPLY_MODELGRAPH_H
#define STRETTO_TRANSFORMS_APPLY_MODELGRAPH_H

#include "stretto/Dialect/Stretto/IR/StrettoOps.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/MapVector.h"

namespace stretto {

/// A parameter of the model: declared by one call, perhaps bound by others.
struct ModelParameter {
  CallOp owner;
  LayerOp layer;     // of the owner
  unsigned argument; // of the layer
  mlir::RankedTensorType type;
};

struct ModelGraph {
  ModelOp model;
  llvm::SmallVector<CallOp> calls; // in order
  llvm::SmallVector<LossOp> losses;
  llvm::SmallVector<OutputOp> outputs;
  llvm::DenseMap<mlir::Operation *, LayerOp> layerOf; // of a call
  /// By global path, in the order of declaration.
  llvm::MapVector<mlir::StringAttr, ModelParameter> parameters;
  /// Of a call that declares parameters: where its own begin.
  llvm::DenseMap<mlir::Operation *, unsigned> firstParameter;

  /// Diagnoses: no or several models; a scope used twice; a bound parameter
  /// that nobody declares; a tie of different types, initialisation or decay; a
  /// declared parameter without initialisation.
  static mlir::FailureOr<ModelGraph> read(mlir::ModuleOp module);

  LayerOp getLayer(CallOp call) const { return layerOf.lookup(call); }
  /// Path of the parameter that `call` passes as layer argument `argument`.
  mlir::StringAttr pathOf(CallOp call, unsigned argument) const;
  /// Its position among all parameters.
  unsigned positionOf(CallOp call, unsigned argument) const;
};

/// For every value of a layer, the arguments that it depends on.
class LayerFlow {
public:
  enum Kind { Any, Differentiable };
  /// Differentiable: only through floating-point values.
  LayerFlow(LayerOp layer, Kind kind);

  const llvm::BitVector &argumentsOf(mlir::Value value) const;
  /// Of result `index` of the layer.
  const llvm::BitVector &argumentsOfResult(unsigned index) const;

private:
  LayerOp layer;
  llvm::BitVector none;
  llvm::DenseMap<mlir::Value, llvm::BitVector> reaching;
};

} // namespace stretto

#endif // STRETTO_TRANSFORMS_APPLY_MODELGRAPH_H
