//===- LayerBuilder.cpp - writing a layer in C++ --------------------------===//
#include "LayerBuilder.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace stretto;

RankedTensorType stretto::typeOf(ArrayRef<Dim> dims, Type element) {
  return RankedTensorType::get(
      llvm::map_to_vector(dims, [](const Dim &dim) { return dim.size; }),
      element);
}

ArrayAttr stretto::namesOf(Builder &builder, ArrayRef<Dim> dims) {
  return builder.getStrArrayAttr(
      llvm::map_to_vector(dims, [](const Dim &dim) { return dim.name; }));
}

LayerBuilder::LayerBuilder(ModuleOp module, StringRef name)
    : b(module.getContext()) {
  b.setInsertionPointToEnd(module.getBody());
  OperationState state(loc(), LayerOp::getOperationName());
  state.addRegion()->emplaceBlock();
  state.addAttribute(SymbolTable::getSymbolAttrName(), b.getStringAttr(name));
  state.addAttribute(LayerOp::getFunctionTypeAttrName(OperationName(
                         LayerOp::getOperationName(), b.getContext())),
                     TypeAttr::get(b.getFunctionType({}, {})));
  layer = cast<LayerOp>(b.create(state));
  b.setInsertionPointToEnd(&layer.getBody().front());
}

Value LayerBuilder::argument(StringRef name, StringRef nameAttr,
                             ArrayRef<Dim> dims, Type element,
                             NamedAttrList attributes) {
  attributes.set(nameAttr, b.getStringAttr(name));
  attributes.set(attr::dims, namesOf(b, dims));
  argumentAttributes.push_back(attributes.getDictionary(b.getContext()));
  return layer.getBody().addArgument(typeOf(dims, element), loc());
}

Value LayerBuilder::activation(StringRef name, ArrayRef<Dim> dims,
                               Type element) {
  return argument(name, attr::name, dims, element, {});
}

Value LayerBuilder::parameter(StringRef name, ArrayRef<Dim> dims, InitAttr init,
                              Decay decay) {
  NamedAttrList attributes;
  if (init)
    attributes.set(attr::init, init);
  if (decay == Decay::No)
    attributes.set(attr::noDecay, b.getUnitAttr());
  return argument(name, attr::param, dims, f32(), attributes);
}

LayerOp LayerBuilder::finish(ValueRange results) {
  YieldOp::create(b, loc(), results);
  layer.setFunctionType(b.getFunctionType(layer.getBody().getArgumentTypes(),
                                          results.getTypes()));
  layer.setArgAttrsAttr(b.getArrayAttr(argumentAttributes));
  return layer;
}

Value LayerBuilder::add(Value lhs, Value rhs) {
  return AddOp::create(b, loc(), lhs, rhs);
}

Value LayerBuilder::mul(Value lhs, Value rhs) {
  return MulOp::create(b, loc(), lhs, rhs);
}

Value LayerBuilder::einsum(StringRef spec, Value lhs, Value rhs) {
  return EinsumOp::create(b, loc(), b.getStringAttr(spec), lhs, rhs);
}

Value LayerBuilder::dropout(Value x, double p) {
  if (p == 0)
    return x;
  return DropoutOp::create(b, loc(), x, b.getF64FloatAttr(p),
                           b.getI64IntegerAttr(nextRandomId()),
                           DenseI64ArrayAttr(), IntegerAttr(), ArrayAttr());
}

Value LayerBuilder::total(Value x) {
  int64_t rank = cast<RankedTensorType>(x.getType()).getRank();
  return ReduceOp::create(b, loc(), ReduceKind::Sum, x,
                          llvm::to_vector(llvm::seq<int64_t>(0, rank)),
                          FloatAttr());
}
