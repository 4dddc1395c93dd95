//===- VerifyCommand.cpp - one command against its segment ----------------===//
//
// Every operand lies within an argument or the scratch, is accessed as declared
// and is as large as the payload's sizes ask for.
//
//===----------------------------------------------------------------------===//

#include "Saturating.h"
#include "Verifier.h"

#include "stretto/Runtime/AttentionWorkspace.h"

#include <cmath>

namespace stretto::runtime {

using namespace program;

namespace {

template <typename... Parts> Status reject(const Parts &...parts) {
  return failure(Code::Rejected, parts...);
}

bool writes(Access access) { return uint8_t(access) & uint8_t(Access::Write); }

Status verifyOperand(const Segment &segment, const Operand &operand) {
  if (operand.access() < Access::Read || operand.access() > Access::ReadWrite)
    return reject("there is no access ", int(operand.access()));
  uint64_t limit = segment.scratch_bytes();
  if (operand.space() == Space::Argument) {
    if (operand.index() >= count(segment.arguments()))
      return reject("there is no argument ", operand.index());
    const Argument &argument = *segment.arguments()->Get(operand.index());
    if (writes(operand.access()) && !writes(argument.access()))
      return reject("writes argument ", operand.index(),
                    ", which is declared read-only");
    limit = argument.bytes();
  } else if (operand.space() != Space::Local) {
    return reject("there is no space ", int(operand.space()));
  }
  if (!fits(operand.offset(), operand.bytes(), limit))
    return reject("[", operand.offset(), ", +", operand.bytes(),
                  ") leaves the ", limit, " bytes of its ",
                  operand.space() == Space::Local ? "scratch" : "argument");
  if (operand.offset() % 4 != 0)
    return reject("offset ", operand.offset(), " is not aligned");
  return Status::ok();
}

/// The operands of a payload, asked for one after the other.
class Operands {
public:
  explicit Operands(const Command &command) : operands(command.operands()) {}

