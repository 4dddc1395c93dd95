//===- EmitSegment.cpp - from tensor operations to commands ---------------===//

#include "EmitSegment.h"

#include "ExchangeBlocks.h"
#include "stretto/Dialect/Program/IR/DataFlow.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace stretto;
using exec::Access;

namespace {

class Emitter {
public:
  Emitter(OpBuilder &builder, SegmentOp segment, const SegmentPlan &plan,
          SegmentFlow &flow)
      : builder(builder), segment(segment), plan(plan), flow(flow),
        accesses(plan.placement().numArguments, std::nullopt) {}

  FailureOr<exec::SegmentOp> emit() {
    OpBuilder::InsertionGuard guard(builder);
    auto target = exec::SegmentOp::create(
        builder, segment.getLoc(), segment.getSymName(),
        builder.getArrayAttr({}), int64_t(plan.scratchBytes()), StringAttr());
    builder.createBlock(&target.getBody());
    for (Operation &op : segment.getBody().front()) {
      for (BufferCopy copy : plan.copiesBefore(&op))
        emit(op.getLoc(), copy);
      if (!isa<YieldOp>(op) && failed(emitCommand(&op)))
        return failure();
    }
    target.setArgumentsAttr(arguments());
    return target;
  }

private:
  //===--------------------------------------------------------------------===//
  // Operands
  //===--------------------------------------------------------------------===//

  Attribute use(const Buffer &buffer, unsigned number, Access access) {
    if (buffer.argument) {
      std::optional<Access> &sum = accesses[*buffer.argument];
      sum = sum ? exec::both(*sum, access) : access;
    }
    return exec::OperandAttr::get(
        builder.getContext(), access, !buffer.argument,
        buffer.argument.value_or(number), buffer.argument ? 0 : buffer.offset,
        buffer.bytes);
  }
  Attribute use(const Buffer &buffer, Access access) {
    return use(buffer, buffer.number, access);
  }
  Attribute use(Value value, Access access) {
    return use(plan.bufferOf(value), plan.numberOf(value), access);
  }
  Attribute read(Value value) { return use(value, Access::Read); }
  Attribute write(Value value) { return use(value, Access::Write); }
  ArrayAttr list(ArrayRef<Attribute> uses) {
    return builder.getArrayAttr(uses);
  }

  //===--------------------------------------------------------------------===//
  // Commands
  //===--------------------------------------------------------------------===//

  /// Notes what `command` computes: its inputs and results in the order of the
  /// operands that it reads and writes.
  void note(Operation *command, ValueRange inputs, ValueRange outputs) {
    FlowStep step{exec::describeCommand(command), {}, {}};
    for (Value input : inputs)
      if (exec::tensorBytes(input.getType()))
        step.inputs.push_back(input.getAsOpaquePointer());
    for (Value output : outputs)
      step.outputs.push_back(output.getAsOpaquePointer());
    flow.steps.push_back(std::move(step));
  }

  void emit(Location loc, BufferCopy copy) {
    exec::CopyOp::create(
        builder, loc,
        list({copy.value ? read(copy.value)
                         : use(plan.buffer(copy.from), Access::Read),
              use(plan.buffer(copy.to), Access::Write)}));
  }

  LogicalResult emitCommand(Operation *op) {
    return TypeSwitch<Operation *, LogicalResult>(op)
        .Case<LaunchOp, GemmOp, AttentionOp, AttentionGradOp, AllReduceOp,
              AllGatherOp, ReduceScatterOp, AllToAllOp, PermuteOp>(
            [&](auto op) { return emit(op); })
        .Default([&](Operation *op) {
          return op->emitOpError(
              "is no command; the pass fuse leaves launches, "
              "gemm, attention and collectives");
        });
  }

  LogicalResult emit(LaunchOp op) {
    SmallVector<Attribute> uses;
    SmallVector<Value> written;
    for (auto [index, operand] : llvm::enumerate(op.getOperands())) {
      const auto *alias = llvm::find(op.getAliases(), int64_t(index));
      if (alias == op.getAliases().end()) {
        uses.push_back(read(operand));
        continue;
      }
      written.push_back(op.getResult(alias - op.getAliases().begin()));
      uses.push_back(use(written.back(), Access::ReadWrite));
    }
    for (auto [result, alias] : llvm::zip(op.getResults(), op.getAliases()))
      if (alias < 0) {
        written.push_back(result);
        uses.push_back(write(result));
      }
    auto launch = exec::LaunchOp::create(
        builder, op.getLoc(), op.getCalleeAttr(), list(uses), op.getScalars());
    setTypes(launch, op);
    note(launch, op.getOperands(), written);
    return success();
  }

