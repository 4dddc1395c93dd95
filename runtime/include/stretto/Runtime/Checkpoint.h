//===- Checkpoint.h - training state on disk --------------------*- C++ -*-===//
//
// A checkpoint is a folder of safetensors shards and a manifest that says which
// box of which tensor lies where. It speaks of logical coordinates only, so any
// plan can load what any other plan saved. It appears by a rename after
// everything in it is on the disk: there is no half checkpoint.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_RUNTIME_CHECKPOINT_H
#define STRETTO_RUNTIME_CHECKPOINT_H

#include "stretto/Runtime/BoxCopy.h"
#include "stretto/Runtime/Communicator.h"
#include "stretto/Runtime/Status.h"

#include <string>
#include <vector>

namespace stretto::runtime {

/// What a rank holds of one tensor.
struct Piece {
  std::string name;
  program::DType dtype = program::DType::F32;
  std::vector<int64_t> shape; ///< global, logical
  Box box;
  void *data = nullptr;
  bool writes = true; ///< true on one of the ranks that hold this box
};

/// What a resumed run must know besides tensors.
struct CheckpointFacts {
  std::string model;
  uint64_t programHash = 0; ///< of the Program that saved; another may load
  int64_t step = 0;         ///< steps done
  uint64_t cursor = 0;      ///< samples consumed
  uint64_t seed = 0;
  uint64_t dataTokens = 0; ///< size of the data set, 0 when unknown
  uint64_t dataHash = 0;   ///< its fingerprint, 0 when unknown
  /// Of roll backs: batches that were consumed and are in no parameter, the
  /// furthest step that failed, and how often since a step got past it.
  int64_t skippedBatches = 0, failedStep = 0, rollBacks = 0;
};

/// The word of safetensors for a type.
const char *safetensorsType(program::DType type);

/// "step-000200".
std::string checkpointName(int64_t step);

/// Collective: every rank calls it with its pieces. Returns the folder of the
/// new checkpoint under `root`, to which `root`/LATEST then points. On an error
/// nothing of it stays, and earlier checkpoints are as they were.
Result<std::string> saveCheckpoint(World &world, const std::string &root,
                                   const CheckpointFacts &facts,
                                   const std::vector<Piece> &pieces);

/// Tidies up after a run that was killed while it saved into `root`: removes
/// what it had not completed, takes back what it was about to replace. For the
/// holder of the folder's lock.
Status recoverCheckpoints(const std::string &root);

/// `path` is a checkpoint, or a folder of checkpoints with a LATEST file.
Result<std::string> findCheckpoint(const std::string &path);

/// Fills the pieces of one rank; not collective. The tensors of the checkpoint
/// and of the pieces must be the same ones; checksums of all that is read are
/// verified.
Result<CheckpointFacts> loadCheckpoint(const std::string &checkpoint,
                                       const std::vector<Piece> &pieces);

/// The facts alone.
Result<CheckpointFacts> readCheckpointFacts(const std::string &checkpoint);

} // namespace stretto::runtime

#endif // STRETTO_RUNTIME_CHECKPOINT_H
