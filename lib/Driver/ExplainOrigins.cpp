//===- ExplainOrigins.cpp - where axes come from, in words ----------------===//

#include "ExplainOrigins.h"
#include "stretto/Transforms/Shard/Origins.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace stretto;
using namespace stretto::driver;

/// A way of more than this many values shows its two ends.
static constexpr size_t longestWay = 8;

static std::string wayText(const DimOrigin &origin) {
  std::vector<std::string> way = origin.way;
  if (way.size() > longestWay) {
    size_t left = way.size() - longestWay;
    way.erase(way.begin() + longestWay / 2, way.end() - longestWay / 2);
    way.insert(way.begin() + longestWay / 2,
               "(" + std::to_string(left) + " more)");
  }
  return llvm::join(way, " <- ");
}

static void printOrigins(const ValueOrigins &value, llvm::raw_ostream &out) {
  out << "  " << value.segment << ":" << value.value << " " << value.shape
      << "\n";
  if (value.dims.empty())
    out << "      replicated: nothing that reaches it asks for an axis\n";
  for (const DimOrigin &dim : value.dims) {
    out << "      " << dim.dimension << " on " << dim.axes;
    if (!dim.way.empty())
      out << " <- " << wayText(dim);
    out << "; " << dim.cause << "\n";
  }
}

static void printJson(ArrayRef<ValueOrigins> values, llvm::raw_ostream &out) {
  llvm::json::OStream json(out, 2);
  json.array([&] {
    for (const ValueOrigins &value : values)
      json.object([&] {
        json.attribute("segment", value.segment);
        json.attribute("value", value.value);
        json.attribute("shape", value.shape);
        json.attributeArray("dimensions", [&] {
          for (const DimOrigin &dim : value.dims)
            json.object([&] {
              json.attribute("dimension", dim.dimension);
              json.attribute("axes", dim.axes);
              json.attributeArray("way", [&] {
                for (const std::string &step : dim.way)
                  json.value(step);
              });
              json.attribute("cause", dim.cause);
            });
        });
      });
  });
  out << "\n";
}

std::optional<int> driver::explainOrigins(const CommandLine &line,
                                          llvm::raw_ostream &out,
                                          llvm::raw_ostream &err) {
  if (!line.tensor)
    return std::nullopt;
  Compilation compilation(line.compile, err);
  if (int code = compilation.compile(Phase::Derive))
    return code;
  auto values = originsOf(compilation.module(), *line.tensor);
  if (failed(values))
    return exitInputRejected;
  // Unknown names are answered by the tables, which know all parameters.
  if (values->empty())
    return std::nullopt;
  StringRef segment = StringRef(*line.tensor).split(':').first;
  bool inSegment = segment == values->front().segment;
  if (line.json) {
    if (!inSegment)
      return std::nullopt;
    printJson(*values, out);
    return exitOk;
  }
  out << "where axes come from (value <- what links it <- ...; plan line)\n";
  for (const ValueOrigins &value : *values)
    printOrigins(value, out);
  if (inSegment)
    return exitOk;
  out << "\n";
  return std::nullopt;
}
