//===- Shrink.cpp - the smallest graph that still fails -------------------===//

#include "stretto/Fuzz/Shrink.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace stretto;
using namespace stretto::fuzz;

static ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

/// A constraint that asks for nothing.
static ConstraintAttr openConstraint(Value value) {
  std::string text = "[";
  for (size_t d = 0; d < shapeOf(value).size(); ++d)
    text += d ? ", {}" : "{}";
  return parseConstraint(*value.getContext(), text + "]");
}

/// The constraint with only those axes that `keep` accepts.
static ConstraintAttr filterAxes(ConstraintAttr constraint,
                                 function_ref<bool(unsigned, StringRef)> keep) {
  std::string text = "[";
  llvm::raw_string_ostream os(text);
  llvm::interleaveComma(llvm::seq(0u, constraint.getRank()), os,
                        [&](unsigned dim) {
                          os << "{";
                          SmallVector<StringRef> kept;
                          for (StringAttr axis : constraint.getDimAxes(dim))
                            if (keep(dim, axis.getValue()))
                              kept.push_back(axis.getValue());
                          llvm::interleaveComma(kept, os, [&](StringRef name) {
                            os << '"' << name << '"';
                          });
                          os << "}";
                          if (!kept.empty() && constraint.getPriorities()[dim])
                            os << "p" << constraint.getPriorities()[dim];
                        });
  os << "]";
  return parseConstraint(*constraint.getContext(), text);
}

//===----------------------------------------------------------------------===//
// Edits: each changes a graph in place at its nth place; false past the last.
//===----------------------------------------------------------------------===//

using Edit = bool (*)(SegmentOp graph, unsigned place);

static Operation *operationAt(SegmentOp graph, unsigned place) {
  Block &body = graph.getBody().front();
  unsigned count = llvm::range_size(body) - 1;
  // From the end: what is cut there makes more of the rest dead.
  return place < count ? &*std::prev(body.end(), place + 2) : nullptr;
}

static bool joinSegments(SegmentOp graph, unsigned place) {
  return place == 0 && graph->getParentOp()->removeAttr(splitAttr);
}

static bool dropResult(SegmentOp graph, unsigned place) {
  SmallVector<Result> results = getResults(graph);
  if (place >= results.size() || results.size() == 1)
    return false;
  results.erase(results.begin() + place);
  setResults(graph, results);
  return true;
}

/// What an operation reads becomes the result instead of what it makes.
static bool retreatResult(SegmentOp graph, unsigned place) {
  SmallVector<Result> results = getResults(graph);
  for (Result &result : results) {
    Operation *op = result.value.getDefiningOp();
    for (Value operand : op ? op->getOperands() : ValueRange()) {
      if (place-- != 0)
        continue;
      if (shapeOf(operand).size() != shapeOf(result.value).size())
        result.constraint = openConstraint(operand);
      result.value = operand;
      setResults(graph, results);
      return true;
    }
  }
  return false;
}

/// An operation's result becomes an argument.
static bool cutOperation(SegmentOp graph, unsigned place) {
  Operation *op = operationAt(graph, place);
  if (!op)
    return false;
  for (Value result : op->getResults()) {
    if (result.use_empty())
      continue;
    Value argument =
        addArgument(graph, cast<RankedTensorType>(result.getType()),
                    openConstraint(result));
    result.replaceAllUsesWith(argument);
  }
  return true;
}

/// An operation's result becomes an operand of the same type.
static bool bypassOperation(SegmentOp graph, unsigned place) {
  Operation *op = operationAt(graph, place);
  if (!op)
    return false;
  for (Value result : op->getResults())
    for (Value operand : op->getOperands())
      if (operand.getType() == result.getType()) {
        result.replaceAllUsesWith(operand);
        break;
      }
  return true;
}

/// The padding of a result may be anything.
static bool relaxResult(SegmentOp graph, unsigned place) {
  SmallVector<Result> results = getResults(graph);
  if (place >= results.size())
    return false;
  results[place].zeroPadding = false;
  setResults(graph, results);
  return true;
}

/// Removes one axis from one dimension of one constraint.
static bool dropConstraintAxis(SegmentOp graph, unsigned place) {
  auto visit = [&](ConstraintAttr constraint,
                   function_ref<void(ConstraintAttr)> set) {
    for (unsigned dim = 0; constraint && dim < constraint.getRank(); ++dim)
      for (StringAttr axis : constraint.getDimAxes(dim)) {
        if (place-- != 0)
          continue;
        set(filterAxes(constraint, [&](unsigned d, StringRef name) {
          return d != dim || name != axis.getValue();
        }));
        return true;
      }
    return false;
  };
  for (unsigned i = 0; i < graph.getNumArguments(); ++i)
    if (visit(graph.getArgAttrOfType<ConstraintAttr>(i, "stretto.constraint"),
              [&](ConstraintAttr c) {
                graph.setArgAttr(i, "stretto.constraint", c);
              }))
      return true;
  for (unsigned i = 0; i < graph.getNumResults(); ++i)
    if (visit(
            graph.getResultAttrOfType<ConstraintAttr>(i, "stretto.constraint"),
            [&](ConstraintAttr c) {
              graph.setResultAttr(i, "stretto.constraint", c);
            }))
      return true;
  return false;
}

