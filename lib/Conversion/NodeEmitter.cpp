//===- NodeEmitter.cpp - scalar nodes of a kernel as LLVM IR --------------===//

#include "NodeEmitter.h"
#include "llvm/IR/MDBuilder.h"
#include <cmath>

using namespace llvm;
using namespace stretto;
using namespace stretto::kernel;

static bool isFloat(Element type) { return type <= Element::F16; }

NodeEmitter::NodeEmitter(Module &module, StringRef name,
                         const KernelGraph &graph, const KernelPlan &plan)
    : b(module.getContext()), g(graph), plan(plan),
      indices(graph.extents.size()), module(module), math(b) {
  auto *type = FunctionType::get(b.getVoidTy(), {b.getPtrTy(), b.getPtrTy()},
                                 /*isVarArg=*/false);
  function = Function::Create(type, Function::ExternalLinkage, name, module);
  auto *entry = BasicBlock::Create(module.getContext(), "entry", function);
  auto *start = BasicBlock::Create(module.getContext(), "start", function);
  b.SetInsertPoint(entry);
  entryEnd = b.CreateBr(start);
  b.SetInsertPoint(entryEnd);

  MDNode *empty = MDNode::get(module.getContext(), {});
  MDBuilder metadata(module.getContext());
  MDNode *domain = metadata.createAnonymousAliasScopeDomain(name);
  MDNode *align =
      MDNode::get(module.getContext(), metadata.createConstant(b.getInt64(64)));
  SmallVector<Metadata *> all;
  for (unsigned i = 0; i < g.buffers.size(); ++i) {
    auto *load = b.CreateLoad(
        b.getPtrTy(),
        b.CreateConstGEP1_64(b.getPtrTy(), function->getArg(0), i));
    load->setMetadata(LLVMContext::MD_invariant_load, empty);
    load->setMetadata(LLVMContext::MD_nonnull, empty);
    load->setMetadata(LLVMContext::MD_align, align);
    pointers.push_back(load);
    all.push_back(metadata.createAnonymousAliasScope(domain));
  }
  for (unsigned i = 0; i < all.size(); ++i) {
    SmallVector<Metadata *> rest(all);
    rest.erase(rest.begin() + i);
    scopes.push_back(MDNode::get(module.getContext(), {all[i]}));
    others.push_back(MDNode::get(module.getContext(), rest));
  }
  b.SetInsertPoint(start);
}

void NodeEmitter::countedLoop(Value *from, Value *to,
                              function_ref<void(Value *)> body) {
  BasicBlock *before = b.GetInsertBlock();
  auto *loop = BasicBlock::Create(module.getContext(), "loop", function);
  auto *after = BasicBlock::Create(module.getContext(), "after", function);
  b.CreateBr(loop);
  b.SetInsertPoint(loop);
  PHINode *iv = b.CreatePHI(b.getInt64Ty(), 2);
  iv->addIncoming(from, before);
  body(iv);
  Value *next = b.CreateNUWAdd(iv, b.getInt64(1));
  cast<Instruction>(next)->setHasNoSignedWrap();
  iv->addIncoming(next, b.GetInsertBlock());
  auto *branch = b.CreateCondBr(b.CreateICmpSLT(next, to), loop, after);
  auto *trips = dyn_cast<ConstantInt>(to);
  if (b.GetInsertBlock() == loop && trips && trips->getSExtValue() <= 64)
    keepLoop(branch);
  b.SetInsertPoint(after);
}

/// A short innermost loop stays a loop until the vectoriser has seen it: code
/// that is unrolled before is vectorised worse. Long ones are not unrolled
/// early.
void NodeEmitter::keepLoop(Instruction *latch) {
  LLVMContext &context = module.getContext();
  auto *name = MDString::get(context, "llvm.loop.unroll.disable");
  MDNode *loop =
      MDNode::getDistinct(context, {nullptr, MDNode::get(context, {name})});
  loop->replaceOperandWith(0, loop);
  latch->setMetadata(LLVMContext::MD_loop, loop);
}

