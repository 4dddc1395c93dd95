//===- StepPlan.cpp - where the tensors of a step live --------------------===//

#include "StepLayout.h"

using namespace mlir;
using namespace stretto;

//===----------------------------------------------------------------------===//
// PersistentMemory
//===----------------------------------------------------------------------===//

exec::SlotAttr PersistentMemory::slot(MLIRContext *context, StringRef binding,
                                      uint64_t bytes) {
  exec::SlotAttr &slot = slots[binding];
  if (!slot) {
    exec::Region region =
        binding.starts_with("param:")   ? exec::Region::Parameters
        : binding.starts_with("moment") ? exec::Region::Optimizer
                                        : exec::Region::State;
    uint64_t &next = used[unsigned(region)];
    slot = exec::SlotAttr::get(context, region, next, bytes, 0);
    next = exec::alignUp(next + bytes);
  }
  return slot;
}

//===----------------------------------------------------------------------===//
// StepPlan
//===----------------------------------------------------------------------===//

exec::SlotAttr StepPlan::slot(MLIRContext *context, unsigned index) const {
  const Storage &storage = storages[index];
  bool reused = exec::isTransient(storage.region);
  return exec::SlotAttr::get(context, storage.region, storage.offset,
                             storage.bytes, reused ? index + 1 : 0);
}

exec::SlotAttr StepPlan::scratchSlot(MLIRContext *context,
                                     unsigned storage) const {
  return exec::SlotAttr::get(context, exec::Region::Scratch,
                             storages[storage].offset, storages[storage].bytes,
                             0);
}

uint64_t StepPlan::mostAlive() const {
  uint64_t bytes = 0;
  for (unsigned i = 0; i < numRegions; ++i)
    if (exec::isTransient(exec::Region(i)))
      bytes += uses[i].live;
  return bytes;
}

SmallVector<Attribute> StepPlan::argumentSlots(MLIRContext *context,
                                               unsigned argument) const {
  SmallVector<Attribute> slots;
  for (unsigned storage : arguments[argument])
    slots.push_back(slot(context, storage));
  return slots;
}

static StringRef bindingOf(DictionaryAttr attrs) {
  auto binding = attrs ? attrs.getAs<StringAttr>(attr::binding) : StringAttr();
  return binding ? binding.getValue() : StringRef();
}

/// Names of what the next step finds where this one left it.
static bool isPersistent(StringRef binding) {
  return binding.starts_with("param:") || binding.starts_with("moment") ||
         binding.starts_with("state:");
}

namespace stretto {
class StepPlanner {
public:
  StepPlanner(StepOp step, const StepCalls &calls, const SegmentPlans &segments,
              PersistentMemory &persistent, StepPlan &plan)
      : step(step), calls(calls), segments(segments), persistent(persistent),
        plan(plan), storageOf(calls.values.size(), none) {}

  LogicalResult run() {
    for (unsigned i = 0; i < step.getArgumentTypes().size(); ++i)
      if (failed(addArgument(i)))
        return failure();
    plan.planned.emplace_back(); // the fill of all zeros
    for (const StepCall &call : calls.calls)
      visit(call);
    for (unsigned i = 0; i < calls.yields.size(); ++i)
      placeResult(i);
    for (unsigned storage : kept)
      plan.storages[storage].last = now();
    StepLayout(plan, segments, zeros, kept).run();
    return success();
  }

private:
  static constexpr unsigned none = ~0u;

  int64_t now() const { return plan.planned.size(); }

  unsigned newStorage(exec::Region region, uint64_t bytes) {
    Storage storage;
    storage.region = region;
    storage.bytes = bytes;
    storage.first = storage.last = now();
    plan.storages.push_back(storage);
    return plan.storages.size() - 1;
  }

  //===--------------------------------------------------------------------===//
  // Arguments
  //===--------------------------------------------------------------------===//

  LogicalResult addArgument(unsigned index) {
    StringRef binding = bindingOf(step.getArgAttrDict(index));
    auto type = cast<RankedTensorType>(step.getArgumentTypes()[index]);
    SmallVector<unsigned> &slots = plan.arguments.emplace_back();
    if (isPersistent(binding)) {
      exec::SlotAttr slot =
          persistent.slot(step.getContext(), binding, exec::tensorBytes(type));
      unsigned storage = newStorage(slot.getRegion(), slot.getBytes());
      plan.storages[storage].offset = slot.getOffset();
      plan.storages[storage].fixed = true;
      slots.push_back(storage);
      persistentStorage[binding] = storage;
      return success();
    }
    if (binding == "hyper") {
      slots.push_back(
          newStorage(exec::Region::Inputs, exec::tensorBytes(type)));
      return success();
    }
    if (!binding.starts_with("input:") || type.getRank() < 1)
      return step.emitOpError("argument ")
             << index << " is bound to '" << binding
             << "'; expected param:, moment, state:, input: (with a leading "
                "dimension of micro-batches) or hyper";
    int64_t count = type.getDimSize(0);
    for (int64_t k = 0; k < count; ++k)
      slots.push_back(
          newStorage(exec::Region::Inputs, exec::tensorBytes(type) / count));
    return success();
  }

  //===--------------------------------------------------------------------===//
  // Calls
  //===--------------------------------------------------------------------===//

