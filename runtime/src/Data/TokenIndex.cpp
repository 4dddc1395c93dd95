#include "TokenIndex.h"

#include "stretto/Runtime/StrictJson.h"

namespace stretto::runtime {

template <typename... Parts> static Status wrong(const Parts &...parts) {
  return failure(Code::Rejected, parts...,
                 R"(; expected {"dtype": "u16" or "u32", "tokens": N, )"
                 R"("vocabulary": V})");
}

Result<TokenIndex> parseTokenIndex(Bytes text) {
  Result<nlohmann::json> parsed = parseStrictJson(text);
  if (!parsed)
    return wrong("the index of the token file: ", parsed.message());
  nlohmann::json &json = *parsed;
  for (const auto &item : json.items())
    if (item.key() != "dtype" && item.key() != "tokens" &&
        item.key() != "vocabulary")
      return wrong("unknown key '", item.key(), "'");
  if (!json.contains("dtype") || !json["dtype"].is_string())
    return wrong("'dtype' is missing or no string");
  TokenIndex index;
  index.dtype = json["dtype"].get<std::string>();
  if (index.dtype != "u16" && index.dtype != "u32")
    return wrong("dtype '", index.dtype, "' is not supported");
  for (const char *key : {"tokens", "vocabulary"})
    if (!json.contains(key) || !json[key].is_number_unsigned() ||
        json[key].get<uint64_t>() == 0)
      return wrong("'", key, "' is missing or no positive integer");
  index.tokens = json["tokens"].get<uint64_t>();
  index.vocabulary = json["vocabulary"].get<uint64_t>();
  return index;
}

} // namespace stretto::runtime
