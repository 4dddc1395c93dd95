//===- Serialize.cpp - the Program as bytes -------------------------------===//

#include "stretto/Program/Serialize.h"

#include "stretto/Dialect/Program/IR/DataFlow.h"

#include "RecipeFields.h"
#include "Tables.h"

#include "stretto/Dialect/Stretto/IR/StrettoOps.h"
#include "stretto/Program/Verify.h"
#include "stretto/Runtime/Program.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace stretto;

constexpr uint32_t programVersion = 1; // of the schema

namespace {

/// Copies an entry of a dictionary into a field of its kind.
struct FieldReader {
  DictionaryAttr entries;

  void operator()(StringRef name, std::string &field) const {
    if (auto attr = entries.getAs<StringAttr>(name))
      field = attr.str();
  }
  void operator()(StringRef name, double &field) const {
    if (auto attr = entries.getAs<FloatAttr>(name))
      field = attr.getValueAsDouble();
  }
  template <typename Integer>
  void operator()(StringRef name, Integer &field) const {
    if (auto attr = entries.getAs<IntegerAttr>(name))
      field = attr.getValue().getZExtValue();
  }
};

class Serializer {
public:
  explicit Serializer(ModuleOp module) : module(module) {}

  FailureOr<std::string> run() {
    table.version = programVersion;
    table.compiler = "stretto";
    if (failed(addModuleFacts()) || failed(addBody()))
      return failure();
    for (auto &[group, index] : groups) {
      auto entry = std::make_unique<program::GroupT>();
      entry->axes = toAxes(group.getAxes());
      table.groups.push_back(std::move(entry));
    }
    table.streams = streams;
    if (saysDataFlow)
      addDataFlow();
    return pack();
  }

private:
  std::string pack() const {
    flatbuffers::FlatBufferBuilder builder;
    program::FinishProgramBuffer(builder,
                                 program::Program::Pack(builder, &table));
    return std::string(
        reinterpret_cast<const char *>(builder.GetBufferPointer()),
        builder.GetSize());
  }

  /// Digests in the words that a reader of the file will have: some attributes
  /// have more than one spelling. What does not load has none.
  void addDataFlow() {
    ScopedDiagnosticHandler quiet(module.getContext(),
                                  [](Diagnostic &) { return success(); });
    OwningOpRef<ModuleOp> read =
        deserializeProgram(module.getContext(), pack());
    if (!read)
      return;
    for (auto [function, entry] :
         llvm::zip(read->getOps<exec::FunctionOp>(), table.functions))
      entry->data_flow = exec::digestOf(exec::dataFlowOf(function));
  }

  //===--------------------------------------------------------------------===//
  // The module
  //===--------------------------------------------------------------------===//

  template <typename AttrT> AttrT fact(StringRef name) {
    return module->getAttrOfType<AttrT>(name);
  }

  LogicalResult addModuleFacts() {
    mesh = fact<MeshAttr>(attr::mesh);
    if (mesh)
      for (auto [name, size] : llvm::zip(mesh.getNames(), mesh.getSizes())) {
        if (size > UINT32_MAX)
          return module.emitError("mesh axis '")
                 << name.getValue() << "' of size " << size
                 << " does not fit the Program file (32 bits)";
        auto axis = std::make_unique<program::AxisT>();
        axis->name = name.str();
        axis->size = size;
        table.mesh.push_back(std::move(axis));
      }
    if (auto name = fact<StringAttr>(attr::modelName))
      table.model = name.str();
    else
      table.model = module.getName().value_or("model").str();
    if (auto features = fact<StringAttr>(attr::cpuFeatures))
      table.cpu_features = features.str();
    table.recipe = std::make_unique<program::RecipeT>();
    if (auto recipe = fact<DictionaryAttr>(attr::recipe))
      visitRecipe(*table.recipe, FieldReader{recipe});
    FieldReader facts{module->getDiscardableAttrDictionary()};
    facts(attr::vocabulary, table.recipe->vocabulary);
    facts(attr::modelFlops, table.recipe->model_flops_per_step);
    facts(attr::modelFlopsCausal, table.recipe->model_flops_per_step_causal);
    return success();
  }

