// Any bytes as a plan: never a crash; an error is reported exactly when the
// reader fails; what is accepted prints and reads back as itself and survives
// every check against a small model.
#include "stretto/Plan/Plan.h"

#include <cstdlib>

using namespace stretto;

static void require(bool holds) {
  if (!holds)
    abort();
}

static void check(const Plan &plan) {
  static const std::vector<NamedTensor> tensors = {
      {"tokens", {{"batch", {}}, {"seq", {}}}, true},
      {"embed.table", {{"vocab", 97}, {"embed", 64}}, false},
      {"layers.0.attn.wq",
       {{"embed", 64}, {"heads", 4}, {"head_dim", 16}},
       false}};
  Diagnostics diags;
  (void)checkImplemented(plan, diags);
  (void)checkRanks(plan, 4, diags);
  (void)checkNames(plan, tensors, diags);
  (void)plan.resolveMicrobatches(6, diags);
  std::string messages;
  llvm::raw_string_ostream os(messages);
  diags.print(os);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::StringRef text(reinterpret_cast<const char *>(data), size);
  Diagnostics diags;
  auto plan = parsePlan(text, "fuzz.yaml", diags);
  require(failed(plan) == diags.hasErrors());
  std::string messages;
  llvm::raw_string_ostream os(messages);
  diags.print(os);
  if (failed(plan))
    return 0;
  std::string printed = plan->toYaml();
  Diagnostics again;
  auto reread = parsePlan(printed, "printed.yaml", again);
  require(succeeded(reread) && reread->toYaml() == printed);
  check(*plan);
  return 0;
}
