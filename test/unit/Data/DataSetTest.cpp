#include "stretto/Runtime/DataSet.h"
#include "TemporaryFolder.h"
#include "stretto/Runtime/SampleSource.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

using namespace stretto::runtime;
using stretto::test::TemporaryFolder;

namespace {
std::vector<int32_t> readAll(const DataSet &data) {
  std::vector<int32_t> tokens(data.tokens());
  EXPECT_TRUE(
      data.read(0, tokens.size(), data.vocabulary(), tokens.data()).isOk());
  return tokens;
}

bool mentions(const Status &status, const std::string &text) {
  return status.message().find(text) != std::string::npos;
}
} // namespace

TEST(DataSet, ConcatenatesTextFiles) {
  TemporaryFolder folder;
  auto data = openDataSet({folder.write("a", "ab"), folder.write("b", "c\xff"),
                           folder.write("c", "d")});
  ASSERT_TRUE(data) << data.message();
  EXPECT_TRUE((*data)->isText());
  EXPECT_EQ(readAll(**data), (std::vector<int32_t>{97, 98, 99, 255, 100}));
  int32_t middle[3];
  ASSERT_TRUE((*data)->read(1, 3, 256, middle).isOk());
  EXPECT_EQ(middle[0], 98);
  EXPECT_EQ(middle[2], 255);
}

TEST(DataSet, NamesThePlaceOfATokenOutsideOfTheVocabulary) {
  TemporaryFolder folder;
  std::string second = folder.write("b", "ef\xc3");
  auto data = openText({folder.write("a", "abcd"), second});
  ASSERT_TRUE(data);
  int32_t tokens[7];
  Status status = (*data)->read(0, 7, 128, tokens);
  EXPECT_EQ(status.code(), Code::Rejected);
  EXPECT_TRUE(mentions(status, second + ": token 195 at byte offset 2"))
      << status.message();
}

TEST(DataSet, ReadsTokenFilesOfBothWidths) {
  TemporaryFolder folder;
  std::string path = folder.write("t.bin", std::string("\1\0\0\2\xff\xff", 6));
  folder.write("t.json", R"({"dtype":"u16","tokens":3,"vocabulary":65536})");
  auto data = openDataSet({path});
  ASSERT_TRUE(data) << data.message();
  EXPECT_FALSE((*data)->isText());
  EXPECT_EQ(readAll(**data), (std::vector<int32_t>{1, 512, 65535}));
  path = folder.write("w.bin", std::string("\1\0\1\0", 4));
  folder.write("w.json", R"({"dtype":"u32","tokens":1,"vocabulary":70000})");
  data = openDataSet({path});
  ASSERT_TRUE(data) << data.message();
  EXPECT_EQ(readAll(**data), (std::vector<int32_t>{65537}));
  int32_t token;
  Status status = (*data)->read(0, 1, 50257, &token);
  EXPECT_TRUE(mentions(status, "token 65537 at byte offset 0"));
}

TEST(DataSet, ATokenAboveWhatTheIndexPromisesIsRefused) {
  TemporaryFolder folder;
  std::string path = folder.write("t.bin", std::string("\1\0\7\0\10\0", 6));
  folder.write("t.json", R"({"dtype":"u16","tokens":3,"vocabulary":8})");
  auto data = openDataSet({path});
  ASSERT_TRUE(data) << data.message();
  int32_t tokens[3];
  EXPECT_TRUE((*data)->read(0, 2, 256, tokens).isOk());
  Status status = (*data)->read(0, 3, 256, tokens);
  EXPECT_EQ(status.code(), Code::Rejected);
  EXPECT_TRUE(mentions(status, path + ": token 8 at byte offset 4 is not in "
                                      "the vocabulary of 8"))
      << status.message();
}

TEST(DataSet, ATokenThatNoInt32HoldsIsRefused) {
  TemporaryFolder folder;
  std::string path = folder.write("t.bin", std::string("\0\0\0\x80", 4));
  folder.write("t.json",
               R"({"dtype":"u32","tokens":1,"vocabulary":4294967296})");
  auto data = openDataSet({path});
  ASSERT_TRUE(data) << data.message();
  int32_t token;
  Status status = (*data)->read(0, 1, UINT64_MAX, &token);
  EXPECT_EQ(status.code(), Code::Rejected);
  EXPECT_TRUE(mentions(status, "token 2147483648 at byte offset 0"))
      << status.message();
}

static uint64_t fingerprintOf(const std::vector<std::string> &paths) {
  auto data = openText(paths);
  EXPECT_TRUE(data) << data.message();
  return (*data)->fingerprint();
}

