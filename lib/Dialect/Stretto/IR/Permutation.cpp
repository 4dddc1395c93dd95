//===- Permutation.cpp - members of a group counted anew ------------------===//

#include "stretto/Dialect/Stretto/IR/Permutation.h"

#include "llvm/ADT/IntEqClasses.h"

using namespace mlir;
using namespace stretto;

SmallVector<int64_t> stretto::membersBy(GroupAttr group, GroupAttr to) {
  MeshAttr mesh = group.getMesh();
  SmallVector<int64_t> indices, coordinates(mesh.getNumAxes());
  for (int64_t member = 0; member < group.getNumMembers(); ++member) {
    llvm::fill(coordinates, 0);
    int64_t rest = member;
    for (AxisRef ref : llvm::reverse(group.getAxes())) {
      int64_t minor = mesh.getSizes()[ref.axis] / (ref.pre * ref.size);
      coordinates[ref.axis] += rest % ref.size * minor;
      rest /= ref.size;
    }
    indices.push_back(to.member(coordinates));
  }
  return indices;
}

/// Cuts the axis at `index` into `major` parts and what is minor to them.
static bool cut(SmallVectorImpl<AxisRef> &list, unsigned index, int64_t major) {
  AxisRef &ref = list[index];
  if (ref.size % major != 0)
    return false;
  AxisRef minor = {ref.axis, ref.pre * major, ref.size / major};
  ref.size = major;
  list.insert(list.begin() + index + 1, minor);
  return true;
}

/// Cuts the axes of `list` where `other` does.
static bool cutAsTheOther(SmallVectorImpl<AxisRef> &list,
                          ArrayRef<AxisRef> other) {
  for (AxisRef ref : other)
    for (int64_t point : {ref.pre, ref.pre * ref.size})
      for (unsigned i = 0; i < list.size(); ++i)
        if (list[i].axis == ref.axis && point > list[i].pre &&
            point < list[i].pre * list[i].size &&
            (point % list[i].pre != 0 || !cut(list, i, point / list[i].pre)))
          return false;
  return true;
}

bool stretto::cutAlike(SmallVectorImpl<AxisRef> &a,
                       SmallVectorImpl<AxisRef> &b) {
  return cutAsTheOther(a, b) && cutAsTheOther(b, a);
}

namespace {
/// One side of a run that grows.
struct RunSide {
  SmallVector<AxisRef> rest; // most major last
  SmallVector<AxisRef> run;
  int64_t product = 1;

  explicit RunSide(ArrayRef<AxisRef> list) : rest(list.rbegin(), list.rend()) {}

  void grow() {
    run.push_back(rest.pop_back_val());
    product *= run.back().size;
  }
  /// Puts what goes beyond `wanted` back, if the last axis can be cut there.
  bool endAt(int64_t wanted) {
    AxisRef last = run.back();
    int64_t before = product / last.size;
    if (wanted % before != 0 || wanted == before ||
        last.size % (wanted / before) != 0)
      return false;
    int64_t major = wanted / before;
    rest.push_back({last.axis, last.pre * major, last.size / major});
    run.back().size = major;
    product = wanted;
    return true;
  }
  SmallVector<AxisRef> finish() {
    product = 1;
    return std::move(run);
  }
};
} // namespace

SmallVector<AxisRun> stretto::runsOf(ArrayRef<AxisRef> from,
                                     ArrayRef<AxisRef> to) {
  SmallVector<AxisRun> runs;
  RunSide a(from), b(to);
  while (!a.rest.empty() && !b.rest.empty()) {
    a.grow();
    b.grow();
    while (a.product != b.product) {
      RunSide &less = a.product < b.product ? a : b;
      RunSide &more = a.product < b.product ? b : a;
      if (!more.endAt(less.product))
        less.grow();
    }
    AxisRun &run = runs.emplace_back();
    run.from = a.finish();
    run.to = b.finish();
    a.run.clear();
    b.run.clear();
  }
  return runs;
}

/// Cuts the lists until their digits stand against each other one by one and
/// both consist of the same sub-axes.
static bool align(SmallVectorImpl<AxisRef> &a, SmallVectorImpl<AxisRef> &b) {
  for (size_t before = 0; before != a.size() + b.size();) {
    before = a.size() + b.size();
    for (unsigned i = 0; i < a.size() && i < b.size(); ++i)
      if (a[i].size != b[i].size && !cut(a[i].size > b[i].size ? a : b, i,
                                         std::min(a[i].size, b[i].size)))
        return false;
    if (!cutAlike(a, b))
      return false;
  }
  return true;
}

double stretto::keptShare(MeshAttr mesh, ArrayRef<AxisRef> group,
                          ArrayRef<AxisRef> to) {
  SmallVector<AxisRef> a = canonicalAxes(group), b = canonicalAxes(to);
  double members = productOf(group);
  if (!align(a, b)) {
    int64_t kept = 0;
    MLIRContext *context = mesh.getContext();
    for (auto [member, index] :
         llvm::enumerate(membersBy(GroupAttr::get(context, mesh, group),
                                   GroupAttr::get(context, mesh, to))))
      kept += int64_t(member) == index;
    return kept / members;
  }
  // Digits that follow each other round a cycle must all be equal: one choice
  // for every cycle.
  llvm::IntEqClasses cycles(a.size());
  for (unsigned i = 0; i < a.size(); ++i)
    cycles.join(i, llvm::find(a, b[i]) - a.begin());
  cycles.compress();
  SmallVector<int64_t> choices(cycles.getNumClasses(), 1);
  for (unsigned i = 0; i < a.size(); ++i)
    choices[cycles[i]] = a[i].size;
  double kept = 1;
  for (int64_t size : choices)
    kept *= size;
  return kept / members;
}
