//===- Deserialize.cpp - the Program as words again -----------------------===//

#include "stretto/Program/Serialize.h"

#include "stretto/Dialect/Program/IR/DataFlow.h"

#include "RecipeFields.h"
#include "Tables.h"

#include "stretto/Dialect/Stretto/IR/StrettoOps.h"
#include "stretto/Runtime/Program.h"

using namespace mlir;
using namespace stretto;

namespace {

/// Writes fields as entries of a dictionary.
struct FieldWriter {
  Builder &builder;
  NamedAttrList &entries;

  void operator()(StringRef name, const std::string &field) {
    entries.set(name, builder.getStringAttr(field));
  }
  void operator()(StringRef name, double field) {
    entries.set(name, builder.getF64FloatAttr(field));
  }
  template <typename Integer>
  std::enable_if_t<std::is_integral_v<Integer>> operator()(StringRef name,
                                                           Integer field) {
    entries.set(name, builder.getI64IntegerAttr(int64_t(field)));
  }
};

class Deserializer {
public:
  Deserializer(MLIRContext *context, const program::ProgramT &table)
      : builder(context), context(context), table(table),
        loc(builder.getUnknownLoc()) {}

  OwningOpRef<ModuleOp> run() {
    OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
    setFacts(*module);
    builder.setInsertionPointToEnd(module->getBody());
    for (const auto &region : table.regions)
      exec::RegionOp::create(
          builder, loc, exec::Region(region->region), region->bytes,
          region->live ? builder.getI64IntegerAttr(region->live)
                       : IntegerAttr());
    for (const auto &segment : table.segments)
      add(*segment);
    for (const auto &parameter : table.parameters)
      add(*parameter);
    for (const auto &function : table.functions)
      add(*function);
    return module;
  }

private:
  void setFacts(ModuleOp module) {
    SmallVector<StringAttr> names;
    SmallVector<int64_t> sizes;
    for (const auto &axis : table.mesh) {
      names.push_back(builder.getStringAttr(axis->name));
      sizes.push_back(axis->size);
    }
    mesh = MeshAttr::get(context, names, sizes);
    NamedAttrList facts;
    facts.set(attr::mesh, mesh);
    FieldWriter write{builder, facts};
    write(attr::modelName, table.model);
    if (!table.cpu_features.empty())
      write(attr::cpuFeatures, table.cpu_features);
    if (table.recipe) {
      NamedAttrList recipe;
      visitRecipe(*table.recipe, FieldWriter{builder, recipe});
      facts.set(attr::recipe, recipe.getDictionary(context));
      write(attr::vocabulary, table.recipe->vocabulary);
      write(attr::modelFlops, table.recipe->model_flops_per_step);
      write(attr::modelFlopsCausal, table.recipe->model_flops_per_step_causal);
    }
    module->setDiscardableAttrs(facts.getDictionary(context));
  }

  //===--------------------------------------------------------------------===//
  // Pieces
  //===--------------------------------------------------------------------===//

  exec::SlotAttr slot(const std::unique_ptr<program::SlotT> &slot) {
    if (!slot)
      return {};
    return exec::SlotAttr::get(context, exec::Region(slot->region),
                               slot->offset, slot->bytes, slot->value);
  }
  ArrayAttr slots(const std::vector<std::unique_ptr<program::SlotT>> &list) {
    SmallVector<Attribute> attributes;
    for (const auto &item : list)
      attributes.push_back(slot(item));
    return builder.getArrayAttr(attributes);
  }

  struct Tensor {
    SmallVector<int64_t> shape;
    DistAttr dist;
    ArrayAttr names;
  };
  Tensor tensor(const std::vector<std::unique_ptr<program::DimensionT>> &dims) {
    Tensor result;
    SmallVector<SmallVector<AxisRef>> axes;
    SmallVector<int64_t> padded;
    SmallVector<Attribute> names;
    bool anyPadded = false, anyName = false;
    for (const auto &dim : dims) {
      result.shape.push_back(dim->size);
      axes.push_back(fromAxes(dim->axes));
      bool isPadded = dim->padded != dim->size;
      padded.push_back(isPadded ? dim->padded : 0);
      names.push_back(
          builder.getStringAttr(dim->name.empty() ? "_" : dim->name));
      anyPadded |= isPadded;
      anyName |= !dim->name.empty();
    }
    if (!anyPadded)
      padded.clear();
    result.dist =
        DistAttr::get(context, mesh, axes, {}, ReduceKind::Sum, padded);
    if (anyName)
      result.names = builder.getArrayAttr(names);
    return result;
  }

