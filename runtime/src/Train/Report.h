//===- Report.h - what a run was made of ------------------------*- C++ -*-===//
//
// Memory by region, bytes by collective and time by kernel, as the runtime
// counted them.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_RUNTIME_SRC_TRAIN_REPORT_H
#define STRETTO_RUNTIME_SRC_TRAIN_REPORT_H

#include "stretto/Runtime/Executor.h"

#include <nlohmann/json.hpp>

#include <string>

namespace stretto::runtime {

/// {"memory": {"Parameters": bytes, ..., "Fragmentation": rest, "total":
/// arena}}; of transient regions what is alive when most is.
std::string memoryJson(const Executor &executor);

/// Collective. {"bytes_per_step": [{"rank", "function", "kind", "group",
/// "calls", "bytes"}, ...]} of all ranks: what "train" sent in each of `steps`.
Result<std::string> bytesJson(World &world, const Executor &executor,
                              int64_t steps);

/// {"steps", "seconds", "exposed_seconds", "other_wait_seconds",
/// "collectives": [{"collective", "segment", "cause", "count", "bytes",
/// "seconds", "exposed_seconds"}, ...]}: all of this rank in the traced steps.
nlohmann::ordered_json communicationJson(const Executor &executor);

/// The same for people, the most exposed first.
std::string communicationTable(const Executor &executor);

/// The costliest work of this rank in "train" first, of all its streams.
/// `stepSeconds` is what all `steps` took; what is not work of the Program is
/// its own row.
std::string profileTable(const Executor &executor, int64_t steps,
                         double stepSeconds);

} // namespace stretto::runtime

#endif // STRETTO_RUNTIME_SRC_TRAIN_REPORT_H
