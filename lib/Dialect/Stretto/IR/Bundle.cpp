//===- Bundle.cpp - tensors that move together at step level --------------===//

#include "stretto/Dialect/Stretto/IR/Bundle.h"
#include "stretto/Dialect/Stretto/IR/StrettoOps.h"

using namespace mlir;
using namespace stretto;

/// Tensors that an invocation of a layer's segment takes, about: lists of them
/// seldom grow.
static constexpr size_t usualTensors = 64;

//===----------------------------------------------------------------------===//
// Values and types
//===----------------------------------------------------------------------===//

Type TensorRef::getType() const {
  return member < 0 ? value.getType()
                    : cast<TupleType>(value.getType()).getType(member);
}

static void append(SmallVectorImpl<TensorRef> &tensors, Value value) {
  auto bundle = dyn_cast<TupleType>(value.getType());
  if (!bundle)
    tensors.emplace_back(value);
  for (unsigned i = 0, e = bundle ? bundle.size() : 0; i < e; ++i)
    tensors.emplace_back(value, i);
}

SmallVector<TensorRef> stretto::tensorsOf(ValueRange values) {
  SmallVector<TensorRef> tensors;
  for (Value value : values)
    append(tensors, value);
  return tensors;
}

SmallVector<Type> stretto::tensorTypesOf(TypeRange types) {
  SmallVector<Type> tensors;
  tensors.reserve(usualTensors);
  for (Type type : types)
    if (auto bundle = dyn_cast<TupleType>(type))
      llvm::append_range(tensors, bundle.getTypes());
    else
      tensors.push_back(type);
  return tensors;
}

Type stretto::mapTensorTypes(Type type,
                             function_ref<Type(RankedTensorType)> change) {
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return change(tensor);
  auto bundle = dyn_cast<TupleType>(type);
  if (!bundle)
    return type;
  auto members = llvm::map_to_vector(bundle.getTypes(), [&](Type member) {
    return mapTensorTypes(member, change);
  });
  return TupleType::get(type.getContext(), members);
}

SmallVector<Type> stretto::bundledLike(TypeRange like, TypeRange tensors) {
  SmallVector<Type> types;
  for (Type type : like) {
    auto bundle = dyn_cast<TupleType>(type);
    unsigned count = bundle ? bundle.size() : 1;
    TypeRange part = tensors.take_front(count);
    types.push_back(bundle ? TupleType::get(type.getContext(), part)
                           : part.front());
    tensors = tensors.drop_front(count);
  }
  return types;
}

//===----------------------------------------------------------------------===//
// Members
//===----------------------------------------------------------------------===//

DictionaryAttr MembersAttr::get(unsigned member) const {
  return cast<DictionaryAttr>(getList()[member]);
}

StringAttr MembersAttr::getName(unsigned member) const {
  return get(member).getAs<StringAttr>("name");
}

LogicalResult
MembersAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                    ArrayAttr list) {
  for (auto [index, entry] : llvm::enumerate(list)) {
    auto member = dyn_cast<DictionaryAttr>(entry);
    if (!member || !member.getAs<StringAttr>("name"))
      return emitError() << "member " << index << " has no name";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Invocations
//===----------------------------------------------------------------------===//

/// The members of operand `index` that an invocation passes; empty: all.
static ArrayRef<int32_t> picksOf(InvokeOp invoke, unsigned index) {
  ArrayAttr members = invoke.getMembersAttr();
  return members ? cast<DenseI32ArrayAttr>(members[index]).asArrayRef()
                 : ArrayRef<int32_t>();
}

SmallVector<TensorRef> InvokeOp::getTensorOperands() {
  SmallVector<TensorRef> tensors;
  tensors.reserve(usualTensors);
  for (auto [index, value] : llvm::enumerate(getOperands())) {
    ArrayRef<int32_t> picks = picksOf(*this, index);
    for (int32_t member : picks)
      tensors.emplace_back(value, member);
    if (picks.empty())
      append(tensors, value);
  }
  return tensors;
}

SmallVector<TensorRef> InvokeOp::getTensorResults() {
  return tensorsOf(getResults());
}

LogicalResult InvokeOp::verify() {
  ArrayAttr members = getMembersAttr();
  if (!members)
    return success();
  if (members.size() != getOperands().size())
    return emitOpError("has members of ")
           << members.size() << " operands, expected " << getOperands().size();
  for (auto [index, entry] : llvm::enumerate(members)) {
    auto picks = dyn_cast<DenseI32ArrayAttr>(entry);
    if (!picks)
      return emitOpError("expected a list of members of operand ") << index;
    auto bundle = dyn_cast<TupleType>(getOperand(index).getType());
    int64_t size = bundle ? bundle.size() : 0;
    for (int32_t member : picks.asArrayRef())
      if (member < 0 || member >= size)
        return emitOpError("passes member ")
               << member << " of operand " << index << ", which has " << size;
  }
  return success();
}

/// Operands, with the members that are passed when not all are: `%a, %b[0, 2]`.
ParseResult
stretto::parseMembers(OpAsmParser &parser,
                      SmallVectorImpl<OpAsmParser::UnresolvedOperand> &operands,
                      ArrayAttr &members) {
  SmallVector<Attribute> picks;
  bool picksAny = false;
  auto parseOperand = [&]() -> ParseResult {
    SmallVector<int32_t> picked;
    if (parser.parseOperand(operands.emplace_back()))
      return failure();
    if (succeeded(parser.parseOptionalLSquare())) {
      picksAny = true;
      if (parser.parseCommaSeparatedList(
              [&] { return parser.parseInteger(picked.emplace_back()); }) ||
          parser.parseRSquare())
        return failure();
    }
    picks.push_back(parser.getBuilder().getDenseI32ArrayAttr(picked));
    return success();
  };
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren,
                                     parseOperand))
    return failure();
  if (picksAny)
    members = parser.getBuilder().getArrayAttr(picks);
  return success();
}

void stretto::printMembers(OpAsmPrinter &printer, InvokeOp invoke,
                           OperandRange operands, ArrayAttr) {
  printer << "(";
  for (auto [index, value] : llvm::enumerate(operands)) {
    printer << (index ? ", " : "") << value;
    if (ArrayRef<int32_t> picks = picksOf(invoke, index); !picks.empty())
      printer << "[" << picks << "]";
  }
  printer << ")";
}