  /// The attribute that the scalar was made of. What no single attribute says
  /// is a dictionary of all terms: text only.
  Attribute scalar(const std::unique_ptr<program::ScalarT> &scalar) {
    if (!scalar)
      return builder.getI64IntegerAttr(0);
    if (scalar->terms.empty())
      return builder.getI64IntegerAttr(scalar->base);
    const program::TermT &first = *scalar->terms[0];
    bool alone = scalar->terms.size() == 1 && scalar->base == 0;
    static constexpr StringLiteral names[] = {"", "microbatch", "step", "seed",
                                              "instance"};
    if (alone && first.coefficient == 1 &&
        first.symbol != program::Symbol::AxisIndex)
      return builder.getStringAttr(names[size_t(first.symbol)]);
    SmallVector<AxisRef> axes;
    SmallVector<int64_t> coefficients;
    int64_t microbatch = 0;
    for (const auto &term : scalar->terms) {
      if (term->symbol == program::Symbol::AxisIndex) {
        axes.push_back(fromAxes({*term->axis})[0]);
        coefficients.push_back(term->coefficient);
      } else if (term->symbol == program::Symbol::Microbatch) {
        microbatch += term->coefficient;
      } else {
        return builder.getStringAttr("unknown scalar");
      }
    }
    return OffsetAttr::get(context, mesh, axes, coefficients, microbatch);
  }
  OffsetAttr offset(const std::unique_ptr<program::ScalarT> &value) {
    return value ? dyn_cast<OffsetAttr>(scalar(value)) : OffsetAttr();
  }

  //===--------------------------------------------------------------------===//
  // Segments
  //===--------------------------------------------------------------------===//

  void add(const program::SegmentT &segment) {
    SmallVector<Attribute> arguments;
    for (const auto &argument : segment.arguments)
      arguments.push_back(exec::ArgumentAttr::get(
          context, builder.getStringAttr(argument->name), argument->bytes,
          exec::Access(argument->access)));
    auto op = exec::SegmentOp::create(builder, loc, segment.name,
                                      builder.getArrayAttr(arguments),
                                      segment.scratch_bytes, StringAttr());
    OpBuilder::InsertionGuard guard(builder);
    builder.createBlock(&op.getBody());
    for (const auto &command : segment.commands)
      add(*command)->setAttr("stream",
                             builder.getI64IntegerAttr(command->stream));
  }

  ArrayAttr uses(const program::CommandT &command) {
    SmallVector<Attribute> attributes;
    for (const auto &operand : command.operands)
      attributes.push_back(exec::OperandAttr::get(
          context, exec::Access(operand->access),
          operand->space == program::Space::Local, operand->index,
          operand->offset, operand->bytes));
    return builder.getArrayAttr(attributes);
  }

  Operation *add(const program::CommandT &command) {
    Location at = NameLoc::get(builder.getStringAttr(command.location));
    ArrayAttr uses = this->uses(command);
    switch (command.payload.type) {
    case program::Payload::Launch: {
      const program::LaunchT &launch = *command.payload.AsLaunch();
      SmallVector<Attribute> scalars;
      for (const auto &value : launch.scalars)
        scalars.push_back(scalar(value));
      auto op = exec::LaunchOp::create(
          builder, at,
          FlatSymbolRefAttr::get(context, table.kernels[launch.kernel]), uses,
          builder.getArrayAttr(scalars));
      SmallVector<Type> types;
      for (program::DType type : launch.types)
        types.push_back(toType(context, type));
      if (!types.empty())
        op->setAttr(attr::operandTypes, builder.getTypeArrayAttr(types));
      return op;
    }
    case program::Payload::Gemm:
      return add(at, uses, *command.payload.AsGemm());
    case program::Payload::Attention:
      return add(at, uses, *command.payload.AsAttention());
    case program::Payload::Collective:
      return add(at, uses, *command.payload.AsCollective());
    case program::Payload::Fill:
      return exec::FillOp::create(builder, at, uses,
                                  command.payload.AsFill()->pattern);
    case program::Payload::Record:
      return exec::RecordOp::create(builder, at,
                                    command.payload.AsRecord()->event);
    case program::Payload::Wait:
      return exec::WaitOp::create(builder, at, command.payload.AsWait()->event);
    case program::Payload::Copy:
    case program::Payload::NONE: // a Program with it does not load
      break;
    }
    return exec::CopyOp::create(builder, at, uses);
  }

  /// Null when it is the expected one.
  TypeAttr typeIfOther(program::DType type, program::DType expected) {
    return type == expected ? TypeAttr() : TypeAttr::get(toType(context, type));
  }

  Operation *add(Location at, ArrayAttr uses, const program::GemmT &gemm) {
    return exec::GemmOp::create(
        builder, at, uses, toType(context, gemm.dtype), gemm.m, gemm.n, gemm.k,
        ArrayRef<int64_t>{gemm.a_row, gemm.a_col},
        ArrayRef<int64_t>{gemm.b_row, gemm.b_col},
        ArrayRef<int64_t>{gemm.c_row, gemm.c_col}, gemm.batch, gemm.a_batch,
        gemm.b_batch, gemm.c_batch, typeIfOther(gemm.c_dtype, gemm.dtype),
        gemm.accumulate);
  }

