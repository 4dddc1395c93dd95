//===- State.h - the training state of a rank -------------------*- C++ -*-===//
//
// Names for what a rank trains ("param/x", "grad/x", "moment1/x"), its initial
// values, and its ways to and from files.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_RUNTIME_SRC_TRAIN_STATE_H
#define STRETTO_RUNTIME_SRC_TRAIN_STATE_H

#include "stretto/Runtime/Checkpoint.h"
#include "stretto/Runtime/Executor.h"

#include <map>

namespace stretto::runtime {

struct NamedTensor {
  std::string name;
  TensorView view;
};
using NamedTensors = std::vector<NamedTensor>;

NamedTensors parametersOf(const Executor &executor);
NamedTensors momentsOf(const Executor &executor);
NamedTensors gradientsOf(const Executor &executor);

/// What a checkpoint keeps: parameters and moments.
std::vector<Piece> checkpointPieces(const Executor &executor);

/// Fills this rank's part of every parameter; pads and moments become zero.
Status initializeState(const Executor &executor);

/// Parameters from a safetensors file that holds each of them whole, under its
/// name or "param/" + name; nothing more under "param/".
Status loadParameters(const Executor &executor, const std::string &path);

/// Collective: writes the tensors whole to one safetensors file (rank 0 does).
/// Adds to `mismatches` a line for each tensor whose replicas differ in a bit.
Status writeWhole(World &world, const Mesh &mesh, const std::string &path,
                  const NamedTensors &tensors,
                  const std::map<std::string, std::string> &metadata,
                  std::vector<std::string> &mismatches);

/// Where a value is not finite: "'name' is nan at element 3" of the first such
/// tensor, empty when there is none.
std::string findNonFinite(const NamedTensors &tensors);

} // namespace stretto::runtime

#endif // STRETTO_RUNTIME_SRC_TRAIN_STATE_H
