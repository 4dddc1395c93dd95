//===- KernelPlan.cpp - loop nests of a kernel ----------------------------===//

#include "stretto/Transforms/Fuse/KernelPlan.h"
#include "llvm/ADT/DenseSet.h"
#include <map>
#include <set>

using namespace mlir;
using namespace stretto;
using namespace stretto::kernel;

int64_t kernel::bytesOf(Element type) {
  switch (type) {
  case Element::F64:
  case Element::I64:
    return 8;
  case Element::F32:
  case Element::I32:
    return 4;
  case Element::BF16:
  case Element::F16:
    return 2;
  case Element::I1:
  case Element::I8:
    return 1;
  }
  return 8;
}

static SmallVector<unsigned> dimsOf(DimMask mask) {
  SmallVector<unsigned> dims;
  for (unsigned dim = 0; mask >> dim; ++dim)
    if (mask >> dim & 1)
      dims.push_back(dim);
  return dims;
}

SmallVector<unsigned> Nest::keptDims() const { return dimsOf(axes & ~reduced); }
SmallVector<unsigned> Nest::reducedDims() const { return dimsOf(reduced); }

/// Worth keeping when more than one nest needs it.
static bool isExpensive(const Node *node) {
  if (node->kind != NodeKind::Compute)
    return false;
  switch (node->code) {
  case Code::Exp:
  case Code::Log:
  case Code::Sqrt:
  case Code::Rsqrt:
  case Code::Tanh:
  case Code::Sigmoid:
  case Code::Erf:
  case Code::Div:
  case Code::Keep:
  case Code::Cos:
  case Code::Sin:
    return true;
  default:
    return false;
  }
}

namespace {

/// Something a nest does: a reduction, a temporary or an effect.
struct Item {
  Node *node = nullptr;
  Root *root = nullptr;
};

using NestKey = std::tuple<bool, unsigned, DimMask>; // row scope, level, axes

class Planner {
public:
  Planner(KernelGraph &graph, Space space, std::string *why)
      : g(graph), why(why) {
    plan.space = space;
    for (Root &root : g.roots)
      inPlace.insert(root.buffer);
  }

  FailureOr<KernelPlan> run() {
    while (addTemps())
      ;
    for (const Item &item : items())
      place(item);
    std::stable_sort(
        plan.nests.begin(), plan.nests.end(), [](const Nest &l, const Nest &r) {
          return std::make_tuple(!l.prologue, l.level, l.temps.empty()) <
                 std::make_tuple(!r.prologue, r.level, r.temps.empty());
        });
    if (failed(checkArrays()) || failed(checkInPlace()))
      return failure();
    return std::move(plan);
  }

private:
  std::vector<Item> items() {
    std::vector<Item> list;
    for (auto &node : g.nodes)
      if (plan.isMaterialised(node.get()))
        list.push_back({node.get(), nullptr});
    for (Root &root : g.roots)
      list.push_back({nullptr, &root});
    return list;
  }

  SmallVector<Node *, 2> sources(const Item &item) {
    if (item.root && item.root->row)
      return {item.root->value, item.root->row};
    if (item.root)
      return {item.root->value};
    return SmallVector<Node *, 2>(item.node->operands.begin(),
                                  item.node->operands.end());
  }

  DimMask allAxes(const Item &item) {
    if (item.node && item.node->kind == NodeKind::Reduce)
      return item.node->operands[0]->axes | item.node->reduced;
    if (item.node)
      return item.node->axes;
    DimMask mask = item.root->address.axes() | item.root->reduced;
    for (Node *source : sources(item))
      mask |= source->axes;
    return mask;
  }
  DimMask innerAxes(const Item &item) {
    return allAxes(item) & plan.space.inner;
  }
  bool isPrologue(const Item &item) {
    return plan.space.rows && !(allAxes(item) & plan.space.rows);
  }

  /// Calls `fn` on every node that `item` computes inline and `edge` on every
  /// materialised node that it reads.
  template <typename Fn, typename Edge>
  void walk(const Item &item, Fn fn, Edge edge) {
    llvm::DenseSet<Node *> seen;
    SmallVector<Node *> work(sources(item));
    while (!work.empty()) {
      Node *node = work.pop_back_val();
      if (!seen.insert(node).second)
        continue;
      if (plan.isMaterialised(node)) {
        edge(node);
        continue;
      }
      fn(node);
      llvm::append_range(work, node->operands);
    }
  }

  unsigned levelOf(const Item &item) {
    const void *key = item.node ? (const void *)item.node : item.root;
    auto it = levels.find(key);
    if (it != levels.end())
      return it->second;
    unsigned level = 0;
    walk(
        item, [](Node *) {},
        [&](Node *node) {
          Item source{node, nullptr};
          if (isPrologue(source) && !isPrologue(item))
            return;
          bool sameNest = node->kind != NodeKind::Reduce &&
                          innerAxes(source) == innerAxes(item);
          level = std::max(level, levelOf(source) + !sameNest);
        });
    return levels[key] = level;
  }