  Operation *add(Location at, ArrayAttr uses,
                 const program::AttentionT &attention) {
    int64_t sizes[] = {attention.batch, attention.q_len,    attention.kv_len,
                       attention.heads, attention.kv_heads, attention.head_dim};
    return exec::AttentionOp::create(
        builder, at, uses, toType(context, attention.dtype), attention.backward,
        sizes, attention.causal, APFloat(attention.scale),
        APFloat(attention.dropout), attention.op_id, attention.heads_global,
        offset(attention.head_offset), offset(attention.batch_offset),
        attention.queries, attention.keys, offset(attention.query_offset),
        offset(attention.key_offset), attention.blocks);
  }

  Operation *add(Location at, ArrayAttr uses,
                 const program::CollectiveT &collective) {
    GroupAttr group = GroupAttr::get(
        context, mesh, fromAxes(table.groups[collective.group]->axes));
    return exec::CollectiveOp::create(
        builder, at, exec::CollectiveKind(collective.kind),
        ReduceKind(collective.reduce), toType(context, collective.dtype), group,
        uses, collective.outer, collective.middle, collective.inner,
        collective.cause.empty() ? StringAttr()
                                 : builder.getStringAttr(collective.cause),
        collective.to.empty()
            ? GroupAttr()
            : GroupAttr::get(context, mesh, fromAxes(collective.to)),
        collective.shift);
  }

  //===--------------------------------------------------------------------===//
  // Functions and parameters
  //===--------------------------------------------------------------------===//

  /// Null where it is that of the parameter.
  DistAttr
  restOf(const std::vector<std::unique_ptr<program::DimensionT>> &dims) {
    return dims.empty() ? DistAttr() : tensor(dims).dist;
  }

  void add(const program::ParameterT &parameter) {
    Tensor tensor = this->tensor(parameter.dims);
    InitAttr init;
    if (parameter.init) {
      auto kind = InitKind(parameter.init->kind);
      bool normal = kind == InitKind::Normal;
      init = InitAttr::get(context, kind,
                           normal ? parameter.init->b : parameter.init->a,
                           normal ? 0 : parameter.init->b);
    }
    exec::ParameterOp::create(
        builder, loc, parameter.name, toType(context, parameter.dtype),
        tensor.shape, tensor.dist, tensor.names, init,
        slot(parameter.parameter), slot(parameter.gradient),
        slots(parameter.moments), restOf(parameter.gradient_dims),
        restOf(parameter.moment_dims),
        typeIfOther(parameter.gradient_dtype, parameter.dtype));
  }

  template <typename OpT> void add(const program::BindingT &binding) {
    Tensor tensor = this->tensor(binding.dims);
    OpT::create(builder, loc, binding.name, toType(context, binding.dtype),
                tensor.shape, tensor.dist, tensor.names, slots(binding.slots));
  }

  void add(const program::FunctionT &function) {
    auto op =
        exec::FunctionOp::create(builder, loc, function.name, StringAttr());
    if (function.data_flow)
      op->setAttr(exec::dataFlowAttr,
                  builder.getI64IntegerAttr(int64_t(function.data_flow)));
    OpBuilder::InsertionGuard guard(builder);
    builder.createBlock(&op.getBody());
    for (const auto &input : function.inputs)
      add<exec::InputOp>(*input);
    for (const auto &output : function.outputs)
      add<exec::OutputOp>(*output);
    for (const auto &call : function.calls)
      exec::CallOp::create(
          builder, loc,
          FlatSymbolRefAttr::get(context, table.segments[call->segment]->name),
          slots(call->arguments), slot(call->scratch),
          builder.getStringAttr(call->instance),
          builder.getI64IntegerAttr(call->microbatch),
          builder.getI64IntegerAttr(call->stream),
          builder.getDenseI64ArrayAttr(
              SmallVector<int64_t>(call->after.begin(), call->after.end())));
  }

  OpBuilder builder;
  MLIRContext *context;
  const program::ProgramT &table;
  MeshAttr mesh;
  Location loc;
};

} // namespace

OwningOpRef<ModuleOp> stretto::deserializeProgram(MLIRContext *context,
                                                  StringRef bytes) {
  context->loadDialect<exec::ProgramDialect>();
  auto loaded =
      runtime::Program::load(runtime::Bytes(bytes.data(), bytes.size()));
  if (!loaded) {
    emitError(UnknownLoc::get(context)) << loaded.status().message();
    return {};
  }
  program::ProgramT table;
  (*loaded)->table().UnPackTo(&table);
  return Deserializer(context, table).run();
}

std::string stretto::disassembleProgram(MLIRContext *context, StringRef bytes) {
  OwningOpRef<ModuleOp> module = deserializeProgram(context, bytes);
  std::string text;
  if (!module)
    return text;
  llvm::raw_string_ostream os(text);
  module->print(os);
  os << "\n";
  return text;
}
