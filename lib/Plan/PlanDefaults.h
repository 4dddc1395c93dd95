//===- PlanDefaults.h - what an absent line of a plan means -----*- C++ -*-===//
//
// The defaults and limits that parser, printer and checks share.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_LIB_PLAN_PLANDEFAULTS_H
#define STRETTO_LIB_PLAN_PLANDEFAULTS_H

#include "stretto/Plan/Plan.h"

namespace stretto {

/// Bounds what {a,b} in a glob may expand to.
constexpr size_t maxGlobAlternatives = 64;

constexpr std::pair<llvm::StringRef, GatherChoice> gatherNames[] = {
    {"auto", GatherChoice::Auto},
    {"step", GatherChoice::Step},
    {"microbatch", GatherChoice::Microbatch},
    {"pass", GatherChoice::Pass}};
constexpr std::pair<llvm::StringRef, ReduceChoice> reduceNames[] = {
    {"auto", ReduceChoice::Auto},
    {"step", ReduceChoice::Step},
    {"microbatch", ReduceChoice::Microbatch}};

std::vector<MeshAxis> defaultMesh();

/// One rule: batch on dp; heads, kv_heads, ffn and vocab on tp, as far as the
/// axes exist. No rule if none does.
std::vector<ShardRule> defaultShardRules(llvm::ArrayRef<MeshAxis> mesh);

} // namespace stretto

#endif // STRETTO_LIB_PLAN_PLANDEFAULTS_H
