//===- PlanPrinter.cpp - plan to YAML -------------------------------------===//
#include "stretto/Plan/Plan.h"
#include "stretto/Support/Text.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/YAMLParser.h"

using namespace stretto;

/// A word as YAML: in double quotes unless it is plainly a word.
static std::string yamlWord(llvm::StringRef text) {
  bool isPlain = !text.empty() && llvm::isAlpha(text.front()) &&
                 llvm::all_of(text, [](char c) {
                   return llvm::isAlnum(c) || c == '_' || c == '-' || c == '.';
                 });
  return isPlain ? text.str() : "\"" + llvm::yaml::escape(text) + "\"";
}

static std::string yamlWords(llvm::ArrayRef<std::string> words) {
  if (words.size() == 1)
    return yamlWord(words.front());
  return "[" + llvm::join(llvm::map_range(words, yamlWord), ", ") + "]";
}

static void printMesh(const Plan &plan, llvm::raw_ostream &os) {
  os << "mesh: { ";
  llvm::interleave(
      plan.mesh, os,
      [&](const MeshAxis &axis) {
        os << yamlWord(axis.name) << ": " << axis.size;
      },
      ", ");
  os << " }\n";
  if (plan.groups.empty())
    return;
  os << "groups: { ";
  llvm::interleave(
      plan.groups, os,
      [&](const AxisGroup &group) {
        os << yamlWord(group.name) << ": ["
           << llvm::join(llvm::map_range(group.axes, yamlWord), ", ") << "]";
      },
      ", ");
  os << " }\n";
}

static void printShard(const Plan &plan, llvm::raw_ostream &os) {
  os << "shard:" << (plan.shard.empty() ? " []\n" : "\n");
  for (const ShardRule &rule : plan.shard) {
    os << "  - { match: " << yamlWord(rule.match);
    for (const DimensionRule &dim : rule.dimensions) {
      os << ", " << yamlWord(dim.dimension) << ": ";
      if (dim.residualOnly)
        os << "{ residual: " << yamlWords(dim.axes) << " }";
      else
        os << yamlWords(dim.axes);
    }
    os << " }\n";
  }
}

static void printLinks(const Plan &plan, llvm::raw_ostream &os) {
  if (plan.links.empty())
    return;
  os << "links:\n";
  for (const AxisLink &link : plan.links) {
    os << "  " << yamlWord(link.axis) << ": {";
    llvm::ListSeparator comma;
    if (link.latency)
      os << comma << " latency: " << formatNumber(*link.latency);
    if (link.bandwidth)
      os << comma << " bandwidth: " << formatNumber(*link.bandwidth);
    os << " }\n";
  }
}

static void printPipeline(const Plan &plan, llvm::raw_ostream &os) {
  const PipelinePolicy &pipeline = plan.pipeline;
  os << "pipeline: { ";
  if (plan.findAxis(pipeline.axis)) // a mesh without it has one stage
    os << "axis: " << yamlWord(pipeline.axis) << ", ";
  os << "virtual: " << pipeline.virtualStages
     << ", schedule: " << yamlWord(pipeline.schedule) << ", layout: ";
  if (pipeline.layout.empty()) {
    os << "auto }\n";
    return;
  }
  os << "[";
  llvm::interleave(pipeline.layout, os, ", ");
  os << "] }\n";
}

static void printZero(llvm::ArrayRef<ZeroRule> rules, llvm::raw_ostream &os) {
  if (rules.empty()) {
    os << "zero: 0\n";
    return;
  }
  os << "zero:\n";
  for (const ZeroRule &rule : rules) {
    os << "  - { match: " << yamlWord(rule.match) << ", stage: " << rule.stage;
    os << ", over: " << (rule.over ? yamlWords(*rule.over) : "auto");
    auto print = [&](llvm::StringRef key,
                     const std::optional<std::vector<std::string>> &axes) {
      if (axes)
        os << ", " << key << ": " << yamlWords(*axes);
    };
    print("params", rule.params);
    print("grads", rule.grads);
    print("optim", rule.optim);
    if (!rule.replicate.empty())
      os << ", replicate: " << yamlWord(rule.replicate);
    os << ", gather: " << nameOf(rule.gather)
       << ", reduce: " << nameOf(rule.reduce) << " }\n";
  }
}

static void printRecompute(llvm::ArrayRef<RecomputeRule> rules,
                           llvm::raw_ostream &os) {
  os << "recompute:" << (rules.empty() ? " none\n" : "\n");
  for (const RecomputeRule &rule : rules)
    os << "  - { layers: " << yamlWord(rule.layers)
       << ", what: " << yamlWords(rule.what) << " }\n";
}

std::string Plan::toYaml() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "plan: " << version << "\n";
  printMesh(*this, os);
  printLinks(*this, os);
  printShard(*this, os);
  os << "uneven: " << (uneven == UnevenPolicy::Pad ? "pad" : "error") << "\n";
  if (microBatchSize)
    os << "micro_batch_size: " << *microBatchSize << "\n";
  else
    os << "microbatches: " << microbatches.value_or(1) << "\n";
  printPipeline(*this, os);
  printZero(zero, os);
  printRecompute(recompute, os);
  if (memoryBytes)
    os << "memory: " << formatBytes(*memoryBytes) << "\n";
  if (!overlap.overlaps) {
    os << "overlap: none\n";
    return text;
  }
  os << "overlap: { bucket: " << formatBytes(overlap.bucketBytes)
     << ", prefetch: " << overlap.prefetch << " }\n";
  return text;
}
