//===- ReshardSearch.cpp - the cheapest way to lie differently ------------===//
//
// A*: states in the order of what was spent plus what must still be spent.
// Time is counted in whole ticks, a tiny part of what moving the larger side
// takes, with a few ticks for every step: equal costs are equal and of equal
// paths the shortest wins, on every machine.
//
//===----------------------------------------------------------------------===//

#include "stretto/Transforms/Shard/ReshardSearch.h"

#include <queue>

using namespace mlir;
using namespace stretto;

namespace {

/// A state as a list of numbers.
using StateKey = std::vector<int64_t>;

StateKey keyOf(const ReshardState &state) {
  StateKey key;
  auto append = [&](ArrayRef<AxisRef> axes) {
    for (AxisRef axis : axes)
      key.insert(key.end(), {int64_t(axis.axis), axis.pre, axis.size});
    key.push_back(-1);
  };
  for (const AxisList &axes : state.dims)
    append(axes);
  append(state.partial);
  key.insert(key.end(), state.extents.begin(), state.extents.end());
  return key;
}

struct Node {
  ReshardHop hop; // by which it was reached
  int64_t spent = 0;
  int parent = -1;
  bool isDone = false;
};

/// Seconds as whole numbers.
class Clock {
public:
  explicit Clock(const ReshardProblem &problem) : problem(problem) {
    double bytes = std::max(problem.localBytes(problem.source),
                            problem.localBytes(problem.target));
    double slowest = 0;
    for (unsigned axis = 0; axis < problem.mesh.getNumAxes(); ++axis)
      slowest = std::max(
          slowest, problem.links.seconds(problem.mesh.axis(axis), 1, bytes));
    tick = std::max(slowest, 1e-12) / double(int64_t(1) << 40);
  }

  int64_t ticks(double seconds) const {
    return int64_t(std::min(seconds / tick, double(forever)));
  }
  /// A collective weighs more than a step on the rank itself.
  int64_t after(int64_t spent, const ReshardState &state,
                const ReshardStep &step) const {
    return std::min(forever, spent + ticks(problem.secondsOf(state, step)) +
                                 (step.communicates() ? 16 : 1));
  }
  int64_t least(const ReshardState &state) const {
    double seconds = problem.leastBytes(state) / problem.links.fastest();
    return std::max<int64_t>(0, ticks(seconds) - 16); // both are rounded
  }

private:
  static constexpr int64_t forever = int64_t(1) << 60;
  const ReshardProblem &problem;
  double tick;
};

class Search {
public:
  Search(const ReshardProblem &problem, double limitBytes, unsigned maxStates)
      : problem(problem), clock(problem), limit(limitBytes),
        maxStates(maxStates) {}

  /// The path, or none when there is no path within the limits.
  std::optional<std::vector<ReshardHop>> run() {
    reach({{}, problem.source}, 0, -1);
    while (!open.empty() && visited < maxStates) {
      int index = std::get<2>(open.top());
      open.pop();
      if (nodes[index].isDone)
        continue;
      nodes[index].isDone = true;
      ++visited;
      if (problem.isTarget(nodes[index].hop.after))
        return path(index);
      expand(index);
    }
    return std::nullopt;
  }
  unsigned numVisited() const { return visited; }

private:
  void expand(int index) {
    ReshardState state = nodes[index].hop.after; // `nodes` grows
    int64_t spent = nodes[index].spent;
    forEachStep(problem, state, [&](ReshardHop hop) {
      if (problem.localBytes(hop.after) > limit)
        return;
      int64_t total = clock.after(spent, state, hop.step);
      reach(std::move(hop), total, index);
    });
  }

  void reach(ReshardHop hop, int64_t spent, int parent) {
    auto [found, isNew] =
        indices.try_emplace(keyOf(hop.after), int(nodes.size()));
    int index = found->second;
    if (!isNew && spent >= nodes[index].spent)
      return;
    open.emplace(spent + clock.least(hop.after), pushed++, index);
    if (isNew)
      nodes.emplace_back();
    nodes[index] = {std::move(hop), spent, parent};
  }

  std::vector<ReshardHop> path(int index) const {
    std::vector<ReshardHop> hops;
    for (; nodes[index].parent >= 0; index = nodes[index].parent)
      hops.push_back(nodes[index].hop);
    std::reverse(hops.begin(), hops.end());
    return hops;
  }

