//===- Dump.cpp - tensors that an executable wrote ------------------------===//

#include "stretto/Interpreter/Check.h"
#include "stretto/Runtime/Safetensors.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/Support/Endian.h"

using namespace llvm;
using namespace stretto;
using namespace stretto::interp;

template <typename T> static T load(const uint8_t *data, int64_t index) {
  return support::endian::read<T, llvm::endianness::little>(data +
                                                            index * sizeof(T));
}

static double widen(uint16_t bits, const fltSemantics &semantics) {
  APFloat value(semantics, APInt(16, bits));
  bool inexact;
  value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &inexact);
  return value.convertToDouble();
}

/// Calls `element(index)` for the data of one tensor.
template <typename T, typename Fn>
static Tensor fill(const runtime::TensorEntry &entry, Fn element) {
  std::vector<T> data(entry.elements());
  for (size_t i = 0; i < data.size(); ++i)
    data[i] = element(i);
  return Tensor::of(entry.shape, std::move(data));
}

static Tensor read(const runtime::TensorEntry &entry, const uint8_t *data) {
  StringRef type = entry.dtype;
  if (type == "F64")
    return fill<double>(entry,
                        [&](int64_t i) { return load<double>(data, i); });
  if (type == "F32")
    return fill<double>(entry, [&](int64_t i) { return load<float>(data, i); });
  if (type == "BF16" || type == "F16")
    return fill<double>(entry, [&](int64_t i) {
      return widen(load<uint16_t>(data, i),
                   type == "F16" ? APFloat::IEEEhalf() : APFloat::BFloat());
    });
  if (type == "I64")
    return fill<int64_t>(entry,
                         [&](int64_t i) { return load<int64_t>(data, i); });
  if (type == "I32")
    return fill<int64_t>(entry,
                         [&](int64_t i) { return load<int32_t>(data, i); });
  if (type == "U8" || type == "BOOL")
    return fill<int64_t>(entry, [&](int64_t i) { return data[i]; });
  return Tensor();
}

mlir::FailureOr<std::map<std::string, Tensor>>
interp::readSafetensors(StringRef path, std::string &error) {
  auto file = runtime::SafetensorsFile::open(path.str());
  if (!file) {
    error = file.status().message();
    return mlir::failure();
  }
  std::map<std::string, Tensor> tensors;
  for (const runtime::TensorEntry &entry : file->header().tensors) {
    Tensor tensor = read(entry, file->data(entry).data);
    if (tensor.isNull()) {
      error = (path + ": tensor '" + entry.name + "' has the type " +
               entry.dtype + ", which is not read here")
                  .str();
      return mlir::failure();
    }
    tensors.emplace(entry.name, std::move(tensor));
  }
  return tensors;
}
