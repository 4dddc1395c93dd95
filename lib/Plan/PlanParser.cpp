//===- PlanParser.cpp - YAML to plan --------------------------------------===//
#include "PlanDefaults.h"
#include "stretto/Support/Text.h"
#include "stretto/Support/YamlReader.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/GlobPattern.h"

using namespace stretto;

static constexpr int64_t maxRanks = int64_t(1) << 31;
static constexpr IntegerRange sizeRange{1, int64_t(1) << 30};

namespace {
/// Reads one document into a plan. Later sections look at earlier ones: rules
/// name axes, so mesh and groups come first whatever the order in the file.
class Parser {
public:
  Parser(const YamlNode &root, Diagnostics &diags) : root(root), diags(diags) {}

  llvm::FailureOr<Plan> run();

private:
  void readMesh(const YamlNode &node);
  void checkMeshProduct(const YamlNode &node);
  void readGroups(const YamlNode &node);
  void readLinks(const YamlNode &node);
  void readShard(const YamlNode &node);
  void readShardRule(const YamlNode &node);
  DimensionRule readDimension(const YamlNode::Key &key, const YamlNode &node);
  void readMicrobatches(YamlMap &map);
  void readPipeline(const YamlNode &node);
  void readLayout(const YamlNode &node);
  void readZero(const YamlNode &node);
  void readZeroRule(const YamlNode &node, llvm::StringRef path);
  void readRecompute(const YamlNode &node);
  void readMemory(YamlMap &map);
  void readOverlap(const YamlNode &node);

  std::vector<std::string> readAxes(const YamlNode &node, llvm::StringRef what);
  void readOptionalAxes(YamlMap &map, llvm::StringRef key,
                        std::optional<std::vector<std::string>> &field);
  void readGlob(YamlMap &map, llvm::StringRef key, std::string &field);
  bool checkName(const YamlNode::Key &key, llvm::StringRef what);
  void checkAxis(const std::string &name, const SourceLocation &at);
  void checkAxesOnce(llvm::ArrayRef<std::string> axes, llvm::StringRef what,
                     const SourceLocation &at);

  const YamlNode &root;
  Diagnostics &diags;
  Plan plan;
};
} // namespace

// ---- names and axes --------------------------------------------------------

bool Parser::checkName(const YamlNode::Key &key, llvm::StringRef what) {
  llvm::StringRef name = key.name;
  bool isName =
      !name.empty() && name.size() <= 64 && !llvm::isDigit(name[0]) &&
      llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_'; }) &&
      name != "none" && name != "auto";
  if (!isName)
    (void)diags.error(key.location,
                      what + " name " + quote(name) +
                          " must be letters, digits and _, not start with a "
                          "digit, and not be 'none' or 'auto'");
  return isName;
}

void Parser::checkAxis(const std::string &name, const SourceLocation &at) {
  std::vector<llvm::StringRef> known;
  for (const MeshAxis &axis : plan.mesh)
    known.push_back(axis.name);
  for (const AxisGroup &group : plan.groups)
    known.push_back(group.name);
  if (!llvm::is_contained(known, name))
    (void)diags.error(at, "the mesh has no axis " + quote(name) +
                              suggest(name, known, "its axes"));
}

void Parser::checkAxesOnce(llvm::ArrayRef<std::string> names,
                           llvm::StringRef what, const SourceLocation &at) {
  std::vector<std::string> axes;
  for (const std::string &name : names) {
    const auto *group =
        llvm::find_if(llvm::ArrayRef(plan.groups),
                      [&](const AxisGroup &g) { return g.name == name; });
    if (group == llvm::ArrayRef(plan.groups).end())
      axes.push_back(name);
    else
      axes.insert(axes.end(), group->axes.begin(), group->axes.end());
  }
  for (auto it = axes.begin(); it != axes.end(); ++it)
    if (std::find(axes.begin(), it, *it) != it) {
      (void)diags.error(at, "axis " + quote(*it) + " is used twice in '" +
                                what + "'");
      return;
    }
}

std::vector<std::string> Parser::readAxes(const YamlNode &node,
                                          llvm::StringRef what) {
  auto words = readWords(node, what, diags);
  if (!words || (node.isScalar() && words->front() == "none"))
    return {};
  for (auto [index, word] : llvm::enumerate(*words))
    checkAxis(word, node.isList() ? node.items[index].location : node.location);
  checkAxesOnce(*words, what, node.location);
  return *words;
}