  void setTypes(exec::LaunchOp launch, LaunchOp op) {
    SmallVector<Type> types;
    for (Value operand : op.getOperands())
      types.push_back(elementType(operand));
    for (auto [result, alias] : llvm::zip(op.getResults(), op.getAliases()))
      if (alias < 0)
        types.push_back(elementType(result));
    if (!llvm::all_of(types, [](Type type) { return type.isF32(); }))
      launch->setAttr(attr::operandTypes, builder.getTypeArrayAttr(types));
  }

  LogicalResult emit(GemmOp op) {
    bool accumulate = bool(op.getAcc());
    Attribute c =
        use(op.getResult(), accumulate ? Access::ReadWrite : Access::Write);
    SmallVector<Value> inputs = {op.getA(), op.getB()};
    if (accumulate)
      inputs.push_back(op.getAcc());
    Type type = elementType(op.getA()), result = elementType(op.getResult());
    note(exec::GemmOp::create(
             builder, op.getLoc(), list({read(op.getA()), read(op.getB()), c}),
             type, op.getM(), op.getN(), op.getK(), op.getAStrides(),
             op.getBStrides(), op.getCStrides(), op.getBatch(), op.getABatch(),
             op.getBBatch(), op.getCBatch(),
             result == type ? TypeAttr() : TypeAttr::get(result), accumulate),
         inputs, op.getResult());
    return success();
  }

  template <typename OpT>
  void emitAttention(OpT op, SmallVector<Attribute> uses, bool backward) {
    uses.push_back(use(*plan.workspaceOf(op), Access::Write));
    auto q = cast<RankedTensorType>(op.getQ().getType());
    auto k = cast<RankedTensorType>(op.getK().getType());
    int64_t sizes[] = {q.getDimSize(0), q.getDimSize(1), k.getDimSize(1),
                       q.getDimSize(2), k.getDimSize(2), q.getDimSize(3)};
    auto command = exec::AttentionOp::create(
        builder, op.getLoc(), list(uses), q.getElementType(), backward, sizes,
        op.getCausal(), op.getScale(), op.getP(), op.getOpId(),
        op.getHeadsGlobal().value_or(q.getDimSize(2)), op.getHeadOffsetAttr(),
        op.getBatchOffsetAttr(), op.getQueries().value_or(0),
        op.getKeys().value_or(0), op.getQueryOffsetAttr(),
        op.getKeyOffsetAttr(), blocksOf(op));
    note(command, op->getOperands(), op->getResults());
  }
  static int64_t blocksOf(AttentionOp op) { return op.getBlocks().value_or(1); }
  static int64_t blocksOf(AttentionGradOp) { return 1; }
  LogicalResult emit(AttentionOp op) {
    emitAttention(op,
                  {read(op.getQ()), read(op.getK()), read(op.getV()),
                   write(op.getOut()), write(op.getLse())},
                  false);
    return success();
  }
  LogicalResult emit(AttentionGradOp op) {
    emitAttention(op,
                  {read(op.getQ()), read(op.getK()), read(op.getV()),
                   read(op.getOut()), read(op.getLse()), read(op.getDout()),
                   write(op.getDq()), write(op.getDk()), write(op.getDv())},
                  true);
    return success();
  }

  //===--------------------------------------------------------------------===//
  // Collectives: sizes in elements as the schema's Collective says
  //===--------------------------------------------------------------------===//

  struct Sizes {
    int64_t outer = 1, middle = 1, inner = 1;
  };

  static int64_t product(RankedTensorType type, int64_t from, int64_t to) {
    int64_t result = 1;
    for (int64_t dim = from; dim < to; ++dim)
      result *= type.getDimSize(dim);
    return result;
  }
  /// Dimensions before `dim`, and the rest.
  static Sizes splitAt(RankedTensorType type, int64_t dim) {
    return {product(type, 0, dim), 1, product(type, dim, type.getRank())};
  }

