// Any bytes as a safetensors file: never a crash; the tensors of what is
// accepted lie one after the other in the file, and writing the same tensors
// again gives a file with the same ones.
#include "stretto/Runtime/Safetensors.h"

#include <cstdlib>

using namespace stretto::runtime;

static void require(bool holds) {
  if (!holds)
    abort();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Result<SafetensorsHeader> header = parseSafetensors(Bytes(data, size));
  if (!header) {
    require(header.code() == Code::Rejected);
    return 0;
  }
  uint64_t at = 0;
  for (const TensorEntry &entry : header->tensors) {
    require(entry.begin == at && entry.end >= at);
    require(entry.bytes() ==
            uint64_t(entry.elements()) * safetensorsWidth(entry.dtype));
    at = entry.end;
  }
  require(header->dataBegin + at == size);

  std::vector<TensorEntry> tensors = header->tensors;
  std::string copy = safetensorsHeader(tensors, header->metadata);
  copy.append(reinterpret_cast<const char *>(data) + header->dataBegin, at);
  Result<SafetensorsHeader> again =
      parseSafetensors(Bytes(copy.data(), copy.size()));
  require(again.isOk() && again->metadata == header->metadata &&
          again->tensors.size() == tensors.size());
  return 0;
}
