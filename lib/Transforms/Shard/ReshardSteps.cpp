//===- ReshardSteps.cpp - the edges of the search for a reshard -----------===//
//
// All steps that can lie on a cheapest path, in a fixed order. What grows with
// a factorial is bounded by the number of sub-axes in play; beyond it only
// steps towards the target are made.
//
//===----------------------------------------------------------------------===//

#include "stretto/Dialect/Stretto/IR/Permutation.h"
#include "stretto/Transforms/Shard/ReshardSearch.h"

using namespace mlir;
using namespace stretto;
using Kind = ReshardStep::Kind;

/// Sub-axes whose orders are all tried.
static constexpr unsigned maxOrdered = 3;
static constexpr unsigned maxSubset = 4;
static constexpr unsigned maxArranged = 4;

/// The list without `axes`, and with `axes` at its end.
static AxisList without(const AxisList &list, ArrayRef<AxisRef> axes) {
  AxisList rest;
  for (AxisRef axis : list)
    if (!llvm::is_contained(axes, axis))
      rest.push_back(axis);
  return rest;
}
static AxisList with(AxisList list, ArrayRef<AxisRef> axes) {
  llvm::append_range(list, axes);
  return list;
}

/// Calls `visit` with every order of `axes`, the given one first; with the
/// given one alone when there are too many.
static void forEachOrder(ArrayRef<AxisRef> axes,
                         function_ref<void(ArrayRef<AxisRef>)> visit) {
  SmallVector<unsigned> order =
      llvm::to_vector(llvm::seq<unsigned>(0, axes.size()));
  do {
    AxisList list;
    for (unsigned index : order)
      list.push_back(axes[index]);
    visit(list);
  } while (axes.size() <= maxOrdered &&
           std::next_permutation(order.begin(), order.end()));
}

/// Calls `visit` with every subset that is not empty; when there are too many,
/// with all axes and with each alone.
static void forEachSubset(ArrayRef<AxisRef> axes,
                          function_ref<void(ArrayRef<AxisRef>)> visit) {
  if (axes.size() > maxSubset) {
    visit(axes);
    for (AxisRef axis : axes)
      visit(axis);
    return;
  }
  for (unsigned mask = (1u << axes.size()) - 1; mask > 0; --mask) {
    AxisList list;
    for (unsigned i = 0; i < axes.size(); ++i)
      if (mask >> i & 1)
        list.push_back(axes[i]);
    visit(list);
  }
}

namespace {

class Stepper {
public:
  Stepper(const ReshardProblem &problem, const ReshardState &state,
          function_ref<void(ReshardHop)> visit)
      : problem(problem), state(state), visit(visit),
        reducing(problem.toReduce(state)) {
    for (AxisRef piece : problem.pieces)
      if (!state.uses(piece))
        idle.push_back(piece);
  }

  void run() {
    reduce();
    exchange();
    permute();
    gather();
    slice();
    pad();
    keepFirst();
  }

private:
  unsigned rank() const { return state.dims.size(); }

  void reduce() {
    if (reducing.empty())
      return;
    forEachSubset(reducing, [&](ArrayRef<AxisRef> axes) {
      ReshardHop hop = {{Kind::AllReduce, AxisList(axes), {}}, state};
      hop.after.partial = without(state.partial, axes);
      visit(hop);
      for (unsigned dim = 0; dim < rank(); ++dim)
        if (state.splits(dim, productOf(axes)))
          forEachOrder(axes, [&](ArrayRef<AxisRef> order) {
            ReshardHop scatter = {
                {Kind::ReduceScatter, AxisList(order), {}, dim}, hop.after};
            scatter.after.dims[dim] = with(state.dims[dim], order);
            visit(scatter);
          });
    });
  }

  void exchange() {
    for (unsigned from = 0; from < rank(); ++from)
      for (unsigned dim = 0; dim < rank(); ++dim) {
        if (dim == from)
          continue;
        for (size_t count = 1; count <= state.dims[from].size(); ++count) {
          ArrayRef<AxisRef> end = ArrayRef(state.dims[from]).take_back(count);
          if (!state.splits(dim, productOf(end)))
            continue;
          forEachOrder(end, [&](ArrayRef<AxisRef> order) {
            ReshardHop hop = {
                {Kind::AllToAll, AxisList(end), AxisList(order), dim, from},
                state};
            hop.after.dims[from] = without(state.dims[from], end);
            hop.after.dims[dim] = with(state.dims[dim], order);
            visit(hop);
          });
        }
      }
  }

