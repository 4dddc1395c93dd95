#include "Manifest.h"

#include "stretto/Runtime/Bytes.h"
#include "stretto/Runtime/Safetensors.h"
#include "stretto/Runtime/StrictJson.h"

#include <cinttypes>

namespace stretto::runtime {

using nlohmann::json;

namespace {

constexpr int formatVersion = 1;
constexpr const char *formatName = "stretto-checkpoint";

std::string hex(uint64_t value) {
  char text[17];
  std::snprintf(text, sizeof(text), "%016" PRIx64, value);
  return text;
}

/// Reads typed members of an object; the first problem sticks.
class Members {
public:
  explicit Members(const json &object) : object(object) {
    if (!object.is_object())
      status = failure(Code::Rejected, "expected a JSON object");
  }

  void read(const char *key, std::string &value) {
    if (const json *member = find(key, &json::is_string))
      value = member->get<std::string>();
  }
  void read(const char *key, uint64_t &value) {
    if (const json *member = find(key, &json::is_number_unsigned))
      value = member->get<uint64_t>();
  }
  void read(const char *key, int64_t &value) {
    uint64_t unsignedValue = 0;
    read(key, unsignedValue);
    if (unsignedValue > INT64_MAX)
      wrong(key);
    else
      value = int64_t(unsignedValue);
  }
  void readHex(const char *key, uint64_t &value) {
    std::string text;
    read(key, text);
    char *end = nullptr;
    value = std::strtoull(text.c_str(), &end, 16);
    if (text.size() != 16 || *end != '\0')
      wrong(key);
  }
  void read(const char *key, std::vector<int64_t> &values) {
    const json *member = find(key, &json::is_array);
    for (size_t i = 0; member && i < member->size(); ++i) {
      const json &value = (*member)[i];
      if (!value.is_number_unsigned() || value.get<uint64_t>() > INT64_MAX)
        return wrong(key);
      values.push_back(value.get<int64_t>());
    }
  }

  Status status;

private:
  const json *find(const char *key, bool (json::*is)() const noexcept) {
    auto member = object.is_object() ? object.find(key) : object.end();
    if (member != object.end() && ((*member).*is)())
      return &*member;
    wrong(key);
    return nullptr;
  }
  void wrong(const char *key) {
    if (status)
      status = failure(Code::Rejected, "'", key, "' is missing or malformed");
  }

