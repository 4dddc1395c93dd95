//===- Interpreter.h - run programs in f64 ----------------------*- C++ -*-===//
//
// The reference semantics. A machine of N virtual ranks runs a program one
// operation after the other, all ranks in lockstep; a value is one tensor per
// rank and collectives mix them. A program that was not localized runs on one
// rank. A value whose storage was updated in place (aliases) cannot be read any
// more. Everything the machine meets and cannot run is a diagnostic.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_INTERPRETER_INTERPRETER_H
#define STRETTO_INTERPRETER_INTERPRETER_H

#include "stretto/Interpreter/Evaluable.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"

#include <string>
#include <vector>

namespace stretto::interp {

/// A value: one tensor per rank.
using RankTensors = TensorVector;
/// Values by name, in the order they came.
using NamedValues =
    llvm::MapVector<std::string, RankTensors, std::map<std::string, unsigned>>;

struct LossTerm {
  RankTensors sum, count;
  double weight;
};

struct ModelResult {
  std::vector<LossTerm> losses;
  NamedValues outputs;
  /// The sum of weight * sum / count (0 where the count is 0) on rank 0.
  double loss() const;
};

class Machine {
public:
  /// One rank when `mesh` is null, else the ranks of the mesh. `step` counts
  /// from 1 and keys random numbers with `seed`.
  Machine(mlir::ModuleOp module, MeshAttr mesh, uint64_t seed, uint64_t step);

  int64_t numRanks() const { return int64_t(coordinates.size()); }
  MeshAttr getMesh() const { return mesh; }

  /// Runs the body of a segment, layer, kernel or step.
  mlir::FailureOr<llvm::SmallVector<RankTensors>>
  call(mlir::FunctionOpInterface function,
       llvm::ArrayRef<RankTensors> arguments, llvm::StringRef instance = "",
       int64_t microbatch = 0);

  /// Runs a model as it was written. Parameters are bound by path
  /// ("layers.0.wq"), inputs by the names of the model's arguments.
  mlir::FailureOr<ModelResult> run(ModelOp model, const NamedValues &inputs,
                                   const NamedValues &parameters,
                                   int64_t microbatch = 0);

private:
  struct Frame;

  mlir::LogicalResult runBlock(mlir::Block &block, Frame &frame);
  mlir::LogicalResult execute(mlir::Operation &op, Frame &frame);
  mlir::LogicalResult evaluate(Evaluable op, Frame &frame);
  mlir::LogicalResult multiply(GemmOp op, Frame &frame);
  mlir::LogicalResult exchange(EvaluableCollective op, Frame &frame);
  mlir::LogicalResult invoke(InvokeOp op, Frame &frame);
  mlir::LogicalResult loop(MicrobatchesOp op, Frame &frame);
  mlir::LogicalResult launch(LaunchOp op, Frame &frame);
  mlir::LogicalResult callLayer(CallOp op, Frame &frame);
  /// Runs `function` in a frame of its own, as called by `op`.
  mlir::LogicalResult enter(mlir::Operation *op,
                            mlir::FunctionOpInterface function,
                            llvm::ArrayRef<RankTensors> arguments, Frame &inner,
                            Frame &outer);
  mlir::LogicalResult bindArguments(mlir::Operation *function,
                                    mlir::Block &block,
                                    llvm::ArrayRef<RankTensors> arguments,
                                    Frame &frame);
  mlir::FailureOr<llvm::SmallVector<RankTensors>>
  operandsOf(mlir::Operation &op, Frame &frame);
  mlir::LogicalResult define(mlir::Operation *op,
                             llvm::ArrayRef<RankTensors> results, Frame &frame);
  EvalContext contextOf(const Frame &frame, int64_t rank) const;
  /// The groups that `group` makes of the ranks, members in order.
  const std::vector<llvm::SmallVector<int64_t>> &groupsOf(GroupAttr group);

  mlir::ModuleOp module;
  MeshAttr mesh;
  uint64_t seed, step;
  std::vector<llvm::SmallVector<int64_t>> coordinates; // per rank
  llvm::DenseMap<mlir::Attribute, std::vector<llvm::SmallVector<int64_t>>>
      groups;
};

/// The mesh that a localized entry point runs on: the module's mesh when one of
/// its arguments or results carries `stretto.dist`, else null (one rank).
MeshAttr meshOf(StepOp step);

/// Runs an entry point with its arguments bound by `stretto.binding` and
/// returns its results by `stretto.binding`.
mlir::FailureOr<NamedValues> runStep(StepOp step, const NamedValues &bindings,
                                     uint64_t seed, uint64_t stepNumber);

} // namespace stretto::interp

#endif // STRETTO_INTERPRETER_INTERPRETER_H