  /// Results that share what they read of a buffer updated in place are stored
  /// in one nest, that of the latest of them: then it can be updated.
  void chooseLevels() {
    levels.clear();
    bool changed = true;
    while (std::exchange(changed, false)) {
      std::map<std::tuple<Node *, bool, DimMask>, unsigned> latest;
      forEachSharedRead([&](Root &root, auto key) {
        unsigned &level = latest[key];
        level = std::max(level, levelOf({nullptr, &root}));
      });
      forEachSharedRead([&](Root &root, auto key) {
        changed |= levels[&root] < latest[key];
        levels[&root] = std::max(levels[&root], latest[key]);
      });
    }
  }
  template <typename Fn> void forEachSharedRead(Fn fn) {
    for (Root &root : g.roots) {
      Item item{nullptr, &root};
      walk(
          item,
          [&](Node *node) {
            if (node->kind == NodeKind::Load && inPlace.contains(node->buffer))
              fn(root, std::tuple(node, isPrologue(item), innerAxes(item)));
          },
          [](Node *) {});
    }
  }

  NestKey keyOf(const Item &item) {
    return {!isPrologue(item), levelOf(item), innerAxes(item)};
  }

  /// Makes temporaries of expensive values that several nests compute.
  bool addTemps() {
    chooseLevels();
    std::map<Node *, std::set<NestKey>> users;
    for (const Item &item : items())
      walk(
          item, [&](Node *node) { users[node].insert(keyOf(item)); },
          [](Node *) {});
    bool added = false;
    for (auto &node : g.nodes) {
      Node *n = node.get();
      bool mustRead = n->kind == NodeKind::Load && inPlace.contains(n->buffer);
      if (users[n].size() < 2 || !plan.innerAxes(n) ||
          !(isExpensive(n) || mustRead))
        continue;
      int64_t bytes = g.extentOf(plan.innerAxes(n)) * bytesOf(n->type);
      if (tempBytes + bytes > maxTempBytes)
        continue;
      tempBytes += bytes;
      plan.temps[n] = bytes;
      added = true;
    }
    return added;
  }

  void place(const Item &item) {
    bool isReduce = item.node && item.node->kind == NodeKind::Reduce;
    DimMask axes = innerAxes(item);
    Nest &nest = findNest(isPrologue(item), levelOf(item), axes,
                          isReduce ? item.node->reduced : 0, isReduce);
    if (item.root)
      nest.roots.push_back(item.root);
    else
      (isReduce ? nest.reduces : nest.temps).push_back(item.node);
  }

  Nest &findNest(bool prologue, unsigned level, DimMask axes, DimMask reduced,
                 bool isReduce) {
    for (Nest &nest : plan.nests) {
      if (nest.prologue != prologue || nest.level != level || nest.axes != axes)
        continue;
      if (!isReduce || nest.reduced == reduced)
        return nest;
      if (nest.reduces.empty()) {
        nest.reduced = reduced;
        return nest;
      }
    }
    plan.nests.push_back({prologue, level, axes, reduced, {}, {}, {}});
    return plan.nests.back();
  }

  /// Reductions that keep inner dimensions leave arrays on the stack.
  LogicalResult checkArrays() {
    int64_t bytes = 0;
    for (auto &node : g.nodes)
      if (node->kind == NodeKind::Reduce && plan.innerAxes(node.get()))
        bytes += g.extentOf(plan.innerAxes(node.get())) * bytesOf(node->type);
    if (bytes <= maxArrayBytes)
      return success();
    if (why)
      *why = "the reductions of a row need too much memory";
    return failure();
  }

  LogicalResult checkInPlace() {
    chooseLevels();
    std::map<Node *, std::set<NestKey>> users;
    for (const Item &item : items())
      walk(
          item, [&](Node *node) { users[node].insert(keyOf(item)); },
          [](Node *) {});
    for (auto &[node, keys] : users)
      if (node->kind == NodeKind::Load && inPlace.contains(node->buffer) &&
          keys.size() > 1) {
        if (why)
          *why = "a buffer updated in place is read by several loops";
        return failure();
      }
    return success();
  }

  KernelGraph &g;
  std::string *why;
  KernelPlan plan;
  llvm::DenseSet<unsigned> inPlace;
  std::map<const void *, unsigned> levels;
  int64_t tempBytes = 0;
};

} // namespace

FailureOr<KernelPlan> kernel::planKernel(KernelGraph &graph, Space space,
                                         std::string *why) {
  return Planner(graph, space, why).run();
}
