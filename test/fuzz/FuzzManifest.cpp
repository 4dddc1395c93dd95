// Any bytes as the manifest of a checkpoint, and any JSON as what its checksum
// covers: never a crash; what is accepted covers its tensors with boxes inside
// of them, and prints and reads back as itself.
#include "Manifest.h"

#include "stretto/Runtime/StrictJson.h"

#include <cinttypes>
#include <cstdlib>

using namespace stretto::runtime;

static void require(bool holds) {
  if (!holds)
    abort();
}

static Bytes bytesOf(const std::string &text) {
  return Bytes(text.data(), text.size());
}

static void check(const Result<Manifest> &manifest) {
  if (!manifest) {
    require(manifest.code() == Code::Rejected);
    return;
  }
  for (const auto &tensor : manifest->tensors) {
    int64_t covered = 0;
    for (const StoredBox &stored : tensor.second) {
      require(stored.name == tensor.first);
      Box box = stored.box(), whole = wholeBox(stored.shape);
      require(commonElements(box, whole) == box.ownedElements());
      covered += box.ownedElements();
    }
    require(covered == wholeBox(tensor.second.front().shape).ownedElements());
  }
  std::string text = manifest->text();
  Result<Manifest> again = Manifest::parse(bytesOf(text));
  require(again.isOk() && again->text() == text);
}

/// The bytes as the body of a manifest with the right checksum.
static std::string sealed(const nlohmann::json &body) {
  char checksum[17];
  std::snprintf(checksum, sizeof(checksum), "%016" PRIx64, xxh3(body.dump()));
  return nlohmann::json({{"checkpoint", body}, {"checksum", checksum}}).dump();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  check(Manifest::parse(Bytes(data, size)));
  if (Result<nlohmann::json> body = parseStrictJson(Bytes(data, size)))
    check(Manifest::parse(bytesOf(sealed(*body))));
  std::string text(reinterpret_cast<const char *>(data), size);
  if (Result<std::vector<StoredBox>> boxes = boxesFromText(text))
    require(boxesFromText(boxesToText(*boxes)).isOk());
  return 0;
}
