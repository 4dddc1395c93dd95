//===- Text.cpp - small helpers for words and numbers ---------------------===//
#include "stretto/Support/Text.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

using namespace stretto;

std::string stretto::quote(llvm::StringRef text) {
  constexpr size_t maxShown = 60;
  std::string result = "'";
  llvm::raw_string_ostream os(result);
  llvm::printEscapedString(text.take_front(maxShown), os);
  os << (text.size() > maxShown ? "...'" : "'");
  return result;
}

/// Insertions, deletions, replacements and swaps of neighbours that lead from
/// one word to the other (optimal string alignment).
static unsigned typoDistance(llvm::StringRef a, llvm::StringRef b) {
  std::vector<std::vector<unsigned>> d(a.size() + 1,
                                       std::vector<unsigned>(b.size() + 1));
  for (unsigned i = 0; i <= a.size(); ++i)
    for (unsigned j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = i + j;
        continue;
      }
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1,
                          d[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  return d[a.size()][b.size()];
}

llvm::StringRef stretto::nearest(llvm::StringRef word,
                                 llvm::ArrayRef<llvm::StringRef> candidates) {
  // A word longer than any name of ours is not a typo of one.
  if (word.empty() || word.size() > 64)
    return {};
  unsigned limit = (word.size() + 2) / 3;
  llvm::StringRef best;
  unsigned bestDistance = limit + 1;
  for (llvm::StringRef candidate : candidates) {
    if (candidate.size() > word.size() + limit)
      continue; // and keeps the table small
    unsigned distance = typoDistance(word, candidate);
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

std::string stretto::suggest(llvm::StringRef word,
                             llvm::ArrayRef<llvm::StringRef> candidates,
                             llvm::StringRef label) {
  if (candidates.empty())
    return "";
  llvm::StringRef best = nearest(word, candidates);
  if (!best.empty())
    return "; did you mean " + quote(best) + "?";
  constexpr size_t maxListed = 16;
  std::string text = ("; " + label + ": ").str() +
                     llvm::join(candidates.take_front(maxListed), ", ");
  if (candidates.size() > maxListed)
    text += ", … (" + std::to_string(candidates.size()) + " in all)";
  return text;
}

namespace {
struct Unit {
  llvm::StringRef name;
  double bytes;
};
} // namespace

static constexpr Unit units[] = {
    {"B", 1},        {"kB", 1e3},    {"KB", 1e3},     {"MB", 1e6},
    {"GB", 1e9},     {"TB", 1e12},   {"KiB", 1024.0}, {"MiB", 0x1p20},
    {"GiB", 0x1p30}, {"TiB", 0x1p40}};

std::optional<int64_t> stretto::parseBytes(llvm::StringRef text) {
  size_t end = text.find_first_not_of("0123456789.");
  llvm::StringRef digits = text.take_front(end);
  llvm::StringRef unit = text.drop_front(digits.size()).ltrim(' ');
  double value;
  if (digits.empty() || digits.getAsDouble(value))
    return std::nullopt;
  double factor = unit.empty() ? 1 : 0;
  for (const Unit &known : units)
    if (unit == known.name)
      factor = known.bytes;
  double bytes = value * factor;
  constexpr double exactLimit = 0x1p53; // doubles count integers up to here
  if (factor == 0 || bytes > exactLimit || bytes != std::floor(bytes))
    return std::nullopt;
  return int64_t(bytes);
}

std::string stretto::formatBytes(int64_t bytes) {
  static constexpr llvm::StringLiteral names[] = {"TiB", "GiB", "MiB", "KiB"};
  for (auto [index, name] : llvm::enumerate(names)) {
    int64_t factor = int64_t(1) << (40 - 10 * index);
    if (bytes != 0 && bytes % factor == 0)
      return llvm::itostr(bytes / factor) + name.str();
  }
  return llvm::itostr(bytes);
}

std::string stretto::readableBytes(uint64_t bytes) {
  static constexpr const char *units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = double(bytes);
  unsigned unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(units); ++unit)
    value /= 1024;
  char buffer[40];
  std::snprintf(buffer, sizeof(buffer), unit ? "%.2f %s" : "%.0f %s", value,
                units[unit]);
  return buffer;
}

std::string stretto::formatNumber(double value) {
  char buffer[40];
  for (int digits = 1; digits <= 17; ++digits) {
    std::snprintf(buffer, sizeof(buffer), "%.*g", digits, value);
    if (std::strtod(buffer, nullptr) == value)
      break;
  }
  return buffer;
}
