//===- Distribution.cpp - from factor axes to distributions ---------------===//

#include "stretto/Dialect/Stretto/IR/Distribution.h"
#include "stretto/Dialect/Stretto/IR/Describe.h"
#include "stretto/Dialect/Stretto/IR/Fit.h"
#include "llvm/Support/MathExtras.h"
#include <utility>

using namespace mlir;
using namespace stretto;

FailureOr<SmallVector<SmallVector<AxisRef>>>
stretto::splitAxes(ArrayRef<AxisRef> axes, ArrayRef<int64_t> sizes) {
  SmallVector<SmallVector<AxisRef>> result(sizes.size());
  SmallVector<AxisRef> rest(axes.rbegin(), axes.rend()); // back = most major
  for (unsigned i = 0; i + 1 < sizes.size(); ++i) {
    int64_t room = sizes[i];
    while (room > 1 && !rest.empty()) {
      AxisRef ref = rest.pop_back_val();
      if (ref.size > room) {
        if (ref.size % room != 0)
          return failure();
        rest.push_back({ref.axis, ref.pre * room, ref.size / room});
        ref.size = room;
      }
      if (room % ref.size != 0)
        return failure();
      room /= ref.size;
      result[i].push_back(ref);
    }
    if (room > 1 && !rest.empty())
      return failure();
  }
  if (!sizes.empty())
    result.back().append(rest.rbegin(), rest.rend());
  else if (!rest.empty())
    return failure();
  return result;
}

/// The two are aligned digits of one axis: one end divides the other.
static bool aligned(int64_t a, int64_t b) { return b % a == 0 || a % b == 0; }

SmallVector<AxisRef> stretto::uniteAxes(MeshAttr mesh, ArrayRef<AxisRef> a,
                                        ArrayRef<AxisRef> b) {
  SmallVector<AxisRef> all;
  for (AxisRef ref : llvm::concat<const AxisRef>(a, b)) {
    for (auto *other = all.begin(); other != all.end();) {
      if (!ref.overlaps(*other)) {
        ++other;
        continue;
      }
      int64_t begin = std::min(ref.pre, other->pre);
      int64_t end = std::max(ref.pre * ref.size, other->pre * other->size);
      bool fits = aligned(ref.pre, other->pre) &&
                  aligned(ref.pre * ref.size, other->pre * other->size);
      ref = fits ? AxisRef{ref.axis, begin, end / begin} : mesh.axis(ref.axis);
      all.erase(other);
      other = all.begin();
    }
    all.push_back(ref);
  }
  llvm::sort(all);
  return canonicalAxes(all);
}

SmallVector<AxisRef> stretto::subtractAxes(ArrayRef<AxisRef> axes,
                                           ArrayRef<AxisRef> minus) {
  SmallVector<AxisRef> rest(axes);
  for (AxisRef cut : minus) {
    SmallVector<AxisRef> pieces;
    for (AxisRef ref : rest) {
      if (!ref.overlaps(cut)) {
        pieces.push_back(ref);
        continue;
      }
      int64_t end = ref.pre * ref.size, cutEnd = cut.pre * cut.size;
      if (ref.pre < cut.pre)
        pieces.push_back({ref.axis, ref.pre, cut.pre / ref.pre});
      if (cutEnd < end)
        pieces.push_back({ref.axis, cutEnd, end / cutEnd});
    }
    rest = pieces;
  }
  return rest;
}

/// Elements of the parts of a compound dimension after the first; 1 when they
/// are none or cannot be counted.
static int64_t minorSize(ArrayRef<unsigned> factors, ArrayRef<int64_t> sizes) {
  int64_t product = 1;
  for (unsigned factor : factors.drop_front())
    if (sizes[factor] < 1 || llvm::MulOverflow(product, sizes[factor], product))
      return 1;
  return product;
}

int64_t stretto::paddedUnits(DistAttr dist, unsigned dim,
                             ArrayRef<unsigned> factors,
                             ArrayRef<int64_t> sizes) {
  return dist.getPaddedExtents()[dim] / minorSize(factors, sizes);
}

FailureOr<SmallVector<SmallVector<AxisRef>>>
stretto::splitDim(DistAttr dist, unsigned dim, ArrayRef<unsigned> factors,
                  const OpRule &rule) {
  Placement all(rule);
  SmallVector<int64_t> sizes;
  for (unsigned factor : factors)
    sizes.push_back(all.sizes[factor]);
  int64_t padded = dist.getPaddedExtents()[dim];
  if (factors.size() > 1 && padded != 0) {
    int64_t minor = minorSize(factors, all.sizes);
    if (padded % minor != 0)
      return failure();
    sizes[0] = padded / minor;
  }
  auto split = splitAxes(dist.getDimAxes(dim), sizes);
  if (succeeded(split) && factors.size() > 1)
    for (auto [size, axes] : llvm::zip(sizes, *split))
      if (size % productOf(axes) != 0)
        return failure();
  return split;
}

