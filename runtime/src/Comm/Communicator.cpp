//===- Communicator.cpp - what all engines share --------------------------===//

#include "stretto/Runtime/Communicator.h"

#include "Reduce.h"

#include <cstdlib>
#include <cstring>

namespace stretto::runtime {

using program::CollectiveKind;
using program::DType;

CollectiveShape CollectiveShape::of(const program::Collective &collective) {
  return {collective.kind(),  collective.reduce(), collective.dtype(),
          collective.outer(), collective.middle(), collective.inner()};
}

int64_t CollectiveShape::sourceElements(int64_t n) const {
  switch (kind) {
  case CollectiveKind::AllReduce:
  case CollectiveKind::AllGather:
  case CollectiveKind::Permute:
    return outer * inner;
  case CollectiveKind::ReduceScatter:
    return outer * n * inner;
  case CollectiveKind::AllToAll:
    return outer * n * middle * inner;
  }
  return 0;
}

int64_t CollectiveShape::targetElements(int64_t n) const {
  switch (kind) {
  case CollectiveKind::AllReduce:
  case CollectiveKind::ReduceScatter:
  case CollectiveKind::Permute:
    return outer * inner;
  case CollectiveKind::AllGather:
    return outer * n * inner;
  case CollectiveKind::AllToAll:
    return outer * n * middle * inner;
  }
  return 0;
}

Status CollectiveShape::check() const {
  bool reduces = kind == CollectiveKind::AllReduce ||
                 kind == CollectiveKind::ReduceScatter;
  if (reduces && !findReduce(dtype, reduce))
    return failure(Code::Rejected, "the reduction ",
                   program::EnumNameReduceKind(reduce), " is not supported on ",
                   program::EnumNameDType(dtype),
                   "; use F32, F64, BF16, I32 or I64");
  return Status::ok();
}

Status Communicator::sum(double *values, int64_t count) {
  CollectiveShape shape;
  shape.dtype = DType::F64;
  shape.inner = count;
  uint64_t ignored = 0;
  return run(shape, values, values, ignored);
}

Status Communicator::gather(const void *mine, void *all, int64_t bytes) {
  CollectiveShape shape;
  shape.kind = CollectiveKind::AllGather;
  shape.dtype = DType::I8;
  shape.inner = bytes;
  uint64_t ignored = 0;
  return run(shape, mine, all, ignored);
}

/// Reads a whole number from `text` up to `end`, a character or the terminator.
static bool parseNumber(const char *&text, char end, uint64_t &value) {
  char *rest = nullptr;
  if (*text < '0' || *text > '9')
    return false;
  value = std::strtoull(text, &rest, 10);
  if (*rest != end)
    return false;
  text = end ? rest + 1 : rest;
  return true;
}

Result<CommOptions> CommOptions::fromEnvironment() {
  CommOptions options;
  if (const char *text = std::getenv("STRETTO_DEADLINE")) {
    uint64_t seconds = 0;
    const char *rest = text;
    if (!parseNumber(rest, '\0', seconds) || seconds < 1 || seconds > 1000000)
      return failure(Code::Usage, "STRETTO_DEADLINE='", text,
                     "' is not a number of seconds");
    options.deadline = std::chrono::seconds(seconds);
  }
  if (const char *text = std::getenv("STRETTO_DELAY")) {
    uint64_t microseconds = 0;
    const char *rest = text;
    if (!parseNumber(rest, ':', options.delaySeed) ||
        !parseNumber(rest, '\0', microseconds) || microseconds > 1000000)
      return failure(Code::Usage, "STRETTO_DELAY='", text,
                     "' is not seed:microseconds (at most 1000000)");
    options.maxDelayMicroseconds = static_cast<int64_t>(microseconds);
  }
  return options;
}

} // namespace stretto::runtime
