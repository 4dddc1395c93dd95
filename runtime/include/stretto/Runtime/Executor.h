//===- Executor.h - runs a Program on one rank ------------------*- C++ -*-===//
//
// prepare (communicators, arena) -> initialize (kernels, primitives) -> execute
// (only launches). Everything that can be known before the first step is
// resolved before it; execute allocates nothing. One executor per rank, driven
// by one thread; streams but the first have threads of their own.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_RUNTIME_EXECUTOR_H
#define STRETTO_RUNTIME_EXECUTOR_H

#include "stretto/Runtime/Communicator.h"
#include "stretto/Runtime/Device.h"
#include "stretto/Runtime/Program.h"
#include "stretto/Runtime/Trace.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace stretto::runtime {

/// A tensor of this rank, in the arena. Local elements lie row-major in
/// box.dims[i].extent.
struct TensorView {
  std::string name;
  program::DType dtype = program::DType::F32;
  std::vector<int64_t> logicalShape; ///< global sizes without padding
  Box box;
  uint64_t bytes = 0;               ///< of each slot
  std::vector<void *> slots;        ///< one per micro-batch, or one
  const Dimensions *dims = nullptr; ///< as in the Program

  template <typename T> T *data(size_t slot = 0) const {
    return static_cast<T *>(slots[slot]);
  }
};

struct ParameterView {
  const program::Parameter *parameter = nullptr;
  TensorView value;
  TensorView gradient;
  std::vector<TensorView> moments; ///< f32
};

/// For tests: NaN in the first element of a tensor, on one rank in one step,
/// after the first command that writes it.
struct PlantedNan {
  int64_t rank = 0, step = 0;
  std::string instance, tensor; ///< "layers.1", "accumulator.mlp.w1"
};

/// Where a value that is not finite was made from values that are.
struct NonFiniteOrigin {
  int64_t rank = -1; ///< negative: no command made it
  /// "'accumulator.mlp.w1' of layers.1 is nan at element 5 after ...".
  std::string description;
};

struct ExecutorOptions {
  /// Measure every command (adds a read of two clocks each).
  bool profile = false;
  /// Keep the spans of "train" in the steps from the first to the second; none
  /// when the second is less.
  int64_t traceFrom = 1, traceTo = 0;
  /// Used where the Program asks for the seed; the recipe's when absent.
  std::optional<uint64_t> seed;
  std::optional<PlantedNan> plant;
  /// For tests: one thread issues the commands of all streams in an order that
  /// the events allow and nobody expects (0: stream 0 as early as possible, 1:
  /// as late as possible, else at random, by this seed), and memory that holds
  /// nothing is NaN.
  std::optional<uint64_t> adversary;

  /// The defaults, changed by STRETTO_ADVERSARY=seed.
  static Result<ExecutorOptions> fromEnvironment();
};

/// What one kind of work of one function cost so far. `name` is the kernel's
/// name, or a description such as "gemm 64x768x768" or "all-reduce f32 tp
/// 4096". Sums over all counts.
struct ProfileEntry {
  std::string function;
  std::string kind; ///< kernel, gemm, attention, fill, copy, collective
  std::string name;
  uint64_t count = 0;
  double seconds = 0;
  double cpuSeconds = 0;   ///< of the stream's thread; the rest it waited
  double asideSeconds = 0; ///< of `seconds`, on streams other than 0
  double flops = 0;        ///< useful floating-point operations
  uint64_t bytes = 0;      ///< of the operands
  uint64_t largest = 0;    ///< elements of the operand that has the most
};

/// Bytes this rank sent (others read from it) in the collectives of one kind
/// of one function over one group.
struct TrafficEntry {
  std::string function;
  program::CollectiveKind kind = program::CollectiveKind::AllReduce;
  uint32_t group = 0;
  uint64_t calls = 0;
  uint64_t sentBytes = 0;
};

class Executor {
public:
  virtual ~Executor() = default;

  /// Connects the groups, compares the Program's hash and the library versions
  /// of all ranks, allocates the arena. A collective operation.
  virtual Status prepare() = 0;
  /// Loads kernels (the image of a shared object) and makes every primitive.
  virtual Status initialize(Bytes kernels) = 0;

  /// Index for execute, or an error that lists the functions there are.
  virtual Result<size_t> function(const std::string &name) const = 0;
  /// Runs one function on this rank. Any error aborts the job.
  virtual Status execute(size_t function, int64_t step) = 0;
  /// After an execute with results that are not finite: does the same again on
  /// the same inputs, which gives the same bits, and looks at everything. A
  /// collective operation with one answer on all ranks; counts as no work.
  virtual Result<NonFiniteOrigin> findNonFinite(size_t function,
                                                int64_t step) = 0;

  /// Moves the planted NaN, if there is one, to another step.
  virtual void plantAt(int64_t step) = 0;

  /// Memory of this rank, valid after prepare.
  virtual std::vector<TensorView> inputs(size_t function) const = 0;
  virtual std::vector<TensorView> outputs(size_t function) const = 0;
  virtual Result<TensorView> input(size_t function,
                                   const std::string &name) const = 0;
  virtual Result<TensorView> output(size_t function,
                                    const std::string &name) const = 0;
  virtual std::vector<ParameterView> parameters() const = 0;
  /// Start of a region, for tools that dump or clear it.
  virtual void *region(program::Region region) const = 0;

  virtual const Program &program() const = 0;
  virtual World &world() const = 0;
  virtual uint64_t seed() const = 0;
  virtual uint64_t arenaBytes() const = 0;
  virtual std::vector<ProfileEntry> profile() const = 0;
  /// What was asked to be traced and has run, in order.
  virtual std::vector<TraceSpan> trace() const = 0;
  virtual std::vector<TrafficEntry> traffic() const = 0;
  /// Forgets profile and traffic so far (for instance after a warm-up).
  virtual void resetCounters() = 0;
};

/// `world` and `device` outlive the executor.
std::unique_ptr<Executor> createExecutor(std::shared_ptr<const Program> program,
                                         World &world, Device &device,
                                         const ExecutorOptions &options = {});

} // namespace stretto::runtime

#endif // STRETTO_RUNTIME_EXECUTOR_H