  LogicalResult addBody() {
    for (auto kernel : module.getOps<KernelOp>()) {
      kernels[kernel.getSymName()] = table.kernels.size();
      table.kernels.push_back(kernel.getSymName().str());
    }
    for (auto segment : module.getOps<exec::SegmentOp>()) {
      segments[segment.getSymName()] = table.segments.size();
      if (failed(add(segment)))
        return failure();
    }
    for (auto parameter : module.getOps<exec::ParameterOp>())
      if (failed(add(parameter)))
        return failure();
    for (auto region : module.getOps<exec::RegionOp>()) {
      auto entry = std::make_unique<program::Region_T>();
      entry->region = program::Region(region.getRegion());
      entry->bytes = region.getBytes();
      entry->live = region.getLive().value_or(0);
      table.regions.push_back(std::move(entry));
    }
    for (auto function : module.getOps<exec::FunctionOp>())
      if (failed(add(function)))
        return failure();
    return success();
  }

  LogicalResult setDType(Operation *op, Type type, program::DType &field) {
    std::optional<program::DType> dtype = toDType(type);
    if (!dtype)
      return op->emitOpError("element type ")
             << type << " has no word in the Program file";
    field = *dtype;
    return success();
  }

  //===--------------------------------------------------------------------===//
  // Segments
  //===--------------------------------------------------------------------===//

  LogicalResult add(exec::SegmentOp segment) {
    auto entry = std::make_unique<program::SegmentT>();
    entry->name = segment.getSymName().str();
    entry->scratch_bytes = segment.getScratch();
    for (auto argument :
         segment.getArguments().getAsRange<exec::ArgumentAttr>()) {
      auto item = std::make_unique<program::ArgumentT>();
      item->name = argument.getName().str();
      item->bytes = argument.getBytes();
      item->access = program::Access(argument.getAccess());
      entry->arguments.push_back(std::move(item));
    }
    for (Operation &op : segment.getBody().getOps()) {
      auto command = std::make_unique<program::CommandT>();
      if (failed(fill(*command, segment, &op)))
        return failure();
      entry->commands.push_back(std::move(command));
    }
    table.segments.push_back(std::move(entry));
    return success();
  }

  LogicalResult fill(program::CommandT &command, exec::SegmentOp segment,
                     Operation *op) {
    if (failed(setStream(op, command.stream)))
      return failure();
    for (Attribute attribute : exec::operandsOf(op))
      command.operands.push_back(toOperand(cast<exec::OperandAttr>(attribute)));
    command.location =
        describeLocation(segment.getSymName(), nameOf(op), op->getLoc());
    return TypeSwitch<Operation *, LogicalResult>(op)
        .Case<exec::LaunchOp, exec::GemmOp, exec::AttentionOp,
              exec::CollectiveOp, exec::FillOp, exec::CopyOp, exec::RecordOp,
              exec::WaitOp>([&](auto op) {
          auto payload = this->payload(op);
          if (failed(payload))
            return failure();
          command.payload.Set(std::move(*payload));
          return success();
        })
        .Default([](Operation *op) {
          return op->emitOpError("is no command of a segment");
        });
  }

  LogicalResult setStream(Operation *op, uint16_t &field) {
    int64_t stream = op->getAttrOfType<IntegerAttr>("stream").getInt();
    if (stream < 0 || stream >= int64_t(runtime::maxStreams))
      return op->emitOpError("stream ")
             << stream << " is none of 0 to " << runtime::maxStreams - 1;
    streams = std::max<uint16_t>(streams, stream + 1);
    field = stream;
    return success();
  }

  static StringRef nameOf(Operation *op) {
    if (auto launch = dyn_cast<exec::LaunchOp>(op))
      return launch.getKernel();
    if (auto collective = dyn_cast<exec::CollectiveOp>(op))
      return exec::stringifyCollectiveKind(collective.getKind());
    return op->getName().stripDialect();
  }

  static std::unique_ptr<program::OperandT> toOperand(exec::OperandAttr use) {
    auto operand = std::make_unique<program::OperandT>();
    operand->space =
        use.getLocal() ? program::Space::Local : program::Space::Argument;
    operand->index = use.getIndex();
    operand->offset = use.getOffset();
    operand->bytes = use.getBytes();
    operand->access = program::Access(use.getAccess());
    return operand;
  }

  FailureOr<program::LaunchT> payload(exec::LaunchOp op) {
    program::LaunchT launch;
    auto kernel = kernels.find(op.getKernel());
    if (kernel == kernels.end())
      return op.emitOpError("no kernel @") << op.getKernel();
    launch.kernel = kernel->second;
    for (Attribute attribute : op.getScalars()) {
      launch.scalars.push_back(toScalar(attribute));
      if (!launch.scalars.back())
        return op.emitOpError("scalar ")
               << attribute
               << " is no offset, integer, \"seed\", \"step\", \"instance\" or "
                  "\"microbatch\"";
    }
    if (auto types = op->getAttrOfType<ArrayAttr>(attr::operandTypes))
      for (Type type : types.getAsValueRange<TypeAttr>())
        if (failed(setDType(op, type, launch.types.emplace_back())))
          return failure();
    return std::move(launch);
  }

