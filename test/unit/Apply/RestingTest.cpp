//===- RestingTest.cpp - how state is cut over data axes ------------------===//

#include "stretto/Transforms/Apply/Resting.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/raw_ostream.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace stretto;

namespace {
class Resting : public testing::Test {
protected:
  Resting() { context.loadDialect<StrettoDialect>(); }

  Plan parse(const std::string &text) {
    Diagnostics diagnostics;
    auto plan = parsePlan("plan: 1\n" + text, "plan.yaml", diagnostics);
    EXPECT_TRUE(succeeded(plan)) << diagnostics.summary();
    return *plan;
  }
  /// Where state of `shape` rests, used as `use` says ("" replicated).
  std::string rest(const std::string &mesh, std::vector<int64_t> shape,
                   std::vector<std::string> axes,
                   ConstraintAttr use = ConstraintAttr()) {
    return text(restOn(&context, parse("mesh: " + mesh), use, shape, axes, ""));
  }
  static std::string text(Attribute attribute) {
    std::string result;
    llvm::raw_string_ostream os(result);
    if (attribute)
      attribute.print(os);
    return StringRef(result).split('<').second.rsplit('>').first.str();
  }
  ConstraintAttr constraint(std::vector<std::vector<std::string>> dims) {
    SmallVector<StringAttr> axes;
    SmallVector<int64_t> ends;
    for (auto &dim : dims) {
      for (auto &axis : dim)
        axes.push_back(StringAttr::get(&context, axis));
      ends.push_back(axes.size());
    }
    return ConstraintAttr::get(
        &context, axes, ends, SmallVector<bool>(dims.size(), false),
        SmallVector<int64_t>(dims.size(), 0), StringAttr::get(&context, ""));
  }

  MLIRContext context;
};
} // namespace

TEST_F(Resting, TakesTheDimensionThatPadsLeast) {
  EXPECT_EQ(rest("{ dp: 4 }", {6, 8}, {"dp"}), "[{}, {dp}]");
  EXPECT_EQ(rest("{ dp: 4 }", {8, 8}, {"dp"}), "[{dp}, {}]");
  EXPECT_EQ(rest("{ dp: 4 }", {33}, {"dp"}), "[{dp}]"); // 9, 9, 9 and 6
  EXPECT_EQ(rest("{ dp: 4 }", {3}, {"dp"}), "[{dp}]");  // one each, one none
}

TEST_F(Resting, CutsAnAxisOverTwoDimensions) {
  // 2 x 2 parts of 3 x 5 elements instead of 2 x 10 (of 8) or 6 x 3 (of 12).
  EXPECT_EQ(rest("{ dp: 4 }", {6, 10}, {"dp"}), "[{dp:(1)2}, {dp:(2)2}]");
  EXPECT_EQ(rest("{ dp: 6 }", {2, 3}, {"dp"}), "[{dp:(1)2}, {dp:(2)3}]");
}

TEST_F(Resting, LeavesTooFewElementsReplicated) {
  EXPECT_EQ(rest("{ dp: 4 }", {2}, {"dp"}), "[{dp:(1)2}]");
  EXPECT_EQ(rest("{ dp: 4 }", {1}, {"dp"}), "");
  EXPECT_EQ(rest("{ dp: 4 }", {}, {"dp"}), "");
  EXPECT_EQ(rest("{ dp: 4 }", {0}, {"dp"}), "");
  EXPECT_EQ(rest("{ dp: 1, tp: 4 }", {8}, {"dp"}), "");
  EXPECT_EQ(rest("{ dp: 65536 }", {64, 32}, {"dp"}),
            "[{dp:(1)64}, {dp:(64)32}]");
}

TEST_F(Resting, KeepsHowTheParameterIsUsed) {
  ConstraintAttr columns = constraint({{}, {"tp"}});
  EXPECT_EQ(rest("{ dp: 2, tp: 2 }", {8, 8}, {"dp"}, columns), "[{dp}, {tp}]");
  EXPECT_EQ(rest("{ dp: 2, tp: 2 }", {7, 8}, {"dp"}, columns),
            "[{}, {tp, dp}]");
  // An axis that is used already is not added again.
  EXPECT_EQ(rest("{ dp: 2, tp: 2 }", {8, 8}, {"tp"}, columns), "");
  EXPECT_EQ(rest("{ a: 2, b: 3, tp: 2 }", {6, 8}, {"a", "b"}, columns),
            "[{a, b}, {tp}]");
}

TEST_F(Resting, FollowsTheLastRule) {
  Plan plan = parse("mesh: { node: 2, dp: 2 }\n"
                    "shard: [{ match: \"*\", batch: [node, dp] }]\n"
                    "zero:\n"
                    "  - { stage: 3, replicate: node }\n"
                    "  - { match: \"*.bias\", stage: 1 }\n"
                    "  - { match: \"embed\", stage: 0 }\n");
  auto rests = [&](StringRef path) {
    return restingOf(&context, plan, path, {}, {8, 8});
  };
  DictionaryAttr weight = rests("layers.0.wq");
  for (StringRef what : {"state", "grads", "params"})
    EXPECT_EQ(text(weight.get(what)).substr(0, 10), "[{dp}, {}]");
  DictionaryAttr bias = rests("layers.0.bias");
  EXPECT_EQ(text(bias.get("state")).substr(0, 16), "[{node, dp}, {}]");
  EXPECT_FALSE(bias.get("params"));
  EXPECT_FALSE(bias.get("grads"));
  EXPECT_FALSE(rests("embed.table"));
}
