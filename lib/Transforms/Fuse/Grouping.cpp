//===- Grouping.cpp - which operations become one kernel ------------------===//

#include "Grouping.h"
#include "stretto/Dialect/Stretto/Transforms/Decompose.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include <optional>
#include <set>

using namespace mlir;
using namespace stretto;
using namespace stretto::kernel;

/// Rows longer than this do not fit the first-level cache with their
/// temporaries: fusing must not make rows longer than they were.
static constexpr int64_t maxGrownRow = 8192;
/// Values smaller than this are not worth a common kernel for being read once.
static constexpr int64_t minShared = 4096;
static constexpr unsigned maxBuffers = 48;

bool stretto::isCommand(Operation *op) {
  return isa<GemmOp, AttentionOp, AttentionGradOp, AllReduceOp, AllGatherOp,
             ReduceScatterOp, AllToAllOp, PermuteOp, LaunchOp, YieldOp>(op);
}

/// Is the operation copied into every kernel that uses it?
static bool isCheap(Operation *op) {
  return isa<ConstantOp, IotaOp, BroadcastOp>(op) || op->hasAttr(attr::repeat);
}

/// Must the operand be in memory, although the user is in a kernel?
static bool needsBuffer(OpOperand &use) {
  Operation *user = use.getOwner();
  bool readsFirst =
      isa<EmbeddingOp, ReshapeOp, WindowOp, DynamicSliceOp, GatherOp>(user);
  unsigned operand = use.getOperandNumber();
  return isCommand(user) || (readsFirst && operand == 0) ||
         (isa<DynamicUpdateSliceOp>(user) && operand == 1);
}

namespace {

class Grouper {
public:
  explicit Grouper(SegmentOp segment)
      : segment(segment), block(segment.getBody().front()) {}

  FailureOr<Grouping> run() {
    if (failed(makeSingletons()))
      return failure();
    mergeAlongEdges();
    mergeReaders();
    mergeScalars();
    Grouping result;
    std::vector<int> renamed(groups.size(), -1);
    for (auto [index, group] : llvm::enumerate(groups))
      if (!group.members.empty()) {
        renamed[index] = result.groups.size();
        result.groups.push_back(group);
      }
    for (auto &[op, index] : groupOf)
      index = renamed[index];
    groups = result.groups;
    result.order = unitOrder();
    for (Group &group : result.groups)
      chooseAliases(group);
    return result;
  }

private:
  //===--------------------------------------------------------------------===//
  // Groups
  //===--------------------------------------------------------------------===//

  LogicalResult makeSingletons() {
    for (auto [index, op] : llvm::enumerate(block)) {
      position[&op] = index;
      bool isMember = !isCommand(&op) && (!isCheap(&op) || isNeeded(&op));
      if (isMember) {
        groupOf[&op] = groups.size();
        groups.push_back({});
        groups.back().members.push_back(&op);
      }
    }
    for (Group &group : groups) {
      complete(group);
      std::string why;
      auto row = rowOf(group, &why);
      if (!row)
        return group.members[0]->emitOpError("cannot be a kernel: ") << why;
      rows.push_back(*row);
    }
    return success();
  }

  static bool isNeeded(Operation *op) {
    return llvm::any_of(op->getUses(), needsBuffer);
  }

  bool isCopied(Operation *op) { return isCheap(op) && !groupOf.count(op); }

  /// Fills ops, inputs and outputs from the members.
  void complete(Group &group) {
    llvm::sort(group.members, [&](Operation *l, Operation *r) {
      return position[l] < position[r];
    });
    llvm::SmallPtrSet<Operation *, 16> inside(group.members.begin(),
                                              group.members.end());
    group.ops.clear();
    for (Operation *op : group.members)
      append(op, group, inside);
    llvm::SetVector<Value> inputs;
    group.outputs.clear();
    for (Operation *op : group.ops)
      for (OpOperand &use : op->getOpOperands()) {
        Operation *def = use.get().getDefiningOp();
        bool isShapeOnly = isa<IotaOp>(op) && !(def && inside.contains(def));
        if (!isShapeOnly && !(def && inside.contains(def)))
          inputs.insert(use.get());
      }
    for (Operation *op : group.members)
      for (Value result : op->getResults())
        if (leaves(result, inside))
          group.outputs.push_back({result, -1});
    group.inputs = inputs.takeVector();
  }

  /// Puts the copied operations that `op` needs before it: their order does not
  /// depend on where they are in the segment, so that kernels compare equal.
  void append(Operation *op, Group &group,
              llvm::SmallPtrSetImpl<Operation *> &inside) {
    for (Value operand : op->getOperands()) {
      Operation *def = operand.getDefiningOp();
      if (def && isCopied(def) && inside.insert(def).second)
        append(def, group, inside);
    }
    group.ops.push_back(op);
  }

