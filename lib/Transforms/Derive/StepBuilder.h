//===- StepBuilder.h - the body of a step -----------------------*- C++ -*-===//
//
// What the train, eval and predict steps share: arguments with their bindings,
// micro-batch loops, and invocations in terms of the model's calls.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_LIB_TRANSFORMS_DERIVE_STEPBUILDER_H
#define STRETTO_LIB_TRANSFORMS_DERIVE_STEPBUILDER_H

#include "FunctionBuilder.h"
#include "LayerSegments.h"
#include "ScalarSegments.h"
#include "stretto/Transforms/Apply/ApplyRecipe.h"
#include "stretto/Transforms/Apply/ModelGraph.h"
#include "llvm/ADT/DenseSet.h"

namespace stretto {

/// What all steps of a module are built from.
struct StepContext {
  mlir::ModuleOp module;
  const ModelGraph &graph;
  AppliedRecipe applied;
  LossTerms loss;
  LayerSegments segments;
  SegmentOp seed, lossAdd;

  StepContext(mlir::ModuleOp module, const ModelGraph &graph,
              AppliedRecipe applied)
      : module(module), graph(graph), applied(std::move(applied)), loss(graph),
        segments(module) {}
};

/// Values of the model -> values of the step, inside one micro-batch.
using Environment = llvm::DenseMap<mlir::Value, mlir::Value>;

class StepBuilder {
public:
  StepBuilder(StepContext &context, llvm::StringRef name);

  void addParameters();
  /// One more argument per parameter, bound as "KIND:NAME".
  llvm::SmallVector<mlir::Value> addPerParameter(llvm::StringRef kind);
  /// The inputs among `needed`, with a leading dimension of `leading`.
  void addInputs(const llvm::DenseSet<mlir::Value> &needed, int64_t leading);
  mlir::Value addHyper();

  /// Attributes of a result that stands for a parameter.
  ValueAttributes parameterAttributes(mlir::StringAttr path,
                                      llvm::StringRef kind) const;
  void addOutput(mlir::Value value, const llvm::Twine &name);

  /// A loop over micro-batches that reads the inputs among `needed`: `body`
  /// updates the carried values in place.
  llvm::SmallVector<mlir::Value>
  loop(int64_t count, const llvm::DenseSet<mlir::Value> &needed,
       mlir::ValueRange carried,
       llvm::function_ref<void(Environment &,
                               llvm::MutableArrayRef<mlir::Value>)>
           body);
  llvm::SmallVector<mlir::Value> zeros(mlir::TypeRange types);
  mlir::Value zeros(mlir::Type type);

  /// What `call` passes as these arguments of its layer.
  llvm::SmallVector<mlir::Value> operandsOf(CallOp call,
                                            llvm::ArrayRef<unsigned> arguments,
                                            const Environment &environment);

  StepContext &context;
  FunctionBuilder f;

private:
  llvm::DenseMap<mlir::StringAttr, mlir::Value> parameters;
  llvm::SmallVector<std::pair<mlir::Value, mlir::Value>> inputs; // model, step
};

/// The part of the model that some of its values need, run forward only.
class ForwardPlan {
public:
  /// `wanted` end up in the environment; `accumulated` (rank 0) are added up.
  ForwardPlan(StepContext &context, llvm::StringRef direction,
              mlir::ValueRange wanted, mlir::ValueRange accumulated);

  /// Values of the model that are needed, inputs among them.
  const llvm::DenseSet<mlir::Value> &getNeeded() const { return needed; }
  /// Invokes in order. `totals`: by accumulated value.
  void emit(StepBuilder &step, Environment &environment,
            llvm::DenseMap<mlir::Value, mlir::Value> &totals) const;

private:
  llvm::SmallVector<std::pair<CallOp, const ForwardSegment *>> calls;
  llvm::DenseSet<mlir::Value> needed;
};

mlir::LogicalResult buildTrainStep(StepContext &context);
void buildEvalStep(StepContext &context);
/// Nothing when the model has no outputs.
void buildPredictStep(StepContext &context);

} // namespace stretto

#endif // STRETTO_LIB_TRANSFORMS_DERIVE_STEPBUILDER_H
