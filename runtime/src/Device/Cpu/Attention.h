//===- Attention.h - exact attention, block by block ------------*- C++ -*-===//
//
// Softmax attention forward and backward on the CPU; see Attention.cpp for how.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_RUNTIME_DEVICE_CPU_ATTENTION_H
#define STRETTO_RUNTIME_DEVICE_CPU_ATTENTION_H

#include "stretto/Runtime/Device.h"

namespace stretto::runtime {

std::unique_ptr<Operation> makeAttentionOperation(const AttentionTask &task);

/// On bf16, by instructions for it: where the host has them and head_dim is
/// even.
bool canPairAttention(const AttentionTask &task);
std::unique_ptr<Operation> makePairAttention(const AttentionTask &task);

} // namespace stretto::runtime

#endif // STRETTO_RUNTIME_DEVICE_CPU_ATTENTION_H