/// Removes an axis of the mesh (first places), or makes one smaller.
static bool shrinkMesh(SegmentOp graph, unsigned place) {
  auto mesh = graph->getParentOp()->getAttrOfType<MeshAttr>("stretto.mesh");
  unsigned axis = place % mesh.getNumAxes(), how = place / mesh.getNumAxes();
  if (how > 2)
    return false;
  SmallVector<StringAttr> names(mesh.getNames());
  SmallVector<int64_t> sizes(mesh.getSizes());
  StringRef gone = names[axis].getValue();
  if (how == 0 && names.size() == 1)
    return true; // tried, and nothing to see
  if (how == 0) {
    names.erase(names.begin() + axis);
    sizes.erase(sizes.begin() + axis);
  } else if (sizes[axis] > (how == 1 ? 2 : 3)) {
    sizes[axis] = how == 1 ? 2 : sizes[axis] - 1;
  } else {
    return true;
  }
  auto isKept = [&](unsigned, StringRef name) {
    return how ? !name.starts_with((gone + ":").str())
               : name.split(':').first != gone;
  };
  for (unsigned i = 0; i < graph.getNumArguments(); ++i)
    if (auto c =
            graph.getArgAttrOfType<ConstraintAttr>(i, "stretto.constraint"))
      graph.setArgAttr(i, "stretto.constraint", filterAxes(c, isKept));
  for (unsigned i = 0; i < graph.getNumResults(); ++i)
    if (auto c =
            graph.getResultAttrOfType<ConstraintAttr>(i, "stretto.constraint"))
      graph.setResultAttr(i, "stretto.constraint", filterAxes(c, isKept));
  graph->getParentOp()->setAttr(
      "stretto.mesh", MeshAttr::get(graph.getContext(), names, sizes));
  return true;
}

/// Every extent of this value becomes another; the graph is built again.
static bool resize(SegmentOp graph, int64_t from, int64_t to) {
  auto mapped = [&](Type type) -> Type {
    auto tensor = cast<RankedTensorType>(type);
    SmallVector<int64_t> shape(tensor.getShape());
    llvm::replace(shape, from, to);
    return RankedTensorType::get(shape, tensor.getElementType());
  };
  Block &body = graph.getBody().front();
  for (BlockArgument argument : body.getArguments())
    argument.setType(mapped(argument.getType()));
  for (Operation &op : llvm::make_early_inc_range(body.without_terminator())) {
    OpBuilder builder(&op);
    SmallVector<Type> types;
    if (!isa<InferTypeOpInterface>(op))
      for (Type type : op.getResultTypes())
        types.push_back(mapped(type));
    Operation *made =
        tryCreate(builder, op.getName().getStringRef(), op.getOperands(),
                  op.getAttrs(), op.getNumResults(), types);
    if (!made)
      return false;
    op.replaceAllUsesWith(made);
    op.erase();
  }
  setResults(graph, getResults(graph));
  return true;
}

static bool shrinkExtent(SegmentOp graph, unsigned place) {
  llvm::SmallSetVector<int64_t, 8> extents;
  for (Type type : graph.getArgumentTypes())
    for (int64_t extent : cast<RankedTensorType>(type).getShape())
      if (extent > 1)
        extents.insert(extent);
  unsigned index = place / 3;
  if (index >= extents.size())
    return false;
  int64_t from = extents[index];
  int64_t to = place % 3 == 0 ? 1 : place % 3 == 1 ? 2 : from - 1;
  if (to < from && !resize(graph, from, to))
    removeDeadCode(graph); // half rebuilt: will not verify, or be refused
  return true;
}

//===----------------------------------------------------------------------===//
// The search
//===----------------------------------------------------------------------===//

namespace {
class Shrinker {
public:
  Shrinker(ModuleOp graph, function_ref<bool(ModuleOp)> stillFails, int budget)
      : best(cast<ModuleOp>(graph->clone())), stillFails(stillFails),
        budget(budget) {}

  OwningOpRef<ModuleOp> run() {
    static constexpr Edit edits[] = {
        joinSegments,  dropResult,         cutOperation,
        retreatResult, bypassOperation,    relaxResult,
        shrinkMesh,    dropConstraintAxis, shrinkExtent};
    for (bool progress = true; progress;) {
      progress = false;
      for (Edit edit : edits)
        while (improve(edit))
          progress = true;
    }
    return std::move(best);
  }

private:
  /// Takes the first place where `edit` gives a graph that still fails.
  bool improve(Edit edit) {
    ScopedDiagnosticHandler silence(best->getContext(),
                                    [](Diagnostic &) { return success(); });
    for (unsigned place = 0; budget > 0; ++place) {
      OwningOpRef<ModuleOp> candidate = cast<ModuleOp>((*best)->clone());
      SegmentOp graph = getGraph(*candidate);
      if (!edit(graph, place))
        return false;
      removeDeadCode(graph);
      if (text(*candidate) == text(*best) || failed(verify(*candidate)))
        continue;
      --budget;
      if (stillFails(*candidate)) {
        best = std::move(candidate);
        return true;
      }
    }
    return false;
  }

  static std::string text(ModuleOp module) {
    std::string result;
    llvm::raw_string_ostream os(result);
    module.print(os);
    return result;
  }

  OwningOpRef<ModuleOp> best;
  function_ref<bool(ModuleOp)> stillFails;
  int budget;
};
} // namespace

OwningOpRef<ModuleOp> fuzz::shrink(ModuleOp graph,
                                   function_ref<bool(ModuleOp)> stillFails,
                                   int budget) {
  return Shrinker(graph, stillFails, budget).run();
}
