//===- StepLayout.cpp - offsets and waits of a step -----------------------===//

#include "StepLayout.h"

#include <limits>

using namespace mlir;
using namespace stretto;

unsigned StepLayout::numStreams(const StepPlan &plan) {
  unsigned streams = 1;
  for (const PlannedCall &call : plan.planned)
    streams = std::max(streams, call.stream + 1);
  return streams;
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

void StepLayout::forEachAccess(
    const PlannedCall &call,
    llvm::function_ref<void(unsigned, bool, bool)> visit) const {
  if (!call.call) {
    bool isCopy = call.storages.size() == 2;
    if (isCopy)
      visit(call.storages[0], true, false);
    if (isCopy)
      visit(call.storages[1], false, true);
    return;
  }
  const ResultPlacement &placement =
      segments.find(call.call->segment)->second.placement();
  SmallVector<bool> written(call.storages.size());
  for (unsigned argument : placement.argument)
    written[argument] = true;
  for (auto [argument, storage] : llvm::enumerate(call.storages))
    visit(storage, argument < call.call->operands.size(), written[argument]);
  if (call.scratch)
    visit(*call.scratch, false, true);
}

/// A call comes after those that wrote what it reads, and after those that read
/// or wrote what it writes.
void StepLayout::orderCall(PlannedCall &call) {
  SmallVector<unsigned> needed(call.after.begin(), call.after.end());
  forEachAccess(call, [&](unsigned storage, bool, bool writes) {
    const History &history = histories[storage];
    if (history.writer)
      needed.push_back(*history.writer);
    if (writes)
      llvm::append_range(needed, history.readers);
  });
  unsigned number = order.add(call.stream, needed);
  llvm::ArrayRef<unsigned> waits = order.waitsOf(number);
  call.after.assign(waits.begin(), waits.end());
  forEachAccess(call, [&](unsigned storage, bool reads, bool writes) {
    History &history = histories[storage];
    if (writes)
      history = {number, {}};
    else if (reads)
      history.readers.push_back(number);
    std::optional<Span> &span = spans[storage];
    if (span)
      order.extend(*span, number);
    else
      span = order.spanOf(number);
  });
}

void StepLayout::orderCalls() {
  unsigned fill = order.add(0, {});
  for (unsigned storage : zeros) {
    histories[storage].writer = fill;
    spans[storage] = order.spanOf(fill);
  }
  for (PlannedCall &call : llvm::drop_begin(plan.planned))
    orderCall(call);
}

//===----------------------------------------------------------------------===//
// Offsets
//===----------------------------------------------------------------------===//

/// Zeros lie side by side, so that one fill makes them all.
void StepLayout::placeZeros() {
  uint64_t bytes = 0;
  for (unsigned index : zeros) {
    plan.storages[index].offset = bytes;
    bytes = exec::alignUp(bytes + plan.storages[index].bytes);
  }
  if (bytes == 0)
    return;
  Storage all;
  all.region = exec::Region::Gradients;
  all.bytes = bytes;
  all.fixed = true;
  plan.storages.push_back(all);
  plan.planned[0].storages = {unsigned(plan.storages.size() - 1)};
}

void StepLayout::placeInSequence(exec::Region region) {
  uint64_t bytes = 0;
  for (Storage &storage : plan.storages) {
    if (storage.region != region || storage.fixed)
      continue;
    storage.offset = bytes;
    bytes = exec::alignUp(bytes + storage.bytes);
  }
  plan.uses[unsigned(region)] = {bytes, bytes};
}

void StepLayout::placeTransient() {
  llvm::BitVector isZero(plan.storages.size()), isKept(plan.storages.size());
  for (unsigned storage : zeros)
    isZero.set(storage);
  for (unsigned storage : kept)
    isKept.set(storage);
  SmallVector<Tenancy> tenancies;
  SmallVector<unsigned> packed;
  for (auto [index, storage] : llvm::enumerate(plan.storages)) {
    if (!exec::isTransient(storage.region) || storage.fixed)
      continue;
    Tenancy tenancy{spans[index] ? *spans[index] : order.spanOf(0),
                    storage.bytes, std::nullopt};
    if (isZero.test(index))
      tenancy.offset = storage.offset;
    if (isKept.test(index))
      tenancy.span.end.assign(order.numStreams(),
                              std::numeric_limits<unsigned>::max());
    tenancies.push_back(std::move(tenancy));
    packed.push_back(index);
  }
  Packing packing = pack(tenancies, exec::bufferAlignment);
  for (auto [index, offset] : llvm::zip(packed, packing.offsets)) {
    Storage &storage = plan.storages[index];
    storage.offset = offset;
    uint64_t &bytes = plan.uses[unsigned(storage.region)].bytes;
    bytes = std::max(bytes, exec::alignUp(offset + storage.bytes));
  }
}

/// What is alive of every transient region when most of all is.
void StepLayout::countLive() {
  struct Change {
    int64_t time;
    int64_t bytes;
    unsigned region;
  };
  std::vector<Change> changes;
  for (const Storage &storage : plan.storages) {
    if (!exec::isTransient(storage.region) || storage.fixed)
      continue;
    int64_t bytes = exec::alignUp(storage.bytes);
    changes.push_back({storage.first, bytes, unsigned(storage.region)});
    changes.push_back({storage.last + 1, -bytes, unsigned(storage.region)});
  }
  llvm::sort(changes, [](const Change &lhs, const Change &rhs) {
    return std::pair(lhs.time, lhs.bytes) < std::pair(rhs.time, rhs.bytes);
  });
  int64_t alive[numRegions] = {}, total = 0, most = 0;
  for (const Change &change : changes) {
    alive[change.region] += change.bytes;
    total += change.bytes;
    if (total <= most)
      continue;
    most = total;
    for (unsigned i = 0; i < numRegions; ++i)
      if (exec::isTransient(exec::Region(i)))
        plan.uses[i].live = alive[i];
  }
}

void StepLayout::run() {
  orderCalls();
  placeZeros();
  placeInSequence(exec::Region::Inputs);
  placeInSequence(exec::Region::Outputs);
  placeTransient();
  countLive();
}
