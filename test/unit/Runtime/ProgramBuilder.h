//===- ProgramBuilder.h - Programs by hand ----------------------*- C++ -*-===//
//
// Short ways to write a Program in a test, over the FlatBuffers object API.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_TEST_UNIT_RUNTIME_PROGRAMBUILDER_H
#define STRETTO_TEST_UNIT_RUNTIME_PROGRAMBUILDER_H

#include "stretto/Runtime/Program.h"

#include <initializer_list>

namespace stretto::runtime::test {

using namespace stretto::program;

inline std::unique_ptr<OperandT> operand(Space space, uint32_t index,
                                         uint64_t offset, uint64_t bytes,
                                         Access access) {
  auto made = std::make_unique<OperandT>();
  made->space = space;
  made->index = index;
  made->offset = offset;
  made->bytes = bytes;
  made->access = access;
  return made;
}
inline std::unique_ptr<OperandT> argument(uint32_t index, uint64_t bytes,
                                          Access access = Access::Read,
                                          uint64_t offset = 0) {
  return operand(Space::Argument, index, offset, bytes, access);
}
inline std::unique_ptr<OperandT> local(uint64_t offset, uint64_t bytes,
                                       Access access = Access::Read) {
  return operand(Space::Local, 0, offset, bytes, access);
}

inline std::unique_ptr<SlotT> slot(Region region, uint64_t offset,
                                   uint64_t bytes) {
  auto made = std::make_unique<SlotT>();
  made->region = region;
  made->offset = offset;
  made->bytes = bytes;
  return made;
}

struct TermSpec {
  Symbol symbol;
  int64_t coefficient;
  AxisRef axis = AxisRef();
};
inline std::unique_ptr<ScalarT> scalar(int64_t base,
                                       std::initializer_list<TermSpec> terms) {
  auto made = std::make_unique<ScalarT>();
  made->base = base;
  for (const TermSpec &spec : terms) {
    auto term = std::make_unique<TermT>();
    term->symbol = spec.symbol;
    term->coefficient = spec.coefficient;
    if (spec.symbol == Symbol::AxisIndex)
      term->axis = std::make_unique<AxisRef>(spec.axis);
    made->terms.push_back(std::move(term));
  }
  return made;
}

inline std::unique_ptr<DimensionT> dimension(int64_t size, int64_t padded,
                                             std::vector<AxisRef> axes = {}) {
  auto made = std::make_unique<DimensionT>();
  made->size = size;
  made->padded = padded;
  made->axes = std::move(axes);
  return made;
}

inline void addAxis(ProgramT &program, const char *name, uint32_t size) {
  program.mesh.push_back(std::make_unique<AxisT>());
  program.mesh.back()->name = name;
  program.mesh.back()->size = size;
}
inline uint32_t addGroup(ProgramT &program, std::vector<AxisRef> axes) {
  program.groups.push_back(std::make_unique<GroupT>());
  program.groups.back()->axes = std::move(axes);
  return uint32_t(program.groups.size() - 1);
}
inline void addRegion(ProgramT &program, Region region, uint64_t bytes) {
  program.regions.push_back(std::make_unique<Region_T>());
  program.regions.back()->region = region;
  program.regions.back()->bytes = bytes;
}
inline SegmentT &addSegment(ProgramT &program, const char *name) {
  program.segments.push_back(std::make_unique<SegmentT>());
  program.segments.back()->name = name;
  return *program.segments.back();
}
inline void addArgument(SegmentT &segment, uint64_t bytes,
                        Access access = Access::Read) {
  segment.arguments.push_back(std::make_unique<ArgumentT>());
  segment.arguments.back()->bytes = bytes;
  segment.arguments.back()->access = access;
}
/// `operands` is moved from.
template <typename PayloadT, typename... Operands>
CommandT &addCommand(SegmentT &segment, PayloadT payload,
                     Operands... operands) {
  segment.commands.push_back(std::make_unique<CommandT>());
  CommandT &command = *segment.commands.back();
  command.payload.Set(std::move(payload));
  command.location = "here";
  (command.operands.push_back(std::move(operands)), ...);
  return command;
}
inline FunctionT &addFunction(ProgramT &program, const char *name) {
  program.functions.push_back(std::make_unique<FunctionT>());
  program.functions.back()->name = name;
  return *program.functions.back();
}
template <typename... Slots>
CallT &addCall(FunctionT &function, uint32_t segment, Slots... slots) {
  function.calls.push_back(std::make_unique<CallT>());
  function.calls.back()->segment = segment;
  (function.calls.back()->arguments.push_back(std::move(slots)), ...);
  return *function.calls.back();
}
inline std::unique_ptr<BindingT>
binding(const char *name, std::vector<std::unique_ptr<DimensionT>> dims,
        std::vector<std::unique_ptr<SlotT>> slots) {
  auto made = std::make_unique<BindingT>();
  made->name = name;
  made->dims = std::move(dims);
  made->slots = std::move(slots);
  return made;
}
template <typename T, typename... Rest>
std::vector<std::unique_ptr<T>> list(std::unique_ptr<T> first, Rest... rest) {
  std::vector<std::unique_ptr<T>> made;
  made.push_back(std::move(first));
  (made.push_back(std::move(rest)), ...);
  return made;
}

inline std::string serialize(const ProgramT &program) {
  flatbuffers::FlatBufferBuilder builder;
  FinishProgramBuffer(builder,
                      stretto::program::Program::Pack(builder, &program));
  return std::string(reinterpret_cast<char *>(builder.GetBufferPointer()),
                     builder.GetSize());
}
inline Result<std::shared_ptr<const runtime::Program>>
load(const ProgramT &program) {
  std::string bytes = serialize(program);
  return runtime::Program::load(Bytes(bytes.data(), bytes.size()));
}

} // namespace stretto::runtime::test

#endif // STRETTO_TEST_UNIT_RUNTIME_PROGRAMBUILDER_H
