// Any bytes as a Program: never a crash; what is accepted can be walked as the
// executor walks it, for the first and the last rank, without leaving a bound.
#include "stretto/Runtime/Program.h"

#include <cstdlib>

using namespace stretto;
using runtime::ScalarContext;

static void require(bool holds) {
  if (!holds)
    abort();
}

static const program::Slot &slotOf(const program::Call &call,
                                   const program::Operand &operand) {
  return operand.space() == program::Space::Argument
             ? *call.arguments()->Get(operand.index())
             : *call.scratch();
}

static void walk(const runtime::Program &program, const program::Call &call,
                 const program::Command &command, int64_t rank) {
  if (command.operands())
    for (const program::Operand *operand : *command.operands())
      if (operand->bytes() > 0) {
        const program::Slot &slot = slotOf(call, *operand);
        uint64_t end = slot.offset() + operand->offset() + operand->bytes();
        require(end <= program.regionBytes(slot.region()));
      }
  ScalarContext context = {rank, call.microbatch(), 3, 1, call.instance_key()};
  if (const program::Launch *launch = command.payload_as_Launch())
    if (launch->scalars())
      for (const program::Scalar *scalar : *launch->scalars())
        (void)program.evaluate(scalar, context);
  if (const program::Collective *collective = command.payload_as_Collective()) {
    auto *axes = program.table().groups()->Get(collective->group())->axes();
    require(program.mesh().memberIndex(rank, axes) <
            runtime::Mesh::product(axes));
  }
}

static void walk(const runtime::Program &program, int64_t rank) {
  if (auto *functions = program.table().functions())
    for (const program::Function *function : *functions) {
      if (!function->calls())
        continue;
      for (const program::Call *call : *function->calls()) {
        auto *segment = program.table().segments()->Get(call->segment());
        if (segment->commands())
          for (const program::Command *command : *segment->commands())
            walk(program, *call, *command, rank);
      }
    }
  if (auto *parameters = program.table().parameters())
    for (const program::Parameter *parameter : *parameters) {
      runtime::Box box = program.mesh().box(rank, parameter->dims());
      uint64_t bytes =
          uint64_t(box.localElements()) * runtime::bytesOf(parameter->dtype());
      require(bytes <= parameter->parameter()->bytes());
      (void)program.mesh().isFirstReplica(rank, parameter->dims());
    }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  auto program = runtime::Program::load(runtime::Bytes(data, size));
  if (!program) {
    require(program.code() == runtime::Code::Rejected);
    return 0;
  }
  walk(**program, 0);
  walk(**program, (*program)->mesh().numRanks() - 1);
  return 0;
}
