//===- ReshardState.cpp - how a value lies between two reshards -----------===//

#include "stretto/Transforms/Shard/ReshardState.h"

#include "stretto/Dialect/Stretto/IR/Distribution.h"
#include "stretto/Dialect/Stretto/IR/Permutation.h"

#include <numeric>

using namespace mlir;
using namespace stretto;

double ReshardState::localElements() const {
  double elements = 1;
  for (auto [axes, extent] : llvm::zip(dims, extents))
    elements *= double(extent) / double(productOf(axes));
  return elements;
}

/// Sub-axes of one axis coexist when one is minor to the other's end: their
/// coordinates are then digits of one number.
static bool coexist(AxisRef a, AxisRef b) {
  if (a.axis != b.axis)
    return true;
  if (a.pre > b.pre)
    std::swap(a, b);
  return b.pre % (a.pre * a.size) == 0;
}

bool ReshardState::uses(AxisRef axis) const {
  auto clashes = [&](const AxisList &list) {
    return llvm::any_of(list,
                        [&](AxisRef other) { return !coexist(axis, other); });
  };
  return clashes(partial) || llvm::any_of(dims, clashes);
}

std::string stretto::toString(MeshAttr mesh, const ReshardStep &step) {
  static constexpr StringLiteral names[] = {
      "slice",          "pad",        "keep-first", "all-gather", "all-to-all",
      "reduce-scatter", "all-reduce", "permute"};
  using Kind = ReshardStep::Kind;
  std::string text = names[unsigned(step.kind)].str();
  if (step.kind != Kind::Pad)
    text += " " + toString(mesh, step.axes);
  if (!step.to.empty() && step.to != step.axes)
    text += " as " + toString(mesh, step.to);
  if (step.kind == Kind::AllToAll)
    text += " " + std::to_string(step.from) + " ->";
  if (!llvm::is_contained({Kind::KeepFirst, Kind::AllReduce, Kind::Permute},
                          step.kind))
    text += " " + std::to_string(step.dim);
  return text;
}

//===----------------------------------------------------------------------===//
// Cutting axes
//===----------------------------------------------------------------------===//

namespace {
/// Ends of sub-axes of one mesh axis, each a divisor of the next.
class Cuts {
public:
  explicit Cuts(int64_t size) : points({1, size}) {}

  /// False when the point does not coexist with the others.
  bool add(int64_t point) {
    for (int64_t other : points)
      if (point % other != 0 && other % point != 0)
        return false;
    auto *place = llvm::lower_bound(points, point);
    if (place == points.end() || *place != point)
      points.insert(place, point);
    return true;
  }
  void appendPieces(unsigned axis, AxisList &pieces) const {
    for (unsigned i = 0; i + 1 < points.size(); ++i)
      if (AxisRef piece = {axis, points[i], points[i + 1] / points[i]};
          piece.size > 1 && !llvm::is_contained(pieces, piece))
        pieces.push_back(piece);
  }
  ArrayRef<int64_t> get() const { return points; }

private:
  SmallVector<int64_t> points;
};
} // namespace

static SmallVector<AxisRef> allAxes(DistAttr dist) {
  SmallVector<AxisRef> axes(dist.getFlatAxes());
  llvm::append_range(axes, dist.getPartialAxes());
  return axes;
}

/// Cuts every reference into pieces of `basis`, which cover it.
static AxisList cutInto(ArrayRef<AxisRef> axes, ArrayRef<AxisRef> basis) {
  AxisList result;
  for (AxisRef ref : axes)
    for (int64_t at = ref.pre; at < ref.pre * ref.size;) {
      const auto *piece = llvm::find_if(basis, [&](AxisRef piece) {
        return piece.axis == ref.axis && piece.pre == at &&
               (ref.pre * ref.size) % (at * piece.size) == 0;
      });
      if (piece == basis.end()) { // never: the basis was made from the axes
        result.push_back({ref.axis, at, ref.pre * ref.size / at});
        break;
      }
      result.push_back(*piece);
      at *= piece->size;
    }
  return result;
}

ReshardState ReshardProblem::cut(DistAttr dist, ArrayRef<AxisRef> basis) const {
  ReshardState state;
  for (unsigned dim = 0; dim < dist.getRank(); ++dim) {
    state.dims.push_back(cutInto(dist.getDimAxes(dim), basis));
    state.extents.push_back(dist.getPadded(dim, shape[dim]));
  }
  state.partial = cutInto(dist.getPartialAxes(), basis);
  llvm::sort(state.partial);
  return state;
}

/// Where a dimension's axes end on one side within an axis of the other, that
/// axis is cut as well: {a of 4} -> {b of 2} can exchange b for half of a.
static void addMeetingPoints(ArrayRef<AxisRef> axes, ArrayRef<AxisRef> others,
                             MutableArrayRef<Cuts> cuts) {
  int64_t before = 1;
  for (AxisRef ref : axes) {
    int64_t meeting = 1;
    for (AxisRef other : others) {
      meeting *= other.size;
      if (meeting > before && meeting < before * ref.size &&
          meeting % before == 0 && ref.size % (meeting / before) == 0)
        cuts[ref.axis].add(ref.pre * (meeting / before));
    }
    before *= ref.size;
  }
}