void Parser::readOptionalAxes(YamlMap &map, llvm::StringRef key,
                              std::optional<std::vector<std::string>> &field) {
  if (const YamlNode *node = map.find(key))
    field = readAxes(*node, map.name(key));
}

void Parser::readGlob(YamlMap &map, llvm::StringRef key, std::string &field) {
  if (!map.word(key, field))
    return;
  auto pattern = llvm::GlobPattern::create(field, maxGlobAlternatives);
  if (!pattern)
    (void)diags.error(map.find(key)->location,
                      "'" + map.name(key) + "' is not a valid glob: " +
                          llvm::toString(pattern.takeError()));
}

// ---- mesh and groups
// ---------------------------------------------------------

void Parser::readMesh(const YamlNode &node) {
  plan.mesh.clear();
  if (!node.isMap() || node.keys.empty()) {
    (void)diags.error(node.location,
                      "'mesh' must be a map from axis name to "
                      "size such as { dp: 2, tp: 2 }, got " +
                          (node.isMap() ? "an empty map" : node.describe()));
    return;
  }
  for (auto [key, value] : llvm::zip(node.keys, node.items)) {
    if (!checkName(key, "axis"))
      continue;
    auto size = readInteger(value, "mesh." + key.name, sizeRange, diags);
    plan.mesh.push_back({key.name, size.value_or(1), key.location});
  }
  checkMeshProduct(node);
}

void Parser::checkMeshProduct(const YamlNode &node) {
  int64_t ranks = 1;
  for (MeshAxis &axis : plan.mesh) {
    ranks *= axis.size; // at most 2^31 * 2^30
    if (ranks <= maxRanks)
      continue;
    (void)diags.error(node.location, "the mesh has more than 2^31 ranks");
    axis.size = ranks = 1;
  }
}

void Parser::readGroups(const YamlNode &node) {
  if (!node.isMap()) {
    (void)diags.error(node.location, "'groups' must be a map from group name "
                                     "to axes, got " +
                                         node.describe());
    return;
  }
  std::vector<AxisGroup> groups; // a group of groups is not a thing
  for (auto [key, value] : llvm::zip(node.keys, node.items)) {
    if (!checkName(key, "group"))
      continue;
    if (plan.findAxis(key.name))
      (void)diags.error(key.location, "group " + quote(key.name) +
                                          " has the name of a mesh axis");
    unsigned before = diags.errorCount();
    auto axes = readAxes(value, "groups." + key.name);
    if (axes.empty() && diags.errorCount() == before)
      (void)diags.error(value.location,
                        "group " + quote(key.name) +
                            " names no axis; write a list such as [dp, tp]");
    groups.push_back({key.name, std::move(axes), key.location});
  }
  plan.groups = std::move(groups);
}

void Parser::readLinks(const YamlNode &node) {
  if (!node.isMap()) {
    (void)diags.error(node.location,
                      "'links' must be a map from axis to { latency: seconds, "
                      "bandwidth: bytes per second }, got " +
                          node.describe());
    return;
  }
  for (auto [key, value] : llvm::zip(node.keys, node.items)) {
    std::vector<llvm::StringRef> axes;
    for (const MeshAxis &axis : plan.mesh)
      axes.push_back(axis.name);
    if (!llvm::is_contained(axes, key.name))
      (void)diags.error(key.location, "the mesh has no axis " +
                                          quote(key.name) +
                                          suggest(key.name, axes, "its axes"));
    AxisLink link;
    link.axis = key.name;
    link.location = key.location;
    YamlMap map(value, "links." + key.name, diags);
    double number;
    if (map.number("latency", number, {0, 1}))
      link.latency = number;
    if (map.number("bandwidth", number, {1, 1e13}))
      link.bandwidth = number;
    map.finish();
    plan.links.push_back(std::move(link));
  }
}

// ---- shard rules
// ---------------------------------------------------------------

DimensionRule Parser::readDimension(const YamlNode::Key &key,
                                    const YamlNode &node) {
  DimensionRule rule;
  rule.dimension = key.name;
  rule.location = key.location;
  std::string what = "shard." + key.name;
  if (!node.isMap()) {
    rule.axes = readAxes(node, what);
    return rule;
  }
  rule.residualOnly = true;
  YamlMap map(node, what, diags);
  if (const YamlNode *residual = map.find("residual"))
    rule.axes = readAxes(*residual, what + ".residual");
  map.finish();
  return rule;
}

