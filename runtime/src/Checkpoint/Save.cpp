#include "Manifest.h"

#include "stretto/Runtime/Agreement.h"
#include "stretto/Runtime/FileWriter.h"
#include "stretto/Runtime/Program.h"
#include "stretto/Runtime/Safetensors.h"

#include <cstdio>
#include <filesystem>

namespace stretto::runtime {

namespace fs = std::filesystem;

const char *safetensorsType(program::DType type) {
  switch (type) {
  case program::DType::F32:
    return "F32";
  case program::DType::F64:
    return "F64";
  case program::DType::BF16:
    return "BF16";
  case program::DType::F16:
    return "F16";
  case program::DType::I32:
    return "I32";
  case program::DType::I64:
    return "I64";
  case program::DType::I8:
    return "I8";
  case program::DType::I1:
    return "BOOL";
  }
  return "";
}

std::string checkpointName(int64_t step) {
  char name[32];
  std::snprintf(name, sizeof(name), "step-%06lld",
                static_cast<long long>(step));
  return name;
}

namespace {

std::string shardName(int64_t rank) {
  char name[40];
  std::snprintf(name, sizeof(name), "rank-%05lld.safetensors",
                static_cast<long long>(rank));
  return name;
}

/// The box of a piece as the shard stores it, without its checksum.
StoredBox describe(const Piece &piece, const std::string &file) {
  StoredBox box;
  box.name = piece.name;
  box.dtype = safetensorsType(piece.dtype);
  box.file = file;
  box.shape = piece.shape;
  for (const BoxDim &dim : piece.box.dims) {
    box.begin.push_back(dim.begin);
    box.end.push_back(dim.end);
  }
  return box;
}

/// The logical elements of a piece, stored densely.
std::vector<char> dense(const Piece &piece) {
  size_t width = bytesOf(piece.dtype);
  Box target = withoutPadding(piece.box);
  std::vector<char> bytes(target.localElements() * width);
  copyCommon(piece.box, piece.data, target, bytes.data(), width);
  return bytes;
}

Result<std::vector<StoredBox>> writeShard(const std::string &folder,
                                          const std::string &file,
                                          const std::vector<Piece> &pieces) {
  std::vector<StoredBox> boxes;
  std::vector<const Piece *> written;
  std::vector<TensorEntry> entries;
  for (const Piece &piece : pieces) {
    if (!piece.writes || piece.box.ownedElements() == 0)
      continue;
    boxes.push_back(describe(piece, file));
    written.push_back(&piece);
    TensorEntry entry;
    entry.name = piece.name;
    entry.dtype = boxes.back().dtype;
    for (const BoxDim &dim : piece.box.dims)
      entry.shape.push_back(dim.owned());
    entries.push_back(std::move(entry));
  }
  if (boxes.empty())
    return boxes;
  STRETTO_ASSIGN(FileWriter writer, FileWriter::create(folder + "/" + file));
  std::string header = safetensorsHeader(entries, {});
  STRETTO_TRY(writer.write(Bytes(header.data(), header.size())));
  for (size_t i = 0; i < boxes.size(); ++i) {
    std::vector<char> data = dense(*written[i]);
    Bytes bytes(data.data(), data.size());
    boxes[i].checksum = xxh3(bytes);
    STRETTO_TRY(writer.write(bytes));
  }
  STRETTO_TRY(writer.finish());
  return boxes;
}

/// A folder that is removed unless it is committed.
class PartialFolder {
public:
  PartialFolder(std::string root, std::string name)
      : root(std::move(root)), name(std::move(name)) {}

  std::string path() const { return final() + ".partial"; }
  std::string final() const { return root + "/" + name; }

  Status make() const {
    std::error_code ignored;
    fs::remove_all(path(), ignored);
    return makeFolders(path());
  }

  void remove() const {
    std::error_code ignored;
    fs::remove_all(path(), ignored);
  }

  /// Shards are there; the manifest makes them a checkpoint, the rename shows
  /// it, LATEST points to it.
  Status commit(const Manifest &manifest) const {
    STRETTO_TRY(checkCoverage(manifest));
    STRETTO_TRY(
        writeFileAtomically(path() + "/manifest.json", manifest.text()));
    STRETTO_TRY(syncFolder(path()));
    std::error_code error;
    std::string replaced = final() + ".replaced";
    bool replaces = fs::exists(final(), error);
    if (replaces) {
      fs::remove_all(replaced, error);
      STRETTO_TRY(renameDurably(final(), replaced));
    }
    if (Status status = renameDurably(path(), final()); !status) {
      if (replaces)
        fs::rename(replaced, final(), error);
      return status;
    }
    STRETTO_TRY(writeFileAtomically(root + "/LATEST", name + "\n"));
    if (replaces)
      fs::remove_all(replaced, error);
    return Status::ok();
  }

private:
  std::string root, name;
};

/// "step-000200" of "step-000200.partial"; empty when it is another name.
std::string stemBefore(const std::string &name, const std::string &suffix) {
  bool ends =
      name.size() > suffix.size() &&
      name.compare(name.size() - suffix.size(), suffix.size(), suffix) == 0;
  bool ours = ends && name.rfind("step-", 0) == 0;
  return ours ? name.substr(0, name.size() - suffix.size()) : std::string();
}

Status commitBoxes(const PartialFolder &folder, const CheckpointFacts &facts,
                   const std::vector<std::string> &texts) {
  Manifest manifest;
  manifest.facts = facts;
  for (const std::string &text : texts) {
    STRETTO_ASSIGN(std::vector<StoredBox> boxes, boxesFromText(text));
    for (StoredBox &box : boxes)
      manifest.tensors[box.name].push_back(std::move(box));
  }
  return folder.commit(manifest);
}

} // namespace

Status recoverCheckpoints(const std::string &root) {
  std::error_code error;
  std::vector<std::string> names;
  for (const auto &entry : fs::directory_iterator(root, error))
    names.push_back(entry.path().filename().string());
  for (const std::string &name : names) {
    std::string path = root + "/" + name;
    std::string replaced = stemBefore(name, ".replaced");
    if (!replaced.empty() && !fs::exists(root + "/" + replaced, error))
      STRETTO_TRY(renameDurably(path, root + "/" + replaced));
    else if (!replaced.empty() || !stemBefore(name, ".partial").empty())
      fs::remove_all(path, error);
  }
  return Status::ok();
}

Result<std::string> saveCheckpoint(World &world, const std::string &root,
                                   const CheckpointFacts &facts,
                                   const std::vector<Piece> &pieces) {
  PartialFolder folder(root, checkpointName(facts.step));
  bool leads = world.rank() == 0;
  STRETTO_TRY(agree(world, leads ? folder.make() : Status::ok()));

  auto boxes = writeShard(folder.path(), shardName(world.rank()), pieces);
  Status status = boxes ? Status::ok() : boxes.status();
  STRETTO_ASSIGN(bool written, allSucceeded(world, status));
  if (written) {
    STRETTO_ASSIGN(std::vector<std::string> texts,
                   gatherTexts(world, boxesToText(*boxes)));
    if (leads)
      status = commitBoxes(folder, facts, texts);
  }
  STRETTO_ASSIGN(bool committed, allSucceeded(world, status));
  if (!committed && leads)
    folder.remove();
  STRETTO_TRY(world.everyone().barrier());
  STRETTO_TRY(agree(world, status.within("checkpoint not saved")));
  return folder.final();
}

} // namespace stretto::runtime