  void gather() {
    for (unsigned dim = 0; dim < rank(); ++dim)
      for (size_t count = 1; count <= state.dims[dim].size(); ++count) {
        ArrayRef<AxisRef> end = ArrayRef(state.dims[dim]).take_back(count);
        ReshardHop hop = {{Kind::AllGather, AxisList(end), {}, dim}, state};
        hop.after.dims[dim] = without(state.dims[dim], end);
        visit(hop);
      }
  }

  /// Slicing costs nothing: smaller shards then change places, or smaller
  /// terms are added. Where there are many axes, only those are tried that
  /// some dimension wants, and all while there is something to reduce.
  void slice() {
    bool all = !reducing.empty() || problem.pieces.size() <= maxArranged;
    for (AxisRef axis : idle) {
      bool pays =
          all || llvm::any_of(problem.target.dims, [&](const AxisList &axes) {
            return axesOverlap(axis, axes);
          });
      for (unsigned dim = 0; dim < rank() && pays; ++dim) {
        if (!state.splits(dim, axis.size))
          continue;
        ReshardHop hop = {{Kind::Slice, {axis}, {}, dim}, state};
        hop.after.dims[dim].push_back(axis);
        visit(hop);
      }
    }
  }

  /// Padding of a dimension can only change while it is whole on every rank.
  void pad() {
    for (unsigned dim = 0; dim < rank(); ++dim) {
      if (!state.dims[dim].empty() ||
          state.extents[dim] == problem.target.extents[dim])
        continue;
      ReshardHop hop = {{Kind::Pad, {}, {}, dim}, state};
      hop.after.extents[dim] = problem.target.extents[dim];
      visit(hop);
    }
  }

  void keepFirst() {
    AxisList axes;
    for (AxisRef axis : problem.target.partial)
      if (!state.uses(axis))
        axes.push_back(axis);
    if (axes.empty())
      return;
    ReshardHop hop = {{Kind::KeepFirst, axes, {}}, state};
    hop.after.partial = with(state.partial, axes);
    llvm::sort(hop.after.partial);
    visit(hop);
  }

  void permute();
  void arrange(unsigned dim, int64_t room, ReshardState &next,
               ArrayRef<AxisRef> axes);
  void arrangePartial(ReshardState &next, ArrayRef<AxisRef> axes);
  void exchangePairs();
  void takePermutation(const ReshardState &next);

  const ReshardProblem &problem;
  const ReshardState &state;
  function_ref<void(ReshardHop)> visit;
  AxisList reducing, idle;
};

} // namespace

//===----------------------------------------------------------------------===//
// Permutations
//===----------------------------------------------------------------------===//

/// The order of the partial axes (a set) and of what leaves that lets most
/// members keep what they have.
static ReshardStep bestOrder(MeshAttr mesh, const AxisList &from,
                             const AxisList &to, ArrayRef<AxisRef> partial,
                             ArrayRef<AxisRef> leaving) {
  ReshardStep best = {Kind::Permute, from, {}};
  double most = -1;
  forEachOrder(partial, [&](ArrayRef<AxisRef> terms) {
    forEachOrder(leaving, [&](ArrayRef<AxisRef> order) {
      AxisList all = with(with(to, terms), order);
      double kept = keptShare(mesh, from, all);
      if (kept > most) {
        most = kept;
        best.to = all;
      }
    });
  });
  return best;
}

/// The lists without what both begin and end with.
static void appendDifference(ArrayRef<AxisRef> a, ArrayRef<AxisRef> b,
                             AxisList &from, AxisList &to) {
  while (!a.empty() && !b.empty() && a.front() == b.front()) {
    a = a.drop_front();
    b = b.drop_front();
  }
  while (!a.empty() && !b.empty() && a.back() == b.back()) {
    a = a.drop_back();
    b = b.drop_back();
  }
  llvm::append_range(from, a);
  llvm::append_range(to, b);
}

