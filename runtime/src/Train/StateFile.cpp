#include "State.h"

#include "stretto/Runtime/Agreement.h"
#include "stretto/Runtime/FileWriter.h"
#include "stretto/Runtime/Safetensors.h"

#include <unistd.h>

namespace stretto::runtime {
namespace {

/// The file that rank 0 writes; other ranks hold an idle one.
class WholeFile {
public:
  WholeFile(std::string path, bool active)
      : path(std::move(path)), active(active) {}
  ~WholeFile() {
    if (active && !finished)
      unlink(temporary().c_str());
  }

  Status begin(const std::string &header) {
    if (!active)
      return Status::ok();
    STRETTO_ASSIGN(writer, FileWriter::create(temporary()));
    return writer.write(Bytes(header.data(), header.size()));
  }
  Status write(Bytes bytes) {
    return active ? writer.write(bytes) : Status::ok();
  }
  Status finish() {
    if (!active)
      return Status::ok();
    STRETTO_TRY(writer.finish());
    STRETTO_TRY(renameDurably(temporary(), path));
    finished = true;
    return Status::ok();
  }

private:
  std::string temporary() const { return path + ".tmp"; }

  std::string path;
  FileWriter writer;
  bool active, finished = false;
};

/// A tensor put together from the boxes of all ranks.
struct Whole {
  std::vector<char> bytes;
  std::string mismatch;
};

/// Collective: everybody gets the boxes, rank 0 puts them together.
Result<Whole> gatherWhole(World &world, const Mesh &mesh,
                          const TensorView &view) {
  size_t width = bytesOf(view.dtype);
  int64_t localBytes = view.box.localElements() * width;
  std::vector<char> all(localBytes * world.size());
  STRETTO_TRY(world.everyone().gather(view.slots[0], all.data(), localBytes));
  Whole whole;
  if (world.rank() != 0)
    return whole;
  Box target = wholeBox(view.logicalShape);
  whole.bytes.resize(target.localElements() * width);
  for (int64_t rank = 0; rank < world.size(); ++rank) {
    Box box = mesh.box(rank, view.dims);
    const char *data = all.data() + rank * localBytes;
    if (mesh.isFirstReplica(rank, view.dims)) {
      copyCommon(box, data, target, whole.bytes.data(), width);
      continue;
    }
    // The first replica has a lower rank: its elements are already there.
    int64_t at = firstDifference(box, data, target, whole.bytes.data(), width);
    if (at >= 0 && whole.mismatch.empty())
      whole.mismatch =
          concat("rank ", rank, " differs from its replica at element ", at);
  }
  return whole;
}

std::vector<TensorEntry> entriesOf(const NamedTensors &tensors) {
  std::vector<TensorEntry> entries;
  for (const auto &[name, view] : tensors) {
    TensorEntry entry;
    entry.name = name;
    entry.dtype = safetensorsType(view.dtype);
    entry.shape = view.logicalShape;
    entries.push_back(std::move(entry));
  }
  return entries;
}

} // namespace

Status writeWhole(World &world, const Mesh &mesh, const std::string &path,
                  const NamedTensors &tensors,
                  const std::map<std::string, std::string> &metadata,
                  std::vector<std::string> &mismatches) {
  WholeFile file(path, world.rank() == 0);
  std::vector<TensorEntry> entries = entriesOf(tensors);
  Status status = file.begin(safetensorsHeader(entries, metadata));
  for (const auto &[name, view] : tensors) {
    // A rank that cannot write still takes part in the exchange.
    STRETTO_ASSIGN(Whole whole, gatherWhole(world, mesh, view));
    if (status)
      status = file.write(Bytes(whole.bytes.data(), whole.bytes.size()));
    if (!whole.mismatch.empty())
      mismatches.push_back(name + ": " + whole.mismatch);
  }
  if (status)
    status = file.finish();
  return agree(world, status);
}

} // namespace stretto::runtime
