//===- Agreement.h - ranks that decide together -----------------*- C++ -*-===//
//
// Small collective exchanges of the host side: did every rank succeed, and what
// does every rank have to say.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_RUNTIME_AGREEMENT_H
#define STRETTO_RUNTIME_AGREEMENT_H

#include "stretto/Runtime/Communicator.h"

#include <string>
#include <vector>

namespace stretto::runtime {

/// The bits that are set in `mine` of any rank. Allocates nothing once
/// `scratch` has the size of the world.
Result<uint64_t> unionOfBits(World &world, uint64_t mine,
                             std::vector<uint64_t> &scratch);

/// True on all ranks when `mine` is a success on all.
Result<bool> allSucceeded(World &world, const Status &mine);

/// Success when `mine` is a success on all ranks. Otherwise the lowest rank
/// that failed leaves with its own error, and the others with that of the abort
/// that this causes.
Status agree(World &world, const Status &mine);

/// The texts of all ranks, in rank order, on every rank.
Result<std::vector<std::string>> gatherTexts(World &world,
                                             const std::string &mine);

} // namespace stretto::runtime

#endif // STRETTO_RUNTIME_AGREEMENT_H
