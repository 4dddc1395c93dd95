//===- ReferenceTest.cpp - docs/recipe-and-plan.md tells all keys ---------===//
//
// The reference's tables against what the readers know: a document in which
// every key is set is read, printed and read as plain YAML; its keys must be
// the table's keys, and the printed defaults the table's defaults.
//
//===----------------------------------------------------------------------===//
#include "stretto/Plan/Plan.h"
#include "stretto/Recipe/Recipe.h"
#include "stretto/Support/Yaml.h"
#include <cmath>
#include <gtest/gtest.h>
#include <map>
#include <set>

using namespace stretto;

namespace {
using Keys = std::map<std::string, std::string>; // path -> scalar, or ""

/// Key paths of a table of the reference -> the default as written.
Keys tableOf(llvm::StringRef heading) {
  Diagnostics diags;
  auto text =
      readTextFile(STRETTO_SOURCE_DIR "/docs/recipe-and-plan.md", diags);
  EXPECT_TRUE(succeeded(text)) << diags.summary();
  Keys keys;
  bool inside = false;
  llvm::SmallVector<llvm::StringRef> lines;
  llvm::StringRef(*text).split(lines, '\n');
  for (llvm::StringRef line : lines) {
    if (line.starts_with("## "))
      inside = line.starts_with(("## " + heading).str());
    if (!inside || !line.starts_with("| `"))
      continue;
    llvm::SmallVector<llvm::StringRef> cells;
    line.split(cells, '|');
    std::string key = cells[1].trim(" `").str();
    EXPECT_TRUE(keys.emplace(key, cells[3].trim().str()).second)
        << key << " is told twice";
  }
  return keys;
}

/// A name that users choose, as the reference calls it.
std::string generalName(llvm::StringRef path, llvm::StringRef key) {
  if (path == "mesh" || path == "links")
    return "AXIS";
  if (path == "groups")
    return "NAME";
  if (path == "shard" && key != "match")
    return "DIMENSION";
  return key.str();
}

void collect(const YamlNode &node, const std::string &path, Keys &keys) {
  for (size_t i = 0; i < node.keys.size(); ++i) {
    std::string key = generalName(path, node.keys[i].name);
    std::string inner = path.empty() ? key : path + "." + key;
    const YamlNode &value = node.items[i];
    // A section is no key of its own, unless it has a short form.
    if (value.isScalar())
      keys[inner] = value.scalar;
    else if (value.isList())
      keys[inner];
    collect(value, inner, keys);
  }
  if (node.isList())
    for (const YamlNode &item : node.items)
      collect(item, path, keys);
}

Keys keysOf(const std::string &yaml) {
  Diagnostics diags;
  auto root = parseYaml(yaml, "printed", diags);
  EXPECT_TRUE(succeeded(root)) << diags.summary() << yaml;
  Keys keys;
  if (succeeded(root))
    collect(*root, "", keys);
  return keys;
}

std::set<std::string> namesOf(const Keys &keys) {
  std::set<std::string> names;
  for (const auto &[key, value] : keys)
    names.insert(key);
  return names;
}

bool areEqual(llvm::StringRef written, llvm::StringRef printed) {
  double lhs, rhs; // 3e-4 / 10 prints with all its digits
  if (written.getAsDouble(lhs) || printed.getAsDouble(rhs))
    return written == printed;
  return std::abs(lhs - rhs) <= 1e-12 * std::abs(rhs);
}

/// Every default that is printed as a scalar is the one in the table.
void compareDefaults(const Keys &table, const Keys &printed) {
  for (const auto &[key, value] : printed) {
    if (value.empty() || table.count(key) == 0 || table.at(key) == "required" ||
        key.rfind("shard", 0) == 0)
      continue;
    EXPECT_TRUE(areEqual(llvm::StringRef(table.at(key)).trim('"'), value))
        << key << ": " << table.at(key) << " in the table, really " << value;
  }
}
} // namespace

TEST(Reference, RecipeTableIsComplete) {
  Keys table = tableOf("Recipe"), adamw = keysOf(Recipe().toYaml());
  Recipe other;
  other.optimizer.kind = OptimizerKind::Sgd;
  Keys sgd = keysOf(other.toYaml());
  std::set<std::string> known = namesOf(adamw);
  known.merge(namesOf(sgd));
  EXPECT_EQ(namesOf(table), known);
  compareDefaults(table, adamw);
  sgd.erase("optimizer.kind");
  compareDefaults(table, sgd);
}

TEST(Reference, PlanTableIsComplete) {
  Diagnostics diags;
  auto full = parsePlan(R"(plan: 1
mesh: { dp: 2, pp: 1, tp: 2 }
groups: { ep: [dp, tp] }
links: { tp: { latency: 1.0e-6, bandwidth: 1.0e11 } }
shard:
  - { match: "*", batch: dp, seq: { residual: tp } }
micro_batch_size: 2
pipeline: { axis: pp, virtual: 2, schedule: zb, layout: [1, 2] }
zero:
  - { match: "*", stage: 1, over: dp, params: dp, grads: dp, optim: dp, replicate: pp }
recompute:
  - { layers: "*", what: attention }
memory: 1GiB
overlap: { bucket: 1MiB, prefetch: 2 }
uneven: error
)",
                        "full", diags);
  ASSERT_TRUE(succeeded(full)) << diags.summary();
  Keys table = tableOf("Plan"),
       defaults = keysOf(Plan::singleDevice().toYaml());
  std::set<std::string> known = namesOf(keysOf(full->toYaml()));
  known.merge(namesOf(defaults));
  EXPECT_EQ(namesOf(table), known);
  compareDefaults(table, defaults);
}
