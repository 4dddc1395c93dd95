//===- Plan.h - where and when a model is computed --------------*- C++ -*-===//
//
// The plan lays the ranks out as a mesh of named axes and says which logical
// dimension goes to which axes, how the global batch splits into micro-batches,
// and the policies for pipeline, ZeRO, recomputation and overlap. It changes
// where and when things happen, never the result. The schema is wider than what
// is implemented: parsePlan reads all of it, checkImplemented refuses by name
// what does not work yet.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_PLAN_PLAN_H
#define STRETTO_PLAN_PLAN_H

#include "stretto/Support/Diagnostics.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stretto {

struct MeshAxis {
  std::string name;
  int64_t size = 1;
  SourceLocation location;
};

/// A second view of the same ranks: the product of some mesh axes.
struct AxisGroup {
  std::string name;
  std::vector<std::string> axes;
  SourceLocation location;
};

/// What the links along a mesh axis can do, where the plan says it.
struct AxisLink {
  std::string axis;
  std::optional<double> latency;   // seconds of one round
  std::optional<double> bandwidth; // bytes per second that a rank sends
  SourceLocation location;
};

/// One entry of a shard rule: a logical dimension and the axes it is split
/// over, major to minor; no axes: the dimension stays whole.
struct DimensionRule {
  std::string dimension;
  std::vector<std::string> axes;
  /// Only the values between the blocks (the residual stream) are split, as in
  /// sequence parallelism; inside a block the dimension is whole.
  bool residualOnly = false;
  SourceLocation location;
};

/// The entries for every instance and parameter path that `match` covers.
struct ShardRule {
  std::string match = "*";
  std::vector<DimensionRule> dimensions;
  SourceLocation location; // of `match`, or of the rule
};

enum class UnevenPolicy {
  Pad,  // sizes that do not divide are padded and masked, exactly
  Error // they are refused
};

struct PipelinePolicy {
  std::string axis = "pp";
  int64_t virtualStages = 1; // per rank
  std::string schedule = "1f1b";
  std::vector<int64_t> layout; // layers of each stage; empty: auto
  SourceLocation location;
};

/// How often parameters that rest sharded are gathered.
enum class GatherChoice {
  Auto,       // once per pass
  Step,       // once, before the first micro-batch
  Microbatch, // before every forward, kept for the backward
  Pass        // in every forward, and again in every backward
};

/// How often gradients are reduced.
enum class ReduceChoice {
  Auto,      // per micro-batch if there is one only, else once
  Step,      // once, after the last micro-batch
  Microbatch // in every backward: only shards are accumulated
};

/// Where parameters, gradients and optimizer state rest for the parameters that
/// `match` covers: a stage, or the axes of each of the three.
struct ZeroRule {
  std::string match = "*";
  int64_t stage = 0;
  /// Absent: auto, all axes the batch is split on.
  std::optional<std::vector<std::string>> over;
  std::optional<std::vector<std::string>> params, grads, optim;
  std::string replicate; // "node" or an axis; empty: none
  GatherChoice gather = GatherChoice::Auto;
  ReduceChoice reduce = ReduceChoice::Auto;
  SourceLocation location;

  bool isNeutral() const {
    return stage == 0 && !params && !grads && !optim && replicate.empty();
  }
};

struct RecomputeRule {
  std::string layers = "*";
  std::vector<std::string> what; // none: empty
  SourceLocation location;
};

/// Whether parameters are gathered and gradients reduced while something is
/// computed, and how far apart from it.
struct OverlapPolicy {
  bool overlaps = true;
  int64_t bucketBytes = 25 << 20;
  int64_t prefetch = 1;
  SourceLocation location;
};

/// Something with logical dimensions that a rule can be about.
struct NamedTensor {
  struct Dim {
    std::string name;            // empty: unnamed
    std::optional<int64_t> size; // absent: bound by the recipe
  };
  std::string path; // "layers.0.attn.wq", or an input's name
  std::vector<Dim> dims;
  bool isInput = false; // its dimensions flow everywhere
};

struct Plan {
  static constexpr int64_t version = 1;

