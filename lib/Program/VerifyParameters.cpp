//===- VerifyParameters.cpp - the static verifier: training ---------------===//

#include "GradientSums.h"
#include "Verifier.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

using namespace llvm;
using namespace stretto;

namespace {

/// How "train" treats one parameter.
class ParameterCheck {
public:
  ParameterCheck(const runtime::Program &program,
                 const program::Function &train,
                 const program::Parameter &parameter,
                 const std::vector<program::AxisRef> &gathered,
                 Findings &findings)
      : program(program.table()), train(train), parameter(parameter),
        gathered(gathered), findings(findings) {}

  void run() {
    const program::Call *update = checkUpdate();
    if (!parameter.gradient())
      return;
    if (update && !isGiven(*update, *parameter.gradient()))
      error("is updated by a call that is not given its gradient");
    checkReduction();
  }

private:
  void error(const Twine &text) {
    findings.error("parameter '" + stretto::text(parameter.name()) + "' " +
                   text);
  }

  static bool isGiven(const program::Call &call, const program::Slot &slot) {
    return llvm::any_of(all(call.arguments()), [&](const program::Slot *given) {
      return rangeOf(*given) == rangeOf(slot);
    });
  }

  /// Calls `visit(call, command, operand range)` for what writes `slot`.
  template <typename Visit>
  void forEachWrite(const program::Slot &slot, Visit visit) {
    MemoryRange wanted = rangeOf(slot);
    for (const program::Call *call : all(train.calls())) {
      bool near =
          llvm::any_of(all(call->arguments()), [&](const program::Slot *given) {
            return rangeOf(*given).overlaps(wanted);
          });
      if (!near)
        continue;
      for (const program::Command *command :
           all(segmentOf(program, *call).commands()))
        for (const program::Operand *operand : all(command->operands()))
          if (writes(operand->access()) &&
              rangeOf(*call, *operand).overlaps(wanted))
            visit(*call, *command, rangeOf(*call, *operand));
    }
  }

  /// The one call that writes parameter and moments, or null.
  const program::Call *checkUpdate() {
    SmallVector<const program::Slot *> slots = {parameter.parameter()};
    llvm::append_range(slots, all(parameter.moments()));
    const program::Call *update = nullptr;
    for (size_t index = 0; index < slots.size(); ++index) {
      const program::Slot *slot = slots[index];
      std::string what = index ? ("moment " + Twine(index)).str() : "value";
      unsigned writes = 0;
      const program::Call *writer = nullptr;
      forEachWrite(*slot, [&](const program::Call &call,
                              const program::Command &, MemoryRange range) {
        ++writes;
        writer = &call;
        if (!(range == rangeOf(*slot)))
          error(what + " is written in part");
      });
      unsigned wanted = parameter.gradient() ? 1 : 0;
      if (writes != wanted)
        error(what + " is written " + Twine(writes) + " times in a step, " +
              Twine(wanted) + " expected");
      else if (update && writer != update)
        error(what + " is written by another call than its value");
      update = writer ? writer : update;
    }
    return update;
  }

  //===--------------------------------------------------------------------===//
  // Reduction of the gradient
  //===--------------------------------------------------------------------===//

  /// Axes that shard some input: the ranks along them saw different samples,
  /// and what a rank owns of the gradient has terms on all of them. Not where
  /// samples are gathered on the way: then a rank may have seen all.
  std::vector<program::AxisRef> axesToSumOver() {
    std::vector<program::AxisRef> axes;
    for (const program::Binding *input : all(train.inputs()))
      for (const program::Dimension *dim : all(input->dims()))
        for (const program::AxisRef *ref : all(dim->axes()))
          if (ref->size() > 1 && !isGathered(*ref) && !covers(axes, *ref))
            axes.push_back(*ref);
    return axes;
  }
  bool isGathered(const program::AxisRef &ref) {
    return llvm::any_of(gathered, [&](const program::AxisRef &other) {
      return overlap(ref, other);
    });
  }

  void checkReduction() {
    GradientSums done = sumsOf(program, train, *parameter.gradient());
    if (!done.computed)
      return; // nothing but zeros
    for (const program::AxisRef &axis : axesToSumOver())
      if (!covers(done.axes, axis))
        error("has a gradient that is not summed over mesh axis '" +
              stretto::text(program.mesh()->Get(axis.axis())->name()) +
              "', along which ranks see different samples");
  }

  const program::Program &program;
  const program::Function &train;
  const program::Parameter &parameter;
  const std::vector<program::AxisRef> &gathered;
  Findings &findings;
};

/// Axes over which `train` gathers or exchanges anything but parameters.
std::vector<program::AxisRef> gatheredAxes(const program::Program &program,
                                           const program::Function &train) {
  std::vector<program::AxisRef> axes;
  for (const program::Call *call : all(train.calls()))
    for (const program::Command *command :
         all(segmentOf(program, *call).commands())) {
      const program::Collective *gather = command->payload_as_Collective();
      if (!gather || (gather->kind() != program::CollectiveKind::AllGather &&
                      gather->kind() != program::CollectiveKind::AllToAll &&
                      gather->kind() != program::CollectiveKind::Permute))
        continue;
      program::Region source =
          rangeOf(*call, *command->operands()->Get(0)).region;
      if (source == program::Region::Parameters ||
          source == program::Region::Gradients ||
          source == program::Region::Working)
        continue;
      for (const program::AxisRef *ref :
           all(program.groups()->Get(gather->group())->axes()))
        if (llvm::none_of(axes, [&](const program::AxisRef &known) {
              return known.axis() == ref->axis() && known.pre() == ref->pre() &&
                     known.size() == ref->size();
            }))
          axes.push_back(*ref);
    }
  return axes;
}

} // namespace