  template <typename OpT>
  LogicalResult emitCollective(OpT op, exec::CollectiveKind kind, Sizes sizes,
                               ReduceKind reduce = ReduceKind::Sum,
                               Attribute source = {}, GroupAttr to = {},
                               int64_t shift = 0) {
    auto command = exec::CollectiveOp::create(
        builder, op.getLoc(), kind, reduce, elementType(op.getResult()),
        op.getGroup(),
        list({source ? source : read(op.getX()), write(op.getResult())}),
        sizes.outer, sizes.middle, sizes.inner, op.getCauseAttr(), to, shift);
    note(command, op.getX(), op->getResults());
    if (source && plan.workspaceOf(op))
      flow.steps.back().inputs = {op.getOperation()};
    return success();
  }
  LogicalResult emit(AllReduceOp op) {
    return emitCollective(op, exec::CollectiveKind::AllReduce,
                          splitAt(typeOf(op.getX()), 0), op.getKind());
  }
  LogicalResult emit(AllGatherOp op) {
    return emitCollective(op, exec::CollectiveKind::AllGather,
                          splitAt(typeOf(op.getX()), op.getDim()));
  }
  LogicalResult emit(ReduceScatterOp op) {
    return emitCollective(op, exec::CollectiveKind::ReduceScatter,
                          splitAt(typeOf(op.getResult()), op.getDim()),
                          op.getKind());
  }
  LogicalResult emit(PermuteOp op) {
    return emitCollective(op, exec::CollectiveKind::Permute,
                          splitAt(typeOf(op.getX()), 0), ReduceKind::Sum, {},
                          op.getTo(), op.getShift());
  }
  /// Splitting a dimension and concatenating on a more minor one is what the
  /// command does; in the other order the blocks are brought together before.
  LogicalResult emit(AllToAllOp op) {
    RankedTensorType type = typeOf(op.getX());
    int64_t split = op.getSplitDim(), concat = op.getConcatDim();
    int64_t members = op.getGroup().getNumMembers();
    ExchangeBlocks blocks = ExchangeBlocks::of(op);
    Attribute source = read(op.getX());
    if (const Buffer *moved = plan.workspaceOf(op)) {
      KernelOp kernel = moveBlocksKernel(segment->getParentOfType<ModuleOp>(),
                                         blocks, type.getElementType());
      note(exec::LaunchOp::create(
               builder, op.getLoc(),
               FlatSymbolRefAttr::get(kernel.getSymNameAttr()),
               list({source, use(*moved, Access::Write)}),
               builder.getArrayAttr({})),
           op.getX(), {});
      flow.steps.back().outputs = {op.getOperation()};
      source = use(*moved, Access::Read);
    }
    Sizes sizes = {blocks.outer, 1, blocks.before * blocks.block};
    if (split < concat)
      sizes = {product(type, 0, split), product(type, split, concat) / members,
               product(type, concat, type.getRank())};
    return emitCollective(op, exec::CollectiveKind::AllToAll, sizes,
                          ReduceKind::Sum, source);
  }

  //===--------------------------------------------------------------------===//
  // Arguments
  //===--------------------------------------------------------------------===//

  static RankedTensorType typeOf(Value value) {
    return cast<RankedTensorType>(value.getType());
  }
  static Type elementType(Value value) {
    return typeOf(value).getElementType();
  }

  /// The parameter's name or the role, and the number.
  std::string argumentName(DictionaryAttr attrs, StringRef prefix,
                           unsigned index) {
    auto text = [&](StringRef key) {
      auto attr = attrs ? attrs.getAs<StringAttr>(key) : StringAttr();
      return attr ? attr.getValue() : StringRef();
    };
    StringRef role = text(attr::role), param = text(attr::param);
    if (!param.empty())
      return (prefix + (role.empty() ? "param" : role) + "." + param).str();
    return (prefix + (role.empty() ? "value" : role) + "." + Twine(index))
        .str();
  }

  ArrayAttr arguments() {
    SmallVector<Attribute> arguments(accesses.size());
    auto set = [&](unsigned index, StringRef name, Type type) {
      arguments[index] = exec::ArgumentAttr::get(
          builder.getContext(), builder.getStringAttr(name),
          exec::tensorBytes(type), accesses[index].value_or(Access::Read));
    };
    for (auto [index, type] : llvm::enumerate(segment.getArgumentTypes()))
      set(index, argumentName(segment.getArgAttrDict(index), "", index), type);
    for (auto [index, type] : llvm::enumerate(segment.getResultTypes()))
      if (!plan.placement().updatesOperand[index])
        set(plan.placement().argument[index],
            argumentName(segment.getResultAttrDict(index), "new ", index),
            type);
    return builder.getArrayAttr(arguments);
  }

  OpBuilder &builder;
  SegmentOp segment;
  const SegmentPlan &plan;
  SegmentFlow &flow;
  llvm::SmallVector<std::optional<Access>> accesses; // per memory argument
};

} // namespace

FailureOr<exec::SegmentOp> stretto::emitSegment(OpBuilder &builder,
                                                SegmentOp segment,
                                                const SegmentPlan &plan,
                                                SegmentFlow &flow) {
  return Emitter(builder, segment, plan, flow).emit();
}
