#include "State.h"

#include "stretto/Runtime/Bf16.h"
#include "stretto/Runtime/Init.h"
#include "stretto/Runtime/Safetensors.h"

#include <cmath>
#include <cstring>

namespace stretto::runtime {

NamedTensors parametersOf(const Executor &executor) {
  NamedTensors tensors;
  for (const ParameterView &view : executor.parameters())
    tensors.push_back({"param/" + view.value.name, view.value});
  return tensors;
}

NamedTensors momentsOf(const Executor &executor) {
  NamedTensors tensors;
  for (const ParameterView &view : executor.parameters())
    for (size_t i = 0; i < view.moments.size(); ++i)
      tensors.push_back(
          {concat("moment", i + 1, "/", view.value.name), view.moments[i]});
  return tensors;
}

NamedTensors gradientsOf(const Executor &executor) {
  NamedTensors tensors;
  for (const ParameterView &view : executor.parameters())
    if (!view.gradient.slots.empty())
      tensors.push_back({"grad/" + view.value.name, view.gradient});
  return tensors;
}

std::vector<Piece> checkpointPieces(const Executor &executor) {
  const Mesh &mesh = executor.program().mesh();
  int64_t rank = executor.world().rank();
  std::vector<Piece> pieces;
  auto add = [&](const NamedTensors &tensors) {
    for (const auto &[name, view] : tensors)
      pieces.push_back({name, view.dtype, view.logicalShape, view.box,
                        view.slots[0], mesh.isFirstReplica(rank, view.dims)});
  };
  add(parametersOf(executor));
  add(momentsOf(executor));
  return pieces;
}

static void store(program::DType type, void *target, int64_t at, double value) {
  if (type == program::DType::F64)
    static_cast<double *>(target)[at] = value;
  else if (type == program::DType::BF16)
    static_cast<Bf16 *>(target)[at] = narrow(float(value));
  else
    static_cast<float *>(target)[at] = float(value);
}

static Status initialize(const ParameterView &view, uint64_t seed) {
  const TensorView &value = view.value;
  if (value.dtype != program::DType::F32 &&
      value.dtype != program::DType::F64 && value.dtype != program::DType::BF16)
    return failure(Code::Rejected, "parameter '", value.name, "' is ",
                   program::EnumNameDType(value.dtype),
                   "; initialisation is for F32, F64 and BF16");
  std::memset(value.slots[0], 0, value.bytes);
  for (const TensorView &moment : view.moments)
    std::memset(moment.slots[0], 0, moment.bytes);
  const program::Init *init = view.parameter->init();
  if (!init)
    return Status::ok();
  uint64_t key = random::key(seed, 0, xxh3(value.name));
  auto fill = [&](int64_t offset, int64_t index, int64_t length) {
    for (int64_t i = 0; i < length; ++i)
      store(value.dtype, value.slots[0], offset + i,
            initialValue(init->kind(), init->a(), init->b(), key, index + i));
  };
  forEachRun(value.box, value.logicalShape, fill);
  return Status::ok();
}

Status initializeState(const Executor &executor) {
  for (const ParameterView &view : executor.parameters())
    STRETTO_TRY(initialize(view, executor.seed()));
  return Status::ok();
}

Status loadParameters(const Executor &executor, const std::string &path) {
  STRETTO_ASSIGN(SafetensorsFile file, SafetensorsFile::open(path));
  for (const auto &[name, view] : parametersOf(executor)) {
    const TensorEntry *entry = file.find(name);
    if (!entry)
      entry = file.find(view.name);
    if (!entry)
      return failure(Code::Rejected, path, ": no tensor '", view.name,
                     "', which the program has");
    if (entry->shape != view.logicalShape ||
        entry->dtype != safetensorsType(view.dtype))
      return failure(Code::Rejected, path, ": tensor '", entry->name, "' is ",
                     entry->dtype, " ", shapeText(entry->shape),
                     ", the program wants ", safetensorsType(view.dtype), " ",
                     shapeText(view.logicalShape));
    copyCommon(wholeBox(entry->shape), file.data(*entry).data, view.box,
               view.slots[0], bytesOf(view.dtype));
  }
  for (const TensorEntry &entry : file.header().tensors)
    if (entry.name.rfind("param/", 0) == 0 &&
        !executor.program().findParameter(entry.name.substr(6)))
      return failure(Code::Rejected, path, ": tensor '", entry.name,
                     "' is not a parameter of the program");
  return Status::ok();
}

/// A floating-point element; 0 for types that are always finite.
static double load(program::DType type, const void *source, int64_t at) {
  if (type == program::DType::F32)
    return static_cast<const float *>(source)[at];
  if (type == program::DType::F64)
    return static_cast<const double *>(source)[at];
  if (type != program::DType::BF16)
    return 0;
  return widen(static_cast<const Bf16 *>(source)[at]);
}

/// Logical index of the first value that is not finite, or -1.
static int64_t findNonFinite(const TensorView &view, double &value) {
  int64_t found = -1;
  auto search = [&](int64_t offset, int64_t index, int64_t length) {
    for (int64_t i = 0; i < length && found < 0; ++i) {
      value = load(view.dtype, view.slots[0], offset + i);
      found = std::isfinite(value) ? -1 : index + i;
    }
  };
  forEachRun(view.box, view.logicalShape, search);
  return found;
}

std::string findNonFinite(const NamedTensors &tensors) {
  for (const NamedTensor &tensor : tensors) {
    double value = 0;
    if (int64_t at = findNonFinite(tensor.view, value); at >= 0)
      return concat("'", tensor.name, "' is ", value, " at element ", at);
  }
  return "";
}

} // namespace stretto::runtime