DistAttr stretto::distributionOf(MeshAttr mesh, const DimFactors &dims,
                                 const Placement &placement) {
  SmallVector<SmallVector<AxisRef>> axes;
  SmallVector<int64_t> padded;
  for (const auto &dim : dims) {
    SmallVector<AxisRef> &list = axes.emplace_back();
    for (unsigned factor : dim)
      llvm::append_range(list, placement.axes[factor]);
    padded.push_back(dim.empty() ? 0
                                 : placement.padded[dim[0]] *
                                       minorSize(dim, placement.sizes));
  }
  return DistAttr::get(mesh.getContext(), mesh, axes, {}, ReduceKind::Sum,
                       padded);
}

SmallVector<AxisRef> stretto::reductionAxes(const OpRule &rule, unsigned result,
                                            const Placement &placement,
                                            ReduceKind &kind) {
  SmallVector<AxisRef> axes;
  for (auto [index, factor] : llvm::enumerate(rule.factors)) {
    if (factor.kind != FactorKind::Reduction || placement.axes[index].empty() ||
        rule.resultHasFactor(result, index))
      continue;
    kind = factor.reduce;
    llvm::append_range(axes, placement.axes[index]);
  }
  llvm::sort(axes);
  return canonicalAxes(axes);
}

//===----------------------------------------------------------------------===//
// Reading a placement off types
//===----------------------------------------------------------------------===//

namespace {
/// Where a dimension of a value stands in an operation.
struct Place {
  bool isResult = false;
  unsigned index = 0, dim = 0;
};

/// Axes that pass as partial sums, and through which linear set.
struct PassingSum {
  SmallVector<AxisRef> axes;
  const LinearSet *set = nullptr;

  ArrayRef<AxisRef> ofResult(unsigned result) const {
    return set && set->reaches(result) ? ArrayRef(axes) : ArrayRef<AxisRef>();
  }
};

/// Holds the distributions of an operation's values against its rule.
class Reader {
public:
  /// `op` names values in complaints; null: nothing is told.
  Reader(const OpRule &rule, ArrayRef<DistAttr> operands,
         ArrayRef<DistAttr> results, Operation *op)
      : rule(rule), operands(operands), results(results), op(op),
        placement(rule), known(rule.factors.size()) {}

  LogicalResult readPlacement();
  FailureOr<PassingSum> passingPartial() const;
  LogicalResult checkResults(const PassingSum &passing) const;
  Placement &getPlacement() { return placement; }

private:
  LogicalResult readValue(bool isResult, unsigned index);
  LogicalResult readDim(Place place, ArrayRef<unsigned> factors);
  LogicalResult readFactor(Place place, unsigned factor,
                           SmallVector<AxisRef> axes, int64_t padded);
  LogicalResult checkAxesOfFactors(bool complete) const;

  /// Fails, and says why where somebody listens. The text costs something.
  LogicalResult fail(function_ref<void(InFlightDiagnostic &)> tell) const {
    if (!op)
      return failure();
    InFlightDiagnostic error = op->emitOpError();
    tell(error);
    attachFit(error, op, nearestFit(op, rule));
    return error;
  }

  DistAttr distOf(Place place) const {
    return (place.isResult ? results : operands)[place.index];
  }
  std::string axesText(ArrayRef<AxisRef> axes) const {
    return toString((results.empty() ? operands : results)[0].getMesh(), axes);
  }
  /// "operand 1, 4x8xf32 [{}, {tp}]".
  std::string text(Place place) const {
    Value value = place.isResult ? Value(op->getResult(place.index))
                                 : op->getOperand(place.index);
    return ((place.isResult ? "result " : "operand ") + Twine(place.index) +
            ", " + describe(value.getType()))
        .str();
  }
  /// "{tp}", "{tp}, padded to 10".
  std::string heldText(ArrayRef<AxisRef> axes, int64_t padded) const {
    return axesText(axes) +
           (padded ? ", padded to " + std::to_string(padded) : "");
  }

  const OpRule &rule;
  ArrayRef<DistAttr> operands, results;
  Operation *op;
  Placement placement;
  SmallVector<std::optional<Place>> known; // per factor: who said so first
};
} // namespace

