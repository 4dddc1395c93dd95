//===- Expand.h - from calls to instructions --------------------*- C++ -*-===//
//
// Expands the calls of a function for one rank: every operand becomes an
// address, every payload a prepared operation or a communicator, every scalar a
// base and a coefficient of the step, every event and every call to start after
// a number of instructions that another stream has done.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_RUNTIME_EXECUTOR_EXPAND_H
#define STRETTO_RUNTIME_EXECUTOR_EXPAND_H

#include "Counters.h"

namespace stretto::runtime {

/// What is done for one command of one call, or for a run of collectives that
/// go together.
struct Instruction {
  enum class Kind : uint8_t { Launch, Collective, Fill, Copy, Plant, Wait };

  Kind kind = Kind::Launch;
  bool hasRandomKey = false; ///< scalar 0 is key(seed, step, instance)
  uint16_t stream = 0;
  uint32_t firstBuffer = 0; ///< into Expansion::buffers
  uint32_t firstScalar = 0; ///< into Expansion::scalars and ::values
  uint32_t numScalars = 0;
  uint32_t profileRow = 0;
  uint32_t trafficRow = 0;
  uint32_t pattern = 0; ///< Fill
  uint64_t bytes = 0;   ///< Fill, Copy
  uint64_t instanceKey = 0;
  Operation *operation = nullptr;            ///< Launch
  Communicator *communicator = nullptr;      ///< Collective
  uint32_t firstTask = 0;                    ///< into Expansion::tasks
  uint32_t numTasks = 0;                     ///< Collective
  uint32_t firstWait = 0;                    ///< into Expansion::waits
  uint32_t numWaits = 0;                     ///< Wait
  uint32_t callNumber = 0;                   ///< within the function
  const program::Call *call = nullptr;       ///< null: the end of the function
  const program::Command *command = nullptr; ///< null: the start of the call
};

/// Until `stream` has done `count` of its instructions.
struct StreamWait {
  uint16_t stream = 0;
  uint32_t count = 0;
};

/// What an instruction or a collective was made from.
struct CommandOfCall {
  const program::Call *call = nullptr;
  const program::Command *command = nullptr;
};

struct Expansion {
  std::vector<Instruction> instructions;      ///< in the order of the Program
  std::vector<std::vector<uint32_t>> streams; ///< those of each, in order
  std::vector<StreamWait> waits;
  std::vector<void *> buffers;
  std::vector<CollectiveTask> tasks;
  std::vector<CommandOfCall> taskCommands; ///< of the tasks
  std::vector<StepScalar> scalars;
  std::vector<int64_t> values; ///< of the scalars in the current step
  bool planted = false;        ///< there is a Plant instruction
};

/// What an expansion draws on; all of it outlives the expansion.
struct ExpandContext {
  const Program *program = nullptr;
  Device *device = nullptr;
  Counters *counters = nullptr;
  /// By group and stream: group * number of streams + stream.
  const std::vector<std::unique_ptr<Communicator>> *communicators = nullptr;
  std::array<char *, numRegions> regions = {};
  int64_t rank = 0;
  uint64_t seed = 0;
  const PlantedNan *plant = nullptr; ///< may be null
};

Result<Expansion> expand(const ExpandContext &context,
                         const program::Function &function);

/// The stream that a command of `call` runs on.
inline uint16_t streamOf(const program::Call &call,
                         const program::Command &command) {
  return command.stream() ? command.stream() : call.stream();
}

/// A text that may be absent.
inline std::string textOf(const flatbuffers::String *string) {
  return string ? string->str() : std::string();
}

/// Name of the argument that an operand is, as the compiler wrote it but for
/// "new "; empty for what is local to the segment.
std::string argumentName(const Program &program, const program::Call &call,
                         const program::Operand &operand);

/// "call 3 (layers.0) of segment 'decoder.fwd', decoder.fwd:einsum@model:12".
std::string describe(const Program &program, const Instruction &instruction);

} // namespace stretto::runtime

#endif // STRETTO_RUNTIME_EXECUTOR_EXPAND_H
