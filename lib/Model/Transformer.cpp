//===- Transformer.cpp - what decoder-only models have in common ----------===//
#include "stretto/Model/Transformer.h"

#include "stretto/Support/Text.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace stretto;

// Products of two of these still fit 64 bits.
static constexpr int64_t maxSize = int64_t(1) << 30;

namespace {
struct Size {
  llvm::StringRef option;
  int64_t value;
};
} // namespace

static bool checkSizes(llvm::ArrayRef<Size> sizes, Diagnostics &diags) {
  bool good = true;
  for (const Size &size : sizes) {
    if (size.value >= 1 && size.value <= maxSize)
      continue;
    good = false;
    (void)diags.error({}, "'" + size.option + "' must be from 1 to 2^30, got " +
                              llvm::Twine(size.value));
  }
  return good;
}

static std::string divisorsOf(int64_t number) {
  std::string text;
  constexpr int maxListed = 8;
  int listed = 0;
  for (int64_t d = 1; d <= number && listed < maxListed; ++d)
    if (number % d == 0) {
      text += (text.empty() ? "" : ", ") + std::to_string(d);
      ++listed;
    }
  return text;
}

static void checkHeads(const TransformerOptions &options, Diagnostics &diags) {
  if (!options.headDim && options.embed % options.heads != 0)
    (void)diags.error({}, "an embedding of " + llvm::Twine(options.embed) +
                              " does not split over " +
                              llvm::Twine(options.heads) +
                              " heads; change one, or give 'head-dim'");
  if (options.heads % options.numKvHeads() != 0)
    (void)diags.error({}, llvm::Twine(options.heads) +
                              " heads do not group over " +
                              llvm::Twine(options.numKvHeads()) +
                              " kv heads; use " + divisorsOf(options.heads));
  if (options.heads > maxSize / std::max<int64_t>(1, options.sizeOfHead()))
    (void)diags.error({}, "'heads' times 'head-dim' must be at most 2^30");
}

static void checkFraction(llvm::StringRef option, double value,
                          Diagnostics &diags) {
  if (!(value >= 0 && value < 1))
    (void)diags.error({}, "'" + option +
                              "' must be at least 0 and less than 1, got " +
                              formatNumber(value));
}

static void checkPositive(llvm::StringRef option, double value,
                          Diagnostics &diags) {
  if (!(value > 0 && std::isfinite(value)))
    (void)diags.error({}, "'" + option + "' must be greater than 0, got " +
                              formatNumber(value));
}

llvm::LogicalResult stretto::checkTransformer(const TransformerOptions &options,
                                              Diagnostics &diags) {
  unsigned before = diags.errorCount();
  bool good = checkSizes({{"layers", options.layers},
                          {"embed", options.embed},
                          {"heads", options.heads},
                          {"kv-heads", options.numKvHeads()},
                          {"head-dim", options.headDim.value_or(1)},
                          {"ffn", options.ffn.value_or(1)},
                          {"vocab", options.vocab}},
                         diags);
  if (good)
    checkHeads(options, diags);
  checkFraction("dropout", options.dropout, diags);
  checkFraction("label-smoothing", options.labelSmoothing, diags);
  checkPositive("norm-epsilon", options.normEpsilon, diags);
  checkPositive("init-stddev", options.initStddev, diags);
  return llvm::success(diags.errorCount() == before);
}
