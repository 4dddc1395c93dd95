//===- StepPlan.h - where the tensors of a step live ------------*- C++ -*-===//
//
// Gives every value of an unrolled step a storage in a region, and every
// storage an offset, and every call the calls on other streams that it waits
// for. What crosses steps (parameters, moments) has one place for all
// functions; the rest of a function's memory is its own until it ends, and
// functions use the same bytes one after another.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_TRANSFORMS_MEMORY_STEPPLAN_H
#define STRETTO_TRANSFORMS_MEMORY_STEPPLAN_H

#include "SegmentPlan.h"
#include "StepCalls.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"
#include <optional>

namespace stretto {

using SegmentPlans = llvm::DenseMap<SegmentOp, SegmentPlan>;

/// Bytes of a region and the least any placement needs of it.
struct RegionUse {
  uint64_t bytes = 0, live = 0;

  void fit(RegionUse other) {
    bytes = std::max(bytes, other.bytes);
    live = std::max(live, other.live);
  }
};

constexpr unsigned numRegions = 9;

/// Memory that functions share: "param:NAME" and "moment1:NAME" by binding.
class PersistentMemory {
public:
  exec::SlotAttr slot(mlir::MLIRContext *context, llvm::StringRef binding,
                      uint64_t bytes);
  /// Null when no function has that binding.
  exec::SlotAttr lookup(llvm::StringRef binding) const {
    return slots.lookup(binding);
  }
  uint64_t bytes(exec::Region region) const { return used[unsigned(region)]; }

private:
  llvm::StringMap<exec::SlotAttr> slots;
  uint64_t used[numRegions] = {};
};

/// A call with memory: of a segment, or (segment null) a fill of one slot or a
/// copy between two.
struct PlannedCall {
  const StepCall *call = nullptr;
  llvm::SmallVector<unsigned> storages;
  std::optional<unsigned> scratch; ///< a storage
  unsigned stream = 0;
  llvm::SmallVector<unsigned, 1> after; ///< planned calls on other streams
};

struct Storage {
  exec::Region region = exec::Region::Activations;
  uint64_t bytes = 0;
  uint64_t offset = 0;
  int64_t first = 0, last = 0; ///< planned calls; the end = their number
  bool fixed = false;          ///< has its offset from elsewhere
};

class StepPlan {
public:
  static mlir::FailureOr<StepPlan> make(StepOp step, const StepCalls &calls,
                                        const SegmentPlans &segments,
                                        PersistentMemory &persistent);

  llvm::ArrayRef<PlannedCall> calls() const { return planned; }
  exec::SlotAttr slot(mlir::MLIRContext *context, unsigned storage) const;
  /// Slots of the step's argument: one, or one per micro-batch of an input.
  llvm::SmallVector<mlir::Attribute> argumentSlots(mlir::MLIRContext *context,
                                                   unsigned argument) const;
  exec::SlotAttr resultSlot(mlir::MLIRContext *context, unsigned result) const {
    return slot(context, results[result]);
  }
  exec::SlotAttr scratchSlot(mlir::MLIRContext *context,
                             unsigned storage) const;
  RegionUse use(exec::Region region) const { return uses[unsigned(region)]; }
  /// Bytes alive in the regions that share a range, when most are.
  uint64_t mostAlive() const;

private:
  friend class StepPlanner;
  friend class StepLayout;
  llvm::SmallVector<Storage> storages;
  llvm::SmallVector<PlannedCall> planned;
  llvm::SmallVector<llvm::SmallVector<unsigned>> arguments; // storages
  llvm::SmallVector<unsigned> results;                      // storages
  RegionUse uses[numRegions];
};

} // namespace stretto

#endif // STRETTO_TRANSFORMS_MEMORY_STEPPLAN_H
