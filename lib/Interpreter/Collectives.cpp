//===- Collectives.cpp - evaluation of changes of distribution ------------===//
//
// On bare local tensors only. What needs other ranks' values is evaluated per
// group, members in order; what needs the rank alone is an ordinary operation.
//
//===----------------------------------------------------------------------===//

#include "Models.h"
#include "stretto/Dialect/Stretto/IR/Permutation.h"

using namespace mlir;
using namespace stretto;
using namespace stretto::interp;

namespace stretto {

/// Member index of the rank in the operation's group; a scalar of the launch
/// when the operation is in a kernel.
template <typename OpT>
static FailureOr<int64_t> memberOf(OpT op, const EvalContext &context) {
  FailureOr<std::optional<int64_t>> fromLaunch = context.launchScalar(op, 0);
  if (failed(fromLaunch))
    return failure();
  if (*fromLaunch)
    return **fromLaunch;
  if (context.coordinates.size() != op.getGroup().getMesh().getNumAxes())
    return op.emitOpError("needs the ranks of its mesh, but the program runs "
                          "as one rank");
  return op.getGroup().member(context.coordinates);
}

static EvalResult eval(ShardSliceOp op, ArrayRef<Tensor> in,
                       const EvalContext &context) {
  FailureOr<int64_t> member = memberOf(op, context);
  if (failed(member))
    return failure();
  int64_t dim = op.getDim();
  int64_t size = in[0].getShape()[dim] / op.getGroup().getNumMembers();
  return one(slice(in[0], dim, *member * size, size));
}

static EvalResult eval(KeepFirstOp op, ArrayRef<Tensor> in,
                       const EvalContext &context) {
  FailureOr<int64_t> member = memberOf(op, context);
  if (failed(member))
    return failure();
  return one(*member == 0 ? in[0] : in[0].zerosLike(in[0].getShape()));
}

static EvalResult eval(PadExtentOp op, ArrayRef<Tensor> in,
                       const EvalContext &) {
  auto type = cast<RankedTensorType>(op.getResult().getType());
  if (!type.hasStaticShape() || type.getRank() != in[0].getRank())
    return op.emitOpError("needs a static result of rank ") << in[0].getRank();
  return one(padOrCut(in[0], type.getShape()));
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

static TensorVector exchange(AllReduceOp op, ArrayRef<Tensor> members) {
  return TensorVector(members.size(), combine(members, op.getKind()));
}

static TensorVector exchange(AllGatherOp op, ArrayRef<Tensor> members) {
  return TensorVector(members.size(), concat(members, op.getDim()));
}

static TensorVector exchange(ReduceScatterOp op, ArrayRef<Tensor> members) {
  Tensor sum = combine(members, op.getKind());
  int64_t dim = op.getDim(), size = sum.getShape()[dim] / members.size();
  TensorVector results;
  for (size_t member = 0; member < members.size(); ++member)
    results.push_back(slice(sum, dim, member * size, size));
  return results;
}

static TensorVector exchange(PermuteOp op, ArrayRef<Tensor> members) {
  TensorVector results;
  for (int64_t index : membersBy(op.getGroup(), op.getTo()))
    results.push_back(
        members[(index + int64_t(op.getShift())) % int64_t(members.size())]);
  return results;
}

static TensorVector exchange(AllToAllOp op, ArrayRef<Tensor> members) {
  int64_t dim = op.getSplitDim();
  int64_t size = members[0].getShape()[dim] / members.size();
  TensorVector results;
  GroupAttr group = op.getGroup();
  for (int64_t block : membersBy(group, op.getTo().value_or(group))) {
    TensorVector parts;
    for (const Tensor &from : members)
      parts.push_back(slice(from, dim, block * size, size));
    results.push_back(concat(parts, op.getConcatDim()));
  }
  return results;
}

namespace {
template <typename OpT>
struct CollectiveModel
    : EvaluableCollective::ExternalModel<CollectiveModel<OpT>, OpT> {
  GroupAttr getEvaluationGroup(Operation *op) const {
    return cast<OpT>(op).getGroup();
  }
  TensorVector evaluateGroup(Operation *op, ArrayRef<Tensor> members) const {
    return exchange(cast<OpT>(op), members);
  }
};

template <typename... Ops> void attachExchanges(MLIRContext *context) {
  (Ops::template attachInterface<CollectiveModel<Ops>>(*context), ...);
}
} // namespace

} // namespace stretto

void interp::attachCollectives(MLIRContext *context) {
  attachEvaluations<ShardSliceOp, KeepFirstOp, PadExtentOp>(context);
  attachExchanges<AllReduceOp, AllGatherOp, ReduceScatterOp, AllToAllOp,
                  PermuteOp>(context);
}
