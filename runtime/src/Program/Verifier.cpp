//===- Verifier.cpp - what a Program must satisfy to be executed ----------===//
//
// Checked here, in this order:
//  - version, number of streams, mesh (axes of at least 1, at most 2^31 ranks),
//  groups
//  - regions (each once; sum below 2^62)
//  - segments and their commands (VerifyCommand.cpp)
//  - functions: calls give every segment what it needs, within the regions;
//    they start after earlier calls of other streams only
//  - bindings and parameters: boxes fit their slots
//
//===----------------------------------------------------------------------===//

#include "Verifier.h"

#include "Saturating.h"

#include <algorithm>
#include <array>
#include <set>

namespace stretto::runtime {

using namespace program;

namespace {

constexpr uint64_t maxRanks = uint64_t(1) << 31;
constexpr uint64_t maxArena = uint64_t(1) << 62;
constexpr size_t maxAxesInList = 64;
constexpr uint64_t maxExpandedCommands = uint64_t(1) << 24;

template <typename... Parts> Status reject(const Parts &...parts) {
  return failure(Code::Rejected, parts...);
}

Status verifyMesh(const program::Program &program) {
  uint64_t ranks = 1;
  for (const Axis *axis : all(program.mesh())) {
    if (axis->size() < 1)
      return reject("mesh axis '", text(axis->name()), "' has size 0");
    ranks = saturatingMul(ranks, axis->size());
  }
  if (ranks > maxRanks)
    return reject("the mesh has more than ", maxRanks, " ranks");
  return Status::ok();
}

/// Whether two references share digits of one axis.
bool overlap(const AxisRef &a, const AxisRef &b) {
  if (a.axis() != b.axis() || a.size() == 1 || b.size() == 1)
    return false;
  const AxisRef &major = a.pre() <= b.pre() ? a : b;
  const AxisRef &minor = a.pre() <= b.pre() ? b : a;
  return minor.pre() % (uint64_t(major.pre()) * major.size()) != 0;
}

/// Adds `axes` to `used`; every pair of all references must be disjoint.
Status verifyAxes(const program::Program &program, const AxisRefs *axes,
                  std::vector<const AxisRef *> &used) {
  if (count(axes) + used.size() > maxAxesInList)
    return reject("more than ", maxAxesInList, " axes in one list");
  for (const AxisRef *ref : all(axes)) {
    STRETTO_TRY(verifyAxis(program, ref));
    for (const AxisRef *other : used)
      if (overlap(*ref, *other))
        return reject("mesh axis ", ref->axis(), " is used twice");
    used.push_back(ref);
  }
  return Status::ok();
}

/// Axis, pre, size.
using Place = std::array<uint64_t, 3>;

/// In the order of the mesh, neighbours merged.
std::vector<Place> inMeshOrder(const AxisRefs *axes) {
  std::vector<Place> sorted, merged;
  for (const AxisRef *ref : all(axes))
    if (ref->size() > 1)
      sorted.push_back({ref->axis(), ref->pre(), ref->size()});
  std::sort(sorted.begin(), sorted.end());
  for (const Place &place : sorted)
    if (!merged.empty() && merged.back()[0] == place[0] &&
        merged.back()[1] * merged.back()[2] == place[1])
      merged.back()[2] *= place[2];
    else
      merged.push_back(place);
  return merged;
}

Status verifyGroups(const program::Program &program) {
  size_t index = 0;
  for (const Group *group : all(program.groups())) {
    std::vector<const AxisRef *> used;
    STRETTO_TRY(verifyAxes(program, group->axes(), used)
                    .within(concat("group ", index++)));
  }
  return Status::ok();
}

/// Bytes by region, for those that follow.
using Regions = std::array<uint64_t, numRegions>;

Status verifyRegions(const program::Program &program, Regions &bytes) {
  std::array<bool, numRegions> seen = {};
  bytes = {};
  uint64_t sum = 0;
  for (const Region_ *region : all(program.regions())) {
    size_t index = size_t(region->region());
    if (index >= numRegions)
      return reject("there is no region ", index);
    if (seen[index])
      return reject("region ", EnumNameRegion(region->region()),
                    " is given twice");
    seen[index] = true;
    if (region->live() > region->bytes())
      return reject("region ", EnumNameRegion(region->region()), " has ",
                    region->bytes(), " bytes, ", region->live(),
                    " of them alive");
    bytes[index] = region->bytes();
    sum = saturatingAdd(sum, saturatingAdd(region->bytes(), 64));
  }
  if (sum > maxArena)
    return reject("the arena of ", sum, " bytes is too large");
  return Status::ok();
}

Status verifySegment(const program::Program &program, const Segment &segment) {
  for (const Argument *argument : all(segment.arguments()))
    if (argument->bytes() > maxArena)
      return reject("an argument of ", argument->bytes(), " bytes");
  if (segment.scratch_bytes() > maxArena)
    return reject("scratch of ", segment.scratch_bytes(), " bytes");
  std::set<uint32_t> recorded;
  size_t index = 0;
  for (const Command *command : all(segment.commands())) {
    std::string where =
        concat("command ", index++, " (", text(command->location()), ")");
    STRETTO_TRY(verifyCommand(program, segment, *command).within(where));
    if (const Record *record = command->payload_as_Record())
      recorded.insert(record->event());
    const Wait *wait = command->payload_as_Wait();
    if (wait && !recorded.count(wait->event()))
      return reject(where, ": waits for event ", wait->event(),
                    ", which no command before it records");
  }
  return Status::ok();
}

/// A slot of at least `bytes` bytes within its region.
Status verifySlot(const Regions &regions, const Slot *slot, uint64_t bytes) {
  if (!slot)
    return reject("has no memory");
  size_t index = size_t(slot->region());
  if (index >= numRegions)
    return reject("there is no region ", index);
  if (slot->offset() % 64 != 0)
    return reject("offset ", slot->offset(), " is not a multiple of 64");
  if (!fits(slot->offset(), slot->bytes(), regions[index]))
    return reject("[", slot->offset(), ", +", slot->bytes(), ") leaves region ",
                  EnumNameRegion(slot->region()), " of ", regions[index],
                  " bytes");
  if (slot->bytes() < bytes)
    return reject("has ", slot->bytes(), " bytes, ", bytes, " are needed");
  return Status::ok();
}

Status verifyCall(const program::Program &program, const Regions &regions,
                  const Call &call) {
  if (call.segment() >= count(program.segments()))
    return reject("there is no segment ", call.segment());
  const Segment &segment = *program.segments()->Get(call.segment());
  if (count(call.arguments()) != count(segment.arguments()))
    return reject("gives ", count(call.arguments()), " arguments to segment '",
                  segment.name()->str(), "', which takes ",
                  count(segment.arguments()));
  for (size_t i = 0; i < count(call.arguments()); ++i)
    STRETTO_TRY(verifySlot(regions, call.arguments()->Get(i),
                           segment.arguments()->Get(i)->bytes())
                    .within(concat("argument ", i)));
  if (segment.scratch_bytes() > 0)
    STRETTO_TRY(verifySlot(regions, call.scratch(), segment.scratch_bytes())
                    .within("scratch"));
  if (call.microbatch() < 0)
    return reject("micro-batch ", call.microbatch());
  if (call.stream() >= program.streams())
    return reject("stream ", call.stream(), " of ", program.streams());
  return Status::ok();
}

/// `call` is the one with this index in `function`.
Status verifyAfter(const Function &function, const Call &call, size_t index) {
  int64_t last = -1;
  for (uint32_t before : all(call.after())) {
    if (before >= index)
      return reject("starts after call ", before,
                    ", which does not come before it");
    if (int64_t(before) <= last)
      return reject("starts after call ", before, " and call ", last,
                    ", which is not ascending");
    if (function.calls()->Get(before)->stream() == call.stream())
      return reject("starts after call ", before,
                    ", which is on the same stream ", call.stream());
    last = before;
  }
  return Status::ok();
}

/// `bytes` receives what a rank holds of a tensor of these dimensions.
Status verifyDimensions(const program::Program &program, const Dimensions *dims,
                        uint64_t elementBytes, uint64_t &bytes) {
  std::vector<const AxisRef *> used;
  bytes = elementBytes;
  if (elementBytes == 0)
    return reject("its element type does not exist");
  for (const Dimension *dim : all(dims)) {
    STRETTO_TRY(verifyAxes(program, dim->axes(), used));
    int64_t shards = Mesh::product(dim->axes());
    if (dim->size() < 0 || dim->padded() < dim->size())
      return reject("a dimension of size ", dim->size(), " padded to ",
                    dim->padded());
    if (dim->padded() % shards != 0)
      return reject("a dimension padded to ", dim->padded(),
                    " does not divide by its ", shards, " shards");
    bytes = saturatingMul(bytes, dim->padded() / shards);
  }
  return Status::ok();
}

Status verifyBinding(const program::Program &program, const Regions &regions,
                     const Binding &binding) {
  uint64_t bytes = 0;
  STRETTO_TRY(verifyDimensions(program, binding.dims(),
                               bytesOf(binding.dtype()), bytes));
  if (count(binding.slots()) == 0)
    return reject("has no memory");
  for (const Slot *slot : all(binding.slots()))
    STRETTO_TRY(verifySlot(regions, slot, bytes));
  return Status::ok();
}

Status verifyBindings(
    const program::Program &program, const Regions &regions,
    const flatbuffers::Vector<flatbuffers::Offset<Binding>> *bindings) {
  std::set<std::string> names;
  for (const Binding *binding : all(bindings)) {
    std::string where = concat("tensor '", binding->name()->str(), "'");
    STRETTO_TRY(verifyBinding(program, regions, *binding).within(where));
    if (!names.insert(binding->name()->str()).second)
      return reject(where, ": there are two of this name");
  }
  return Status::ok();
}

Status verifyFunction(const program::Program &program, const Regions &regions,
                      const Function &function) {
  STRETTO_TRY(verifyBindings(program, regions, function.inputs()));
  STRETTO_TRY(verifyBindings(program, regions, function.outputs()));
  uint64_t commands = 0;
  size_t index = 0;
  for (const Call *call : all(function.calls())) {
    std::string where =
        concat("call ", index++, " (", text(call->instance()), ")");
    STRETTO_TRY(verifyCall(program, regions, *call).within(where));
    STRETTO_TRY(verifyAfter(function, *call, index - 1).within(where));
    commands += count(program.segments()->Get(call->segment())->commands());
    if (commands > maxExpandedCommands)
      return reject("more than ", maxExpandedCommands, " commands");
  }
  return Status::ok();
}

/// The same tensor elsewhere on the mesh, or nothing.
Status verifySameSizes(const Dimensions *dims, const Dimensions *apart) {
  if (!apart)
    return Status::ok();
  if (count(dims) != count(apart))
    return reject("it has ", count(apart), " dimensions, its parameter ",
                  count(dims));
  for (uint32_t i = 0; i < count(dims); ++i)
    if (dims->Get(i)->size() != apart->Get(i)->size())
      return reject("dimension ", i, " has ", apart->Get(i)->size(),
                    " elements, that of its parameter ", dims->Get(i)->size());
  return Status::ok();
}

Status verifyParameter(const program::Program &program, const Regions &regions,
                       const Parameter &parameter) {
  uint64_t bytes = 0, gradientBytes = 0, momentBytes = 0;
  const Dimensions *dims = parameter.dims(),
                   *gradient = gradientDims(parameter),
                   *moments = momentDims(parameter);
  STRETTO_TRY(
      verifyDimensions(program, dims, bytesOf(parameter.dtype()), bytes));
  STRETTO_TRY(verifyDimensions(program, gradient,
                               bytesOf(parameter.gradient_dtype()),
                               gradientBytes)
                  .within("gradient"));
  STRETTO_TRY(
      verifyDimensions(program, moments, bytesOf(DType::F32), momentBytes)
          .within("moments"));
  STRETTO_TRY(verifySameSizes(dims, gradient).within("gradient"));
  STRETTO_TRY(verifySameSizes(dims, moments).within("moments"));
  STRETTO_TRY(verifySlot(regions, parameter.parameter(), bytes));
  if (parameter.gradient())
    STRETTO_TRY(verifySlot(regions, parameter.gradient(), gradientBytes)
                    .within("gradient"));
  for (const Slot *moment : all(parameter.moments()))
    STRETTO_TRY(verifySlot(regions, moment, momentBytes).within("moment"));
  if (parameter.init() && parameter.init()->kind() > InitKind::MAX)
    return reject("there is no initialisation ", int(parameter.init()->kind()));
  return Status::ok();
}

/// Runs verify(table) on each; names are unique and prefix the errors.
template <typename Tables, typename Verify>
Status verifyEach(const char *what, const Tables *tables, Verify verify) {
  std::set<std::string> names;
  for (const auto *table : all(tables)) {
    std::string where = concat(what, " '", table->name()->str(), "'");
    STRETTO_TRY(verify(*table).within(where));
    if (!names.insert(table->name()->str()).second)
      return reject(where, ": there are two of this name");
  }
  return Status::ok();
}

} // namespace

Status verifyAxis(const program::Program &program, const AxisRef *ref) {
  if (!ref || ref->axis() >= count(program.mesh()))
    return reject("there is no mesh axis ", ref ? ref->axis() : 0);
  uint64_t size = program.mesh()->Get(ref->axis())->size();
  uint64_t part = uint64_t(ref->pre()) * ref->size();
  if (part == 0 || size % part != 0)
    return reject("sub-axis (pre ", ref->pre(), ", size ", ref->size(),
                  ") does not divide mesh axis ", ref->axis(), " of size ",
                  size);
  return Status::ok();
}

Status verifyScalar(const program::Program &program, const Scalar *scalar) {
  if (!scalar)
    return Status::ok();
  if (count(scalar->terms()) > maxAxesInList)
    return reject("a scalar of ", count(scalar->terms()), " terms");
  for (const Term *term : all(scalar->terms())) {
    if (term->symbol() > Symbol::MAX)
      return reject("there is no symbol ", int(term->symbol()));
    if (term->symbol() == Symbol::AxisIndex)
      STRETTO_TRY(verifyAxis(program, term->axis()));
  }
  return Status::ok();
}

Status verifyOrder(const program::Program &program, const AxisRefs *axes,
                   const AxisRefs *order) {
  std::vector<const AxisRef *> used;
  STRETTO_TRY(verifyAxes(program, order, used).within("its order"));
  if (inMeshOrder(axes) != inMeshOrder(order))
    return reject("its order is not of the axes of its group");
  return Status::ok();
}

Status verifyMeaning(const program::Program &program) {
  if (program.version() != programVersion)
    return reject("the Program has version ", program.version(),
                  ", this runtime reads version ", programVersion,
                  "; compile it again");
  if (program.streams() < 1 || program.streams() > maxStreams)
    return reject("the Program has ", program.streams(), " streams, 1 to ",
                  maxStreams, " are possible");
  Regions regions;
  STRETTO_TRY(verifyMesh(program));
  STRETTO_TRY(verifyGroups(program));
  STRETTO_TRY(verifyRegions(program, regions));
  STRETTO_TRY(verifyEach("segment", program.segments(), [&](auto &segment) {
    return verifySegment(program, segment);
  }));
  STRETTO_TRY(verifyEach("function", program.functions(), [&](auto &function) {
    return verifyFunction(program, regions, function);
  }));
  return verifyEach("parameter", program.parameters(), [&](auto &parameter) {
    return verifyParameter(program, regions, parameter);
  });
}

} // namespace stretto::runtime