LogicalResult Reader::readFactor(Place place, unsigned factor,
                                 SmallVector<AxisRef> axes, int64_t padded) {
  if (rule.factors[factor].kind == FactorKind::Blocked && !axes.empty())
    return fail([&](InFlightDiagnostic &error) {
      error << text(place) << ", has dimension " << place.dim << " on "
            << axesText(axes)
            << ", but the operation needs it whole on every rank";
    });
  if (known[factor] &&
      (placement.axes[factor] != axes || placement.padded[factor] != padded))
    return fail([&](InFlightDiagnostic &error) {
      Place other = *known[factor];
      error << text(place) << ", has dimension " << place.dim << " on "
            << heldText(axes, padded) << ", but " << text(other)
            << ", has the same in dimension " << other.dim << " on "
            << heldText(placement.axes[factor], placement.padded[factor]);
    });
  known[factor] = place;
  placement.axes[factor] = axes;
  placement.padded[factor] = padded;
  return success();
}

LogicalResult Reader::readDim(Place place, ArrayRef<unsigned> factors) {
  DistAttr dist = distOf(place);
  auto split = splitDim(dist, place.dim, factors, rule);
  if (failed(split))
    return fail([&](InFlightDiagnostic &error) {
      error << text(place) << ", has dimension " << place.dim << " on "
            << heldText(dist.getDimAxes(place.dim),
                        dist.getPaddedExtents()[place.dim])
            << ", which does not split over its parts, ";
      llvm::interleave(
          factors, [&](unsigned factor) { error << placement.sizes[factor]; },
          [&] { error << " x "; });
    });
  for (auto [index, factor] : llvm::enumerate(factors)) {
    // Of a compound dimension the first part alone is padded.
    int64_t padded =
        index == 0 ? paddedUnits(dist, place.dim, factors, placement.sizes) : 0;
    if (failed(
            readFactor(place, factor, canonicalAxes((*split)[index]), padded)))
      return failure();
  }
  return success();
}

/// Merges what one value says about its factors into the placement.
LogicalResult Reader::readValue(bool isResult, unsigned index) {
  const DimFactors &dims = (isResult ? rule.results : rule.operands)[index];
  for (auto [dim, factors] : llvm::enumerate(dims))
    if (failed(readDim({isResult, index, unsigned(dim)}, factors)))
      return failure();
  return success();
}

/// An axis serves one factor of an operation, or both sides of a window;
/// `complete`: both sides have been read.
LogicalResult Reader::checkAxesOfFactors(bool complete) const {
  auto where = [&](InFlightDiagnostic &error, unsigned factor) {
    error << axesText(placement.axes[factor]);
    if (known[factor])
      error << " (dimension " << known[factor]->dim << " of "
            << text(*known[factor]) << ")";
  };
  for (unsigned i = 0; i < rule.factors.size(); ++i) {
    int partner = rule.factors[i].partner;
    if (complete && partner >= 0 &&
        placement.axes[partner] != placement.axes[i])
      return fail([&](InFlightDiagnostic &error) {
        error << "has the two sides of a window on ";
        where(error, std::min<unsigned>(i, partner));
        error << " and ";
        where(error, std::max<unsigned>(i, partner));
      });
    for (unsigned j = 0; j < i; ++j)
      if (partner != int(j) &&
          axesOverlap(placement.axes[i], placement.axes[j]))
        return fail([&](InFlightDiagnostic &error) {
          error << "gives an axis to two of its factors: ";
          where(error, j);
          error << " and ";
          where(error, i);
        });
  }
  return success();
}

LogicalResult Reader::readPlacement() {
  for (unsigned i = 0; i < operands.size(); ++i)
    if (failed(readValue(/*isResult=*/false, i)))
      return failure();
  if (failed(checkAxesOfFactors(/*complete=*/false)))
    return failure();
  for (unsigned i = 0; i < results.size(); ++i)
    if (failed(readValue(/*isResult=*/true, i)))
      return failure();
  return checkAxesOfFactors(/*complete=*/true);
}

