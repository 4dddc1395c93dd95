//===- ArtifactTest.cpp - executables that carry their Program ------------===//

#include "stretto/Runtime/Artifact.h"

#include <cstdlib>
#include <dirent.h>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace stretto::runtime {
namespace {

class ArtifactTest : public ::testing::Test {
protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "stretto-artifact-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder = pattern;
    path = folder + "/gpt";
  }
  void TearDown() override {
    unlink(path.c_str());
    rmdir(folder.c_str());
  }

  static Bytes bytes(const std::string &text) {
    return Bytes(text.data(), text.size());
  }
  static std::string text(Bytes bytes) {
    return std::string(reinterpret_cast<const char *>(bytes.data), bytes.size);
  }
  Status write() {
    return writeArtifact(path, bytes(runner), bytes(program), bytes(kernels));
  }
  std::string contents() {
    std::ifstream file(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }
  void replace(const std::string &contents) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << contents;
  }
  int filesInFolder() {
    int count = 0;
    DIR *dir = opendir(folder.c_str());
    while (dirent *entry = readdir(dir))
      count += entry->d_name[0] != '.';
    closedir(dir);
    return count;
  }

  std::string folder, path;
  std::string runner = std::string(1001, 'r');
  std::string program = "the program", kernels = std::string(77, 'k');
};

TEST_F(ArtifactTest, WhatIsWrittenIsRead) {
  Status written = write();
  ASSERT_TRUE(written) << written.message();
  Result<Artifact> artifact = openArtifact(path);
  ASSERT_TRUE(artifact) << artifact.message();
  EXPECT_EQ(text(artifact->runner), runner);
  EXPECT_EQ(text(artifact->program), program);
  EXPECT_EQ(text(artifact->kernels), kernels);
  EXPECT_EQ(contents().substr(0, runner.size()), runner);
  struct stat info;
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0755u);
  EXPECT_EQ(filesInFolder(), 1);
  EXPECT_TRUE(*hasPayload(path));
}

TEST_F(ArtifactTest, KernelsMayBeEmptyAndFilesAreReplaced) {
  ASSERT_TRUE(write());
  kernels.clear();
  ASSERT_TRUE(write());
  Result<Artifact> artifact = openArtifact(path);
  ASSERT_TRUE(artifact) << artifact.message();
  EXPECT_EQ(artifact->kernels.size, 0u);
}

TEST_F(ArtifactTest, EveryTruncationIsAnError) {
  ASSERT_TRUE(write());
  std::string whole = contents();
  for (size_t size = 0; size < whole.size(); size += 13) {
    replace(whole.substr(0, size));
    EXPECT_EQ(openArtifact(path).code(), Code::Rejected) << size;
  }
}

TEST_F(ArtifactTest, EveryFlippedBitIsAnError) {
  ASSERT_TRUE(write());
  std::string whole = contents();
  for (size_t i = 0; i < whole.size(); i += 5) {
    std::string damaged = whole;
    damaged[i] = char(damaged[i] ^ (1 << (i % 8)));
    replace(damaged);
    EXPECT_EQ(openArtifact(path).code(), Code::Rejected) << "byte " << i;
  }
}

TEST_F(ArtifactTest, AppendedBytesAreAnError) {
  ASSERT_TRUE(write());
  std::string whole = contents();
  replace("x" + whole);
  EXPECT_EQ(openArtifact(path).code(), Code::Rejected);
}

TEST_F(ArtifactTest, ErrorsNameTheFile) {
  replace("no artifact");
  EXPECT_EQ(openArtifact(path).message(),
            "'" + path +
                "' cannot be used: it carries no Program (truncated, "
                "or not written by 'stretto compile')");
  EXPECT_FALSE(*hasPayload(path));
  EXPECT_EQ(openArtifact(folder + "/none").code(), Code::Rejected);
  EXPECT_EQ(openArtifact(folder).code(), Code::Rejected);
}

TEST_F(ArtifactTest, NothingIsLeftWhenItCannotBeWritten) {
  path = folder + "/none/gpt";
  EXPECT_EQ(write().code(), Code::RunFailed);
  EXPECT_EQ(filesInFolder(), 0);
}

} // namespace
} // namespace stretto::runtime