/// Values, moments and gradients share no byte.
static void verifyDisjoint(const program::Program &program,
                           Findings &findings) {
  struct Owned {
    MemoryRange range;
    StringRef owner;
  };
  std::vector<Owned> owned;
  for (const program::Parameter *parameter : all(program.parameters())) {
    auto own = [&](const program::Slot *slot) {
      if (slot && slot->bytes())
        owned.push_back({rangeOf(*slot), text(parameter->name())});
    };
    own(parameter->parameter());
    own(parameter->gradient());
    for (const program::Slot *slot : all(parameter->moments()))
      own(slot);
  }
  auto placeOf = [](program::Region region) {
    return runtime::isTransient(region) ? program::Region::Scratch : region;
  };
  llvm::sort(owned, [&](const Owned &lhs, const Owned &rhs) {
    return std::pair(placeOf(lhs.range.region), lhs.range.bytes.begin) <
           std::pair(placeOf(rhs.range.region), rhs.range.bytes.begin);
  });
  for (size_t i = 1; i < owned.size(); ++i)
    if (owned[i].range.overlaps(owned[i - 1].range))
      findings.error("parameters '" + owned[i - 1].owner + "' and '" +
                     owned[i].owner + "' share bytes of " +
                     program::EnumNameRegion(owned[i].range.region) + " at " +
                     Twine(owned[i].range.bytes.begin));
}

/// The host's tensors are in the region of their kind.
static void verifyPlaces(const program::Program &program, Findings &findings) {
  using program::Region;
  auto expect = [&](const program::Slot *slot, Region region,
                    const flatbuffers::String *name) {
    if (slot && slot->bytes() && slot->region() != region)
      findings.error("'" + text(name) + "' has memory in region " +
                     program::EnumNameRegion(slot->region()) + ", expected " +
                     program::EnumNameRegion(region));
  };
  for (const program::Parameter *parameter : all(program.parameters())) {
    expect(parameter->parameter(), Region::Parameters, parameter->name());
    expect(parameter->gradient(), Region::Gradients, parameter->name());
    for (const program::Slot *slot : all(parameter->moments()))
      expect(slot, Region::Optimizer, parameter->name());
  }
  for (const program::Function *function : all(program.functions())) {
    for (const program::Binding *input : all(function->inputs()))
      for (const program::Slot *slot : all(input->slots()))
        expect(slot, Region::Inputs, input->name());
    for (const program::Binding *output : all(function->outputs()))
      for (const program::Slot *slot : all(output->slots()))
        if (slot->region() != Region::Gradients) // a sum that is an output
          expect(slot, Region::Outputs, output->name());
  }
}

/// Bytes of a rank's shard of a tensor.
static uint64_t shardBytes(const runtime::Dimensions *dims,
                           program::DType type) {
  uint64_t bytes = runtime::bytesOf(type);
  for (const program::Dimension *dim : all(dims)) {
    uint64_t parts = 1;
    for (const program::AxisRef *axis : all(dim->axes()))
      parts *= axis->size();
    bytes *= uint64_t(dim->padded()) / parts;
  }
  return bytes;
}

/// The host's tensors have exactly the bytes of their shards.
static void verifySizes(const program::Program &program, Findings &findings) {
  auto expect = [&](const program::Slot *slot, uint64_t bytes,
                    const flatbuffers::String *name, const char *what) {
    if (slot && slot->bytes() != bytes)
      findings.error("'" + text(name) + "' has " + Twine(slot->bytes()) +
                     " bytes of " + what + ", its shape says " + Twine(bytes));
  };
  for (const program::Parameter *parameter : all(program.parameters())) {
    auto *dims = parameter->dims();
    auto *gradient = parameter->gradient_dims(),
         *moment = parameter->moment_dims();
    expect(parameter->parameter(), shardBytes(dims, parameter->dtype()),
           parameter->name(), "parameter");
    expect(parameter->gradient(),
           shardBytes(gradient ? gradient : dims, parameter->gradient_dtype()),
           parameter->name(), "gradient");
    for (const program::Slot *slot : all(parameter->moments()))
      expect(slot, shardBytes(moment ? moment : dims, program::DType::F32),
             parameter->name(), "moment");
  }
  for (const program::Function *function : all(program.functions()))
    for (const auto *bindings : {function->inputs(), function->outputs()})
      for (const program::Binding *binding : all(bindings))
        for (const program::Slot *slot : all(binding->slots()))
          expect(slot, shardBytes(binding->dims(), binding->dtype()),
                 binding->name(), "memory");
}

void stretto::verifyParameters(const runtime::Program &program,
                               Findings &findings) {
  verifyPlaces(program.table(), findings);
  verifySizes(program.table(), findings);
  verifyDisjoint(program.table(), findings);
  const program::Function *train = program.findFunction("train");
  if (!train)
    return;
  std::vector<program::AxisRef> gathered =
      gatheredAxes(program.table(), *train);
  for (const program::Parameter *parameter : all(program.table().parameters()))
    if (!findings.enough())
      ParameterCheck(program, *train, *parameter, gathered, findings).run();
}