void Parser::readShardRule(const YamlNode &node) {
  ShardRule rule;
  YamlMap map(node, "shard", diags);
  rule.location = node.keys.empty() ? node.location : node.keys[0].location;
  readGlob(map, "match", rule.match);
  if (const YamlNode *match = node.find("match"))
    rule.location = match->location;
  for (auto [key, value] : llvm::zip(node.keys, node.items))
    if (key.name != "match" && checkName(key, "dimension"))
      rule.dimensions.push_back(readDimension(key, value));
  if (node.isMap() && rule.dimensions.empty())
    (void)diags.error(node.location, "the shard rule names no dimension; add "
                                     "for instance 'batch: dp'");
  plan.shard.push_back(std::move(rule));
}

void Parser::readShard(const YamlNode &node) {
  plan.shardIsDefault = false;
  plan.shard.clear();
  if (!node.isList()) {
    readShardRule(node);
    return;
  }
  for (const YamlNode &item : node.items)
    readShardRule(item);
}

// ---- policies
// ------------------------------------------------------------------

void Parser::readMicrobatches(YamlMap &map) {
  int64_t value;
  if (map.integer("micro_batch_size", value, sizeRange))
    plan.microBatchSize = value;
  if (map.integer("microbatches", value, sizeRange))
    plan.microbatches = value;
  const YamlNode *size = map.find("micro_batch_size");
  const YamlNode *count = map.find("microbatches");
  if (size && count) {
    (void)diags.error(count->location,
                      "'microbatches' and 'micro_batch_size' exclude each "
                      "other; keep one");
    diags.note(size->location, "'micro_batch_size' is here");
  }
  if (size || count)
    plan.microbatchLocation = (size ? size : count)->location;
}

void Parser::readLayout(const YamlNode &node) {
  if (node.isScalar() && node.scalar == "auto")
    return;
  if (!node.isList()) {
    (void)diags.error(node.location,
                      "'pipeline.layout' must be auto or a list with the "
                      "number of layers of each stage, got " +
                          node.describe());
    return;
  }
  for (const YamlNode &item : node.items)
    if (auto layers = readInteger(item, "pipeline.layout", sizeRange, diags))
      plan.pipeline.layout.push_back(*layers);
}

void Parser::readPipeline(const YamlNode &node) {
  YamlMap map(node, "pipeline", diags);
  plan.pipeline.location = node.location;
  if (map.word("axis", plan.pipeline.axis))
    checkAxis(plan.pipeline.axis, map.find("axis")->location);
  map.integer("virtual", plan.pipeline.virtualStages, sizeRange);
  map.word("schedule", plan.pipeline.schedule);
  if (const YamlNode *layout = map.find("layout"))
    readLayout(*layout);
  map.finish();
}

void Parser::readZeroRule(const YamlNode &node, llvm::StringRef path) {
  ZeroRule rule;
  rule.location = node.location;
  YamlMap map(node, path, diags);
  readGlob(map, "match", rule.match);
  map.integer("stage", rule.stage, {0, 3});
  const YamlNode *over = map.find("over");
  if (over && !(over->isScalar() && over->scalar == "auto"))
    rule.over = readAxes(*over, map.name("over"));
  readOptionalAxes(map, "params", rule.params);
  readOptionalAxes(map, "grads", rule.grads);
  readOptionalAxes(map, "optim", rule.optim);
  if (map.word("replicate", rule.replicate))
    checkAxis(rule.replicate, map.find("replicate")->location);
  map.choice<GatherChoice>("gather", rule.gather, gatherNames);
  map.choice<ReduceChoice>("reduce", rule.reduce, reduceNames);
  map.finish();
  plan.zero.push_back(std::move(rule));
}

void Parser::readZero(const YamlNode &node) {
  if (node.isList()) {
    for (const YamlNode &item : node.items)
      readZeroRule(item, "zero");
    return;
  }
  if (!node.isScalar()) {
    readZeroRule(node, "zero");
    return;
  }
  auto stage = readInteger(node, "zero", {0, 3}, diags);
  if (stage.value_or(0) == 0)
    return;
  ZeroRule rule;
  rule.stage = *stage;
  rule.location = node.location;
  plan.zero.push_back(std::move(rule));
}