  /// Is the value used outside, directly or through copied operations?
  bool leaves(Value value, llvm::SmallPtrSetImpl<Operation *> &inside) {
    return llvm::any_of(value.getUsers(), [&](Operation *user) {
      if (isCopied(user))
        return leaves(user->getResult(0), inside);
      return !inside.contains(user);
    });
  }

  /// Elements of a row that reductions walk over several times (0 without
  /// reductions), or nothing when the group is no kernel.
  std::optional<int64_t> rowOf(const Group &group, std::string *why = nullptr) {
    auto graph =
        KernelGraph::build(group.ops, group.inputs, group.outputs, why);
    if (failed(graph))
      return std::nullopt;
    auto space = chooseSpace(*graph, why);
    if (failed(space) || failed(planKernel(*graph, *space, why)))
      return std::nullopt;
    bool reduces = llvm::any_of(graph->nodes, [](auto &node) {
      return node->kind == NodeKind::Reduce;
    });
    return reduces ? graph->extentOf(space->inner) : 0;
  }

  bool tryMerge(unsigned first, unsigned second) {
    if (!refused.insert({first, second}).second)
      return false;
    Group merged;
    merged.members = groups[first].members;
    llvm::append_range(merged.members, groups[second].members);
    if (hasPathOutside(first, second) || hasPathOutside(second, first))
      return false;
    complete(merged);
    if (merged.inputs.size() + merged.outputs.size() > maxBuffers)
      return false;
    auto row = rowOf(merged);
    if (!row ||
        (*row > std::max(rows[first], rows[second]) && *row > maxGrownRow))
      return false;
    for (Operation *op : merged.members)
      groupOf[op] = first;
    groups[first] = std::move(merged);
    groups[second] = {};
    rows[first] = *row;
    for (auto it = refused.begin(); it != refused.end();)
      it = it->first == first || it->second == first ? refused.erase(it)
                                                     : std::next(it);
    return true;
  }

  /// Is there a path from `from` to `to` over anything else?
  bool hasPathOutside(unsigned from, unsigned to) {
    llvm::SmallPtrSet<Operation *, 32> seen;
    SmallVector<Operation *> work;
    auto pushUsers = [&](Operation *op) {
      SmallVector<Operation *> users(op->getUsers());
      while (!users.empty()) {
        Operation *user = users.pop_back_val();
        if (isCopied(user))
          llvm::append_range(users, user->getUsers());
        else
          work.push_back(user);
      }
    };
    for (Operation *op : groups[from].members)
      pushUsers(op);
    llvm::erase_if(
        work, [&](Operation *op) { return isIn(op, from) || isIn(op, to); });
    while (!work.empty()) {
      Operation *op = work.pop_back_val();
      if (!seen.insert(op).second)
        continue;
      if (isIn(op, to))
        return true;
      auto it = groupOf.find(op);
      if (it == groupOf.end()) {
        pushUsers(op);
        continue;
      }
      for (Operation *member : groups[it->second].members)
        if (member == op || seen.insert(member).second)
          pushUsers(member);
    }
    return false;
  }

  bool isIn(Operation *op, unsigned group) {
    auto it = groupOf.find(op);
    return it != groupOf.end() && it->second == group;
  }

  /// Groups that make operands of `op`, through copied operations.
  void producersOf(Operation *op, llvm::SetVector<unsigned> &result) {
    for (Value operand : op->getOperands()) {
      Operation *def = operand.getDefiningOp();
      if (!def || isa<IotaOp>(op))
        continue;
      if (isCopied(def))
        producersOf(def, result);
      else if (groupOf.count(def))
        result.insert(groupOf[def]);
    }
  }

  void mergeAlongEdges() {
    bool changed = true;
    for (unsigned round = 0; changed && round < 4; ++round) {
      changed = false;
      for (Operation &op : block) {
        if (!groupOf.count(&op))
          continue;
        llvm::SetVector<unsigned> producers;
        producersOf(&op, producers);
        SmallVector<unsigned> nearest(producers.begin(), producers.end());
        llvm::sort(nearest, std::greater<unsigned>());
        for (unsigned producer : nearest)
          if (producer != groupOf[&op])
            changed |= tryMerge(producer, groupOf[&op]);
      }
    }
  }

  /// Groups that read the same large value read it once.
  void mergeReaders() {
    for (Value argument : block.getArguments())
      mergeReadersOf(argument);
    for (Operation &op : block)
      for (Value result : op.getResults())
        mergeReadersOf(result);
  }

  void mergeReadersOf(Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type || type.getNumElements() < minShared)
      return;
    SmallVector<Operation *> users;
    for (Operation *user : value.getUsers())
      if (groupOf.count(user))
        users.push_back(user);
    llvm::sort(users, [&](Operation *l, Operation *r) {
      return position[l] < position[r];
    });
    for (unsigned i = 0; i < users.size(); ++i)
      for (unsigned j = i + 1; j < users.size(); ++j) {
        unsigned first = groupOf[users[i]], second = groupOf[users[j]];
        if (first != second)
          tryMerge(std::min(first, second), std::max(first, second));
      }
  }