/// Axes that may pass as partial sums: the ones of the first linear set whose
/// operands are all partial over the same axes while nothing else is.
FailureOr<PassingSum> Reader::passingPartial() const {
  SmallVector<unsigned> partial;
  for (auto [i, dist] : llvm::enumerate(operands))
    if (dist.isPartial())
      partial.push_back(i);
  if (partial.empty())
    return PassingSum();
  DistAttr first = operands[partial[0]];
  Place place{false, partial[0]};
  std::string axes = axesText(first.getPartialAxes());
  for (unsigned i : partial)
    if (operands[i].getPartialKind() != ReduceKind::Sum)
      return fail([&](InFlightDiagnostic &error) {
        error << text({false, i}) << ", is a partial "
              << stringifyReduceKind(operands[i].getPartialKind())
              << ", of which no operation but its reduction makes sense";
      });
  for (unsigned i : ArrayRef(partial).drop_front())
    if (operands[i].getPartialAxes() != first.getPartialAxes())
      return fail([&](InFlightDiagnostic &error) {
        error << "has operands that are partial over different axes: "
              << text(place) << ", over " << axes << " and " << text({false, i})
              << ", over " << axesText(operands[i].getPartialAxes());
      });
  const LinearSet *set =
      llvm::find_if(rule.linearSets, [&](const LinearSet &set) {
        return ArrayRef<unsigned>(set.operands) == ArrayRef<unsigned>(partial);
      });
  if (set == rule.linearSets.end())
    return fail([&](InFlightDiagnostic &error) {
      error << "is not linear in its partial operands (";
      llvm::interleaveComma(partial, error, [&](unsigned i) {
        error << text({false, i});
      });
      error << "); an all-reduce over " << axes << " is missing";
    });
  for (unsigned factor = 0; factor < placement.axes.size(); ++factor)
    if (axesOverlap(placement.axes[factor], first.getPartialAxes()))
      return fail([&](InFlightDiagnostic &error) {
        error << text(place) << ", is a partial sum over an axis on which "
              << text(*known[factor]) << ", has dimension "
              << known[factor]->dim;
      });
  return PassingSum{SmallVector<AxisRef>(first.getPartialAxes()), set};
}

/// Every result is partial over exactly its reduced axes and what passes.
LogicalResult Reader::checkResults(const PassingSum &passing) const {
  for (unsigned i = 0; i < results.size(); ++i) {
    DistAttr dist = results[i];
    ReduceKind kind = ReduceKind::Sum;
    SmallVector<AxisRef> expected = reductionAxes(rule, i, placement, kind);
    llvm::append_range(expected, passing.ofResult(i));
    llvm::sort(expected);
    expected = canonicalAxes(expected);
    if (ArrayRef<AxisRef>(expected) == dist.getPartialAxes() &&
        (expected.empty() || kind == dist.getPartialKind()))
      continue;
    return fail([&](InFlightDiagnostic &error) {
      error << text({true, i}) << ", is partial over "
            << axesText(dist.getPartialAxes()) << ", expected "
            << stringifyReduceKind(kind) << " " << axesText(expected);
    });
  }
  return success();
}

static SmallVector<DistAttr> distsOf(ValueRange values) {
  return llvm::map_to_vector(values,
                             [](Value value) { return getDist(value); });
}

FailureOr<Placement> stretto::readPlacement(Operation *op, const OpRule &rule) {
  SmallVector<DistAttr> operands = distsOf(op->getOperands()),
                        results = distsOf(op->getResults());
  Reader reader(rule, operands, results, nullptr);
  if (failed(reader.readPlacement()))
    return failure();
  return reader.getPlacement();
}

static LogicalResult check(Reader &reader) {
  if (failed(reader.readPlacement()))
    return failure();
  FailureOr<PassingSum> passing = reader.passingPartial();
  return failure(failed(passing) || failed(reader.checkResults(*passing)));
}

bool stretto::canReshard(DistAttr from, DistAttr to) {
  if (from.getMesh() != to.getMesh())
    return false;
  if (!to.isPartial())
    return true;
  if (from.isPartial() && from.getPartialKind() != to.getPartialKind())
    return false;
  return to.getPartialKind() == ReduceKind::Sum ||
         subtractAxes(to.getPartialAxes(), from.getPartialAxes()).empty();
}

LogicalResult stretto::checkDistributions(const OpRule &rule,
                                          ArrayRef<DistAttr> operands,
                                          ArrayRef<DistAttr> results) {
  Reader reader(rule, operands, results, nullptr);
  return check(reader);
}

//===----------------------------------------------------------------------===//
// The verifier
//===----------------------------------------------------------------------===//

/// Calls `visit` with operands and results, their names and types.
static void forEachValue(Operation *op,
                         function_ref<void(std::string, Value)> visit) {
  for (auto [i, value] : llvm::enumerate(op->getOperands()))
    visit("operand " + std::to_string(i), value);
  for (auto [i, value] : llvm::enumerate(op->getResults()))
    visit("result " + std::to_string(i), value);
}

/// Some values have a distribution and some have none: names one of each.
static LogicalResult verifyMixed(Operation *op) {
  std::string with, without;
  forEachValue(op, [&](std::string name, Value value) {
    std::string &first = getDist(value) ? with : without;
    if (first.empty())
      first = name + ", " + describe(value.getType()) + ",";
  });
  return op->emitOpError("mixes values with and without a distribution: ")
         << with << " has one, " << without
         << " has none; give all of them one (pass assign does) or none";
}

