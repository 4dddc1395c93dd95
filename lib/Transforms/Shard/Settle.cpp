//===- Settle.cpp - which factor gets an axis that several want -----------===//

#include "Settle.h"
#include "Requests.h"
#include "llvm/ADT/StringExtras.h"

#include <limits>
#include <numeric>

using namespace mlir;
using namespace stretto;
using namespace stretto::shard;

/// Both sides of a window lie on the same axes.
void Settlement::give(unsigned factor, ArrayRef<AxisRef> given) {
  axes[factor].assign(given.begin(), given.end());
  if (int partner = rule.factors[factor].partner; partner >= 0)
    axes[partner].assign(given.begin(), given.end());
  used.append(given.begin(), given.end());
}

std::string Settlement::causes() const { return llvm::join(givenCauses, "; "); }

//===----------------------------------------------------------------------===//
// One candidate
//===----------------------------------------------------------------------===//

/// The major axes of `wanted` before the first that is taken, or all that are
/// free.
static SmallVector<AxisRef> freePart(ArrayRef<AxisRef> wanted,
                                     ArrayRef<AxisRef> used, bool skips) {
  SmallVector<AxisRef> part;
  for (AxisRef axis : wanted) {
    bool isTaken = axesOverlap(axis, used);
    if (isTaken && !skips)
      break;
    if (!isTaken)
      part.push_back(axis);
  }
  return part;
}

/// Gives what is free; true when all of it was, or was given before. A part of
/// the axes is better than none as long as it needs no other padding.
bool Settlement::apply(const Candidate &candidate) {
  for (const auto &[factor, wanted] : candidate.parts) {
    if (!axes[factor].empty()) {
      if (ArrayRef(axes[factor]) != ArrayRef(wanted))
        return false;
      continue;
    }
    SmallVector<AxisRef> part = freePart(wanted, used, skipsTaken);
    int64_t size = rule.factors[factor].size;
    bool whole = part.size() == wanted.size();
    if (!whole && paddedExtent(size, part) != paddedExtent(size, wanted))
      part.clear();
    if (!part.empty()) {
      give(factor, part);
      priorities[factor] = candidate.priority;
      if (int partner = rule.factors[factor].partner; partner >= 0)
        priorities[partner] = candidate.priority;
      if (!candidate.cause.empty() &&
          !llvm::is_contained(givenCauses, candidate.cause))
        givenCauses.push_back(candidate.cause);
    }
    if (!whole)
      return false;
  }
  return true;
}

/// A part of a compound dimension can be sharded only when every part major to
/// it is, down to single elements: shards are contiguous.
void Settlement::dropCutMinors() {
  auto visit = [&](const DimFactors &dims) {
    for (const auto &factors : dims) {
      bool cut = false;
      for (unsigned factor : factors) {
        if (cut && !axes[factor].empty()) {
          llvm::erase_if(used, [&](AxisRef axis) {
            return llvm::is_contained(axes[factor], axis);
          });
          axes[factor].clear();
        }
        cut |= productOf(axes[factor]) < rule.factors[factor].size;
      }
    }
  };
  llvm::for_each(rule.operands, visit);
  llvm::for_each(rule.results, visit);
}

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

static DimAxes dimsOf(const DimFactors &factorsOf,
                      ArrayRef<SmallVector<AxisRef>> axes) {
  DimAxes dims;
  for (const auto &factors : factorsOf) {
    SmallVector<AxisRef> &dim = dims.emplace_back();
    for (unsigned factor : factors)
      llvm::append_range(dim, axes[factor]);
  }
  return dims;
}

/// Seconds that the operation takes with its present axes, moves included.
double Settlement::seconds() const {
  auto type = [](Value value) {
    return cast<RankedTensorType>(value.getType());
  };
  double total = 0, work = 1;
  bool contracts = false;
  Placement placement(rule);
  placement.axes.assign(axes.begin(), axes.end());
  for (auto [factor, info] : llvm::enumerate(rule.factors)) {
    if (info.partner > int(factor))
      continue; // one of the two sides counts
    work *= double(info.size) / double(productOf(axes[factor]));
    contracts |= info.kind == FactorKind::Reduction;
  }
  total += cost.compute(work * (contracts ? 2 : 1));
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    if (around.operands[i])
      total += cost.move(type(operand), *around.operands[i],
                         dimsOf(rule.operands[i], axes));
  for (auto [i, result] : llvm::enumerate(op->getResults())) {
    DimAxes dims = dimsOf(rule.results[i], axes);
    ReduceKind kind = ReduceKind::Sum;
    SmallVector<AxisRef> wanted;
    if (around.results[i])
      for (const auto &dim : *around.results[i])
        llvm::append_range(wanted, dim);
    total += cost.reduce(type(result), dims,
                         reductionAxes(rule, i, placement, kind), wanted);
    if (around.results[i])
      total += cost.move(type(result), dims, *around.results[i]);
  }
  return total;
}

