//===- RestingSearch.cpp - gather and reduce as memory allows -------------===//

#include "RestingSearch.h"

using namespace mlir;
using namespace stretto;
using namespace stretto::driver;

/// `what` is there to be moved, and `entry` does not say when.
static bool isOpen(DictionaryAttr rest, StringRef entry, StringRef what) {
  auto word = rest.getAs<StringAttr>(entry);
  return word && word.getValue() == "auto" && rest.get(what);
}

OpenResting::OpenResting(ModuleOp applied) {
  for (auto layer : applied.getOps<LayerOp>())
    for (unsigned i = 0; i < layer.getNumArguments(); ++i) {
      auto rest = layer.getArgAttrOfType<DictionaryAttr>(i, attr::rest);
      if (rest && isOpen(rest, "gather", "params"))
        open.push_back({layer, i, "gather"});
      if (rest && isOpen(rest, "reduce", "grads"))
        open.push_back({layer, i, "reduce"});
    }
  auto has = [&](StringRef name) {
    return llvm::any_of(open, [&](const Entry &e) { return e.name == name; });
  };
  SmallVector<StringRef> gathers = {"step"}, reductions = {"step"};
  if (has("gather"))
    gathers.append({"microbatch", "pass"});
  if (has("reduce"))
    reductions.push_back("microbatch");
  for (StringRef gather : gathers)
    for (StringRef reduce : reductions)
      combinations.push_back({gather, reduce});
}

void OpenResting::settle(StringRef gather, StringRef reduce) const {
  for (Entry entry : open) {
    MLIRContext *context = entry.layer.getContext();
    NamedAttrList entries(entry.layer.getArgAttrOfType<DictionaryAttr>(
        entry.argument, attr::rest));
    StringRef word = entry.name == "gather" ? gather : reduce;
    entries.set(entry.name, StringAttr::get(context, word));
    entry.layer.setArgAttr(entry.argument, attr::rest,
                           entries.getDictionary(context));
  }
}

void OpenResting::take(unsigned combination) const {
  settle(combinations[combination].first, combinations[combination].second);
}