  const json &object;
};

json toJson(const StoredBox &box) {
  return {{"name", box.name},
          {"dtype", box.dtype},
          {"file", box.file},
          {"shape", box.shape},
          {"begin", box.begin},
          {"end", box.end},
          {"checksum", hex(box.checksum)}};
}

Status checkBox(const StoredBox &box) {
  auto wrong = [&](const char *what) {
    return failure(Code::Rejected, "tensor '", box.name, "' in ", box.file,
                   ": ", what);
  };
  if (safetensorsWidth(box.dtype) == 0)
    return wrong("unknown dtype");
  if (box.file.empty() || box.file.find('/') != std::string::npos)
    return wrong("the file is not one of the checkpoint's folder");
  if (box.begin.size() != box.shape.size() ||
      box.end.size() != box.shape.size())
    return wrong("box and shape differ in rank");
  uint64_t elements = safetensorsWidth(box.dtype);
  for (size_t dim = 0; dim < box.shape.size(); ++dim) {
    if (box.begin[dim] >= box.end[dim] || box.end[dim] > box.shape[dim])
      return wrong("the box is empty or not inside of the tensor");
    if (__builtin_mul_overflow(elements, box.shape[dim], &elements) ||
        elements > INT64_MAX)
      return wrong("the tensor is too large");
  }
  return Status::ok();
}

Result<StoredBox> boxFromJson(const json &value) {
  StoredBox box;
  Members members(value);
  members.read("name", box.name);
  members.read("dtype", box.dtype);
  members.read("file", box.file);
  members.read("shape", box.shape);
  members.read("begin", box.begin);
  members.read("end", box.end);
  members.readHex("checksum", box.checksum);
  STRETTO_TRY(members.status);
  STRETTO_TRY(checkBox(box));
  return box;
}

json factsToJson(const CheckpointFacts &facts) {
  return {{"format", formatName},
          {"version", formatVersion},
          {"model", facts.model},
          {"program", hex(facts.programHash)},
          {"step", facts.step},
          {"cursor", facts.cursor},
          {"seed", facts.seed},
          {"data_tokens", facts.dataTokens},
          {"data", hex(facts.dataHash)},
          {"skipped_batches", facts.skippedBatches},
          {"failed_step", facts.failedStep},
          {"roll_backs", facts.rollBacks}};
}

Result<CheckpointFacts> factsFromJson(const json &value) {
  CheckpointFacts facts;
  std::string format;
  uint64_t version = 0;
  Members members(value);
  members.read("format", format);
  members.read("version", version);
  STRETTO_TRY(members.status);
  if (format != formatName || version != formatVersion)
    return failure(Code::Rejected, "format '", format, "' version ", version,
                   ", expected '", formatName, "' version ", formatVersion);
  members.read("model", facts.model);
  members.readHex("program", facts.programHash);
  members.read("step", facts.step);
  members.read("cursor", facts.cursor);
  members.read("seed", facts.seed);
  members.read("data_tokens", facts.dataTokens);
  if (value.contains("data")) // older checkpoints do not know
    members.readHex("data", facts.dataHash);
  for (auto [key, count] : {std::pair("skipped_batches", &facts.skippedBatches),
                            std::pair("failed_step", &facts.failedStep),
                            std::pair("roll_backs", &facts.rollBacks)})
    if (value.contains(key)) // older ones know none of these
      members.read(key, *count);
  STRETTO_TRY(members.status);
  return facts;
}

/// The object under "checkpoint", after comparing it with "checksum".
Result<json> openEnvelope(Bytes text) {
  STRETTO_ASSIGN(json envelope, parseStrictJson(text));
  if (!envelope.contains("checkpoint") || !envelope.contains("checksum"))
    return failure(Code::Rejected, "not a checkpoint manifest");
  const json &body = envelope["checkpoint"];
  std::string canonical =
      body.dump(-1, ' ', false, json::error_handler_t::replace);
  if (envelope["checksum"] != hex(xxh3(canonical)))
    return failure(Code::Rejected, "the checksum does not fit: the manifest "
                                   "was altered");
  return body;
}

std::vector<StoredBox> allBoxes(const Manifest &manifest) {
  std::vector<StoredBox> boxes;
  for (const auto &tensor : manifest.tensors)
    boxes.insert(boxes.end(), tensor.second.begin(), tensor.second.end());
  return boxes;
}

json boxesToJson(const std::vector<StoredBox> &boxes) {
  json list = json::array();
  for (const StoredBox &box : boxes)
    list.push_back(toJson(box));
  return list;
}

Result<std::vector<StoredBox>> boxesFromJson(const json &list) {
  if (!list.is_array())
    return failure(Code::Rejected, "'tensors' is missing or malformed");
  std::vector<StoredBox> boxes;
  for (const json &value : list) {
    STRETTO_ASSIGN(StoredBox box, boxFromJson(value));
    boxes.push_back(std::move(box));
  }
  return boxes;
}

Status checkTensor(const std::vector<StoredBox> &boxes) {
  const StoredBox &first = boxes.front();
  int64_t covered = 0;
  for (size_t i = 0; i < boxes.size(); ++i) {
    if (boxes[i].shape != first.shape || boxes[i].dtype != first.dtype)
      return failure(Code::Rejected, "tensor '", first.name,
                     "' has another shape or dtype in ", boxes[i].file);
    for (size_t j = 0; j < i; ++j)
      if (commonElements(boxes[i].box(), boxes[j].box()) > 0)
        return failure(Code::Rejected, "tensor '", first.name,
                       "': ", boxes[j].file, " and ", boxes[i].file,
                       " hold the same elements");
    covered += boxes[i].box().ownedElements();
  }
  int64_t wanted = wholeBox(first.shape).ownedElements();
  if (covered != wanted)
    return failure(Code::Rejected, "tensor '", first.name, "': ", covered,
                   " of ", wanted, " elements are there");
  return Status::ok();
}

} // namespace

std::string boxesToText(const std::vector<StoredBox> &boxes) {
  return boxesToJson(boxes).dump();
}

Result<std::vector<StoredBox>> boxesFromText(const std::string &text) {
  return boxesFromJson(json::parse(text, nullptr, false));
}

Status checkCoverage(const Manifest &manifest) {
  for (const auto &tensor : manifest.tensors)
    STRETTO_TRY(checkTensor(tensor.second));
  return Status::ok();
}

std::string Manifest::text() const {
  json body = factsToJson(facts);
  body["tensors"] = boxesToJson(allBoxes(*this));
  json envelope = {{"checkpoint", body}, {"checksum", hex(xxh3(body.dump()))}};
  return envelope.dump(1) + "\n";
}

Result<Manifest> Manifest::parse(Bytes text) {
  STRETTO_ASSIGN(json body, openEnvelope(text));
  Manifest manifest;
  STRETTO_ASSIGN(manifest.facts, factsFromJson(body));
  STRETTO_ASSIGN(std::vector<StoredBox> boxes,
                 boxesFromJson(body.value("tensors", json())));
  for (StoredBox &box : boxes)
    manifest.tensors[box.name].push_back(std::move(box));
  STRETTO_TRY(checkCoverage(manifest));
  return manifest;
}

} // namespace stretto::runtime
