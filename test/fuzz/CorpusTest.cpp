// Runs a fuzz target over the files of its corpus and over every truncation of
// them, as an ordinary test.
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void run(const std::string &text) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t *>(text.data()),
                         text.size());
}

TEST(FuzzCorpus, EveryFileAndEveryTruncationIsSurvived) {
  size_t files = 0;
  for (const auto &entry :
       std::filesystem::directory_iterator(STRETTO_CORPUS)) {
    std::ifstream in(entry.path(), std::ios::binary);
    std::string text{std::istreambuf_iterator<char>(in), {}};
    SCOPED_TRACE(entry.path().filename().string());
    run(text);
    for (size_t size = 0; size < std::min<size_t>(text.size(), 2000); ++size)
      run(text.substr(0, size));
    ++files;
  }
  EXPECT_GT(files, 0u);
}