//===----------------------------------------------------------------------===//
// Types and constants
//===----------------------------------------------------------------------===//

Type *NodeEmitter::typeOf(Element type) {
  switch (type) {
  case Element::F32:
  case Element::BF16:
    return b.getFloatTy();
  case Element::F64:
    return b.getDoubleTy();
  case Element::F16:
    return b.getHalfTy();
  case Element::I1:
    return b.getInt1Ty();
  case Element::I8:
    return b.getInt8Ty();
  case Element::I32:
    return b.getInt32Ty();
  case Element::I64:
    return b.getInt64Ty();
  }
  return nullptr;
}

/// i1 is a byte in memory.
Type *NodeEmitter::stackType(Element type) {
  return type == Element::I1 ? b.getInt8Ty() : typeOf(type);
}
Type *NodeEmitter::bufferType(Element type) {
  return type == Element::BF16 ? b.getInt16Ty() : stackType(type);
}

Value *NodeEmitter::constant(double value, Element type) {
  if (isFloat(type))
    return ConstantFP::get(typeOf(type), value);
  if (type == Element::I1)
    return b.getInt1(value != 0);
  return ConstantInt::getSigned(cast<IntegerType>(typeOf(type)),
                                int64_t(value));
}

Value *NodeEmitter::identity(ReduceKind kind, Element type) {
  bool isMax = kind == ReduceKind::Max;
  if (type == Element::I1)
    return b.getInt1(kind == ReduceKind::Min || kind == ReduceKind::And ||
                     kind == ReduceKind::Prod);
  if (kind == ReduceKind::Sum)
    return constant(0, type);
  if (kind == ReduceKind::Prod)
    return constant(1, type);
  if (isFloat(type))
    return ConstantFP::getInfinity(typeOf(type), /*Negative=*/isMax);
  unsigned bits = typeOf(type)->getIntegerBitWidth();
  return b.getInt(isMax ? APInt::getSignedMinValue(bits)
                        : APInt::getSignedMaxValue(bits));
}

/// Never nnan or ninf: a check for NaN must see it.
void NodeEmitter::setFlags(bool exact) {
  FastMathFlags flags;
  if (!exact) {
    flags.setAllowReassoc();
    flags.setAllowContract(true);
    flags.setNoSignedZeros();
    flags.setAllowReciprocal();
    flags.setApproxFunc();
  }
  b.setFastMathFlags(flags);
}