void Parser::readRecompute(const YamlNode &node) {
  if (node.isScalar()) {
    if (node.scalar != "none")
      plan.recompute.push_back({"*", {node.scalar}, node.location});
    return;
  }
  if (!node.isList()) {
    (void)diags.error(node.location, "'recompute' must be a word or a list of "
                                     "{ layers: ..., what: ... }, got " +
                                         node.describe());
    return;
  }
  for (const YamlNode &item : node.items) {
    RecomputeRule rule;
    rule.location = item.location;
    YamlMap map(item, "recompute", diags);
    readGlob(map, "layers", rule.layers);
    map.words("what", rule.what);
    if (llvm::ArrayRef(rule.what) == llvm::ArrayRef<std::string>{"none"})
      rule.what.clear();
    map.finish();
    plan.recompute.push_back(std::move(rule));
  }
}

void Parser::readMemory(YamlMap &map) {
  int64_t bytes;
  if (map.bytes("memory", bytes)) {
    plan.memoryBytes = bytes;
    plan.memoryLocation = map.find("memory")->location;
  }
  for (const RecomputeRule &rule : plan.recompute)
    if (llvm::is_contained(rule.what, "auto") && !map.find("memory"))
      (void)diags.error(rule.location,
                        "'recompute: auto' repeats as much as a memory limit "
                        "demands, and there is none; add for instance "
                        "'memory: 16GiB'");
}

void Parser::readOverlap(const YamlNode &node) {
  plan.overlap.location = node.location;
  if (node.isScalar() && node.scalar == "none") {
    plan.overlap.overlaps = false;
    return;
  }
  if (node.isScalar()) {
    (void)diags.error(node.location, "'overlap' must be none or { bucket: "
                                     "25MiB, prefetch: 1 }, got " +
                                         node.describe());
    return;
  }
  YamlMap map(node, "overlap", diags);
  map.bytes("bucket", plan.overlap.bucketBytes);
  map.integer("prefetch", plan.overlap.prefetch, {0, 1 << 20});
  map.finish();
}

// ---- the document
// ----------------------------------------------------------------

llvm::FailureOr<Plan> Parser::run() {
  unsigned before = diags.errorCount();
  plan.mesh = defaultMesh();
  YamlMap map(root, "", diags);
  map.version("plan", Plan::version);
  readMicrobatches(map);
  using Reader = void (Parser::*)(const YamlNode &);
  const std::pair<llvm::StringRef, Reader> sections[] = {
      {"mesh", &Parser::readMesh},           {"groups", &Parser::readGroups},
      {"links", &Parser::readLinks},         {"shard", &Parser::readShard},
      {"pipeline", &Parser::readPipeline},   {"zero", &Parser::readZero},
      {"recompute", &Parser::readRecompute}, {"overlap", &Parser::readOverlap}};
  for (auto [key, read] : sections)
    if (const YamlNode *node = map.find(key))
      (this->*read)(*node);
  static const std::pair<llvm::StringRef, UnevenPolicy> unevenNames[] = {
      {"pad", UnevenPolicy::Pad}, {"error", UnevenPolicy::Error}};
  if (map.choice<UnevenPolicy>("uneven", plan.uneven, unevenNames))
    plan.unevenLocation = root.find("uneven")->location;
  readMemory(map);
  map.finish();
  if (diags.errorCount() != before)
    return llvm::failure();
  if (plan.shardIsDefault)
    plan.shard = defaultShardRules(plan.mesh);
  return std::move(plan);
}

llvm::FailureOr<Plan> stretto::parsePlan(llvm::StringRef text,
                                         llvm::StringRef file,
                                         Diagnostics &diags) {
  llvm::FailureOr<YamlNode> root = parseYaml(text, file, diags);
  if (failed(root))
    return llvm::failure();
  return Parser(*root, diags).run();
}

llvm::FailureOr<Plan> stretto::readPlan(llvm::StringRef path,
                                        Diagnostics &diags) {
  llvm::FailureOr<std::string> text = readTextFile(path, diags);
  if (failed(text))
    return llvm::failure();
  return parsePlan(*text, path, diags);
}