  using Entry = std::tuple<int64_t, unsigned, int>; // bound, order, node
  const ReshardProblem &problem;
  Clock clock;
  double limit;
  unsigned maxStates, visited = 0, pushed = 0;
  std::vector<Node> nodes;
  std::map<StateKey, int> indices;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> open;
};

/// Everything is reduced and gathered, then cut: always possible.
std::vector<ReshardHop> throughWhole(const ReshardProblem &problem) {
  using Kind = ReshardStep::Kind;
  std::vector<ReshardHop> hops;
  ReshardState state = problem.source;
  auto add = [&](ReshardStep step) {
    hops.push_back({std::move(step), state});
  };
  if (AxisList axes = problem.toReduce(state); !axes.empty()) {
    llvm::erase_if(state.partial, [&](AxisRef axis) {
      return llvm::is_contained(axes, axis);
    });
    add({Kind::AllReduce, axes, {}});
  }
  for (unsigned dim = 0; dim < problem.shape.size(); ++dim)
    if (AxisList axes = state.dims[dim]; !axes.empty()) {
      state.dims[dim].clear();
      add({Kind::AllGather, axes, {}, dim});
    }
  for (unsigned dim = 0; dim < problem.shape.size(); ++dim) {
    if (state.extents[dim] != problem.target.extents[dim]) {
      state.extents[dim] = problem.target.extents[dim];
      add({Kind::Pad, {}, {}, dim});
    }
    if (const AxisList &axes = problem.target.dims[dim]; !axes.empty()) {
      state.dims[dim] = axes;
      add({Kind::Slice, axes, {}, dim});
    }
  }
  AxisList added;
  for (AxisRef axis : problem.target.partial)
    if (!axesOverlap(axis, state.partial))
      added.push_back(axis);
  if (!added.empty()) {
    state.partial = problem.target.partial;
    add({Kind::KeepFirst, added, {}});
  }
  return hops;
}

} // namespace

/// Slices that follow each other on one dimension are one.
static void mergeSlices(std::vector<ReshardHop> &hops) {
  std::vector<ReshardHop> merged;
  for (ReshardHop &hop : hops) {
    ReshardStep *last = merged.empty() ? nullptr : &merged.back().step;
    if (last && hop.step.kind == ReshardStep::Kind::Slice &&
        last->kind == hop.step.kind && last->dim == hop.step.dim) {
      llvm::append_range(last->axes, hop.step.axes);
      merged.back().after = hop.after;
    } else {
      merged.push_back(std::move(hop));
    }
  }
  hops = std::move(merged);
}

/// The sums over the steps.
static void addUp(const ReshardProblem &problem, ReshardPath &path) {
  const ReshardState *state = &problem.source;
  path.peakBytes = problem.localBytes(*state);
  for (const ReshardHop &hop : path.hops) {
    path.bytes += problem.bytesOf(*state, hop.step);
    path.seconds += problem.secondsOf(*state, hop.step);
    state = &hop.after;
    path.peakBytes = std::max(path.peakBytes, problem.localBytes(*state));
  }
}

const ReshardPath &ReshardPlanner::plan(DistAttr from, DistAttr to,
                                        ArrayRef<int64_t> shape,
                                        int64_t elementBytes) {
  std::vector<int64_t> sizes(shape.begin(), shape.end());
  sizes.push_back(elementBytes);
  auto [found, isNew] = known.try_emplace(
      Key(from.getAsOpaquePointer(), to.getAsOpaquePointer(), sizes));
  ReshardPath &path = found->second;
  if (!isNew)
    return path;
  ReshardProblem problem(from, to, shape, elementBytes, links);
  path.limitBytes =
      options.memoryFactor * std::max(problem.localBytes(problem.source),
                                      problem.localBytes(problem.target));
  for (double limit :
       {path.limitBytes, std::numeric_limits<double>::infinity()}) {
    Search search(problem, limit, options.maxStates);
    auto hops = search.run();
    path.states += search.numVisited();
    if (!hops)
      continue;
    path.hops = std::move(*hops);
    mergeSlices(path.hops);
    addUp(problem, path);
    return path;
  }
  path.isOptimal = false;
  path.hops = throughWhole(problem);
  addUp(problem, path);
  return path;
}