  Status expect(size_t wanted) const {
    if (count(operands) != wanted)
      return reject("has ", count(operands), " operands, needs ", wanted);
    return Status::ok();
  }
  Status next(const char *name, uint64_t bytes, Access access) {
    const Operand &operand = *operands->Get(index++);
    if (operand.bytes() < bytes)
      return reject(name, " has ", operand.bytes(), " bytes, ", bytes,
                    " are needed");
    if ((uint8_t(operand.access()) & uint8_t(access)) != uint8_t(access))
      return reject(name, " is not declared ", EnumNameAccess(access));
    return Status::ok();
  }

private:
  const flatbuffers::Vector<flatbuffers::Offset<Operand>> *operands;
  size_t index = 0;
};

Status verifyPayload(const program::Program &program, const Command &command,
                     const Launch &launch) {
  if (launch.kernel() >= count(program.kernels()))
    return reject("there is no kernel ", launch.kernel());
  size_t index = 0;
  for (const Operand *operand : all(command.operands())) {
    if (operand->offset() % 64 != 0)
      return reject("operand ", index, ": offset ", operand->offset(),
                    " is not a multiple of 64");
    ++index;
  }
  for (const Scalar *scalar : all(launch.scalars()))
    STRETTO_TRY(verifyScalar(program, scalar));
  if (launch.types() && launch.types()->size() != count(command.operands()))
    return reject("has ", launch.types()->size(), " element types for ",
                  count(command.operands()), " operands");
  for (size_t i = 0; launch.types() && i < launch.types()->size(); ++i)
    if (bytesOf(launch.types()->GetEnum<DType>(uint32_t(i))) == 0)
      return reject("operand ", i, ": its element type does not exist");
  return Status::ok();
}

/// Adds the reach of one dimension to the last element's index.
bool addReach(uint64_t &last, int64_t extent, int64_t stride) {
  if (extent < 1 || stride < 0)
    return false;
  last = saturatingAdd(last, saturatingMul(extent - 1, stride));
  return true;
}

/// Bytes from the first to the last element of a batched strided matrix.
Status matrixBytes(const Gemm &gemm, DType type, int64_t rows, int64_t cols,
                   int64_t row, int64_t col,
                   const flatbuffers::Vector<int64_t> *strides,
                   uint64_t &bytes) {
  uint64_t last = 0;
  bool good = addReach(last, rows, row) && addReach(last, cols, col);
  for (size_t i = 0; i < count(gemm.batch()); ++i)
    good = good && addReach(last, gemm.batch()->Get(i), strides->Get(i));
  if (!good)
    return reject("sizes must be at least 1 and strides at least 0");
  bytes = saturatingMul(saturatingAdd(last, 1), bytesOf(type));
  return Status::ok();
}

Status verifyPayload(const program::Program &, const Command &command,
                     const Gemm &gemm) {
  if (bytesOf(gemm.dtype()) == 0 || bytesOf(gemm.c_dtype()) == 0)
    return reject("its element type does not exist");
  size_t batch = count(gemm.batch());
  constexpr size_t maxBatchDims = 8;
  if (batch > maxBatchDims || count(gemm.a_batch()) != batch ||
      count(gemm.b_batch()) != batch || count(gemm.c_batch()) != batch)
    return reject("has batch strides for ", count(gemm.a_batch()), ", ",
                  count(gemm.b_batch()), " and ", count(gemm.c_batch()), " of ",
                  batch, " batch dimensions (at most ", maxBatchDims, ")");
  uint64_t a = 0, b = 0, c = 0;
  STRETTO_TRY(matrixBytes(gemm, gemm.dtype(), gemm.m(), gemm.k(), gemm.a_row(),
                          gemm.a_col(), gemm.a_batch(), a));
  STRETTO_TRY(matrixBytes(gemm, gemm.dtype(), gemm.k(), gemm.n(), gemm.b_row(),
                          gemm.b_col(), gemm.b_batch(), b));
  STRETTO_TRY(matrixBytes(gemm, gemm.c_dtype(), gemm.m(), gemm.n(),
                          gemm.c_row(), gemm.c_col(), gemm.c_batch(), c));
  Operands operands(command);
  STRETTO_TRY(operands.expect(3));
  STRETTO_TRY(operands.next("A", a, Access::Read));
  STRETTO_TRY(operands.next("B", b, Access::Read));
  return operands.next("C", c,
                       gemm.accumulate() ? Access::ReadWrite : Access::Write);
}

Status verifySizes(const Attention &attention) {
  for (int64_t size :
       {attention.batch(), attention.q_len(), attention.kv_len(),
        attention.heads(), attention.kv_heads(), attention.head_dim()})
    if (size < 1 || size > (int64_t(1) << 30))
      return reject("a size of ", size);
  if (attention.heads() % attention.kv_heads() != 0)
    return reject(attention.heads(), " heads do not divide by ",
                  attention.kv_heads(), " key/value heads");
  for (int64_t extent : {attention.queries(), attention.keys()})
    if (extent < 0 || extent > (int64_t(1) << 40))
      return reject(extent, " positions of all shards");
  if (attention.blocks() < 1 || attention.blocks() > (int64_t(1) << 30) ||
      (attention.backward() && attention.blocks() != 1))
    return reject(attention.backward() ? "backward with " : "",
                  attention.blocks(), " blocks of keys");
  if (!(attention.dropout() >= 0 && attention.dropout() < 1))
    return reject("dropout ", attention.dropout(), " is not in [0, 1)");
  if (attention.dtype() != DType::F32 && attention.dtype() != DType::BF16)
    return reject("attention on ", EnumNameDType(attention.dtype()),
                  " is not supported; use f32 or bf16");
  return Status::ok();
}

Status verifyPayload(const program::Program &program, const Command &command,
                     const Attention &attention) {
  STRETTO_TRY(verifySizes(attention));
  STRETTO_TRY(verifyScalar(program, attention.head_offset()));
  STRETTO_TRY(verifyScalar(program, attention.batch_offset()));
  STRETTO_TRY(verifyScalar(program, attention.query_offset()));
  STRETTO_TRY(verifyScalar(program, attention.key_offset()));
  uint64_t perHead =
      saturatingMul(saturatingMul(attention.batch(), attention.head_dim()),
                    bytesOf(attention.dtype()));
  uint64_t q = saturatingMul(saturatingMul(perHead, attention.heads()),
                             attention.q_len());
  uint64_t k = saturatingMul(saturatingMul(perHead, attention.kv_heads()),
                             attention.kv_len());
  uint64_t out = saturatingMul(q, attention.blocks());
  uint64_t lse = saturatingMul(out / perHead, uint64_t(attention.batch()) * 4);
  uint64_t workspace = attentionWorkspaceBytes(
      {attention.backward(), attention.batch(), attention.q_len(),
       attention.kv_len(), attention.heads(), attention.kv_heads(),
       attention.head_dim(), attention.causal(),
       attention.dtype() == DType::BF16});
  bool backward = attention.backward();
  Access result = backward ? Access::Read : Access::Write;
  Operands operands(command);
  STRETTO_TRY(operands.expect(backward ? 10 : 6));
  STRETTO_TRY(operands.next("q", q, Access::Read));
  STRETTO_TRY(operands.next("k", k, Access::Read));
  STRETTO_TRY(operands.next("v", k, Access::Read));
  STRETTO_TRY(operands.next("out", out, result));
  STRETTO_TRY(operands.next("lse", lse, result));
  if (backward) {
    STRETTO_TRY(operands.next("dout", q, Access::Read));
    STRETTO_TRY(operands.next("dq", q, Access::Write));
    STRETTO_TRY(operands.next("dk", k, Access::Write));
    STRETTO_TRY(operands.next("dv", k, Access::Write));
  }
  const Operand &last = *command.operands()->Get(backward ? 9 : 5);
  if (last.offset() % 64 != 0)
    return reject("workspace: offset ", last.offset(),
                  " is not a multiple of 64");
  return operands.next("workspace", workspace, Access::Write);
}

Status verifyPayload(const program::Program &program, const Command &command,
                     const Collective &collective) {
  if (collective.group() >= count(program.groups()))
    return reject("there is no group ", collective.group());
  if (collective.kind() > CollectiveKind::MAX ||
      collective.reduce() > ReduceKind::MAX || bytesOf(collective.dtype()) == 0)
    return reject("its kind, reduction or element type does not exist");
  if (collective.outer() < 1 || collective.middle() < 1 ||
      collective.inner() < 1)
    return reject("sizes ", collective.outer(), " x ", collective.middle(),
                  " x ", collective.inner(), " must be at least 1");
  const AxisRefs *axes = program.groups()->Get(collective.group())->axes();
  if (collective.kind() == CollectiveKind::Permute)
    STRETTO_TRY(verifyOrder(program, axes, collective.to()));
  else if (count(collective.to()))
    return reject("only a permutation has an order of its members");
  uint64_t members = Mesh::product(axes);
  bool shifts = collective.kind() == CollectiveKind::Permute;
  if (collective.shift() < 0 ||
      uint64_t(collective.shift()) >= (shifts ? members : 1))
    return reject("its shift ", collective.shift(), " must be at least 0 and ",
                  "less than ", shifts ? members : 1);
  uint64_t one =
      saturatingMul(saturatingMul(collective.outer(), collective.inner()),
                    bytesOf(collective.dtype()));
  if (collective.kind() == CollectiveKind::AllToAll)
    one = saturatingMul(one, collective.middle());
  uint64_t whole = saturatingMul(one, members);
  bool wideSource = collective.kind() == CollectiveKind::ReduceScatter ||
                    collective.kind() == CollectiveKind::AllToAll;
  bool wideTarget = collective.kind() == CollectiveKind::AllGather ||
                    collective.kind() == CollectiveKind::AllToAll;
  Operands operands(command);
  STRETTO_TRY(operands.expect(2));
  STRETTO_TRY(operands.next("source", wideSource ? whole : one, Access::Read));
  return operands.next("destination", wideTarget ? whole : one, Access::Write);
}

Status verifyPayload(const program::Program &, const Command &command,
                     const Fill &) {
  Operands operands(command);
  STRETTO_TRY(operands.expect(1));
  return operands.next("destination", 0, Access::Write);
}

Status verifyPayload(const program::Program &, const Command &command,
                     const Copy &) {
  Operands operands(command);
  STRETTO_TRY(operands.expect(2));
  STRETTO_TRY(operands.next("source", 0, Access::Read));
  return operands.next("destination", command.operands()->Get(0)->bytes(),
                       Access::Write);
}

template <typename Event>
Status verifyEvent(const program::Program &, const Command &command,
                   const Event &event) {
  return Operands(command).expect(0);
}

} // namespace

Status verifyCommand(const program::Program &program, const Segment &segment,
                     const Command &command) {
  if (command.stream() >= program.streams())
    return reject("stream ", command.stream(), " of ", program.streams());
  constexpr size_t maxOperands = 1024;
  if (count(command.operands()) > maxOperands)
    return reject("has ", count(command.operands()), " operands");
  size_t index = 0;
  for (const Operand *operand : all(command.operands()))
    STRETTO_TRY(
        verifyOperand(segment, *operand).within(concat("operand ", index++)));
  switch (command.payload_type()) {
  case Payload::Launch:
    return verifyPayload(program, command, *command.payload_as_Launch());
  case Payload::Gemm:
    return verifyPayload(program, command, *command.payload_as_Gemm());
  case Payload::Attention:
    return verifyPayload(program, command, *command.payload_as_Attention());
  case Payload::Collective:
    return verifyPayload(program, command, *command.payload_as_Collective());
  case Payload::Fill:
    return verifyPayload(program, command, *command.payload_as_Fill());
  case Payload::Copy:
    return verifyPayload(program, command, *command.payload_as_Copy());
  case Payload::Record:
    return verifyEvent(program, command, *command.payload_as_Record());
  case Payload::Wait:
    return verifyEvent(program, command, *command.payload_as_Wait());
  case Payload::NONE:
    break;
  }
  return reject("its payload is of unknown kind ", int(command.payload_type()));
}

} // namespace stretto::runtime
