#include "Manifest.h"

#include "stretto/Runtime/Bytes.h"
#include "stretto/Runtime/Program.h"
#include "stretto/Runtime/Safetensors.h"

#include <algorithm>
#include <filesystem>
#include <set>

namespace stretto::runtime {
namespace {

Result<Manifest> readManifest(const std::string &checkpoint) {
  std::string path = checkpoint + "/manifest.json";
  STRETTO_ASSIGN(MappedFile file, MappedFile::open(path));
  Result<Manifest> manifest = Manifest::parse(file.bytes());
  if (!manifest)
    return manifest.status().within(path);
  return manifest;
}

/// Both sides name the same tensors of the same shape and type.
Status compare(const Manifest &manifest, const std::vector<Piece> &pieces) {
  std::set<std::string> wanted;
  for (const Piece &piece : pieces) {
    wanted.insert(piece.name);
    auto found = manifest.tensors.find(piece.name);
    if (found == manifest.tensors.end())
      return failure(Code::Rejected, "tensor '", piece.name,
                     "' is not in the checkpoint of model '",
                     manifest.facts.model, "'");
    const StoredBox &stored = found->second.front();
    if (stored.shape != piece.shape ||
        stored.dtype != safetensorsType(piece.dtype))
      return failure(Code::Rejected, "tensor '", piece.name, "' is ",
                     stored.dtype, " ", shapeText(stored.shape),
                     " in the checkpoint, the program wants ",
                     safetensorsType(piece.dtype), " ", shapeText(piece.shape));
  }
  for (const auto &tensor : manifest.tensors)
    if (wanted.count(tensor.first) == 0)
      return failure(Code::Rejected, "tensor '", tensor.first,
                     "' of the checkpoint is not one of this program");
  return Status::ok();
}

/// The shards of a checkpoint, opened when first needed.
class Shards {
public:
  explicit Shards(std::string folder) : folder(std::move(folder)) {}

  /// The verified data of a box.
  Result<Bytes> data(const StoredBox &box) {
    auto found = files.find(box.file);
    if (found == files.end()) {
      STRETTO_ASSIGN(SafetensorsFile file,
                     SafetensorsFile::open(folder + "/" + box.file));
      found = files.emplace(box.file, std::move(file)).first;
    }
    const SafetensorsFile &file = found->second;
    const TensorEntry *entry = file.find(box.name);
    std::vector<int64_t> shape;
    for (const BoxDim &dim : box.box().dims)
      shape.push_back(dim.owned());
    if (!entry || entry->dtype != box.dtype || entry->shape != shape)
      return failure(Code::Rejected, file.path(), ": tensor '", box.name,
                     "' is not there as the manifest says");
    Bytes bytes = file.data(*entry);
    if (xxh3(bytes) != box.checksum)
      return failure(Code::Rejected, file.path(), ": the checksum of '",
                     box.name, "' does not fit: the file is damaged");
    return bytes;
  }

private:
  std::string folder;
  std::map<std::string, SafetensorsFile> files;
};

} // namespace

Result<std::string> findCheckpoint(const std::string &path) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (fs::exists(path + "/manifest.json", error))
    return path;
  if (!fs::exists(path, error))
    return failure(Code::Rejected, path, ": No such file or directory");
  if (!fs::exists(path + "/LATEST", error))
    return failure(Code::Rejected, path,
                   ": neither a checkpoint (manifest.json) nor a folder of "
                   "checkpoints (LATEST)");
  STRETTO_ASSIGN(MappedFile file, MappedFile::open(path + "/LATEST"));
  std::string name(file.bytes().data, file.bytes().data + file.bytes().size);
  name.erase(std::find(name.begin(), name.end(), '\n'), name.end());
  // Killed between the two renames of a replacement: the old one is whole.
  if (!fs::exists(path + "/" + name, error) &&
      fs::exists(path + "/" + name + ".replaced/manifest.json", error))
    name += ".replaced";
  if (name.empty() || name.find('/') != std::string::npos ||
      !fs::exists(path + "/" + name + "/manifest.json", error))
    return failure(Code::Rejected, path, "/LATEST: '", name,
                   "' is not a checkpoint in this folder");
  return path + "/" + name;
}

Result<CheckpointFacts> readCheckpointFacts(const std::string &checkpoint) {
  STRETTO_ASSIGN(Manifest manifest, readManifest(checkpoint));
  return manifest.facts;
}

Result<CheckpointFacts> loadCheckpoint(const std::string &checkpoint,
                                       const std::vector<Piece> &pieces) {
  STRETTO_ASSIGN(Manifest manifest, readManifest(checkpoint));
  if (Status status = compare(manifest, pieces); !status)
    return status.within(checkpoint);
  Shards shards(checkpoint);
  for (const Piece &piece : pieces)
    for (const StoredBox &stored : manifest.tensors[piece.name]) {
      Box box = stored.box();
      if (commonElements(box, piece.box) == 0)
        continue;
      STRETTO_ASSIGN(Bytes bytes, shards.data(stored));
      copyCommon(box, bytes.data, piece.box, piece.data, bytesOf(piece.dtype));
    }
  return manifest.facts;
}

} // namespace stretto::runtime
