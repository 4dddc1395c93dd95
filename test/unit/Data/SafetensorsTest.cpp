#include "stretto/Runtime/Safetensors.h"
#include "TemporaryFolder.h"
#include "stretto/Runtime/SampleSource.h"
#include "stretto/Runtime/StrictJson.h"

#include <gtest/gtest.h>

#include <cstring>

using namespace stretto::runtime;
using stretto::test::TemporaryFolder;

namespace {
std::string file(const std::string &json, const std::string &data) {
  std::string length(8, '\0');
  uint64_t size = json.size();
  std::memcpy(length.data(), &size, 8);
  return length + json + data;
}

Result<SafetensorsHeader> parse(const std::string &bytes) {
  return parseSafetensors(Bytes(bytes.data(), bytes.size()));
}
} // namespace

TEST(StrictJson, RefusesWhatWouldOverflowAStackOrComesTwice) {
  auto error = [](const std::string &text) {
    auto parsed = parseStrictJson(Bytes(text.data(), text.size()));
    EXPECT_EQ(parsed.code(), Code::Rejected) << text.substr(0, 50);
    return parsed.message();
  };
  EXPECT_EQ(error("{\"a\":" + std::string(1000000, '[')),
            "it is nested deeper than 16");
  std::string closed = std::string(1000000, '[') + std::string(1000000, ']');
  EXPECT_EQ(error("{\"a\":" + closed + "}"), "it is nested deeper than 16");
  std::string objects;
  for (int i = 0; i < 17; ++i)
    objects += "{\"a\":";
  EXPECT_EQ(error(objects + "1" + std::string(17, '}')),
            "it is nested deeper than 16");
  EXPECT_EQ(error(R"({"b":{"a":1,"a":2}})"), "key 'a' comes twice");
  EXPECT_EQ(error(R"({"b":1)"), "it is not a JSON object (truncated?)");
  EXPECT_EQ(error("[1]"), "it is not a JSON object (truncated?)");
  std::string good = R"({"a":{"a":[[1]]},"b":[{"a":1},{"a":2}]})";
  auto parsed = parseStrictJson(Bytes(good.data(), good.size()));
  ASSERT_TRUE(parsed) << parsed.message();
  EXPECT_EQ(parsed->dump(), good);
}

TEST(Safetensors, ReadsWhatTheFormatDescribes) {
  auto header =
      parse(file(R"({"b":{"dtype":"F32","shape":[2,1],"data_offsets":[4,12]},)"
                 R"("a":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]},)"
                 R"("__metadata__":{"made by":"hand"}})",
                 std::string(12, 'x')));
  ASSERT_TRUE(header) << header.message();
  ASSERT_EQ(header->tensors.size(), 2u);
  EXPECT_EQ(header->tensors[0].name, "a"); // by place
  EXPECT_EQ(header->tensors[1].shape, (std::vector<int64_t>{2, 1}));
  EXPECT_EQ(header->metadata["made by"], "hand");
}

TEST(Safetensors, ReadsBackWhatItWrites) {
  std::vector<TensorEntry> entries(3);
  entries[0] = {"scalar", "F64", {}, 0, 0};
  entries[1] = {"nothing", "F32", {0, 5}, 0, 0};
  entries[2] = {"name \"with\" \u00fc", "I32", {3}, 0, 0};
  std::string bytes = safetensorsHeader(entries, {{"step", "7"}});
  EXPECT_EQ(bytes.size() % 8, 0u);
  auto header = parse(bytes + std::string(20, 'x'));
  ASSERT_TRUE(header) << header.message();
  EXPECT_EQ(header->tensors.size(), 3u);
  EXPECT_EQ(header->metadata["step"], "7");
  EXPECT_EQ(header->dataBegin, bytes.size());
}

