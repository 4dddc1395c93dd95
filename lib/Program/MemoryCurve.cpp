//===- MemoryCurve.cpp - what is alive when -------------------------------===//

#include "stretto/Program/MemoryCurve.h"

#include "ProgramWalk.h"
#include "stretto/Dialect/Program/IR/ProgramDialect.h"
#include "llvm/ADT/STLExtras.h"

#include <map>
#include <numeric>

using namespace stretto;
using program::Region;

uint64_t MemoryMoment::total() const {
  return std::accumulate(bytes.begin(), bytes.end(), uint64_t(0));
}

static bool isResting(Region region) {
  return region == Region::Parameters || region == Region::Optimizer ||
         region == Region::State;
}

namespace {

/// Disjoint ranges of bytes of one region.
class ByteSet {
public:
  void insert(ByteRange range) {
    range = cut(range, /*grow=*/true);
    if (range.begin < range.end)
      ends[range.begin] = range.end;
  }
  void erase(ByteRange range) { cut(range, /*grow=*/false); }
  uint64_t size() const {
    uint64_t sum = 0;
    for (auto [begin, end] : ends)
      sum += end - begin;
    return sum;
  }

private:
  /// Takes out what overlaps or touches `range`. Grown by that it is returned;
  /// or what lies beyond it goes back.
  ByteRange cut(ByteRange range, bool grow) {
    ByteRange whole = range;
    auto it = ends.upper_bound(range.begin);
    if (it != ends.begin() && std::prev(it)->second >= range.begin)
      --it;
    while (it != ends.end() && it->first <= range.end) {
      whole.begin = std::min(whole.begin, it->first);
      whole.end = std::max(whole.end, it->second);
      it = ends.erase(it);
    }
    if (grow)
      return whole;
    if (whole.begin < range.begin)
      ends[whole.begin] = range.begin;
    if (range.end < whole.end)
      ends[range.end] = whole.end;
    return range;
  }

  std::map<uint64_t, uint64_t> ends; // by begin
};

/// Whether nothing that a call passed as this argument is ever read: the first
/// command that touches it writes all of it.
bool isOverwritten(const program::Segment &segment, unsigned argument) {
  uint64_t bytes = segment.arguments()->Get(argument)->bytes();
  for (const program::Command *command : all(segment.commands()))
    for (const program::Operand *operand : all(command->operands()))
      if (operand->space() == program::Space::Argument &&
          operand->index() == argument)
        return !reads(operand->access()) && operand->offset() == 0 &&
               operand->bytes() == bytes;
  return false;
}

/// Goes through the calls backwards with the bytes that are still read.
class Curve {
public:
  Curve(const runtime::Program &program, const program::Function &function)
      : program(program), function(function), moments(count(function.calls())) {
  }

  std::vector<MemoryMoment> run();

private:
  void visit(const program::Call &call, MemoryMoment &moment);

  const runtime::Program &program;
  const program::Function &function;
  std::vector<MemoryMoment> moments;
  std::array<ByteSet, runtime::numRegions> alive;
};

} // namespace

void Curve::visit(const program::Call &call, MemoryMoment &moment) {
  const program::Segment &segment = segmentOf(program.table(), call);
  moment.segment = text(segment.name()).str();
  moment.instance = text(call.instance()).str();
  moment.microbatch = call.microbatch();
  // While it runs, all that it touches is there.
  for (const program::Slot *slot : all(call.arguments()))
    alive[size_t(slot->region())].insert(rangeOf(*slot).bytes);
  for (size_t region = 0; region < runtime::numRegions; ++region)
    moment.bytes[region] = isResting(Region(region))
                               ? program.regionBytes(Region(region))
                               : alive[region].size();
  moment.bytes[size_t(Region::Scratch)] = segment.scratch_bytes();
  // Before it, what it overwrites is not.
  for (auto [index, slot] : llvm::enumerate(all(call.arguments())))
    if (isOverwritten(segment, index))
      alive[size_t(slot->region())].erase(rangeOf(*slot).bytes);
}

std::vector<MemoryMoment> Curve::run() {
  for (const program::Binding *binding : all(function.outputs()))
    for (const program::Slot *slot : all(binding->slots()))
      alive[size_t(slot->region())].insert(rangeOf(*slot).bytes);
  if (text(function.name()) == "train") // the host may read gradients
    for (const program::Parameter *parameter :
         all(program.table().parameters()))
      if (const program::Slot *slot = parameter->gradient())
        alive[size_t(slot->region())].insert(rangeOf(*slot).bytes);
  for (size_t index = moments.size(); index-- > 0;)
    visit(*function.calls()->Get(index), moments[index]);
  return std::move(moments);
}

std::vector<MemoryMoment>
stretto::memoryCurve(const runtime::Program &program,
                     const program::Function &function) {
  return Curve(program, function).run();
}

const MemoryMoment &stretto::peakOf(llvm::ArrayRef<MemoryMoment> curve) {
  return *llvm::max_element(curve,
                            [](const MemoryMoment &a, const MemoryMoment &b) {
                              return a.total() < b.total();
                            });
}

llvm::json::Value stretto::toJson(llvm::ArrayRef<MemoryMoment> curve) {
  llvm::json::Array list;
  for (const MemoryMoment &moment : curve) {
    llvm::json::Object bytes;
    for (size_t region = 0; region < runtime::numRegions; ++region)
      bytes[exec::stringifyRegion(exec::Region(region))] =
          int64_t(moment.bytes[region]);
    list.push_back(llvm::json::Object{{"segment", moment.segment},
                                      {"instance", moment.instance},
                                      {"microbatch", moment.microbatch},
                                      {"bytes", std::move(bytes)}});
  }
  return list;
}
