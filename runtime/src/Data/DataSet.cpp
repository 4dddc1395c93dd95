#include "stretto/Runtime/DataSet.h"

#include "Fingerprint.h"
#include "TokenIndex.h"

#include <algorithm>
#include <unistd.h>

namespace stretto::runtime {
namespace {

Status outside(const std::string &path, uint64_t token, uint64_t offset,
               uint64_t bound) {
  return failure(Code::Rejected, path, ": token ", token, " at byte offset ",
                 offset, " is not in the vocabulary of ", bound);
}

class TextData final : public DataSet {
public:
  Status add(const std::string &path) {
    STRETTO_ASSIGN(MappedFile file, MappedFile::open(path));
    if (file.bytes().size == 0)
      return failure(Code::Rejected, path, ": the data file is empty");
    ends.push_back(tokens() + file.bytes().size);
    files.push_back(std::move(file));
    paths.push_back(path);
    return Status::ok();
  }

  uint64_t tokens() const override { return ends.empty() ? 0 : ends.back(); }
  uint64_t vocabulary() const override { return 256; }
  uint64_t fingerprint() const override {
    std::vector<Bytes> parts;
    for (const MappedFile &file : files)
      parts.push_back(file.bytes());
    return runtime::fingerprint(parts);
  }
  bool isText() const override { return true; }

  Status read(uint64_t begin, uint64_t count, uint64_t bound,
              int32_t *target) const override {
    size_t file =
        std::upper_bound(ends.begin(), ends.end(), begin) - ends.begin();
    while (count > 0) {
      uint64_t fileBegin = file == 0 ? 0 : ends[file - 1];
      uint64_t part = std::min(count, ends[file] - begin);
      const uint8_t *from = files[file].bytes().data + (begin - fileBegin);
      for (uint64_t i = 0; i < part; ++i) {
        if (from[i] >= bound)
          return outside(paths[file], from[i], begin - fileBegin + i, bound);
        *target++ = from[i];
      }
      begin += part;
      count -= part;
      ++file;
    }
    return Status::ok();
  }

private:
  std::vector<MappedFile> files;
  std::vector<std::string> paths;
  std::vector<uint64_t> ends; // tokens up to the end of each file
};

template <typename Token> class TokenData final : public DataSet {
public:
  TokenData(std::string path, MappedFile file, uint64_t vocabulary)
      : path(std::move(path)), file(std::move(file)), bound(vocabulary) {}

  uint64_t tokens() const override { return file.bytes().size / sizeof(Token); }
  uint64_t vocabulary() const override { return bound; }
  uint64_t fingerprint() const override {
    return runtime::fingerprint({file.bytes()});
  }
  bool isText() const override { return false; }

  Status read(uint64_t begin, uint64_t count, uint64_t limit,
              int32_t *target) const override {
    auto from = reinterpret_cast<const Token *>(file.bytes().data) + begin;
    limit = std::min({limit, bound, uint64_t(INT32_MAX) + 1});
    for (uint64_t i = 0; i < count; ++i) {
      if (from[i] >= limit)
        return outside(path, from[i], (begin + i) * sizeof(Token), limit);
      target[i] = int32_t(from[i]);
    }
    return Status::ok();
  }

private:
  std::string path;
  MappedFile file;
  uint64_t bound;
};

std::string indexPath(const std::string &path) {
  size_t dot = path.rfind(".bin");
  bool named = dot != std::string::npos && dot + 4 == path.size();
  return named ? path.substr(0, dot) + ".json" : std::string();
}

} // namespace

Result<std::unique_ptr<DataSet>>
openText(const std::vector<std::string> &paths) {
  auto data = std::make_unique<TextData>();
  if (paths.empty())
    return failure(Code::Usage, "no data; pass --data FILE...");
  for (const std::string &path : paths)
    STRETTO_TRY(data->add(path));
  return std::unique_ptr<DataSet>(std::move(data));
}

Result<std::unique_ptr<DataSet>> openTokens(const std::string &path) {
  std::string indexFile = indexPath(path);
  if (indexFile.empty())
    return failure(Code::Rejected, path,
                   ": a token file is named X.bin and "
                   "has an index X.json beside it");
  STRETTO_ASSIGN(MappedFile indexText, MappedFile::open(indexFile));
  Result<TokenIndex> parsed = parseTokenIndex(indexText.bytes());
  if (!parsed)
    return parsed.status().within(indexFile);
  const TokenIndex &index = *parsed;
  STRETTO_ASSIGN(MappedFile file, MappedFile::open(path));
  uint64_t width = index.dtype == "u16" ? 2 : 4;
  uint64_t size = file.bytes().size;
  if (size % width != 0 || size / width != index.tokens)
    return failure(Code::Rejected, path, ": ", indexFile, " promises ",
                   index.tokens, " tokens of ", width, " bytes, the file has ",
                   size, " bytes");
  if (width == 2)
    return std::unique_ptr<DataSet>(std::make_unique<TokenData<uint16_t>>(
        path, std::move(file), index.vocabulary));
  return std::unique_ptr<DataSet>(std::make_unique<TokenData<uint32_t>>(
      path, std::move(file), index.vocabulary));
}

Result<std::unique_ptr<DataSet>>
openDataSet(const std::vector<std::string> &paths) {
  if (paths.size() == 1) {
    std::string index = indexPath(paths.front());
    if (!index.empty() && access(index.c_str(), F_OK) == 0)
      return openTokens(paths.front());
  }
  return openText(paths);
}

} // namespace stretto::runtime
