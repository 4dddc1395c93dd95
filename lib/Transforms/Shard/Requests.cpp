//===- Requests.cpp - constraints as axes of a mesh -----------------------===//

#include "Requests.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace stretto;
using namespace stretto::shard;

MeshAttr shard::meshOf(ModuleOp module) {
  if (auto mesh = module->getAttrOfType<MeshAttr>(attr::mesh))
    return mesh;
  return MeshAttr::get(module.getContext(), {}, {});
}

/// "tp" or "tp:(1)2".
static FailureOr<AxisRef> parseAxisName(MeshAttr mesh, StringRef text) {
  auto [name, rest] = text.split(':');
  std::optional<unsigned> index = mesh.lookup(name);
  if (!index)
    return failure();
  AxisRef ref = mesh.axis(*index);
  if (rest.empty())
    return ref;
  auto [pre, size] = rest.split(')');
  if (!pre.consume_front("(") || pre.getAsInteger(10, ref.pre) ||
      size.getAsInteger(10, ref.size) || ref.pre < 1 || ref.size < 1 ||
      mesh.getSizes()[*index] % ref.pre != 0 ||
      mesh.getSizes()[*index] / ref.pre % ref.size != 0)
    return failure();
  return ref;
}

FailureOr<SmallVector<AxisRef>>
shard::resolveNames(Location loc, MeshAttr mesh, ArrayRef<StringAttr> names) {
  SmallVector<AxisRef> axes;
  for (StringAttr name : names) {
    FailureOr<AxisRef> ref = parseAxisName(mesh, name.getValue());
    if (failed(ref)) {
      std::string known;
      llvm::raw_string_ostream os(known);
      for (auto [index, axis] : llvm::enumerate(mesh.getNames()))
        os << (index ? ", " : "") << axis.getValue() << " = "
           << mesh.getSizes()[index];
      if (known.empty())
        known = "none";
      return emitError(loc)
             << "constraint names '" << name.getValue()
             << "', which is no axis of the mesh; its axes are: " << known;
    }
    axes.push_back(*ref);
  }
  return axes;
}

FailureOr<SmallVector<AxisRef>> shard::resolveAxes(Location loc, MeshAttr mesh,
                                                   ConstraintAttr constraint,
                                                   unsigned dim) {
  return resolveNames(loc, mesh, constraint.getDimAxes(dim));
}

ConstraintAttr shard::makeConstraint(MeshAttr mesh,
                                     ArrayRef<SmallVector<AxisRef>> dims,
                                     ArrayRef<int64_t> priorities,
                                     StringRef cause) {
  MLIRContext *context = mesh.getContext();
  SmallVector<StringAttr> names;
  SmallVector<int64_t> ends;
  for (const SmallVector<AxisRef> &axes : dims) {
    for (AxisRef ref : axes) {
      std::string text = toString(mesh, ref); // "{tp:(1)2}"
      names.push_back(
          StringAttr::get(context, StringRef(text).drop_front().drop_back()));
    }
    ends.push_back(names.size());
  }
  SmallVector<bool> open(dims.size(), false);
  return ConstraintAttr::get(context, names, ends, open, priorities,
                             StringAttr::get(context, cause));
}

static ConstraintAttr withOpen(ConstraintAttr constraint,
                               function_ref<bool(unsigned)> isOpen) {
  SmallVector<bool> open;
  for (unsigned dim = 0; dim < constraint.getRank(); ++dim)
    open.push_back(isOpen(dim));
  return ConstraintAttr::get(
      constraint.getContext(), constraint.getFlatAxes(),
      constraint.getDimEnds(), open, constraint.getPriorities(),
      constraint.getReplicatedAxes(), constraint.getPartialAxes(),
      constraint.getCause());
}

ConstraintAttr shard::openUnasked(ConstraintAttr constraint) {
  return withOpen(constraint, [&](unsigned dim) {
    return constraint.getOpen()[dim] || constraint.getDimAxes(dim).empty();
  });
}

ConstraintAttr shard::openAll(ConstraintAttr constraint) {
  return withOpen(constraint, [](unsigned) { return true; });
}

SmallVector<AxisRef> shard::fitAxes(ArrayRef<AxisRef> axes, int64_t size) {
  int64_t shards = productOf(axes);
  if (size > 0 && shards > size && shards % size == 0)
    if (auto split = splitAxes(axes, {size, shards / size}); succeeded(split))
      return canonicalAxes((*split)[0]);
  return canonicalAxes(axes);
}

FailureOr<SmallVector<SmallVector<AxisRef>>>
shard::splitWish(ArrayRef<AxisRef> axes, ArrayRef<int64_t> sizes) {
  auto split = splitAxes(axes, sizes);
  if (succeeded(split) || sizes.empty() || productOf(axes) > sizes[0])
    return split;
  SmallVector<SmallVector<AxisRef>> padded(sizes.size());
  padded[0].assign(axes.begin(), axes.end());
  return padded;
}

int64_t shard::paddedExtent(int64_t size, ArrayRef<AxisRef> axes) {
  int64_t shards = productOf(axes);
  return size % shards == 0 ? 0 : int64_t(llvm::alignTo(size, shards));
}

int64_t shard::paddedExtent(int64_t size, ArrayRef<AxisRef> axes,
                            int64_t wanted) {
  if (!axes.empty() && wanted > size && wanted % productOf(axes) == 0)
    return wanted;
  return paddedExtent(size, axes);
}

FailureOr<DistAttr> shard::distributionFor(Location loc, MeshAttr mesh,
                                           ConstraintAttr constraint,
                                           ArrayRef<int64_t> shape,
                                           ArrayRef<int64_t> padding) {
  SmallVector<SmallVector<AxisRef>> dims(shape.size());
  SmallVector<int64_t> padded(shape.size(), 0);
  if (!constraint)
    return DistAttr::get(mesh.getContext(), mesh, dims);
  if (constraint.getRank() != shape.size())
    return emitError(loc) << "constraint of rank " << constraint.getRank()
                          << " on a value of rank " << shape.size()
                          << "; write one {axes} or {?} per dimension";
  SmallVector<unsigned> order =
      llvm::to_vector(llvm::seq<unsigned>(0, shape.size()));
  llvm::stable_sort(order, [&](unsigned a, unsigned b) {
    return constraint.getPriorities()[a] < constraint.getPriorities()[b];
  });
  auto never = resolveNames(loc, mesh, constraint.getReplicatedAxes());
  if (failed(never))
    return failure();
  SmallVector<AxisRef> used = *never;
  for (unsigned dim : order) {
    auto axes = resolveAxes(loc, mesh, constraint, dim);
    if (failed(axes))
      return failure();
    SmallVector<AxisRef> fitted = fitAxes(*axes, shape[dim]);
    if (axesOverlap(fitted, used))
      continue;
    llvm::append_range(used, fitted);
    dims[dim] = fitted;
    padded[dim] = paddedExtent(shape[dim], fitted,
                               dim < padding.size() ? padding[dim] : 0);
  }
  return DistAttr::get(mesh.getContext(), mesh, dims, {}, ReduceKind::Sum,
                       padded);
}
