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
#include <map>

namespace stretto {

/// A call that declares parameters: all steps bind them as one bundle.
struct ParameterOwner {
  CallOp call;
  LayerOp layer;
  unsigned first;                        // position of its first parameter
  llvm::SmallVector<unsigned> arguments; // of the layer

  unsigned size() const { return arguments.size(); }
};

/// A parameter of an owner and where a working copy of it lies: a position in
/// the owner's list and a constraint (as an opaque pointer).
using GatheredMember = std::pair<unsigned, const void *>;

/// What all steps of a module are built from.
struct StepContext {
  mlir::ModuleOp module;
  const ModelGraph &graph;
  AppliedRecipe applied;
  Precision precision;
  LossTerms loss;
  LayerSegments segments;
  SegmentOp seed, lossAdd;
  llvm::SmallVector<ParameterOwner> owners; // in the order of parameters

  StepContext(mlir::ModuleOp module, const ModelGraph &graph,
              AppliedRecipe applied);

  /// What is bound as "KIND:…" for an owner: one per layer and kind.
  MembersAttr membersOf(const ParameterOwner &owner, llvm::StringRef kind);

  /// Segments that make working copies, by layer and what they make.
  std::map<std::pair<mlir::Operation *, std::vector<GatheredMember>>, SegmentOp>
      gathers;

private:
  std::map<std::tuple<mlir::Operation *, llvm::SmallVector<unsigned>, bool>,
           MembersAttr>
      members;
};

/// Values of the model -> values of the step, inside one micro-batch.
using Environment = llvm::DenseMap<mlir::Value, mlir::Value>;

class StepBuilder {
public:
  StepBuilder(StepContext &context, llvm::StringRef name);

  void addParameters();
  /// One more tensor per parameter, of the type it rests in, bound as
  /// "KIND:NAME".
  llvm::SmallVector<TensorRef> addPerParameter(llvm::StringRef kind);
  /// The inputs among `needed`, with a leading dimension of `leading`.
  void addInputs(const llvm::DenseSet<mlir::Value> &needed, int64_t leading);
  mlir::Value addHyper();

  /// Results for all parameters; those of an owner make up one bundle.
  void addResultPerParameter(llvm::ArrayRef<TensorRef> tensors,
                             llvm::StringRef kind);
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
  llvm::SmallVector<TensorRef> operandsOf(CallOp call,
                                          llvm::ArrayRef<unsigned> arguments,
                                          const Environment &environment);

  StepContext &context;
  FunctionBuilder f;
  llvm::SmallVector<TensorRef> parameters; // in order of declaration

private:
  /// Attributes of the argument or result that stands for an owner's
  /// parameters.
  ValueAttributes attributesOf(const ParameterOwner &owner,
                               llvm::StringRef kind) const;

  llvm::SmallVector<std::pair<mlir::Value, mlir::Value>> inputs; // model, step
};

/// How a layer uses a parameter: replicated is said, not left open.
ConstraintAttr useOf(mlir::FunctionOpInterface layer, unsigned argument);

class ParameterGather;

/// The part of the model that some of its values need, run forward only.
class ForwardPlan {
public:
  /// `wanted` end up in the environment; `accumulated` (rank 0) are added up.
  ForwardPlan(StepContext &context, llvm::StringRef direction,
              mlir::ValueRange wanted, mlir::ValueRange accumulated);

  /// Values of the model that are needed, inputs among them.
  const llvm::DenseSet<mlir::Value> &getNeeded() const { return needed; }
  /// Invokes in order. `totals`: by accumulated value.
  void emit(StepBuilder &step, ParameterGather &gather,
            Environment &environment,
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