//===----------------------------------------------------------------------===//
// Levels
//===----------------------------------------------------------------------===//

/// Place of a factor in the results, none: after all that have one.
static unsigned placeInResults(const OpRule &rule, unsigned factor) {
  unsigned place = 0;
  for (const DimFactors &dims : rule.results)
    for (const auto &factors : dims) {
      if (llvm::is_contained(factors, factor))
        return place;
      ++place;
    }
  return std::numeric_limits<unsigned>::max();
}

bool Settlement::before(const Candidate &a, const Candidate &b) const {
  auto key = [&](const Candidate &c) {
    const auto &[factor, wanted] = c.parts.front();
    return std::make_tuple(rule.factors[factor].kind == FactorKind::Reduction,
                           placeInResults(rule, factor), c.age,
                           -productOf(wanted));
  };
  auto keyA = key(a), keyB = key(b);
  if (keyA != keyB)
    return keyA < keyB;
  return std::lexicographical_compare(
      a.parts.front().second.begin(), a.parts.front().second.end(),
      b.parts.front().second.begin(), b.parts.front().second.end());
}

/// Candidates of one priority, in canonical order. When not all can have what
/// they want every order of serving them is tried (up to five; more are served
/// in canonical order), also with what is left of their axes behind one that is
/// taken: shards then lie otherwise than was wanted, but there are more.
void Settlement::settleLevel(MutableArrayRef<Candidate> level) {
  llvm::stable_sort(level, [&](const Candidate &a, const Candidate &b) {
    return before(a, b);
  });
  Settlement start = *this;
  SmallVector<unsigned> order(level.size());
  std::iota(order.begin(), order.end(), 0);
  auto serve = [&]() {
    bool all = true;
    for (unsigned index : order)
      all &= apply(level[index]);
    dropCutMinors();
    return all;
  };
  if (serve() || level.size() > 5)
    return;
  auto copyChoice = [](const Settlement &from, Settlement &to) {
    to.axes = from.axes;
    to.priorities = from.priorities;
    to.used = from.used;
    to.givenCauses = from.givenCauses;
  };
  Settlement best = *this;
  double least = std::numeric_limits<double>::infinity();
  for (bool skips : {false, true}) {
    skipsTaken = skips;
    do {
      copyChoice(start, *this);
      serve();
      // Sums in another order of operands differ in the last bits.
      if (double now = seconds(); now < least * (1 - 1e-9)) {
        least = now;
        copyChoice(*this, best);
      }
    } while (std::next_permutation(order.begin(), order.end()));
  }
  skipsTaken = false;
  copyChoice(best, *this);
}

/// The same wish from several values is one candidate, of the best priority.
static SmallVector<Candidate> unique(SmallVector<Candidate> candidates) {
  SmallVector<Candidate> result;
  for (Candidate &candidate : candidates) {
    auto *same = llvm::find_if(result, [&](const Candidate &other) {
      return other.parts == candidate.parts;
    });
    if (same == result.end()) {
      result.push_back(candidate);
      continue;
    }
    if (candidate.priority < same->priority ||
        (candidate.priority == same->priority && candidate.age < same->age))
      same->cause = candidate.cause;
    same->priority = std::min(same->priority, candidate.priority);
    same->age = std::min(same->age, candidate.age);
  }
  return result;
}

void Settlement::settle(SmallVector<Candidate> all) {
  SmallVector<Candidate> candidates = unique(std::move(all));
  llvm::stable_sort(candidates, [](const Candidate &a, const Candidate &b) {
    return a.priority < b.priority;
  });
  MutableArrayRef<Candidate> rest(candidates);
  while (!rest.empty()) {
    size_t count = llvm::count_if(rest, [&](const Candidate &candidate) {
      return candidate.priority == rest.front().priority;
    });
    settleLevel(rest.take_front(count));
    rest = rest.drop_front(count);
  }
}