  /// The storage of a value that is already defined; zeros get theirs here.
  unsigned storage(unsigned value) {
    if (storageOf[value] != none)
      return storageOf[value];
    const StepValue &about = calls.values[value];
    switch (about.kind) {
    case StepValue::Kind::Zeros: {
      unsigned index =
          newStorage(exec::Region::Gradients, exec::tensorBytes(about.type));
      zeros.push_back(index);
      plan.storages[index].first = 0; // all are made at once
      return storageOf[value] = index;
    }
    case StepValue::Kind::Argument:
      return storageOf[value] = plan.arguments[about.argument][0];
    case StepValue::Kind::InputSlice:
      return storageOf[value] = plan.arguments[about.argument][about.slice];
    case StepValue::Kind::Result:
      break;
    }
    llvm_unreachable("a result is placed where it is defined");
  }

  /// Whether the call may change the memory of its operand `value`.
  bool mayOverwrite(const StepCall &call, unsigned value) {
    int64_t time = &call - calls.calls.data();
    if (calls.values[value].lastUse > time ||
        llvm::count(call.operands, value) > 1)
      return false;
    const Storage &where = plan.storages[storage(value)];
    if (where.region == exec::Region::Inputs)
      return false;
    return !where.fixed || isReturned(storage(value));
  }

  /// Whether the step's result of the same name replaces this parameter.
  bool isReturned(unsigned storage) {
    for (unsigned i = 0; i < calls.yields.size(); ++i) {
      auto found = persistentStorage.find(bindingOf(step.getResultAttrDict(i)));
      if (found != persistentStorage.end() && found->second == storage)
        return true;
    }
    return false;
  }

  unsigned copied(unsigned from, exec::Region region) {
    unsigned to = newStorage(region, plan.storages[from].bytes);
    add({nullptr, {from, to}, std::nullopt, 0, {}});
    return to;
  }

  void add(PlannedCall call) {
    for (unsigned storage : call.storages)
      plan.storages[storage].last = now();
    plan.planned.push_back(std::move(call));
  }

  static exec::Region regionFor(SegmentOp segment, unsigned result) {
    auto role = segment.getResultAttrOfType<StringAttr>(result, attr::role);
    StringRef name = role ? role.getValue() : StringRef();
    if (name == "accumulator" || name == "grad")
      return exec::Region::Gradients;
    // Copies of parameters, and gradients on their way to be reduced.
    return name == "param" || name == "term" ? exec::Region::Working
                                             : exec::Region::Activations;
  }

  /// Whether the call only says that a storage is another value from now on.
  bool isEmpty(const StepCall &call) {
    if (!segments.find(call.segment)->second.isEmpty(call.segment))
      return false;
    const ResultPlacement &placement =
        segments.find(call.segment)->second.placement();
    return llvm::all_of(placement.argument, [&](unsigned argument) {
      return argument < call.operands.size() &&
             mayOverwrite(call, call.operands[argument]);
    });
  }

  void visit(const StepCall &call) {
    const ResultPlacement &placement =
        segments.find(call.segment)->second.placement();
    PlannedCall planned;
    planned.call = &call;
    for (unsigned operand : call.operands)
      planned.storages.push_back(storage(operand));
    if (isEmpty(call)) {
      for (auto [i, result] : llvm::enumerate(call.results))
        storageOf[result] = planned.storages[placement.argument[i]];
      plannedOf.push_back(now());
      return;
    }
    planned.storages.resize(placement.numArguments, none);
    for (unsigned i = 0; i < call.results.size(); ++i) {
      unsigned argument = placement.argument[i];
      if (placement.updatesOperand[i] &&
          !mayOverwrite(call, call.operands[argument]))
        planned.storages[argument] =
            copied(planned.storages[argument], regionFor(call.segment, i));
    }
    for (auto [i, result] : llvm::enumerate(call.results)) {
      unsigned &place = planned.storages[placement.argument[i]];
      if (place == none)
        place = newStorage(regionFor(call.segment, i),
                           exec::tensorBytes(calls.values[result].type));
      storageOf[result] = place;
    }
    planned.stream = call.stream;
    for (unsigned other : call.after)
      planned.after.push_back(plannedOf[other]);
    if (uint64_t bytes = segments.find(call.segment)->second.scratchBytes())
      planned.scratch = newStorage(exec::Region::Scratch, bytes);
    plannedOf.push_back(now());
    add(std::move(planned));
  }

  //===--------------------------------------------------------------------===//
  // Results
  //===--------------------------------------------------------------------===//

  void placeResult(unsigned index) {
    StringRef binding = bindingOf(step.getResultAttrDict(index));
    unsigned where = storage(calls.yields[index]);
    auto found = persistentStorage.find(binding);
    if (found != persistentStorage.end()) {
      if (found->second != where)
        add({nullptr, {where, found->second}, std::nullopt, 0, {}});
      where = found->second;
    } else {
      exec::Region region = binding.starts_with("grad:")
                                ? exec::Region::Gradients
                                : exec::Region::Outputs;
      if (plan.storages[where].fixed ||
          plan.storages[where].region == exec::Region::Inputs)
        where = copied(where, region);
      else if (plan.storages[where].region == exec::Region::Activations)
        plan.storages[where].region = region;
      kept.push_back(where);
    }
    plan.results.push_back(where);
  }

  StepOp step;
  const StepCalls &calls;
  const SegmentPlans &segments;
  PersistentMemory &persistent;
  StepPlan &plan;
  SmallVector<unsigned> storageOf; // by value
  SmallVector<unsigned> zeros, kept;
  SmallVector<unsigned> plannedOf;             // by call
  llvm::StringMap<unsigned> persistentStorage; // by binding
};
} // namespace stretto

FailureOr<StepPlan> StepPlan::make(StepOp step, const StepCalls &calls,
                                   const SegmentPlans &segments,
                                   PersistentMemory &persistent) {
  StepPlan plan;
  if (failed(StepPlanner(step, calls, segments, persistent, plan).run()))
    return failure();
  return plan;
}