  /// Outermost axis first; rank = row-major index. Never empty after parsing.
  std::vector<MeshAxis> mesh;
  std::vector<AxisGroup> groups;
  std::vector<AxisLink> links;
  /// In order; the last rule that matches wins, dimension by dimension.
  std::vector<ShardRule> shard;
  bool shardIsDefault = true; // nobody wrote `shard`
  UnevenPolicy uneven = UnevenPolicy::Pad;
  SourceLocation unevenLocation;

  /// Samples per micro-batch and data replica. At most one of the two is set.
  std::optional<int64_t> microBatchSize;
  std::optional<int64_t> microbatches;
  SourceLocation microbatchLocation;

  PipelinePolicy pipeline;
  std::vector<ZeroRule> zero;
  std::vector<RecomputeRule> recompute;
  /// What a rank may take: parameters, state, gradients, activations, scratch.
  std::optional<int64_t> memoryBytes;
  SourceLocation memoryLocation;
  OverlapPolicy overlap;

  /// One device: axes dp, pp, cp and tp of size 1, the default rules.
  static Plan singleDevice();

  int64_t numRanks() const;
  const MeshAxis *findAxis(llvm::StringRef name) const;
  /// The last `zero` rule that covers the parameter at `path`, or null.
  const ZeroRule *findZero(llvm::StringRef path) const;
  /// The last `recompute` rule that covers the instance at `path`, or null.
  const RecomputeRule *findRecompute(llvm::StringRef path) const;
  /// Whether a rule leaves it to the compiler what is computed again.
  bool recomputesToFit() const;
  /// Mesh axes, groups replaced by their members.
  std::vector<std::string> expand(llvm::ArrayRef<std::string> axes) const;
  /// The number of parts that these axes and groups make; unknown names count
  /// as 1.
  int64_t numParts(llvm::ArrayRef<std::string> axes) const;

  struct Placement {
    std::vector<std::string> axes; // mesh axes, major to minor; groups expanded
    bool residualOnly = false;
    /// The rule entry that decided; unknown if no rule names the dimension or
    /// the rule is a default.
    SourceLocation location;
    const DimensionRule *rule = nullptr; // owned by the plan
  };
  /// Where `dimension` of the tensor or instance at `path` goes.
  Placement resolve(llvm::StringRef path, llvm::StringRef dimension) const;

  /// The number of micro-batches of a step, from `microbatches` or from
  /// `micro_batch_size` and the axes of the batch dimension. An error if the
  /// batch does not split into that many equal parts.
  llvm::FailureOr<int64_t> resolveMicrobatches(int64_t globalBatch,
                                               Diagnostics &diagnostics) const;

  /// The effective plan, every field spelled out; parses back to the same.
  std::string toYaml() const;
};

llvm::StringRef nameOf(GatherChoice choice);
llvm::StringRef nameOf(ReduceChoice choice);

/// True if the glob covers the path or an instance that contains it: `*` is any
/// text, dots included, and "layers.*.mlp" covers "layers.3.mlp.w1". A glob
/// that does not parse covers nothing (parsePlan refuses it).
bool globCovers(llvm::StringRef glob, llvm::StringRef path);

/// Reads a plan and checks all that needs no model: types, ranges, axes that
/// exist, no axis twice for a dimension.
llvm::FailureOr<Plan> parsePlan(llvm::StringRef text, llvm::StringRef file,
                                Diagnostics &diagnostics);
llvm::FailureOr<Plan> readPlan(llvm::StringRef path, Diagnostics &diagnostics);

/// Refuses by name, with the nearest thing that works, what this build cannot
/// do yet.
llvm::LogicalResult checkImplemented(const Plan &plan, Diagnostics &);
/// The product of the mesh must be the number of ranks.
llvm::LogicalResult checkRanks(const Plan &plan, int64_t ranks, Diagnostics &);
/// Under `uneven: error`: the samples of a micro-batch and the positions of a
/// sample must split over the ranks that share them.
llvm::LogicalResult checkSplits(const Plan &plan, int64_t samples,
                                int64_t sequence, Diagnostics &);
/// Checks the rules against a model: globs and dimensions that match nothing,
/// an axis on two dimensions of one tensor, sizes under `uneven: error`.
llvm::LogicalResult checkNames(const Plan &plan,
                               llvm::ArrayRef<NamedTensor> tensors,
                               Diagnostics &);

} // namespace stretto

#endif // STRETTO_PLAN_PLAN_H
