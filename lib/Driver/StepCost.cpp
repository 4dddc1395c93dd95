//===- StepCost.cpp - what a choice makes a step cost ---------------------===//

#include "StepCost.h"
#include "ProgramTables.h"
#include "stretto/Program/Serialize.h"
#include "stretto/Transforms/Shard/Links.h"

using namespace mlir;
using namespace stretto;
using namespace stretto::driver;

/// The axes of "dp*tp:2:2".
static SmallVector<AxisRef> axesOf(MeshAttr mesh, StringRef group) {
  SmallVector<AxisRef> axes;
  SmallVector<StringRef> names;
  group.split(names, '*');
  for (StringRef name : names)
    if (std::optional<unsigned> axis = mesh.lookup(name.split(':').first))
      axes.push_back(mesh.axis(*axis));
  return axes;
}

FailureOr<double> driver::stepSeconds(ModuleOp compiled, double flops) {
  FailureOr<std::string> bytes = packProgram(compiled);
  if (failed(bytes))
    return failure();
  auto program = runtime::Program::load({bytes->data(), bytes->size()});
  auto mesh = compiled->getAttrOfType<MeshAttr>(stretto::attr::mesh);
  if (!program || !mesh)
    return failure();
  FailureOr<Links> links = Links::of(compiled, mesh);
  if (failed(links))
    return failure();
  double seconds =
      links->compute(flops / double((*program)->mesh().numRanks()));
  for (const TrafficRow &row : trafficOf(**program, /*rank=*/0)) {
    if (row.function != "train")
      continue;
    int rounds = row.kind == program::CollectiveKind::AllReduce ? 2 : 1;
    seconds += links->seconds(axesOf(mesh, row.group), rounds * int(row.calls),
                              double(row.bytes));
  }
  return seconds;
}
