//===- TemporaryFolder.h - a folder that a test leaves behind clean -------===//
//
// Made under the system's temporary folder, removed with all it holds.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_TEST_UNIT_DATA_TEMPORARYFOLDER_H
#define STRETTO_TEST_UNIT_DATA_TEMPORARYFOLDER_H

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace stretto::test {

class TemporaryFolder {
public:
  TemporaryFolder() {
    auto pattern =
        (std::filesystem::temp_directory_path() / "stretto-XXXXXX").string();
    root = ::mkdtemp(pattern.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(root); }

  std::string path(const std::string &name = "") const {
    return name.empty() ? root.string() : (root / name).string();
  }

  std::string write(const std::string &name, const std::string &bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }

private:
  std::filesystem::path root;
};

inline std::string readFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

} // namespace stretto::test

#endif // STRETTO_TEST_UNIT_DATA_TEMPORARYFOLDER_H
