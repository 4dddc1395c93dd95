//===- DataFlow.cpp - what a Program computes, as expressions -------------===//

#include "stretto/Dialect/Program/IR/DataFlow.h"

#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace stretto;
using namespace stretto::exec;

//===----------------------------------------------------------------------===//
// Names of expressions
//===----------------------------------------------------------------------===//

static uint64_t hashOf(StringRef text) { return llvm::xxh3_64bits(text); }

static uint64_t hashOf(ArrayRef<uint64_t> words) {
  return llvm::xxh3_64bits(
      ArrayRef(reinterpret_cast<const uint8_t *>(words.data()),
               words.size() * sizeof(uint64_t)));
}

Meaning stretto::exec::meaningOfSource(StringRef kind, StringRef name,
                                       int64_t part) {
  return hashOf({hashOf(kind), hashOf(name), uint64_t(part)});
}

static Meaning meaningOfFill(int64_t pattern) {
  return hashOf({hashOf("fill"), uint64_t(pattern)});
}

Meaning stretto::exec::meaningOfZeros() { return meaningOfFill(0); }

Meaning stretto::exec::meaningOfResult(uint64_t command, StringRef instance,
                                       int64_t microbatch,
                                       ArrayRef<Meaning> inputs,
                                       unsigned index) {
  SmallVector<uint64_t> words = {command, hashOf(instance),
                                 uint64_t(microbatch), index};
  llvm::append_range(words, inputs);
  return hashOf(words);
}

uint64_t stretto::exec::describeCommand(Operation *command) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << command->getName();
  for (NamedAttribute entry : command->getAttrs()) {
    auto offset = dyn_cast<OffsetAttr>(entry.getValue());
    if (llvm::is_contained({"uses", "stream", "cause"}, entry.getName()) ||
        (offset && offset.isZero())) // as if it were not there
      continue;
    os << " " << entry.getName().getValue() << "=" << entry.getValue();
  }
  return hashOf(text);
}

//===----------------------------------------------------------------------===//
// A memory of expressions
//===----------------------------------------------------------------------===//

namespace {

/// Bytes of one region: which part of which value they are.
class Memory {
public:
  void write(uint64_t begin, uint64_t end, Meaning meaning, bool isFill) {
    cut(begin);
    cut(end);
    pieces.erase(pieces.lower_bound(begin), pieces.lower_bound(end));
    pieces[begin] = {end, meaning, 0, end - begin, isFill};
  }

  /// One value, whole; a fill, any part of it; or what the pieces make.
  Meaning read(uint64_t begin, uint64_t end) const {
    SmallVector<uint64_t> parts;
    bool allOneFill = true;
    auto it = pieces.upper_bound(begin);
    if (it != pieces.begin())
      --it;
    uint64_t next = begin;
    for (; it != pieces.end() && it->first < end; ++it) {
      const Piece &piece = it->second;
      if (piece.end <= begin)
        continue;
      uint64_t from = std::max(begin, it->first), to = std::min(end, piece.end);
      uint64_t offset = piece.offset + (from - it->first);
      if (from == begin && to == end && offset == 0 &&
          piece.whole == end - begin)
        return piece.meaning;
      allOneFill &= piece.isFill && from == next &&
                    (parts.empty() || parts[0] == piece.meaning);
      parts.append({piece.meaning, piece.isFill ? 0 : offset, from - begin});
      next = to;
    }
    if (allOneFill && next == end && !parts.empty())
      return parts[0];
    parts.push_back(end - begin);
    return hashOf(parts);
  }

  /// `from` may be this memory.
  void copy(const Memory &from, uint64_t source, uint64_t target,
            uint64_t bytes) {
    std::map<uint64_t, Piece> taken;
    auto it = from.pieces.upper_bound(source);
    if (it != from.pieces.begin())
      --it;
    for (; it != from.pieces.end() && it->first < source + bytes; ++it) {
      uint64_t begin = std::max(source, it->first),
               end = std::min(source + bytes, it->second.end);
      if (begin >= end)
        continue;
      Piece piece = it->second;
      piece.offset += begin - it->first;
      piece.end = end - source + target;
      taken[begin - source + target] = piece;
    }
    cut(target);
    cut(target + bytes);
    pieces.erase(pieces.lower_bound(target),
                 pieces.lower_bound(target + bytes));
    pieces.insert(taken.begin(), taken.end());
  }

private:
  struct Piece {
    uint64_t end;
    Meaning meaning;
    uint64_t offset, whole; // within the value, and its bytes
    bool isFill;            // all its parts are alike
  };

  /// No piece goes across `at`.
  void cut(uint64_t at) {
    auto it = pieces.lower_bound(at);
    if (it == pieces.begin())
      return;
    --it;
    if (it->second.end <= at)
      return;
    Piece rest = it->second;
    rest.offset += at - it->first;
    it->second.end = at;
    pieces[at] = rest;
  }

  std::map<uint64_t, Piece> pieces;
};

class Walk {
public:
  explicit Walk(FunctionOp function)
      : function(function), module(function->getParentOfType<ModuleOp>()),
        symbols(module) {}