  /// Scalar math anywhere is one kernel: a launch costs more than it.
  void mergeScalars() {
    SmallVector<unsigned> scalars;
    for (auto [index, group] : llvm::enumerate(groups))
      if (!group.members.empty() && isScalar(group))
        scalars.push_back(index);
    for (unsigned i = 1; i < scalars.size(); ++i)
      for (unsigned j = 0; j < i; ++j)
        if (tryMerge(scalars[j], scalars[i]))
          break;
  }
  static bool isScalar(const Group &group) {
    return llvm::all_of(group.ops, [](Operation *op) {
      auto isRankZero = [](Type type) {
        return cast<RankedTensorType>(type).getRank() == 0;
      };
      return llvm::all_of(op->getOperandTypes(), isRankZero) &&
             llvm::all_of(op->getResultTypes(), isRankZero);
    });
  }

  //===--------------------------------------------------------------------===//
  // Order and storage
  //===--------------------------------------------------------------------===//

  /// Topological order, by the last operation of each unit where it is free.
  std::vector<Unit> unitOrder() {
    std::vector<Unit> units;
    DenseMap<Operation *, unsigned> unitOf;
    SmallVector<unsigned> priority;
    for (auto [index, group] : llvm::enumerate(groups)) {
      for (Operation *op : group.members)
        unitOf[op] = units.size();
      priority.push_back(position[group.members.back()]);
      units.push_back({int(index), nullptr});
    }
    for (Operation &op : block)
      if (isCommand(&op)) {
        unitOf[&op] = units.size();
        priority.push_back(position[&op]);
        units.push_back({-1, &op});
      }
    std::vector<std::set<unsigned>> users(units.size());
    std::vector<unsigned> waiting(units.size(), 0);
    for (auto &[op, unit] : unitOf)
      for (unsigned source : sourcesOf(op, unitOf))
        if (source != unit && users[source].insert(unit).second)
          ++waiting[unit];
    std::set<std::pair<unsigned, unsigned>> ready;
    for (unsigned i = 0; i < units.size(); ++i)
      if (!waiting[i])
        ready.insert({priority[i], i});
    std::vector<Unit> result;
    while (!ready.empty()) {
      unsigned unit = ready.begin()->second;
      ready.erase(ready.begin());
      result.push_back(units[unit]);
      for (unsigned user : users[unit])
        if (--waiting[user] == 0)
          ready.insert({priority[user], user});
    }
    return result;
  }

  llvm::SmallSetVector<unsigned, 4>
  sourcesOf(Operation *op, const DenseMap<Operation *, unsigned> &unitOf) {
    llvm::SmallSetVector<unsigned, 4> result;
    SmallVector<Value> work(op->getOperands());
    while (!work.empty()) {
      Operation *def = work.pop_back_val().getDefiningOp();
      if (!def)
        continue;
      auto it = unitOf.find(def);
      if (it != unitOf.end())
        result.insert(it->second);
      else
        llvm::append_range(work, def->getOperands());
    }
    return result;
  }

  /// A result takes the storage of the argument that the segment says, when all
  /// readers of the argument are in the group and the kernel allows it.
  void chooseAliases(Group &group) {
    for (Output &output : group.outputs) {
      int index = aliasedInput(group, output.value);
      if (index < 0)
        continue;
      output.alias = index;
      if (!rowOf(group))
        output.alias = -1;
    }
  }

  int aliasedInput(const Group &group, Value value) {
    for (OpOperand &use : value.getUses()) {
      if (!isa<YieldOp>(use.getOwner()))
        continue;
      auto alias = segment.getResultAttrOfType<IntegerAttr>(
          use.getOperandNumber(), attr::alias);
      if (!alias || alias.getInt() >= int64_t(block.getNumArguments()))
        continue;
      Value argument = block.getArgument(alias.getInt());
      const auto *it = llvm::find(group.inputs, argument);
      if (it == group.inputs.end() || argument.getType() != value.getType())
        continue;
      bool onlyHere = llvm::all_of(argument.getUsers(), [&](Operation *user) {
        return llvm::is_contained(group.members, user);
      });
      if (onlyHere)
        return it - group.inputs.begin();
    }
    return -1;
  }

  SegmentOp segment;
  Block &block;
  std::vector<Group> groups;
  SmallVector<int64_t> rows; // rowOf, per group
  DenseMap<Operation *, unsigned> position, groupOf;
  std::set<std::pair<unsigned, unsigned>> refused;
};

} // namespace

FailureOr<Grouping> stretto::groupOperations(SegmentOp segment) {
  return Grouper(segment).run();
}
