#include "stretto/Runtime/Safetensors.h"
#include "stretto/Runtime/StrictJson.h"

#include <algorithm>
#include <tuple>

namespace stretto::runtime {

using nlohmann::json;

std::string shapeText(const std::vector<int64_t> &shape) {
  std::string text;
  for (int64_t extent : shape)
    text += (text.empty() ? "" : "x") + std::to_string(extent);
  return "[" + text + "]";
}

uint64_t safetensorsWidth(const std::string &dtype) {
  static const std::map<std::string, uint64_t> widths = {
      {"F64", 8}, {"I64", 8}, {"U64", 8},  {"F32", 4}, {"I32", 4},
      {"U32", 4}, {"F16", 2}, {"BF16", 2}, {"I16", 2}, {"U16", 2},
      {"I8", 1},  {"U8", 1},  {"BOOL", 1}};
  auto found = widths.find(dtype);
  return found == widths.end() ? 0 : found->second;
}

int64_t TensorEntry::elements() const {
  int64_t product = 1;
  for (int64_t extent : shape)
    product *= extent;
  return product;
}

namespace {

template <typename... Parts> Status malformed(const Parts &...parts) {
  return failure(Code::Rejected, "not a valid safetensors file: ", parts...);
}

Status parseShape(const json &shape, TensorEntry &entry) {
  if (!shape.is_array())
    return malformed("'", entry.name, "' has no shape");
  for (const json &extent : shape) {
    if (!extent.is_number_unsigned() || extent.get<uint64_t>() > INT64_MAX)
      return malformed("'", entry.name, "' has an extent that is no size");
    entry.shape.push_back(extent.get<int64_t>());
  }
  return Status::ok();
}

Status parseOffsets(const json &offsets, TensorEntry &entry) {
  if (!offsets.is_array() || offsets.size() != 2 ||
      !offsets[0].is_number_unsigned() || !offsets[1].is_number_unsigned())
    return malformed("'", entry.name, "' has no data_offsets");
  entry.begin = offsets[0].get<uint64_t>();
  entry.end = offsets[1].get<uint64_t>();
  return Status::ok();
}

/// Whether shape and type of the entry need exactly its bytes.
bool sizeFits(const TensorEntry &entry) {
  uint64_t bytes = safetensorsWidth(entry.dtype);
  bool overflow = false;
  for (int64_t extent : entry.shape)
    overflow |= __builtin_mul_overflow(bytes, uint64_t(extent), &bytes);
  bool empty = std::count(entry.shape.begin(), entry.shape.end(), 0) > 0;
  return entry.begin <= entry.end && (empty || !overflow) &&
         entry.bytes() == (empty ? 0 : bytes);
}

Result<TensorEntry> parseEntry(const std::string &name, const json &value) {
  TensorEntry entry;
  entry.name = name;
  if (!value.is_object() || value.size() != 3 || !value.contains("dtype") ||
      !value.contains("shape") || !value.contains("data_offsets"))
    return malformed("'", name, "' needs dtype, shape and data_offsets");
  if (!value["dtype"].is_string())
    return malformed("'", name, "' has no dtype");
  entry.dtype = value["dtype"].get<std::string>();
  if (safetensorsWidth(entry.dtype) == 0)
    return malformed("'", name, "' has the unknown dtype '", entry.dtype, "'");
  STRETTO_TRY(parseShape(value["shape"], entry));
  STRETTO_TRY(parseOffsets(value["data_offsets"], entry));
  if (!sizeFits(entry))
    return malformed("the bytes [", entry.begin, ", ", entry.end, ") of '",
                     name, "' do not fit its shape and dtype ", entry.dtype);
  return entry;
}

Status parseMetadata(const json &value, SafetensorsHeader &header) {
  if (!value.is_object())
    return malformed("__metadata__ is not an object");
  for (const auto &item : value.items()) {
    if (!item.value().is_string())
      return malformed("__metadata__ '", item.key(), "' is not a string");
    header.metadata[item.key()] = item.value().get<std::string>();
  }
  return Status::ok();
}

/// The ranges follow one another and end with the file.
Status checkCover(SafetensorsHeader &header, uint64_t dataBytes) {
  auto place = [](const TensorEntry &entry) {
    return std::tie(entry.begin, entry.end, entry.name);
  };
  std::sort(header.tensors.begin(), header.tensors.end(),
            [&](const TensorEntry &a, const TensorEntry &b) {
              return place(a) < place(b);
            });
  uint64_t at = 0;
  for (const TensorEntry &entry : header.tensors) {
    if (entry.begin != at)
      return malformed("'", entry.name, "' begins at byte ", entry.begin,
                       " of the data, expected ", at);
    at = entry.end;
  }
  if (at != dataBytes)
    return malformed("the header describes ", at,
                     " bytes of data, the file "
                     "has ",
                     dataBytes);
  return Status::ok();
}

} // namespace

Result<SafetensorsHeader> parseSafetensors(Bytes file) {
  constexpr uint64_t largestHeader = 100'000'000; // the format's own limit
  if (file.size < 8)
    return malformed("it has ", file.size, " bytes, the header needs 8");
  uint64_t length = 0;
  for (int byte = 7; byte >= 0; --byte)
    length = length << 8 | file.data[byte];
  if (length > largestHeader || length > file.size - 8)
    return malformed("its header of ", length, " bytes is larger than ",
                     std::min(largestHeader, uint64_t(file.size - 8)));
  Result<json> parsed = parseStrictJson(file.slice(8, length));
  if (!parsed)
    return malformed("its header: ", parsed.message());
  SafetensorsHeader header;
  header.dataBegin = 8 + length;
  for (const auto &item : parsed->items()) {
    if (item.key() == "__metadata__") {
      STRETTO_TRY(parseMetadata(item.value(), header));
      continue;
    }
    STRETTO_ASSIGN(TensorEntry entry, parseEntry(item.key(), item.value()));
    header.tensors.push_back(std::move(entry));
  }
  STRETTO_TRY(checkCover(header, file.size - header.dataBegin));
  return header;
}

std::string
safetensorsHeader(std::vector<TensorEntry> &tensors,
                  const std::map<std::string, std::string> &metadata) {
  json header = json::object();
  if (!metadata.empty())
    header["__metadata__"] = metadata;
  uint64_t at = 0;
  for (TensorEntry &entry : tensors) {
    entry.begin = at;
    at += uint64_t(entry.elements()) * safetensorsWidth(entry.dtype);
    entry.end = at;
    header[entry.name] = {{"dtype", entry.dtype},
                          {"shape", entry.shape},
                          {"data_offsets", {entry.begin, entry.end}}};
  }
  std::string text =
      header.dump(-1, ' ', false, json::error_handler_t::replace);
  text.resize((text.size() + 7) / 8 * 8, ' ');
  std::string length(8, '\0');
  for (int byte = 0; byte < 8; ++byte)
    length[byte] = char(text.size() >> (8 * byte));
  return length + text;
}

Result<SafetensorsFile> SafetensorsFile::open(const std::string &path) {
  SafetensorsFile result;
  result.name = path;
  STRETTO_ASSIGN(result.file, MappedFile::open(path));
  Result<SafetensorsHeader> header = parseSafetensors(result.file.bytes());
  if (!header)
    return header.status().within(path);
  result.parsed = *std::move(header);
  return result;
}

const TensorEntry *SafetensorsFile::find(const std::string &tensor) const {
  for (const TensorEntry &entry : parsed.tensors)
    if (entry.name == tensor)
      return &entry;
  return nullptr;
}

} // namespace stretto::runtime
