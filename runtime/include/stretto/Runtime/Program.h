//===- Program.h - a loaded and checked Program -----------------*- C++ -*-===//
//
// Program::load takes bytes from anywhere (also hostile ones) and returns a
// Program on which the executor needs no further check: every index, offset
// and size in it is within its bounds. Scalars are evaluated here.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_RUNTIME_PROGRAM_H
#define STRETTO_RUNTIME_PROGRAM_H

#include "stretto/Runtime/Bytes.h"
#include "stretto/Runtime/Mesh.h"
#include "stretto/Runtime/Program_generated.h"
#include "stretto/Runtime/Status.h"

#include <array>
#include <memory>
#include <string>

namespace stretto::runtime {

constexpr uint32_t programVersion = 1;
/// A stream costs every rank a thread, and every stream a count of each other.
constexpr unsigned maxStreams = 256;
constexpr size_t numRegions = size_t(program::Region::MAX) + 1;

/// Regions that share one range of the arena: whatever lives within a function.
constexpr bool isTransient(program::Region region) {
  return region == program::Region::Gradients ||
         region == program::Region::Activations ||
         region == program::Region::Scratch ||
         region == program::Region::Working;
}

/// What a Scalar may depend on.
struct ScalarContext {
  int64_t rank = 0;
  int64_t microbatch = 0;
  int64_t step = 0;
  uint64_t seed = 0;
  uint64_t instanceKey = 0;
};

/// A Scalar with all but the step known: base + perStep * step, wrapping.
struct StepScalar {
  uint64_t base = 0;
  uint64_t perStep = 0;

  int64_t at(int64_t step) const {
    return static_cast<int64_t>(base + perStep * static_cast<uint64_t>(step));
  }
};

/// How gradient and moments lie: where the Program says, or as the parameter.
inline const Dimensions *gradientDims(const program::Parameter &parameter) {
  return parameter.gradient_dims() ? parameter.gradient_dims()
                                   : parameter.dims();
}
inline const Dimensions *momentDims(const program::Parameter &parameter) {
  return parameter.moment_dims() ? parameter.moment_dims() : parameter.dims();
}

/// Bytes of one element; 0 for a type that does not exist.
int64_t bytesOf(program::DType type);

/// Element type of an operand of a command. A copy does not say: bf16, in which
/// every f32 that is not finite has a part that is not.
program::DType operandType(const program::Command &command, size_t index);

class Program {
public:
  /// Copies, verifies and hashes. Never aborts, whatever the bytes are.
  static Result<std::shared_ptr<const Program>> load(Bytes bytes);

  const program::Program &table() const { return *root; }
  const Mesh &mesh() const { return deviceMesh; }
  /// xxh3_64 of the whole serialized Program.
  uint64_t hash() const { return programHash; }

  /// Bytes from the start of a region to the end of its last slot.
  uint64_t regionBytes(program::Region region) const {
    return regions[size_t(region)];
  }
  /// How much of it is alive when most is; all of it where that is not said.
  uint64_t liveBytes(program::Region region) const {
    return live[size_t(region)];
  }
  /// Where a region starts in the arena.
  uint64_t regionStart(program::Region region) const {
    return starts[size_t(region)];
  }
  /// Of the range that transient regions share, the last one of the arena.
  uint64_t transientBytes() const { return arenaBytes() - transientStart(); }
  uint64_t transientStart() const {
    return regionStart(program::Region::Scratch);
  }
  uint64_t arenaBytes() const { return arena; }

  /// Null when there is none of that name.
  const program::Function *findFunction(const std::string &name) const;
  const program::Parameter *findParameter(const std::string &name) const;

  /// `scalar` may be null (0).
  StepScalar fold(const program::Scalar *scalar,
                  const ScalarContext &context) const;
  int64_t evaluate(const program::Scalar *scalar,
                   const ScalarContext &context) const {
    return fold(scalar, context).at(context.step);
  }

private:
  Program() = default;
  void layOutRegions();

  std::unique_ptr<uint64_t[]> storage;
  const program::Program *root = nullptr;
  Mesh deviceMesh;
  uint64_t programHash = 0;
  std::array<uint64_t, numRegions> regions = {}, live = {}, starts = {};
  uint64_t arena = 0;
};

} // namespace stretto::runtime

#endif // STRETTO_RUNTIME_PROGRAM_H
