//===- RestingSearch.cpp - gather and reduce as memory allows -------------===//

#include "RestingSearch.h"
#include "stretto/Dialect/Stretto/IR/StrettoOps.h"

#include <optional>
#include <tuple>

using namespace mlir;
using namespace stretto;
using namespace stretto::driver;

namespace {

/// An entry of some `stretto.rest` that the plan left open.
struct Open {
  LayerOp layer;
  unsigned argument;
  StringRef entry; // "gather" or "reduce"
};

struct Combination {
  StringRef gather, reduce;
};

} // namespace

/// `what` is there to be moved, and `entry` does not say when.
static bool isOpen(DictionaryAttr rest, StringRef entry, StringRef what) {
  auto word = rest.getAs<StringAttr>(entry);
  return word && word.getValue() == "auto" && rest.get(what);
}

static std::vector<Open> findOpen(ModuleOp applied) {
  std::vector<Open> open;
  for (auto layer : applied.getOps<LayerOp>())
    for (unsigned i = 0; i < layer.getNumArguments(); ++i) {
      auto rest = layer.getArgAttrOfType<DictionaryAttr>(i, attr::rest);
      if (rest && isOpen(rest, "gather", "params"))
        open.push_back({layer, i, "gather"});
      if (rest && isOpen(rest, "reduce", "grads"))
        open.push_back({layer, i, "reduce"});
    }
  return open;
}

static void settle(ArrayRef<Open> open, Combination choice) {
  for (Open entry : open) {
    MLIRContext *context = entry.layer.getContext();
    NamedAttrList entries(entry.layer.getArgAttrOfType<DictionaryAttr>(
        entry.argument, attr::rest));
    StringRef word = entry.entry == "gather" ? choice.gather : choice.reduce;
    entries.set(entry.entry, StringAttr::get(context, word));
    entry.layer.setArgAttr(entry.argument, attr::rest,
                           entries.getDictionary(context));
  }
}

static std::vector<Combination> combinationsOf(ArrayRef<Open> open) {
  auto has = [&](StringRef name) {
    return llvm::any_of(open, [&](const Open &o) { return o.entry == name; });
  };
  SmallVector<StringRef> gathers = {"step"}, reductions = {"step"};
  if (has("gather"))
    gathers.append({"microbatch", "pass"});
  if (has("reduce"))
    reductions.push_back("microbatch");
  std::vector<Combination> all;
  for (StringRef gather : gathers)
    for (StringRef reduce : reductions)
      all.push_back({gather, reduce});
  return all;
}

LogicalResult driver::settleResting(ModuleOp applied, uint64_t limit,
                                    RestingCostOf costOf) {
  std::vector<Open> open = findOpen(applied);
  if (open.empty())
    return success();
  // What fits comes before what does not; then what sends, or holds, less.
  using Rank = std::tuple<bool, uint64_t, uint64_t>;
  std::optional<Rank> bestRank;
  Combination best = {"pass", "microbatch"};
  for (Combination combination : combinationsOf(open)) {
    settle(open, combination);
    FailureOr<RestingCost> cost = costOf(applied);
    if (failed(cost)) {
      settle(open, {"auto", "auto"});
      return failure();
    }
    bool fits = cost->arenaBytes <= limit;
    Rank rank{!fits, fits ? cost->sentBytes : cost->arenaBytes,
              fits ? cost->arenaBytes : cost->sentBytes};
    if (!bestRank || rank < *bestRank) {
      bestRank = rank;
      best = combination;
    }
  }
  settle(open, best);
  return success();
}