/// Shards of `next` are those of the state on other ranks: what enters
/// replaces replicas, what leaves becomes them.
void Stepper::takePermutation(const ReshardState &next) {
  AxisList from, to, leaving;
  for (unsigned dim = 0; dim < rank(); ++dim)
    appendDifference(state.dims[dim], next.dims[dim], from, to);
  llvm::append_range(from, without(state.partial, next.partial));
  AxisList partial = without(next.partial, state.partial);
  AxisList all = with(to, partial);
  for (AxisRef axis : from)
    if (!llvm::is_contained(all, axis))
      leaving.push_back(axis);
  for (AxisRef axis : all)
    if (!llvm::is_contained(from, axis))
      from.push_back(axis);
  if (from.empty() || productOf(from) != productOf(all) * productOf(leaving))
    return;
  visit({bestOrder(problem.mesh, from, to, partial, leaving), next});
}

/// Partial axes are a set of as many terms as now, of axes that are partial on
/// either side.
void Stepper::arrangePartial(ReshardState &next, ArrayRef<AxisRef> axes) {
  int64_t room = productOf(state.partial) / productOf(next.partial);
  if (room == 1) {
    ReshardState sorted = next;
    llvm::sort(sorted.partial);
    return takePermutation(sorted);
  }
  for (unsigned i = 0; i < axes.size(); ++i) {
    AxisRef axis = axes[i];
    bool wanted = llvm::is_contained(state.partial, axis) ||
                  llvm::is_contained(problem.target.partial, axis);
    if (!wanted || room % axis.size != 0 || next.uses(axis))
      continue;
    next.partial.push_back(axis);
    arrangePartial(next, axes.drop_front(i + 1));
    next.partial.pop_back();
  }
}

/// Fills `dim` and those after it with as many shards as they have now.
void Stepper::arrange(unsigned dim, int64_t room, ReshardState &next,
                      ArrayRef<AxisRef> axes) {
  if (room == 1) {
    if (dim + 1 == rank())
      return arrangePartial(next, axes);
    return arrange(dim + 1, productOf(state.dims[dim + 1]), next, axes);
  }
  for (AxisRef axis : axes) {
    if (room % axis.size != 0 || next.uses(axis))
      continue;
    next.dims[dim].push_back(axis);
    arrange(dim, room / axis.size, next, axes);
    next.dims[dim].pop_back();
  }
}

/// Swaps of two axes of one size, where one comes to where it is wanted.
void Stepper::exchangePairs() {
  for (unsigned dim = 0; dim < rank(); ++dim) {
    const AxisList &wanted = problem.target.dims[dim];
    for (unsigned i = 0; i < state.dims[dim].size() && i < wanted.size(); ++i) {
      AxisRef old = state.dims[dim][i], axis = wanted[i];
      bool isIdle = llvm::is_contained(idle, axis);
      if (old == axis || old.size != axis.size)
        continue;
      ReshardState next = state;
      bool found = isIdle;
      for (AxisList &axes : next.dims)
        for (AxisRef &ref : axes)
          if (ref == axis) {
            ref = old;
            found = true;
          }
      if (!found)
        continue;
      next.dims[dim][i] = axis;
      takePermutation(next);
    }
  }
}

void Stepper::permute() {
  AxisList axes = state.partial;
  for (const AxisList &dim : state.dims)
    llvm::append_range(axes, dim);
  if (axes.empty())
    return;
  llvm::append_range(axes, idle);
  ReshardState next = state;
  next.partial.clear();
  for (AxisList &dim : next.dims)
    dim.clear();
  if (state.dims.empty())
    return arrangePartial(next, axes);
  if (axes.size() <= maxArranged)
    return arrange(0, productOf(state.dims[0]), next, axes);
  // Too many orders: two axes of one size change places, or every dimension
  // gets the beginning of what it wants.
  exchangePairs();
  for (unsigned dim = 0; dim < rank(); ++dim) {
    int64_t room = productOf(state.dims[dim]);
    for (AxisRef axis : problem.target.dims[dim]) {
      if (room == 1)
        break;
      if (room % axis.size != 0 || !llvm::is_contained(axes, axis) ||
          next.uses(axis))
        return;
      room /= axis.size;
      next.dims[dim].push_back(axis);
    }
    if (room != 1)
      return;
  }
  arrangePartial(next, axes);
}

void stretto::forEachStep(const ReshardProblem &problem,
                          const ReshardState &state,
                          function_ref<void(ReshardHop)> visit) {
  Stepper(problem, state, visit).run();
}
