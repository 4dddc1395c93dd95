//===- Tables.cpp - words of the dialect as tables of the file ------------===//

#include "Tables.h"

#include "mlir/IR/Location.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace stretto;

std::optional<program::DType> stretto::toDType(Type type) {
  return TypeSwitch<Type, std::optional<program::DType>>(type)
      .Case([](Float32Type) { return program::DType::F32; })
      .Case([](Float64Type) { return program::DType::F64; })
      .Case([](BFloat16Type) { return program::DType::BF16; })
      .Case([](Float16Type) { return program::DType::F16; })
      .Case([](IntegerType type) -> std::optional<program::DType> {
        switch (type.getWidth()) {
        case 64:
          return program::DType::I64;
        case 32:
          return program::DType::I32;
        case 8:
          return program::DType::I8;
        case 1:
          return program::DType::I1;
        default:
          return std::nullopt;
        }
      })
      .Default([](Type) { return std::nullopt; });
}

Type stretto::toType(MLIRContext *context, program::DType dtype) {
  Builder builder(context);
  switch (dtype) {
  case program::DType::F32:
    return builder.getF32Type();
  case program::DType::F64:
    return builder.getF64Type();
  case program::DType::BF16:
    return builder.getBF16Type();
  case program::DType::F16:
    return builder.getF16Type();
  case program::DType::I64:
    return builder.getI64Type();
  case program::DType::I32:
    return builder.getI32Type();
  case program::DType::I8:
    return builder.getI8Type();
  case program::DType::I1:
    return builder.getI1Type();
  }
  return builder.getNoneType();
}

std::vector<program::AxisRef> stretto::toAxes(ArrayRef<AxisRef> axes) {
  std::vector<program::AxisRef> result;
  for (AxisRef ref : axes)
    result.emplace_back(ref.axis, ref.pre, ref.size);
  return result;
}

SmallVector<AxisRef>
stretto::fromAxes(const std::vector<program::AxisRef> &axes) {
  SmallVector<AxisRef> result;
  for (const program::AxisRef &ref : axes)
    result.push_back({ref.axis(), int64_t(ref.pre()), int64_t(ref.size())});
  return result;
}

std::vector<std::unique_ptr<program::DimensionT>>
stretto::toDimensions(ArrayRef<int64_t> shape, DistAttr dist, ArrayAttr names) {
  std::vector<std::unique_ptr<program::DimensionT>> dims;
  for (auto [index, size] : llvm::enumerate(shape)) {
    auto dim = std::make_unique<program::DimensionT>();
    dim->size = size;
    dim->padded = dist ? dist.getPadded(index, size) : size;
    if (dist)
      dim->axes = toAxes(dist.getDimAxes(index));
    if (names && index < names.size())
      if (auto name = dyn_cast<StringAttr>(names[index]))
        dim->name = name.str();
    dims.push_back(std::move(dim));
  }
  return dims;
}

std::unique_ptr<program::SlotT> stretto::toSlot(exec::SlotAttr slot) {
  if (!slot)
    return nullptr;
  auto table = std::make_unique<program::SlotT>();
  table->region = program::Region(slot.getRegion());
  table->offset = slot.getOffset();
  table->bytes = slot.getBytes();
  table->value = slot.getValue();
  return table;
}

std::vector<std::unique_ptr<program::SlotT>> stretto::toSlots(ArrayAttr slots) {
  std::vector<std::unique_ptr<program::SlotT>> tables;
  for (auto slot : slots.getAsRange<exec::SlotAttr>())
    tables.push_back(toSlot(slot));
  return tables;
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

static void addTerm(program::ScalarT &scalar, program::Symbol symbol,
                    int64_t coefficient, std::optional<AxisRef> axis = {}) {
  auto term = std::make_unique<program::TermT>();
  term->symbol = symbol;
  term->coefficient = coefficient;
  if (axis)
    term->axis =
        std::make_unique<program::AxisRef>(axis->axis, axis->pre, axis->size);
  scalar.terms.push_back(std::move(term));
}

std::unique_ptr<program::ScalarT> stretto::toScalar(Attribute attribute) {
  auto scalar = std::make_unique<program::ScalarT>();
  if (auto offset = dyn_cast<OffsetAttr>(attribute)) {
    for (auto [axis, coefficient] :
         llvm::zip(offset.getAxes(), offset.getCoefficients()))
      addTerm(*scalar, program::Symbol::AxisIndex, coefficient, axis);
    if (offset.getMicrobatch())
      addTerm(*scalar, program::Symbol::Microbatch, offset.getMicrobatch());
    return scalar;
  }
  if (auto integer = dyn_cast<IntegerAttr>(attribute)) {
    scalar->base = integer.getValue().getSExtValue();
    return scalar;
  }
  auto name = dyn_cast<StringAttr>(attribute);
  std::optional<program::Symbol> symbol =
      llvm::StringSwitch<std::optional<program::Symbol>>(name ? name.getValue()
                                                              : "")
          .Case("seed", program::Symbol::Seed)
          .Case("step", program::Symbol::Step)
          .Case("instance", program::Symbol::Instance)
          .Case("microbatch", program::Symbol::Microbatch)
          .Default(std::nullopt);
  if (!symbol)
    return nullptr;
  addTerm(*scalar, *symbol, 1);
  return scalar;
}

//===----------------------------------------------------------------------===//
// Locations
//===----------------------------------------------------------------------===//

namespace {
struct FoundLocation {
  std::string name, position;
};
} // namespace

/// The first name and the first file position within `loc`.
static void search(Location loc, FoundLocation &found) {
  if (auto name = dyn_cast<NameLoc>(loc)) {
    if (found.name.empty())
      found.name = name.getName().str();
    search(name.getChildLoc(), found);
  } else if (auto fused = dyn_cast<FusedLoc>(loc)) {
    for (Location part : fused.getLocations())
      search(part, found);
  } else if (auto call = dyn_cast<CallSiteLoc>(loc)) {
    search(call.getCallee(), found);
  } else if (auto file = dyn_cast<FileLineColLoc>(loc)) {
    if (found.position.empty())
      found.position = (llvm::sys::path::filename(file.getFilename()) + ":" +
                        Twine(file.getLine()))
                           .str();
  }
}

std::string stretto::describeLocation(StringRef segment, StringRef what,
                                      Location loc) {
  FoundLocation found;
  search(loc, found);
  std::string text =
      (segment + ":" + (found.name.empty() ? what : found.name)).str();
  if (!found.position.empty())
    text += "@" + found.position;
  return text;
}