  DataFlow run();

private:
  void write(SlotAttr slot, Meaning meaning) {
    if (slot.getBytes())
      at(slot).write(slot.getOffset(), slot.getOffset() + slot.getBytes(),
                     meaning, /*isFill=*/false);
  }
  Meaning read(SlotAttr slot) {
    return at(slot).read(slot.getOffset(), slot.getOffset() + slot.getBytes());
  }
  Memory &at(exec::Region region) {
    return isTransient(region) ? transient : regions[unsigned(region)];
  }
  Memory &at(SlotAttr slot) { return at(slot.getRegion()); }

  void begin();
  void visit(CallOp call);
  void visit(CallOp call, Operation *command);
  DataFlow results();

  struct Range {
    Memory *memory;
    uint64_t begin, end;
  };
  Range rangeOf(CallOp call, OperandAttr use) {
    SlotAttr slot = use.getLocal()
                        ? call.getScratchAttr()
                        : cast<SlotAttr>(call.getSlots()[use.getIndex()]);
    uint64_t begin = (slot ? slot.getOffset() : 0) + use.getOffset();
    auto region = slot ? slot.getRegion() : stretto::exec::Region::Scratch;
    return {&at(region), begin, begin + use.getBytes()};
  }

  FunctionOp function;
  ModuleOp module;
  SymbolTable symbols;
  std::map<unsigned, Memory> regions; // those that are not transient
  Memory transient;
  llvm::DenseMap<Operation *, uint64_t> descriptions;
};

} // namespace

/// "moment1", "moment2".
static std::string momentKind(size_t index) {
  return "moment" + std::to_string(index + 1);
}

void Walk::begin() {
  for (auto input : function.getOps<InputOp>())
    for (auto [part, slot] :
         llvm::enumerate(input.getSlots().getAsRange<SlotAttr>()))
      write(slot, meaningOfSource("input", input.getName(), part));
  for (auto parameter : module.getOps<ParameterOp>()) {
    write(parameter.getSlot(), meaningOfSource("param", parameter.getName()));
    for (auto [index, slot] :
         llvm::enumerate(parameter.getMoments().getAsRange<SlotAttr>()))
      write(slot, meaningOfSource(momentKind(index), parameter.getName()));
  }
}

/// Reads come before writes; what is empty takes no part.
void Walk::visit(CallOp call, Operation *command) {
  auto uses = command->getAttrOfType<ArrayAttr>("uses");
  if (!uses)
    return; // record, wait
  if (isa<CopyOp>(command)) {
    Range from = rangeOf(call, cast<OperandAttr>(uses[0])),
          to = rangeOf(call, cast<OperandAttr>(uses[1]));
    to.memory->copy(*from.memory, from.begin, to.begin, to.end - to.begin);
    return;
  }
  auto [description, isNew] = descriptions.try_emplace(command);
  if (isNew)
    description->second = describeCommand(command);
  SmallVector<Meaning> inputs;
  for (auto use : uses.getAsRange<OperandAttr>())
    if (use.getBytes() && use.getAccess() != Access::Write) {
      Range range = rangeOf(call, use);
      inputs.push_back(range.memory->read(range.begin, range.end));
    }
  unsigned index = 0;
  for (auto use : uses.getAsRange<OperandAttr>()) {
    if (use.getAccess() == Access::Read)
      continue;
    unsigned number = index++;
    if (!use.getBytes())
      continue;
    Range range = rangeOf(call, use);
    auto fill = dyn_cast<FillOp>(command);
    range.memory->write(
        range.begin, range.end,
        fill ? meaningOfFill(fill.getPattern())
             : meaningOfResult(description->second, call.getInstance(),
                               call.getMicrobatch(), inputs, number),
        bool(fill));
  }
}

void Walk::visit(CallOp call) {
  auto segment = symbols.lookup<SegmentOp>(call.getSegment());
  for (Operation &command : segment.getBody().front())
    visit(call, &command);
}

DataFlow Walk::results() {
  DataFlow flow;
  for (auto output : function.getOps<OutputOp>())
    flow["output:" + output.getName().str()] =
        read(cast<SlotAttr>(output.getSlots()[0]));
  if (function.getSymName() != "train")
    return flow;
  for (auto parameter : module.getOps<ParameterOp>()) {
    std::string name = parameter.getName().str();
    flow["param:" + name] = read(parameter.getSlot());
    if (SlotAttr gradient = parameter.getGradientAttr())
      flow["grad:" + name] = read(gradient);
    for (auto [index, slot] :
         llvm::enumerate(parameter.getMoments().getAsRange<SlotAttr>()))
      flow[momentKind(index) + ":" + name] = read(slot);
  }
  return flow;
}

DataFlow Walk::run() {
  begin();
  for (auto call : function.getOps<CallOp>())
    visit(call);
  return results();
}

DataFlow stretto::exec::dataFlowOf(FunctionOp function) {
  return Walk(function).run();
}

uint64_t stretto::exec::digestOf(const DataFlow &flow) {
  SmallVector<uint64_t> words;
  for (const auto &[name, meaning] : flow)
    words.append({hashOf(name), meaning});
  return hashOf(words);
}