/// No reshard leads from one mesh to another.
static LogicalResult verifyOneMesh(Operation *op) {
  std::string first, other;
  MeshAttr mesh;
  forEachValue(op, [&](std::string name, Value value) {
    MeshAttr its = getDist(value).getMesh();
    std::string text = name + ", " + describe(value.getType()) +
                       ", lies on the mesh (" + describe(its) + ")";
    if (!mesh) {
      mesh = its;
      first = text;
    } else if (its != mesh && other.empty()) {
      other = text;
    }
  });
  if (other.empty())
    return success();
  return op->emitOpError("spans two meshes: ")
         << first << ", " << other
         << "; no reshard leads from one to the other: give both the mesh of "
            "the module, and a group of ranks the axes of it that they vary in";
}

/// The operation whose own invariants are being asked for.
static thread_local Operation *asked = nullptr;

/// Traits are verified before an operation's own invariants, on which its rule
/// relies: these are asked for here, which comes back to this trait once.
static LogicalResult verifyOwnInvariants(Operation *op) {
  Operation *outer = std::exchange(asked, op);
  LogicalResult result = op->getName().verifyInvariants(op);
  asked = outer;
  return result;
}

/// MLIR's own check, with types as people read them.
static LogicalResult verifyInferred(InferTypeOpInterface op) {
  SmallVector<Type> inferred;
  if (failed(op.inferReturnTypes(op->getContext(), op->getLoc(),
                                 op->getOperands(), op->getRawDictionaryAttrs(),
                                 op->getPropertiesStorage(), op->getRegions(),
                                 inferred)))
    return failure();
  if (op.isCompatibleReturnTypes(inferred, op->getResultTypes()))
    return success();
  auto list = [](InFlightDiagnostic &error, TypeRange types) {
    llvm::interleaveComma(types, error,
                          [&](Type type) { error << describe(type); });
  };
  InFlightDiagnostic error = op->emitOpError("makes ");
  list(error, inferred);
  error << " of its operands, but its results are ";
  list(error, op->getResultTypes());
  return error << "; write the shapes and element types of the former";
}

/// Elements can be counted, with room for what is computed from their number.
static LogicalResult verifySizes(Operation *op) {
  constexpr int64_t most = int64_t(1) << 50;
  auto isModest = [](Type type) {
    int64_t elements = 1;
    for (int64_t extent : cast<RankedTensorType>(type).getShape())
      if (extent > 1 &&
          (llvm::MulOverflow(elements, extent, elements) || elements > most))
        return false;
    return true;
  };
  if (llvm::all_of(op->getOperandTypes(), isModest) &&
      llvm::all_of(op->getResultTypes(), isModest))
    return success();
  InFlightDiagnostic error = op->emitOpError();
  forEachValue(op, [&](std::string name, Value value) {
    if (!isModest(value.getType()))
      error << name << " is " << describe(value.getType()) << "; ";
  });
  return error << "a tensor has at most 2^50 elements";
}

/// Invariants of a distributed operation, in this order: all or no values are
/// encoded, on one mesh; it is right without encodings; factors agree; partial
/// operands pass by linearity; every result is partial over exactly its reduced
/// axes and what passes.
LogicalResult stretto::verifyDistribution(Operation *op) {
  if (failed(verifySizes(op)))
    return failure();
  SmallVector<DistAttr> operands = distsOf(op->getOperands()),
                        results = distsOf(op->getResults());
  unsigned total = operands.size() + results.size();
  unsigned encoded = llvm::count_if(llvm::concat<DistAttr>(operands, results),
                                    [](DistAttr dist) { return bool(dist); });
  if (encoded == 0 || asked == op)
    return success();
  if (encoded != total)
    return verifyMixed(op);
  MeshAttr mesh = (operands.empty() ? results : operands)[0].getMesh();
  if (llvm::any_of(llvm::concat<DistAttr>(operands, results),
                   [&](DistAttr dist) { return dist.getMesh() != mesh; }))
    return verifyOneMesh(op);
  if (failed(verifyOwnInvariants(op)))
    return failure();
  // Rules look at results; their shapes are else checked after traits.
  if (auto typed = dyn_cast<InferTypeOpInterface>(op))
    if (failed(verifyInferred(typed)))
      return failure();
  OpRule rule = cast<ShardingRule>(op).getShardingRule();
  Reader reader(rule, operands, results, op);
  return check(reader);
}