  FailureOr<program::GemmT> payload(exec::GemmOp op) {
    program::GemmT gemm;
    gemm.m = op.getM();
    gemm.n = op.getN();
    gemm.k = op.getK();
    if (failed(setStrides(op, op.getAStrides(), gemm.a_row, gemm.a_col)) ||
        failed(setStrides(op, op.getBStrides(), gemm.b_row, gemm.b_col)) ||
        failed(setStrides(op, op.getCStrides(), gemm.c_row, gemm.c_col)))
      return failure();
    gemm.batch = op.getBatch().vec();
    gemm.a_batch = op.getABatch().vec();
    gemm.b_batch = op.getBBatch().vec();
    gemm.c_batch = op.getCBatch().vec();
    gemm.accumulate = op.getAccumulate();
    if (failed(setDType(op, op.getType(), gemm.dtype)))
      return failure();
    gemm.c_dtype = gemm.dtype;
    if (TypeAttr result = op.getResultTypeAttr();
        result && failed(setDType(op, result.getValue(), gemm.c_dtype)))
      return failure();
    return std::move(gemm);
  }

  LogicalResult setStrides(exec::GemmOp op, ArrayRef<int64_t> strides,
                           int64_t &row, int64_t &column) {
    if (strides.size() != 2)
      return op.emitOpError("needs a row and a column stride, got ")
             << strides.size() << " strides";
    row = strides[0];
    column = strides[1];
    return success();
  }

  FailureOr<program::AttentionT> payload(exec::AttentionOp op) {
    program::AttentionT attention;
    attention.backward = op.getBackward();
    attention.batch = op.getBatch();
    attention.q_len = op.getQLen();
    attention.kv_len = op.getKvLen();
    attention.heads = op.getHeads();
    attention.kv_heads = op.getKvHeads();
    attention.head_dim = op.getHeadDim();
    attention.causal = op.getCausal();
    attention.scale = op.getScale().convertToDouble();
    attention.dropout = op.getDropout().convertToDouble();
    attention.op_id = op.getOpId();
    attention.heads_global = op.getHeadsGlobal();
    if (op.getHeadOffsetAttr())
      attention.head_offset = toScalar(op.getHeadOffsetAttr());
    if (op.getBatchOffsetAttr())
      attention.batch_offset = toScalar(op.getBatchOffsetAttr());
    attention.queries = op.getQueries();
    attention.keys = op.getKeys();
    if (op.getQueryOffsetAttr())
      attention.query_offset = toScalar(op.getQueryOffsetAttr());
    if (op.getKeyOffsetAttr())
      attention.key_offset = toScalar(op.getKeyOffsetAttr());
    attention.blocks = op.getBlocks();
    if (failed(setDType(op, op.getType(), attention.dtype)))
      return failure();
    return std::move(attention);
  }

  FailureOr<program::CollectiveT> payload(exec::CollectiveOp op) {
    if (op.getGroup().getMesh() != mesh)
      return op.emitOpError("its group is of another mesh than the module's ")
             << mesh;
    program::CollectiveT collective;
    collective.kind = program::CollectiveKind(op.getKind());
    collective.reduce = program::ReduceKind(op.getReduce());
    collective.group =
        groups.insert({op.getGroup(), unsigned(groups.size())}).first->second;
    collective.outer = op.getOuter();
    collective.middle = op.getMiddle();
    collective.inner = op.getInner();
    collective.cause = op.getCause().value_or("").str();
    if (GroupAttr to = op.getToAttr())
      collective.to = toAxes(to.getAxes());
    collective.shift = op.getShift();
    if (failed(setDType(op, op.getType(), collective.dtype)))
      return failure();
    return std::move(collective);
  }

  FailureOr<program::FillT> payload(exec::FillOp op) {
    program::FillT fill;
    fill.pattern = op.getPattern();
    return fill;
  }
  FailureOr<program::CopyT> payload(exec::CopyOp) { return program::CopyT(); }
  FailureOr<program::RecordT> payload(exec::RecordOp op) {
    program::RecordT record;
    record.event = op.getEvent();
    return record;
  }
  FailureOr<program::WaitT> payload(exec::WaitOp op) {
    program::WaitT wait;
    wait.event = op.getEvent();
    return wait;
  }

  //===--------------------------------------------------------------------===//
  // Functions and parameters
  //===--------------------------------------------------------------------===//