Value *NodeEmitter::combine(ReduceKind kind, Element type, bool exact,
                            Value *lhs, Value *rhs) {
  setFlags(exact);
  bool real = isFloat(type);
  // One bit has no sign: true is the larger.
  if (type == Element::I1 && kind == ReduceKind::Max)
    kind = ReduceKind::Or;
  if (type == Element::I1 && kind == ReduceKind::Min)
    kind = ReduceKind::And;
  switch (kind) {
  case ReduceKind::Sum:
    return real ? b.CreateFAdd(lhs, rhs) : b.CreateAdd(lhs, rhs);
  case ReduceKind::Prod:
    return real ? b.CreateFMul(lhs, rhs) : b.CreateMul(lhs, rhs);
  case ReduceKind::Max:
    return b.CreateBinaryIntrinsic(real ? Intrinsic::maximum : Intrinsic::smax,
                                   lhs, rhs);
  case ReduceKind::Min:
    return b.CreateBinaryIntrinsic(real ? Intrinsic::minimum : Intrinsic::smin,
                                   lhs, rhs);
  case ReduceKind::And:
    return b.CreateAnd(lhs, rhs);
  case ReduceKind::Or:
    return b.CreateOr(lhs, rhs);
  }
  return lhs;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

void NodeEmitter::annotate(Instruction *access, unsigned buffer) {
  access->setMetadata(LLVMContext::MD_alias_scope, scopes[buffer]);
  access->setMetadata(LLVMContext::MD_noalias, others[buffer]);
}

Value *NodeEmitter::offset(const Linear &linear) {
  Value *sum = b.getInt64(linear.constant);
  for (auto [position, multiplier] : linear.scalars)
    sum = b.CreateAdd(
        sum, b.CreateMul(loadScalar(position), b.getInt64(multiplier)));
  for (auto [dim, coefficient] : enumerate(linear.coefficients))
    if (coefficient)
      sum = b.CreateNSWAdd(
          sum, b.CreateNSWMul(indices[dim], b.getInt64(coefficient)));
  return sum;
}

// Conversions of bf16 in whole numbers: they vectorise everywhere, and give the
// same bits on processors with and without instructions for it (those flush
// denormals). LLVM's fptrunc to bfloat is a library call without them.

Value *NodeEmitter::widen(Value *bf16) {
  Value *bits = b.CreateShl(b.CreateZExt(bf16, b.getInt32Ty()), 16);
  return b.CreateBitCast(bits, b.getFloatTy());
}

/// To the nearest, ties to even; NaN stays NaN, quiet.
Value *NodeEmitter::narrow(Value *value) {
  setFlags(/*exact=*/true);
  Value *bits = b.CreateBitCast(value, b.getInt32Ty());
  Value *high = b.CreateLShr(bits, 16);
  Value *odd = b.CreateAnd(high, b.getInt32(1));
  Value *half = b.CreateAdd(odd, b.getInt32(0x7fff));
  Value *rounded = b.CreateLShr(b.CreateAdd(bits, half), 16);
  Value *quiet = b.CreateOr(high, b.getInt32(0x40));
  Value *isNaN = b.CreateFCmpUNO(value, value);
  return b.CreateTrunc(b.CreateSelect(isNaN, quiet, rounded), b.getInt16Ty());
}

Value *NodeEmitter::loadFrom(unsigned buffer, Value *offset) {
  Element type = g.buffers[buffer].type;
  Value *address =
      b.CreateInBoundsGEP(bufferType(type), pointers[buffer], offset);
  auto *load = b.CreateLoad(bufferType(type), address);
  annotate(load, buffer);
  if (type == Element::I1)
    return b.CreateICmpNE(load, b.getInt8(0));
  return type == Element::BF16 ? widen(load) : load;
}

void NodeEmitter::storeTo(unsigned buffer, Value *offset, Value *value) {
  Element type = g.buffers[buffer].type;
  if (type == Element::I1)
    value = b.CreateZExt(value, b.getInt8Ty());
  if (type == Element::BF16)
    value = narrow(value);
  Value *address =
      b.CreateInBoundsGEP(bufferType(type), pointers[buffer], offset);
  annotate(b.CreateStore(value, address), buffer);
}

Value *NodeEmitter::loadScalar(unsigned position) {
  Value *&known = scalars[position];
  if (known)
    return known;
  IRBuilder<> entry(entryEnd);
  auto *load = entry.CreateLoad(
      b.getInt64Ty(),
      entry.CreateConstGEP1_64(b.getInt64Ty(), function->getArg(1), position));
  load->setMetadata(LLVMContext::MD_invariant_load,
                    MDNode::get(module.getContext(), {}));
  return known = load;
}

AllocaInst *NodeEmitter::allocateScalar(Element type) {
  return IRBuilder<>(entryEnd).CreateAlloca(typeOf(type));
}

AllocaInst *NodeEmitter::allocateArray(Element type, DimMask axes) {
  auto *slot = IRBuilder<>(entryEnd).CreateAlloca(stackType(type),
                                                  b.getInt64(g.extentOf(axes)));
  slot->setAlignment(Align(64));
  return slot;
}

void NodeEmitter::allocateArray(Node *node) {
  arrays[node] = allocateArray(node->type, plan.innerAxes(node));
}

Value *NodeEmitter::arrayElement(AllocaInst *array, Element type,
                                 DimMask axes) {
  Value *at = b.getInt64(0);
  for (auto [dim, extent] : enumerate(g.extents))
    if (axes >> dim & 1)
      at = b.CreateNSWAdd(b.CreateNSWMul(at, b.getInt64(extent)), indices[dim]);
  return b.CreateInBoundsGEP(stackType(type), array, at);
}

Value *NodeEmitter::arrayElement(Node *node) {
  return arrayElement(arrays[node], node->type, plan.innerAxes(node));
}

void NodeEmitter::storeToArray(Node *node, Value *value) {
  if (node->type == Element::I1)
    value = b.CreateZExt(value, b.getInt8Ty());
  b.CreateStore(value, arrayElement(node));
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

Value *NodeEmitter::eval(Node *node) {
  if (Value *known = outer.lookup(node))
    return known;
  if (Value *known = inner.lookup(node))
    return known;
  if (!arrays.count(node) || is_contained(defining, node))
    return define(node);
  Value *value = b.CreateLoad(stackType(node->type), arrayElement(node));
  if (node->type == Element::I1)
    value = b.CreateICmpNE(value, b.getInt8(0));
  return inner[node] = value;
}

Value *NodeEmitter::define(Node *node) {
  if (Value *known = inner.lookup(node))
    return known;
  Value *value = compute(node);
  return (inNest ? inner : outer)[node] = value;
}

Value *NodeEmitter::compute(Node *node) {
  switch (node->kind) {
  case NodeKind::Load:
    return evalLoad(node);
  case NodeKind::Constant:
    return constant(node->value, node->type);
  case NodeKind::Index:
    return offset(node->address);
  case NodeKind::Scalar:
    return loadScalar(node->scalar);
  case NodeKind::Compute:
    return evalCompute(node);
  case NodeKind::Reduce:
    break; // is in `outer` or an array
  }
  llvm_unreachable("a reduction is used before its nest");
}

/// What a guard excludes is read at index 0 and replaced by zero.
Value *NodeEmitter::evalLoad(Node *node) {
  Value *valid = nullptr;
  auto require = [&](Value *condition) {
    valid = valid ? b.CreateAnd(valid, condition) : condition;
  };
  Linear address = node->address;
  Value *at = nullptr;
  for (const Guard &guard : node->guards)
    require(b.CreateICmpSLT(offset(guard.index), b.getInt64(guard.limit)));
  at = offset(address);
  if (valid)
    at = b.CreateSelect(valid, at, b.getInt64(0));
  if (node->isGather()) {
    Value *row = eval(node->operands[0]);
    Value *inRange = b.CreateICmpULT(row, b.getInt64(node->rows));
    Value *safe = b.CreateSelect(inRange, row, b.getInt64(0));
    at = b.CreateNSWAdd(at, b.CreateNSWMul(safe, b.getInt64(node->rowStride)));
    require(inRange);
  }
  Value *value = loadFrom(node->buffer, at);
  if (valid)
    value = b.CreateSelect(valid, value, constant(0, node->type));
  return value;
}

Value *NodeEmitter::evalCompute(Node *node) {
  SmallVector<Value *> x;
  for (Node *operand : node->operands)
    x.push_back(eval(operand));
  setFlags(node->exact);
  switch (node->code) {
  case Code::Compare:
    return evalCompare(node, x[0], x[1]);
  case Code::Select:
    return b.CreateSelect(x[0], x[1], x[2]);
  case Code::Convert:
    return convert(x[0], node->operands[0]->type, node->type);
  case Code::Key:
    return math.randomKey(x[0], x[1], x[2]);
  case Code::Keep:
    return math.keep(x[0], x[1], node->opId, node->threshold);
  case Code::Frequency:
    return frequency(node, x[0]);
  default:
    return arithmetic(node, x);
  }
}

Value *NodeEmitter::arithmetic(Node *node, ArrayRef<Value *> x) {
  bool real = isFloat(node->type);
  switch (node->code) {
  case Code::Neg:
    return real ? b.CreateFNeg(x[0]) : b.CreateNeg(x[0]);
  case Code::Exp:
    return math.exp(x[0]);
  case Code::Log:
    return math.log(x[0]);
  case Code::Sqrt:
    return b.CreateUnaryIntrinsic(Intrinsic::sqrt, x[0]);
  case Code::Rsqrt:
    return b.CreateFDiv(constant(1, node->type),
                        b.CreateUnaryIntrinsic(Intrinsic::sqrt, x[0]));
  case Code::Tanh:
    return math.tanh(x[0]);
  case Code::Sigmoid:
    return math.sigmoid(x[0]);
  case Code::Erf:
    return math.erf(x[0]);
  case Code::Cos:
  case Code::Sin:
    return math.sinCos(x[0], node->code == Code::Cos);
  case Code::Add:
    return combine(ReduceKind::Sum, node->type, node->exact, x[0], x[1]);
  case Code::Mul:
    return combine(ReduceKind::Prod, node->type, node->exact, x[0], x[1]);
  case Code::Maximum:
    return combine(ReduceKind::Max, node->type, node->exact, x[0], x[1]);
  case Code::Minimum:
    return combine(ReduceKind::Min, node->type, node->exact, x[0], x[1]);
  case Code::Sub:
    return real ? b.CreateFSub(x[0], x[1]) : b.CreateSub(x[0], x[1]);
  case Code::Div:
    return b.CreateFDiv(x[0], x[1]);
  default:
    llvm_unreachable("not an arithmetic code");
  }
}

/// Ordered, but for ne.
Value *NodeEmitter::evalCompare(Node *node, Value *lhs, Value *rhs) {
  static const CmpInst::Predicate real[] = {
      CmpInst::FCMP_OEQ, CmpInst::FCMP_UNE, CmpInst::FCMP_OLT,
      CmpInst::FCMP_OLE, CmpInst::FCMP_OGT, CmpInst::FCMP_OGE};
  static const CmpInst::Predicate integer[] = {
      CmpInst::ICMP_EQ,  CmpInst::ICMP_NE,  CmpInst::ICMP_SLT,
      CmpInst::ICMP_SLE, CmpInst::ICMP_SGT, CmpInst::ICMP_SGE};
  unsigned index = unsigned(node->predicate);
  if (isFloat(node->operands[0]->type))
    return b.CreateFCmp(real[index], lhs, rhs);
  return b.CreateICmp(integer[index], lhs, rhs);
}

/// Out of range, a float becomes the nearest integer.
Value *NodeEmitter::convert(Value *value, Element from, Element to) {
  Type *type = typeOf(to);
  if (valueElement(from) == valueElement(to))
    return value;
  if (isFloat(from) && isFloat(to))
    return b.CreateFPCast(value, type);
  if (to == Element::I1)
    return isFloat(from) ? b.CreateFCmpUNE(value, constant(0, from))
                         : b.CreateICmpNE(value, constant(0, from));
  if (isFloat(from))
    return b.CreateIntrinsic(Intrinsic::fptosi_sat, {type, value->getType()},
                             {value});
  if (isFloat(to))
    return from == Element::I1 ? b.CreateUIToFP(value, type)
                               : b.CreateSIToFP(value, type);
  return from == Element::I1 ? b.CreateZExt(value, type)
                             : b.CreateSExtOrTrunc(value, type);
}

/// base^(-i / count), exact to f64: positions may be large.
Value *NodeEmitter::frequency(Node *node, Value *index) {
  SmallVector<double> table;
  for (int64_t i = 0; i < node->count; ++i)
    table.push_back(std::pow(node->value, -double(i) / double(node->count)));
  auto *data = ConstantDataArray::get(module.getContext(), table);
  auto *global =
      new GlobalVariable(module, data->getType(), /*isConstant=*/true,
                         GlobalValue::InternalLinkage, data, "frequencies");
  Value *address = b.CreateInBoundsGEP(b.getDoubleTy(), global, index);
  return b.CreateLoad(b.getDoubleTy(), address);
}
