//===- Outline.cpp - groups to kernels and launches -----------------------===//

#include "Outline.h"
#include "mlir/IR/IRMapping.h"
#include "stretto/Dialect/Stretto/Transforms/Decompose.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace stretto;

//===----------------------------------------------------------------------===//
// Kernels by structure
//===----------------------------------------------------------------------===//

KernelTable::KernelTable(ModuleOp module) : symbols(module) {}

FlatSymbolRefAttr KernelTable::add(KernelOp kernel, StringRef hint) {
  std::string body;
  llvm::raw_string_ostream os(body);
  kernel->print(os, OpPrintingFlags().useLocalScope().enableDebugInfo(false));
  StringAttr &known = byBody[body];
  if (known) {
    kernel.erase();
    return FlatSymbolRefAttr::get(known);
  }
  auto *context = kernel.getContext();
  kernel.setSymNameAttr(
      StringAttr::get(context, "k" + Twine(count++) + "_" + hint));
  auto module = cast<ModuleOp>(symbols.getOp());
  Block::iterator place =
      last ? std::next(Block::iterator(last)) : module.getBody()->begin();
  known = symbols.insert(kernel, place);
  last = kernel;
  return FlatSymbolRefAttr::get(known);
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

namespace {

/// Scalars of one launch, each once.
class Scalars {
public:
  int64_t word(MLIRContext *context, StringRef text) {
    return position(StringAttr::get(context, text));
  }
  /// -1 for an offset that is absent or zero.
  int64_t offset(Attribute attribute) {
    auto offset = dyn_cast_or_null<OffsetAttr>(attribute);
    return offset && !offset.isZero() ? position(offset) : -1;
  }
  ArrayAttr get(MLIRContext *context) {
    return ArrayAttr::get(context, list.getArrayRef());
  }

private:
  int64_t position(Attribute attribute) {
    list.insert(attribute);
    return llvm::find(list, attribute) - list.begin();
  }
  llvm::SetVector<Attribute> list;
};

/// Member index of the rank in the group.
OffsetAttr memberOf(GroupAttr group) {
  ArrayRef<AxisRef> axes = group.getAxes();
  SmallVector<int64_t> coefficients(axes.size(), 1);
  for (unsigned i = axes.size(); i-- > 1;)
    coefficients[i - 1] = coefficients[i] * axes[i].size;
  return OffsetAttr::get(group.getContext(), group.getMesh(), axes,
                         coefficients, /*microbatch=*/0);
}

SmallVector<int64_t> offsetsOf(ArrayAttr offsets, Scalars &scalars) {
  SmallVector<int64_t> list;
  for (Attribute offset : offsets ? offsets.getValue() : ArrayRef<Attribute>())
    list.push_back(scalars.offset(offset));
  return list;
}

/// Replaces what `op` says about its place by positions of launch scalars.
void takeScalars(Operation *op, Scalars &scalars) {
  auto *context = op->getContext();
  auto positions =
      TypeSwitch<Operation *, SmallVector<int64_t>>(op)
          .Case<IotaOp, MaskPadOp, EmbeddingOp, EmbeddingGradOp>([&](auto o) {
            int64_t position = scalars.offset(o.getOffsetAttr());
            o.removeOffsetAttr();
            return position < 0 ? SmallVector<int64_t>()
                                : SmallVector<int64_t>{position};
          })
          .Case<WindowOp, GatherOp, ScatterAddOp>([&](auto o) {
            int64_t position = scalars.offset(o.getOffsetAttr());
            o.removeOffsetAttr();
            return position < 0 ? SmallVector<int64_t>()
                                : SmallVector<int64_t>{position};
          })
          .Case([&](DynamicSliceOp o) {
            SmallVector<int64_t> list = offsetsOf(o.getOffsetsAttr(), scalars);
            llvm::append_range(list,
                               offsetsOf(o.getResultOffsetsAttr(), scalars));
            o.removeOffsetsAttr();
            o.removeResultOffsetsAttr();
            return list;
          })
          .Case([&](DynamicUpdateSliceOp o) {
            SmallVector<int64_t> list = offsetsOf(o.getOffsetsAttr(), scalars);
            o.removeOffsetsAttr();
            return list;
          })
          .Case<ShardSliceOp, KeepFirstOp>([&](auto o) {
            o.removeCauseAttr();
            return SmallVector<int64_t>{scalars.offset(memberOf(o.getGroup()))};
          })
          .Case([&](PadExtentOp o) {
            o.removeCauseAttr();
            return SmallVector<int64_t>();
          })
          .Case([&](DropoutOp o) -> SmallVector<int64_t> {
            if (o.getP().isZero())
              return {};
            SmallVector<int64_t> list;
            for (StringRef word : {"seed", "step", "instance"})
              list.push_back(scalars.word(context, word));
            ArrayAttr offsets = o.getOffsetsAttr();
            unsigned rank = cast<RankedTensorType>(o.getType()).getRank();
            for (unsigned dim = 0; dim < rank; ++dim)
              list.push_back(offsets && dim < offsets.size()
                                 ? scalars.offset(offsets[dim])
                                 : -1);
            o.removeOffsetsAttr();
            return list;
          })
          .Default([](Operation *) { return SmallVector<int64_t>(); });
  if (!positions.empty())
    op->setAttr(attr::scalars, DenseI64ArrayAttr::get(context, positions));
}

//===----------------------------------------------------------------------===//
// Outlining
//===----------------------------------------------------------------------===//

/// What a person calls the group: up to three of its operations.
std::string hintOf(const Group &group) {
  llvm::SetVector<StringRef> names;
  for (Operation *op : group.members) {
    auto source = op->getAttrOfType<StringAttr>(attr::source);
    names.insert(source ? source.getValue() : op->getName().stripDialect());
  }
  SmallVector<StringRef> few(names.takeVector());
  if (few.size() > 3)
    few.resize(3);
  return llvm::join(few, "_");
}

KernelOp makeKernel(const Group &group, Location loc, Scalars &scalars) {
  auto *context = loc.getContext();
  OpBuilder builder(context);
  SmallVector<Type> types, results;
  for (Value input : group.inputs)
    types.push_back(input.getType());
  SmallVector<Attribute> resultAttrs;
  for (const kernel::Output &output : group.outputs) {
    results.push_back(output.value.getType());
    NamedAttrList attrs;
    if (output.alias >= 0)
      attrs.set(attr::alias, builder.getI64IntegerAttr(output.alias));
    resultAttrs.push_back(attrs.getDictionary(context));
  }
  auto kernel = KernelOp::create(
      builder, loc, "kernel", FunctionType::get(context, types, results),
      /*visibility=*/StringAttr(), /*arg_attrs=*/ArrayAttr(),
      builder.getArrayAttr(resultAttrs));
  Block *body = &kernel.getBody().emplaceBlock();
  IRMapping mapping;
  for (Value input : group.inputs)
    mapping.map(input, body->addArgument(input.getType(), loc));
  builder.setInsertionPointToStart(body);
  for (Operation *op : group.ops) {
    Operation *copy = builder.clone(*op, mapping);
    copy->removeAttr(attr::source);
    copy->removeAttr(attr::repeat);
    takeScalars(copy, scalars);
  }
  SmallVector<Value> values;
  for (const kernel::Output &output : group.outputs)
    values.push_back(mapping.lookup(output.value));
  YieldOp::create(builder, loc, values);
  return kernel;
}

LaunchOp launch(const Group &group, OpBuilder &builder, KernelTable &kernels) {
  SmallVector<Location> locs;
  for (Operation *op : group.members)
    locs.push_back(op->getLoc());
  Location loc = builder.getFusedLoc(locs);
  Scalars scalars;
  KernelOp kernel = makeKernel(group, loc, scalars);
  SmallVector<Type> results(kernel.getResultTypes());
  FlatSymbolRefAttr symbol = kernels.add(kernel, hintOf(group));
  SmallVector<int64_t> aliases;
  for (const kernel::Output &output : group.outputs)
    aliases.push_back(output.alias);
  return LaunchOp::create(builder, loc, results, symbol.getAttr(), group.inputs,
                          aliases, scalars.get(builder.getContext()));
}

} // namespace

LogicalResult stretto::outline(SegmentOp segment, Grouping &grouping,
                               KernelTable &kernels) {
  Block &block = segment.getBody().front();
  Operation *terminator = block.getTerminator();
  OpBuilder builder(terminator);
  IRMapping mapping; // values of groups to results of launches
  DenseMap<Value, Value> replaced;
  auto current = [&](Value value) {
    Value known = replaced.lookup(value);
    return known ? known : value;
  };
  for (const Unit &unit : grouping.order) {
    if (unit.command) {
      for (OpOperand &use : unit.command->getOpOperands())
        use.set(current(use.get()));
      if (unit.command != terminator)
        unit.command->moveBefore(terminator);
      continue;
    }
    const Group &group = grouping.groups[unit.group];
    LaunchOp op = launch(group, builder, kernels);
    for (OpOperand &use : op->getOpOperands())
      use.set(current(use.get()));
    for (auto [output, result] : llvm::zip(group.outputs, op.getResults()))
      replaced[output.value] = result;
  }
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (!isCommand(&op)) {
      op.dropAllUses();
      op.erase();
    }
  return success();
}
