//===- ReshardSearchTest.cpp - which way a value goes ---------------------===//
//
// Paths that can be derived by hand; the bytes are closed forms.
//
//===----------------------------------------------------------------------===//

#include "TestProgram.h"

#include "mlir/AsmParser/AsmParser.h"

#include "stretto/Transforms/Shard/ReshardSearch.h"

#include <chrono>

using namespace stretto;
using namespace stretto::interp;

namespace {

/// Plans between two distributions written as "[{dp}, {}], sum {tp}".
class Paths {
public:
  explicit Paths(std::string mesh) : mesh(std::move(mesh)), program("") {}

  Links links() { return Links(dist("[]").getMesh()); }

  DistAttr dist(const std::string &text) {
    return llvm::cast<DistAttr>(
        mlir::parseAttribute("#stretto.dist<mesh<" + mesh + ">, " + text + ">",
                             program.get().getContext()));
  }
  ReshardPath plan(const std::string &from, const std::string &to,
                   llvm::ArrayRef<int64_t> shape, Links links,
                   ReshardOptions options = {}) {
    ReshardPlanner planner(std::move(links), options);
    return planner.plan(dist(from), dist(to), shape, 4);
  }
  /// The steps, with the default links.
  std::string steps(const std::string &from, const std::string &to,
                    llvm::ArrayRef<int64_t> shape) {
    return text(plan(from, to, shape, links()));
  }
  std::string text(const ReshardPath &path) {
    std::string text;
    for (const ReshardHop &hop : path.hops)
      text +=
          (text.empty() ? "" : "; ") + toString(dist("[]").getMesh(), hop.step);
    return text;
  }

private:
  std::string mesh;
  TestProgram program;
};

TEST(ReshardSearch, OneStepWhereOneIsEnough) {
  Paths paths("tp = 4, dp = 2");
  llvm::SmallVector<int64_t> shape = {16, 16};
  EXPECT_EQ(paths.steps("[{}, {}]", "[{tp}, {}]", shape), "slice {tp} 0");
  EXPECT_EQ(paths.steps("[{tp}, {}]", "[{}, {}]", shape), "all-gather {tp} 0");
  EXPECT_EQ(paths.steps("[{tp}, {}]", "[{}, {tp}]", shape),
            "all-to-all {tp} 0 -> 1");
  EXPECT_EQ(paths.steps("[{dp}, {}], sum {tp}", "[{dp}, {}]", shape),
            "all-reduce {tp}");
  EXPECT_EQ(paths.steps("[{dp}, {}], sum {tp}", "[{dp}, {tp}]", shape),
            "reduce-scatter {tp} 1");
  EXPECT_EQ(paths.steps("[{}, {}]", "[{}, {}], sum {tp}", shape),
            "keep-first {tp}");
  EXPECT_EQ(paths.steps("[], sum {dp, tp}", "[]", {}), "all-reduce {tp, dp}");
  EXPECT_EQ(paths.steps("[{tp}, {}]", "[{tp}, {}]", shape), "");
}

TEST(ReshardSearch, AxesChangePlacesWithoutBeingGathered) {
  Paths paths("a = 2, b = 2");
  llvm::SmallVector<int64_t> shape = {16, 16};
  EXPECT_EQ(paths.steps("[{a}, {b}]", "[{b}, {a}]", shape),
            "permute {a, b} as {b, a}");
  EXPECT_EQ(paths.steps("[{a, b}, {}]", "[{b, a}, {}]", shape),
            "permute {a, b} as {b, a}");
  // A replica of b stands in for a; half of the ranks have theirs already.
  EXPECT_EQ(paths.steps("[{a}, {}]", "[{b}, {}]", shape),
            "permute {a, b} as {b, a}");
  EXPECT_EQ(paths.plan("[{a}, {}]", "[{b}, {}]", shape, paths.links()).bytes,
            16 * 16 * 4 / 2 / 2);
  // The blocks are handed out in the other order at once.
  EXPECT_EQ(paths.steps("[{a, b}, {}]", "[{}, {b, a}]", shape),
            "all-to-all {a, b} as {b, a} 0 -> 1");
}

TEST(ReshardSearch, SumsAreCutBeforeTheyAreReduced) {
  // dp has replicas of the terms: each reduces a half, then they are gathered.
  Paths paths("dp = 2, tp = 4");
  ReshardPath path = paths.plan("[{}], sum {tp}", "[{}]", {64}, paths.links());
  EXPECT_EQ(paths.text(path),
            "slice {dp} 0; reduce-scatter {tp} 0; all-gather {dp, tp} 0");
  EXPECT_EQ(path.bytes, 4 * (32 * 2 * 3 / 4 + 32));
}

TEST(ReshardSearch, LatencyBuysFewerSteps) {
  Paths paths("dp = 2, tp = 4");
  Links links = paths.links();
  links[0].latency = links[1].latency = 1e-5; // 100 kB of 1e10 bytes/s
  const char *from = "[{dp, tp}, {}]", *to = "[{}, {tp}]";
  ReshardOptions roomy;
  roomy.memoryFactor = 4;
  EXPECT_EQ(paths.text(paths.plan(from, to, {64, 64}, links, roomy)),
            "all-gather {dp, tp} 0; slice {tp} 1");
  // Of 64 MiB what is sent for nothing is worth a round.
  EXPECT_EQ(paths.text(paths.plan(from, to, {4096, 4096}, links, roomy)),
            "all-to-all {tp} 0 -> 1; all-gather {dp} 0");
}

TEST(ReshardSearch, SlowLinksAreAvoided) {
  Paths paths("slow = 2, fast = 2");
  Links links = paths.links();
  links[0].bandwidth = 1e6;
  // Gathered over the fast axis first or last, the slow one moves the same
  // shard; moved before it is gathered it is half as large.
  ReshardPath path =
      paths.plan("[{fast, slow}, {}]", "[{}, {slow}]", {16, 16}, links);
  EXPECT_EQ(paths.text(path), "all-to-all {slow} 0 -> 1; all-gather {fast} 0");
}

TEST(ReshardSearch, SubAxesThatDoNotCoexistKeepWhatTheyShare) {
  Paths paths("x = 12");
  // 12 as 4 x 3 and as 6 x 2 share the major half: 2 x 2 x 3 and 2 x 3 x 2.
  EXPECT_EQ(paths.steps("[{x:(1)4}]", "[{x:(1)6}]", {24}),
            "all-gather {x:(2)2} 0; slice {x:(2)3} 0");
  // 6 as 2 x 3 and as 3 x 2 share nothing.
  EXPECT_EQ(Paths("x = 6").steps("[{x:(1)2}]", "[{x:(1)3}]", {12}),
            "all-gather {x:(1)2} 0; slice {x:(1)3} 0");
}

TEST(ReshardSearch, HalfOfALargerAxisIsExchanged) {
  Paths paths("a = 4, b = 2");
  ReshardPath path =
      paths.plan("[{a}, {}]", "[{b}, {}]", {16, 16}, paths.links());
  // A rank has a quarter and needs a half; every second rank has half of it.
  EXPECT_EQ(path.bytes, 16 * 16 * 4 * 3 / 8.0) << paths.text(path);
}

TEST(ReshardSearch, PaddingChangesWhereTheDimensionIsWhole) {
  Paths paths("a = 3, b = 4");
  const std::string three = "[{a}, {}], padded [12, 0]";
  EXPECT_EQ(paths.steps(three, "[{b}, {}], padded [12, 0]", {10, 4}),
            "slice {b} 0; permute {a, b} as {b, a}; all-gather {a} 0");
  EXPECT_EQ(paths.steps(three, "[{}, {}]", {10, 4}), "all-gather {a} 0; pad 0");
  EXPECT_EQ(paths.steps(three, "[{}, {b}]", {10, 4}),
            "slice {b} 1; all-gather {a} 0; pad 0");
}

TEST(ReshardSearch, MemoryIsBoundedWhereItCanBe) {
  // 6 and 8 elements have no block in common, but 2 elements do: never are all
  // on a rank.
  Paths paths("a = 4, b = 3");
  ReshardPath path = paths.plan("[{a}]", "[{b}]", {24}, paths.links());
  EXPECT_EQ(paths.text(path),
            "slice {b} 0; permute {a, b} as {b, a}; all-gather {a} 0");
  EXPECT_EQ(path.peakBytes, 8 * 4);
  // With padding to 25 and 27 not even those: there is no way but the whole.
  Paths uneven("a = 5, b = 3");
  auto plan = [&](double factor) {
    ReshardOptions options;
    options.memoryFactor = factor;
    return uneven.plan("[{a}]", "[{b}], padded [27]", {25}, uneven.links(),
                       options);
  };
  EXPECT_EQ(uneven.text(plan(2)), "all-gather {a} 0; pad 0; slice {b} 0");
  EXPECT_FALSE(plan(2).isWithinLimit());
  EXPECT_EQ(plan(2).limitBytes, 2 * 9 * 4);
  EXPECT_TRUE(plan(3).isWithinLimit());
}

TEST(ReshardSearch, AnAbandonedSearchStillFindsAWay) {
  Paths paths("a = 2, b = 2");
  ReshardOptions options;
  options.maxStates = 1;
  ReshardPath path = paths.plan("[{a}, {b}], sum {}", "[{b}, {a}]", {16, 16},
                                paths.links(), options);
  EXPECT_FALSE(path.isOptimal);
  EXPECT_EQ(paths.text(path), "all-gather {a} 0; all-gather {b} 1; "
                              "slice {b} 0; slice {a} 1");
}

TEST(ReshardSearch, DoesNotDependOnTheSizesOfAxes) {
  const std::string from = "[{dp}, {tp}, {}], sum {cp}",
                    to = "[{tp}, {}, {dp, cp}]";
  for (int size : {2, 256, 65536}) {
    Paths paths("dp = " + std::to_string(size) +
                ", tp = " + std::to_string(size) + ", cp = 2");
    int64_t n = int64_t(1) << 20;
    auto begin = std::chrono::steady_clock::now();
    ReshardPath path = paths.plan(from, to, {n, n, n}, paths.links());
    std::chrono::duration<double, std::milli> took =
        std::chrono::steady_clock::now() - begin;
    EXPECT_LT(path.states, 100u);
    EXPECT_LT(took.count(), 500); // less than 1 on a quiet machine
    EXPECT_TRUE(path.isOptimal);
  }
}

TEST(ReshardSearch, ManyAxesEndInTime) {
  Paths paths("a = 2, b = 4, c = 2, d = 3, e = 2");
  const std::pair<const char *, const char *> cases[] = {
      {"[{a}, {b}, {c}, {d}]", "[{d}, {c}, {b}, {a}]"},
      {"[{a, b, c, d}, {}, {}, {}]", "[{}, {d, c}, {}, {b, a}]"},
      {"[{a}, {b}, {}, {}], sum {c, d, e}", "[{e}, {d}, {c}, {b}]"},
      {"[{}, {}, {}, {}], sum {a, b, c, d, e}", "[{}, {}, {}, {}]"},
      {"[{a, b}, {c, d}, {e}, {}]", "[{}, {e}, {d, c}, {b, a}]"},
      {"[{b, d, e}, {c}, {}, {a}]", "[{d}, {}, {e, c, b}, {}]"}};
  for (auto [from, to] : cases) {
    auto begin = std::chrono::steady_clock::now();
    ReshardPath path = paths.plan(from, to, {96, 96, 96, 96}, paths.links());
    std::chrono::duration<double, std::milli> took =
        std::chrono::steady_clock::now() - begin;
    std::printf("%s -> %s: %u states, %.1f ms: %s\n", from, to, path.states,
                took.count(), paths.text(path).c_str());
    EXPECT_TRUE(path.isOptimal) << from << " -> " << to;
  }
}

} // namespace