  LogicalResult add(exec::FunctionOp function) {
    auto entry = std::make_unique<program::FunctionT>();
    entry->name = function.getSymName().str();
    for (Operation &op : function.getBody().getOps()) {
      LogicalResult result =
          TypeSwitch<Operation *, LogicalResult>(&op)
              .Case([&](exec::InputOp op) { return add(op, entry->inputs); })
              .Case([&](exec::OutputOp op) { return add(op, entry->outputs); })
              .Case([&](exec::CallOp op) { return add(op, entry->calls); })
              .Default([](Operation *op) {
                return op->emitOpError("cannot be in a program.function");
              });
      if (failed(result))
        return failure();
    }
    saysDataFlow |= function->hasAttr(exec::dataFlowAttr);
    table.functions.push_back(std::move(entry));
    return success();
  }

  template <typename OpT>
  LogicalResult add(OpT op,
                    std::vector<std::unique_ptr<program::BindingT>> &bindings) {
    auto binding = std::make_unique<program::BindingT>();
    binding->name = op.getName().str();
    binding->dims =
        toDimensions(op.getShape(), op.getDistAttr(), op.getDimsAttr());
    binding->slots = toSlots(op.getSlots());
    if (failed(setDType(op, op.getType(), binding->dtype)))
      return failure();
    bindings.push_back(std::move(binding));
    return success();
  }

  LogicalResult add(exec::CallOp op,
                    std::vector<std::unique_ptr<program::CallT>> &calls) {
    auto segment = segments.find(op.getSegment());
    if (segment == segments.end())
      return op.emitOpError("no segment @") << op.getSegment();
    auto call = std::make_unique<program::CallT>();
    call->segment = segment->second;
    call->arguments = toSlots(op.getSlots());
    call->scratch = toSlot(op.getScratchAttr());
    call->instance = op.getInstance().str();
    call->instance_key = llvm::xxh3_64bits(op.getInstance());
    call->microbatch = op.getMicrobatch();
    if (failed(setStream(op, call->stream)))
      return failure();
    for (int64_t before : op.getAfter()) {
      if (before < 0 || before >= int64_t(calls.size()))
        return op.emitOpError("starts after call ")
               << before << ", but " << calls.size() << " calls come before it";
      call->after.push_back(before);
    }
    calls.push_back(std::move(call));
    return success();
  }

  LogicalResult add(exec::ParameterOp op) {
    auto parameter = std::make_unique<program::ParameterT>();
    parameter->name = op.getName().str();
    parameter->dims =
        toDimensions(op.getShape(), op.getDistAttr(), op.getDimsAttr());
    parameter->init = std::make_unique<program::InitT>();
    if (InitAttr init = op.getInitAttr()) {
      bool normal = init.getKind() == InitKind::Normal; // mean 0, stddev a
      parameter->init->kind = program::InitKind(init.getKind());
      parameter->init->a = normal ? 0 : init.getA();
      parameter->init->b = normal ? init.getA() : init.getB();
    }
    parameter->parameter = toSlot(op.getSlotAttr());
    parameter->gradient = toSlot(op.getGradientAttr());
    parameter->moments = toSlots(op.getMoments());
    if (DistAttr dist = op.getGradientDistAttr())
      parameter->gradient_dims =
          toDimensions(op.getShape(), dist, op.getDimsAttr());
    if (DistAttr dist = op.getMomentDistAttr())
      parameter->moment_dims =
          toDimensions(op.getShape(), dist, op.getDimsAttr());
    if (failed(setDType(op, op.getType(), parameter->dtype)))
      return failure();
    parameter->gradient_dtype = parameter->dtype;
    if (TypeAttr type = op.getGradientTypeAttr();
        type &&
        failed(setDType(op, type.getValue(), parameter->gradient_dtype)))
      return failure();
    table.parameters.push_back(std::move(parameter));
    return success();
  }

  ModuleOp module;
  MeshAttr mesh;
  program::ProgramT table;
  llvm::StringMap<unsigned> kernels, segments;
  llvm::MapVector<GroupAttr, unsigned> groups;
  uint16_t streams = 1;
  bool saysDataFlow = false; // the functions carry digests
};

} // namespace

FailureOr<std::string> stretto::packProgram(ModuleOp module) {
  return Serializer(module).run();
}

FailureOr<std::string> stretto::serializeProgram(ModuleOp module) {
  FailureOr<std::string> bytes = packProgram(module);
  if (failed(bytes))
    return failure();
  Diagnostics diagnostics;
  if (succeeded(verifyProgram(*bytes, diagnostics)))
    return bytes;
  for (const Diagnostics::Entry &entry : diagnostics.entries())
    module.emitError("the Program does not verify: ") << entry.message;
  return failure();
}
