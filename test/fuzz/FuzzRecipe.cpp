// Any bytes as a recipe: never a crash; an error is reported exactly when the
// reader fails; what is accepted prints and reads back as itself.
#include "stretto/Recipe/Recipe.h"

#include <cstdlib>

using namespace stretto;

static void require(bool holds) {
  if (!holds)
    abort();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::StringRef text(reinterpret_cast<const char *>(data), size);
  Diagnostics diags;
  auto recipe = parseRecipe(text, "fuzz.yaml", diags);
  require(failed(recipe) == diags.hasErrors());
  std::string messages;
  llvm::raw_string_ostream os(messages);
  diags.print(os);
  if (failed(recipe))
    return 0;
  std::string printed = recipe->toYaml();
  Diagnostics again;
  auto reread = parseRecipe(printed, "printed.yaml", again);
  require(succeeded(reread) && reread->toYaml() == printed);
  require(recipe->learningRateAt(recipe->steps) >= 0);
  return 0;
}
