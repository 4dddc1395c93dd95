#include "stretto/Support/Text.h"

#include <gtest/gtest.h>
#include <limits>
#include <vector>

using namespace stretto;

TEST(Text, NearestFindsTyposOnly) {
  llvm::StringRef names[] = {"warmup", "decay", "min_lr"};
  EXPECT_EQ(nearest("warmpu", names), "warmup");
  EXPECT_EQ(nearest("decya", names), "decay");
  EXPECT_EQ(nearest("waremup", names), "warmup");
  llvm::StringRef shortNames[] = {"gpt", "dp"};
  EXPECT_EQ(nearest("gtp", shortNames), "gpt"); // a swap is one typo
  EXPECT_EQ(nearest("bucket", names), "");
  EXPECT_EQ(nearest("", names), "");
}

TEST(Text, SuggestFallsBackToTheList) {
  llvm::StringRef names[] = {"dp", "tp"};
  EXPECT_EQ(suggest("tpp", names, "axes"), "; did you mean 'tp'?");
  EXPECT_EQ(suggest("pipeline", names, "axes"), "; axes: dp, tp");
  EXPECT_EQ(suggest("x", {}, "axes"), "");
}

TEST(Text, LongListsOfSuggestionsAreCut) {
  std::vector<llvm::StringRef> names(40, "name");
  std::string text = suggest("x", names, "known");
  EXPECT_EQ(llvm::StringRef(text).count("name"), 16u);
  EXPECT_NE(text.find("(40 in all)"), std::string::npos);
}

TEST(Text, BytesReadUnits) {
  EXPECT_EQ(parseBytes("25MiB"), 25 * 1024 * 1024);
  EXPECT_EQ(parseBytes("25 MB"), 25 * 1000 * 1000);
  EXPECT_EQ(parseBytes("1.5KiB"), 1536);
  EXPECT_EQ(parseBytes("4096"), 4096);
  EXPECT_EQ(parseBytes("7B"), 7);
  EXPECT_EQ(parseBytes("0"), 0);
}

TEST(Text, BytesRefuseWhatIsNoSize) {
  for (const char *bad :
       {"", "MiB", "-1", "1.5", "0.3B", "12MiBB", "1e3", "9999999TiB", "1..2"})
    EXPECT_EQ(parseBytes(bad), std::nullopt) << bad;
}

TEST(Text, BytesPrintTheLargestExactUnit) {
  EXPECT_EQ(formatBytes(25 << 20), "25MiB");
  EXPECT_EQ(formatBytes(1536), "1536");
  EXPECT_EQ(formatBytes(int64_t(3) << 40), "3TiB");
  EXPECT_EQ(formatBytes(0), "0");
}

TEST(Text, NumbersReadBackAsTheSame) {
  for (double value : {3e-4, 0.1, 1.0 / 3, 1e-8, 12345678.9, 0.0,
                       std::numeric_limits<double>::max()})
    EXPECT_EQ(std::stod(formatNumber(value)), value);
  EXPECT_EQ(formatNumber(0.95), "0.95");
}

TEST(Text, QuoteEscapesAndShortens) {
  EXPECT_EQ(quote("a\nb"), "'a\\0Ab'");
  EXPECT_EQ(quote(std::string(100, 'x')), "'" + std::string(60, 'x') + "...'");
}
