//===- NodeEmitter.h - scalar nodes of a kernel as LLVM IR ------*- C++ -*-===//
//
// The part of code generation that knows one function: its buffers, scalars,
// loop indices, and how a node becomes a value at the present place.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_LIB_CONVERSION_NODEEMITTER_H
#define STRETTO_LIB_CONVERSION_NODEEMITTER_H

#include "ScalarMath.h"
#include "stretto/Transforms/Fuse/KernelPlan.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

namespace stretto::kernel {

using ValueMap = llvm::DenseMap<const Node *, llvm::Value *>;

/// Forgets what was added to a map when it goes out of scope.
class ScopeMark {
public:
  explicit ScopeMark(ValueMap &map) : map(map), saved(map) {}
  ~ScopeMark() { map = saved; }

private:
  ValueMap &map;
  ValueMap saved;
};

class NodeEmitter {
protected:
  NodeEmitter(llvm::Module &module, llvm::StringRef name,
              const KernelGraph &graph, const KernelPlan &plan);

  /// for (iv = from; iv < to; ++iv) body; at least one iteration.
  void countedLoop(llvm::Value *from, llvm::Value *to,
                   llvm::function_ref<void(llvm::Value *)> body);

  llvm::Type *typeOf(Element type);
  llvm::Type *typeOf(const Node *node) { return typeOf(node->type); }
  llvm::Value *constant(double value, Element type);
  llvm::Value *identity(ReduceKind kind, Element type);
  llvm::Value *combine(ReduceKind kind, Element type, bool exact,
                       llvm::Value *lhs, llvm::Value *rhs);

  /// The node's value here; remembered in `inner` within a nest and in `outer`
  /// outside.
  llvm::Value *eval(Node *node);
  /// The same for a node that is computed here although it is a temporary.
  llvm::Value *define(Node *node);

  llvm::Value *offset(const Linear &linear);
  /// bf16 in memory is f32 here.
  llvm::Value *loadFrom(unsigned buffer, llvm::Value *offset);
  void storeTo(unsigned buffer, llvm::Value *offset, llvm::Value *value);
  /// Says that the instruction touches this buffer and no other.
  void annotate(llvm::Instruction *access, unsigned buffer);

  llvm::AllocaInst *allocateScalar(Element type);
  void allocateArray(Node *node);
  /// An array on the stack over the dimensions `axes`, and its element here.
  llvm::AllocaInst *allocateArray(Element type, DimMask axes);
  llvm::Value *arrayElement(llvm::AllocaInst *array, Element type,
                            DimMask axes);
  void storeToArray(Node *node, llvm::Value *value);

  llvm::IRBuilder<> b;
  const KernelGraph &g;
  const KernelPlan &plan;
  ValueMap outer, inner;
  bool inNest = false;
  llvm::ArrayRef<Node *> defining;           // temporaries of the present nest
  llvm::SmallVector<llvm::Value *> pointers; // per buffer
  llvm::SmallVector<llvm::Value *> indices;  // per loop dimension

private:
  llvm::Value *compute(Node *node);
  llvm::Value *evalLoad(Node *node);
  llvm::Value *evalCompute(Node *node);
  llvm::Value *arithmetic(Node *node, llvm::ArrayRef<llvm::Value *> x);
  llvm::Value *evalCompare(Node *node, llvm::Value *lhs, llvm::Value *rhs);
  llvm::Value *convert(llvm::Value *value, Element from, Element to);
  llvm::Value *frequency(Node *node, llvm::Value *index);
  llvm::Value *loadScalar(unsigned position);
  llvm::Value *arrayElement(Node *node);
  void keepLoop(llvm::Instruction *latch);
  void setFlags(bool exact);
  llvm::Type *stackType(Element type);
  llvm::Type *bufferType(Element type);
  llvm::Value *widen(llvm::Value *bf16);
  llvm::Value *narrow(llvm::Value *value);

  llvm::Module &module;
  llvm::Function *function;
  ScalarMath math;
  llvm::DenseMap<unsigned, llvm::Value *> scalars;
  llvm::DenseMap<const Node *, llvm::AllocaInst *> arrays;
  llvm::SmallVector<llvm::MDNode *> scopes, others; // per buffer
  llvm::Instruction *entryEnd;
};

} // namespace stretto::kernel

#endif // STRETTO_LIB_CONVERSION_NODEEMITTER_H
