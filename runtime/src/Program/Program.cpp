//===- Program.cpp - a loaded and checked Program -------------------------===//

#include "stretto/Runtime/Program.h"

#include "Verifier.h"

#include <algorithm>
#include <cstring>

namespace stretto::runtime {

int64_t bytesOf(program::DType type) {
  switch (type) {
  case program::DType::F64:
  case program::DType::I64:
    return 8;
  case program::DType::F32:
  case program::DType::I32:
    return 4;
  case program::DType::BF16:
  case program::DType::F16:
    return 2;
  case program::DType::I8:
  case program::DType::I1:
    return 1;
  }
  return 0;
}

program::DType operandType(const program::Command &command, size_t index) {
  using program::DType;
  if (const program::Launch *launch = command.payload_as_Launch())
    return launch->types() && index < launch->types()->size()
               ? launch->types()->Get(uint32_t(index))
               : DType::F32;
  if (const program::Gemm *gemm = command.payload_as_Gemm())
    return index < 2 ? gemm->dtype() : gemm->c_dtype();
  if (const program::Attention *attention = command.payload_as_Attention()) {
    bool isLse = index == 4,
         isWorkspace = index + 1 == command.operands()->size();
    return isLse || isWorkspace ? DType::F32 : attention->dtype();
  }
  if (const program::Collective *collective = command.payload_as_Collective())
    return collective->dtype();
  return command.payload_as_Copy() ? DType::BF16 : DType::F32;
}

/// The FlatBuffers structure: every offset stays within the bytes.
static Status checkStructure(Bytes bytes) {
  if (!program::ProgramBufferHasIdentifier(bytes.data))
    return failure(Code::Rejected, "not a Program: the identifier is not '",
                   program::ProgramIdentifier(), "'");
  constexpr unsigned maxDepth = 32, maxTables = 20'000'000;
  flatbuffers::Verifier verifier(bytes.data, bytes.size, maxDepth, maxTables);
  if (!program::VerifyProgramBuffer(verifier))
    return failure(Code::Rejected,
                   "the Program is damaged: an offset leaves its ", bytes.size,
                   " bytes; compile it again");
  return Status::ok();
}

static Mesh meshOf(const program::Program &table) {
  std::vector<int64_t> sizes;
  for (const program::Axis *axis : all(table.mesh()))
    sizes.push_back(axis->size());
  return Mesh(std::move(sizes));
}

/// Ranges of their own first, then the one that transient regions share.
void Program::layOutRegions() {
  constexpr uint64_t alignment = 64;
  auto aligned = [](uint64_t bytes) {
    return (bytes + alignment - 1) / alignment * alignment;
  };
  for (const program::Region_ *region : all(root->regions())) {
    regions[size_t(region->region())] = region->bytes();
    live[size_t(region->region())] =
        region->live() ? region->live() : region->bytes();
  }
  for (size_t i = 0; i < numRegions; ++i)
    if (!isTransient(program::Region(i))) {
      starts[i] = arena;
      arena += aligned(regions[i]);
    }
  uint64_t shared = 0;
  for (size_t i = 0; i < numRegions; ++i)
    if (isTransient(program::Region(i))) {
      starts[i] = arena;
      shared = std::max(shared, aligned(regions[i]));
    }
  arena += shared;
}

Result<std::shared_ptr<const Program>> Program::load(Bytes bytes) {
  constexpr size_t smallest = 8, largest = size_t(1) << 31;
  if (bytes.size < smallest || bytes.size >= largest)
    return failure(Code::Rejected, "not a Program: ", bytes.size, " bytes");
  std::shared_ptr<Program> loaded(new Program);
  loaded->storage.reset(new uint64_t[bytes.size / sizeof(uint64_t) + 1]);
  std::memcpy(loaded->storage.get(), bytes.data, bytes.size);
  Bytes own(loaded->storage.get(), bytes.size);
  STRETTO_TRY(checkStructure(own));
  loaded->root = program::GetProgram(own.data);
  STRETTO_TRY(verifyMeaning(*loaded->root));
  loaded->deviceMesh = meshOf(*loaded->root);
  loaded->programHash = xxh3(own);
  loaded->layOutRegions();
  return std::shared_ptr<const Program>(std::move(loaded));
}

template <typename T, typename Tables>
static const T *findNamed(const Tables *tables, const std::string &name) {
  for (const T *table : all(tables))
    if (table->name()->string_view() == name)
      return table;
  return nullptr;
}

const program::Function *Program::findFunction(const std::string &name) const {
  return findNamed<program::Function>(root->functions(), name);
}

const program::Parameter *
Program::findParameter(const std::string &name) const {
  return findNamed<program::Parameter>(root->parameters(), name);
}

/// Value of every symbol but the step.
static uint64_t valueOf(const program::Term &term, const Mesh &mesh,
                        const ScalarContext &context) {
  switch (term.symbol()) {
  case program::Symbol::AxisIndex:
    return mesh.coordinate(context.rank, *term.axis());
  case program::Symbol::Microbatch:
    return context.microbatch;
  case program::Symbol::Seed:
    return context.seed;
  case program::Symbol::Instance:
    return context.instanceKey;
  case program::Symbol::Step:
    break;
  }
  return 0;
}

StepScalar Program::fold(const program::Scalar *scalar,
                         const ScalarContext &context) const {
  StepScalar folded;
  if (!scalar)
    return folded;
  folded.base = static_cast<uint64_t>(scalar->base());
  for (const program::Term *term : all(scalar->terms())) {
    uint64_t coefficient = static_cast<uint64_t>(term->coefficient());
    if (term->symbol() == program::Symbol::Step)
      folded.perStep += coefficient;
    else
      folded.base += coefficient * valueOf(*term, deviceMesh, context);
  }
  return folded;
}

} // namespace stretto::runtime