ReshardProblem::ReshardProblem(DistAttr from, DistAttr to,
                               ArrayRef<int64_t> shape, int64_t elementBytes,
                               const Links &links)
    : mesh(from.getMesh()), shape(shape), elementBytes(elementBytes),
      links(links) {
  // Two bases that are the same wherever the two sides' cuts coexist.
  SmallVector<Cuts> ours, theirs;
  for (int64_t size : mesh.getSizes()) {
    ours.emplace_back(size);
    theirs.emplace_back(size);
  }
  for (auto [dist, cuts] : {std::pair(from, &ours), std::pair(to, &theirs)})
    for (AxisRef ref : allAxes(dist)) {
      (*cuts)[ref.axis].add(ref.pre);
      (*cuts)[ref.axis].add(ref.pre * ref.size);
    }
  for (unsigned axis = 0; axis < mesh.getNumAxes(); ++axis) {
    SmallVector<int64_t> a(ours[axis].get()), b(theirs[axis].get());
    for (int64_t x : a)
      for (int64_t y : b)
        for (int64_t point : {std::gcd(x, y), std::lcm(x, y)}) {
          ours[axis].add(point);
          theirs[axis].add(point);
        }
  }
  for (unsigned dim = 0; dim < from.getRank(); ++dim) {
    SmallVector<AxisRef> a(from.getDimAxes(dim)), b(to.getDimAxes(dim));
    addMeetingPoints(a, b, ours);
    addMeetingPoints(b, a, theirs);
  }
  for (unsigned axis = 0; axis < mesh.getNumAxes(); ++axis) {
    for (int64_t point : SmallVector<int64_t>(ours[axis].get()))
      theirs[axis].add(point);
    for (int64_t point : SmallVector<int64_t>(theirs[axis].get()))
      ours[axis].add(point);
  }
  AxisList basis, targetBasis;
  for (unsigned axis = 0; axis < mesh.getNumAxes(); ++axis) {
    ours[axis].appendPieces(axis, basis);
    theirs[axis].appendPieces(axis, targetBasis);
  }
  source = cut(from, basis);
  target = cut(to, targetBasis);
  pieces = basis;
  for (AxisRef piece : targetBasis)
    if (!llvm::is_contained(pieces, piece))
      pieces.push_back(piece);
}

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

bool ReshardProblem::isTarget(const ReshardState &state) const {
  if (state.extents != target.extents)
    return false;
  auto same = [](ArrayRef<AxisRef> a, ArrayRef<AxisRef> b) {
    return a == b || canonicalAxes(a) == canonicalAxes(b);
  };
  for (auto [axes, wanted] : llvm::zip(state.dims, target.dims))
    if (!same(axes, wanted))
      return false;
  return same(state.partial, target.partial);
}

AxisList ReshardProblem::toReduce(const ReshardState &state) const {
  AxisList result;
  for (AxisRef axis : state.partial)
    if (!axesOverlap(axis, target.partial))
      result.push_back(axis);
  return result;
}

double ReshardProblem::bytesOf(const ReshardState &state,
                               const ReshardStep &step) const {
  using Kind = ReshardStep::Kind;
  double local = localBytes(state), members = double(productOf(step.axes));
  switch (step.kind) {
  case Kind::Slice:
  case Kind::Pad:
  case Kind::KeepFirst:
    return 0;
  case Kind::AllGather:
    return (members - 1) * local;
  case Kind::AllToAll:
  case Kind::ReduceScatter:
    return (members - 1) / members * local;
  case Kind::AllReduce:
    return 2 * (members - 1) / members * local;
  case Kind::Permute:
    return local * (1 - keptShare(mesh, step.axes, step.to));
  }
  return 0;
}

double ReshardProblem::secondsOf(const ReshardState &state,
                                 const ReshardStep &step) const {
  if (!step.communicates())
    return 0;
  return links.seconds(step.axes, step.rounds(), bytesOf(state, step));
}

/// Counted over all N ranks, without padding. Of a value with n terms every
/// element takes n - 1 messages to be summed once, and one more for every other
/// rank that needs it. Of a value without, a rank gets what it needs and has
/// not; at most it has the whole overlap of two blocks in every dimension.
double ReshardProblem::leastBytes(const ReshardState &state) const {
  double needed = elementBytes, owned = elementBytes, whole = elementBytes;
  for (unsigned dim = 0; dim < shape.size(); ++dim) {
    double size = double(shape[dim]);
    double has = size / double(productOf(state.dims[dim]));
    double wants = size / double(productOf(target.dims[dim]));
    whole *= size;
    needed *= wants;
    owned *= std::min(has, wants);
  }
  double ranks = 1, receivers = 1, kept = 1, terms = 1;
  for (int64_t size : mesh.getSizes())
    ranks *= double(size);
  receivers = ranks;
  for (AxisRef axis : target.partial)
    if (!axesOverlap(axis, state.partial))
      receivers /= double(axis.size); // the others get zeros
  for (AxisRef axis : state.partial)
    (axesOverlap(axis, target.partial) ? kept : terms) *= double(axis.size);
  double all = terms > 1 ? kept * whole * (terms - 2) + receivers * needed
                         : receivers * (needed - owned);
  return std::max(0.0, all / ranks);
}