TEST(Safetensors, RefusesHostileHeaders) {
  const std::string four = "xxxx";
  auto one = [](const std::string &entry) { return R"({"a":)" + entry + "}"; };
  const std::string good =
      R"({"dtype":"F32","shape":[1],"data_offsets":[0,4]})";
  ASSERT_TRUE(parse(file(one(good), four)));
  std::vector<std::string> hostile = {
      "",
      "1234567",
      std::string(8, '\xff'),                  // header of 2^64 - 1 bytes
      std::string("\x10\0\0\0\0\0\0\0{}", 10), // longer than the file
      file("", four),
      file("[]", ""),
      file("{", ""),
      file("{}", four), // bytes that nothing describes
      file(one(good), "xxx"),
      file(one(good), "xxxxx"),
      file(one("3"), four),
      file(one(R"({"dtype":"F32","shape":[1]})"), four),
      file(one(R"({"dtype":"F33","shape":[1],"data_offsets":[0,4]})"), four),
      file(one(R"({"dtype":"F32","shape":[2],"data_offsets":[0,4]})"), four),
      file(one(R"({"dtype":"F32","shape":[-1],"data_offsets":[0,4]})"), four),
      file(one(R"({"dtype":"F32","shape":[1.0],"data_offsets":[0,4]})"), four),
      file(one(R"({"dtype":"F32","shape":[1],"data_offsets":[4,0]})"), four),
      file(one(R"({"dtype":"F32","shape":[1],"data_offsets":[4,8]})"), four),
      file(one(R"({"dtype":"F32","shape":[1],"data_offsets":[0,4,8]})"), four),
      // 2^62 * 4 wraps to 0 ... and 2^64+1 elements to one
      file(one(R"({"dtype":"F32","shape":[4611686018427387904],)"
               R"("data_offsets":[0,0]})"),
           ""),
      file(one(R"({"dtype":"F32","shape":[18446744073709551617],)"
               R"("data_offsets":[0,4]})"),
           four),
      file(R"({"a":)" + good + R"(,"b":)" + good + "}", four), // overlap
      file(R"({"a":)" + good + R"(,"a":)" + good + "}", four), // twice
      file(R"({"__metadata__":3})", ""),
      file(R"({"__metadata__":{"a":3}})", ""),
      file(std::string(100000, '['), ""),
  };
  for (const std::string &bytes : hostile) {
    auto header = parse(bytes);
    EXPECT_EQ(header.code(), Code::Rejected) << bytes.substr(0, 200);
  }
}

TEST(Safetensors, FindsTensorsInAFile) {
  TemporaryFolder folder;
  std::vector<TensorEntry> entries(2);
  entries[0] = {"a", "U8", {1}, 0, 0};
  entries[1] = {"b", "U8", {2}, 0, 0};
  std::string path =
      folder.write("t.safetensors", safetensorsHeader(entries, {}) + "xyz");
  auto opened = SafetensorsFile::open(path);
  ASSERT_TRUE(opened) << opened.message();
  EXPECT_EQ(opened->find("c"), nullptr);
  Bytes data = opened->data(*opened->find("b"));
  EXPECT_EQ(std::string(data.data, data.data + data.size), "yz");
  auto missing = SafetensorsFile::open(folder.path("none"));
  EXPECT_EQ(missing.code(), Code::Rejected);
}

TEST(SampleSource, ReadsBatchesFromAFile) {
  TemporaryFolder folder;
  std::vector<TensorEntry> entries(3);
  entries[0] = {"tokens", "I32", {2, 1, 2}, 0, 0};
  entries[1] = {"labels", "I32", {2, 1, 2}, 0, 0};
  entries[2] = {"mask", "F32", {2, 1, 2}, 0, 0};
  int32_t ids[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  float mask[4] = {1, 0, 0.5f, 1};
  std::string path = folder.write(
      "b.safetensors",
      safetensorsHeader(entries, {}) +
          std::string(reinterpret_cast<char *>(ids), sizeof(ids)) +
          std::string(reinterpret_cast<char *>(mask), sizeof(mask)));
  auto source = openBatches(path, /*batch=*/1, /*sequence=*/2, 9);
  ASSERT_TRUE(source) << source.message();
  Sample sample(2);
  ASSERT_TRUE((*source)->read(1, sample).isOk());
  EXPECT_EQ(sample.tokens[1], 4);
  EXPECT_EQ(sample.labels[0], 7);
  EXPECT_EQ(sample.mask[0], 0.5f);
  EXPECT_EQ((*source)->read(2, sample).code(), Code::Rejected);
  EXPECT_EQ(openBatches(path, 2, 2, 9).code(), Code::Rejected);
  auto bounded = openBatches(path, 1, 2, 8);
  EXPECT_EQ((*bounded)->read(1, sample).code(), Code::Rejected);
}