TEST(DataSet, TheFingerprintIsOfTheTokensAndNotOfTheFiles) {
  TemporaryFolder folder;
  std::string whole = folder.write("w", "abcdefgh");
  uint64_t expected = fingerprintOf({whole});
  EXPECT_EQ(
      fingerprintOf({folder.write("a", "abc"), folder.write("b", "defgh")}),
      expected);
  EXPECT_NE(fingerprintOf({folder.write("c", "abcdefgx")}), expected);
  EXPECT_NE(fingerprintOf({folder.write("d", "abcdefg")}), expected);
  EXPECT_NE(fingerprintOf({folder.write("e", std::string("abcdefgh\0", 9))}),
            expected);
}

TEST(DataSet, TheFingerprintOfLargeDataSeesItsEnds) {
  TemporaryFolder folder;
  std::string text(20 << 20, 'x'); // larger than what is read whole
  uint64_t expected = fingerprintOf({folder.write("w", text)});
  EXPECT_EQ(fingerprintOf({folder.write("a", text.substr(0, 1000)),
                           folder.write("b", text.substr(1000))}),
            expected);
  for (size_t at : {size_t(0), text.size() - 1}) {
    std::string other = text;
    other[at] = 'y';
    EXPECT_NE(fingerprintOf({folder.write("o", other)}), expected) << at;
  }
  std::string other(text.size(), 'z');
  EXPECT_NE(fingerprintOf({folder.write("o", other)}), expected);
}

TEST(DataSet, RefusesWhatIsNotThere) {
  TemporaryFolder folder;
  EXPECT_EQ(openDataSet({}).code(), Code::Usage);
  EXPECT_EQ(openDataSet({folder.path("none")}).code(), Code::Rejected);
  EXPECT_EQ(openDataSet({folder.write("empty", "")}).code(), Code::Rejected);
  EXPECT_EQ(openDataSet({folder.path()}).code(), Code::Rejected);
}

TEST(DataSet, RefusesAnIndexThatDoesNotFit) {
  TemporaryFolder folder;
  std::string path = folder.write("t.bin", "abcd");
  for (const char *index :
       {"", "[]", "{", R"({"dtype":"u16","tokens":2})",
        R"({"dtype":"u8","tokens":4,"vocabulary":9})",
        R"({"dtype":"u16","tokens":3,"vocabulary":9})",
        R"({"dtype":"u16","tokens":-2,"vocabulary":9})",
        R"({"dtype":"u16","tokens":2,"vocabulary":9,"x":1})"}) {
    folder.write("t.json", index);
    auto data = openDataSet({path});
    EXPECT_EQ(data.code(), Code::Rejected) << index;
  }
}

TEST(SampleSource, TrainsOnWindowsOfTheFirstPartOnly) {
  TemporaryFolder folder;
  std::string text(100, '\0');
  std::iota(text.begin(), text.end(), 0);
  auto data = openText({folder.write("t", text)});
  auto splits = Splits::of(**data, /*sequence=*/8, /*fraction=*/0.2, 256);
  ASSERT_TRUE(splits) << splits.message();
  EXPECT_EQ(splits->train.count, 9u);   // (80 - 1) / 8
  EXPECT_EQ(splits->heldOut.count, 2u); // (20 - 1) / 8
  auto source = shuffledWindows(splits->train, 3);
  std::set<int32_t> begins;
  for (int i = 0; i < 9; ++i) {
    Sample sample(8);
    ASSERT_TRUE(source->read(i, sample).isOk());
    begins.insert(sample.tokens[0]);
    for (int j = 0; j < 8; ++j) {
      EXPECT_EQ(sample.tokens[j], sample.tokens[0] + j);
      EXPECT_EQ(sample.labels[j], sample.tokens[0] + j + 1);
      EXPECT_EQ(sample.mask[j], 1.0f);
    }
  }
  EXPECT_EQ(begins, (std::set<int32_t>{0, 8, 16, 24, 32, 40, 48, 56, 64}));
}

TEST(SampleSource, HeldOutWindowsComeInOrderAndThenNothingCounts) {
  TemporaryFolder folder;
  auto data =
      openText({folder.write("t", std::string(90, 'x') + "0123456789")});
  auto splits = Splits::of(**data, 4, 0.1, 256);
  auto source = orderedWindows(splits->heldOut);
  Sample sample(4);
  ASSERT_TRUE(source->read(1, sample).isOk());
  EXPECT_EQ(sample.tokens[0], '4');
  EXPECT_EQ(sample.labels[3], '8');
  ASSERT_TRUE(source->read(2, sample).isOk());
  EXPECT_EQ(sample.mask, std::vector<float>(4, 0.0f));
}

TEST(SampleSource, SaysHowMuchDataIsMissing) {
  TemporaryFolder folder;
  auto data = openText({folder.write("t", std::string(40, 'x'))});
  auto train = Splits::of(**data, 64, 0, 256);
  EXPECT_EQ(train.code(), Code::Rejected);
  EXPECT_TRUE(mentions(train.status(), "has 40 tokens")) << train.message();
  EXPECT_TRUE(mentions(train.status(), "needs 65")) << train.message();
  EXPECT_EQ(Splits::of(**data, 8, 0.1, 256).code(), Code::Rejected);
}
