//===- CheckReport.cpp - what a check tells people and tools --------------===//

#include "stretto/Interpreter/Check.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace llvm;
using namespace stretto::interp;

bool CheckReport::ok() const {
  return !rows.empty() &&
         all_of(rows, [](const CheckRow &row) { return row.ok(); });
}

static StringRef kindOf(const CheckRow &row) {
  return StringRef(row.name).split(':').first;
}

static double ratio(const CheckRow &row) {
  return row.bound > 0 ? row.error / row.bound : row.error;
}

/// Rows that fail, and of each kind the one nearest to its bound.
static std::vector<const CheckRow *>
interesting(const std::vector<CheckRow> &rows) {
  std::map<std::string, const CheckRow *> worst;
  for (const CheckRow &row : rows) {
    const CheckRow *&entry = worst[kindOf(row).str()];
    if (!entry || ratio(row) > ratio(*entry))
      entry = &row;
  }
  std::vector<const CheckRow *> result;
  for (const CheckRow &row : rows)
    if (!row.ok() || worst[kindOf(row).str()] == &row)
      result.push_back(&row);
  return result;
}

static void printRow(raw_ostream &os, const CheckRow &row, int width) {
  os << "  " << left_justify(row.name, width) << "  step " << row.step
     << format("  error %.3e  bound %.3e  ", row.error, row.bound)
     << (row.ok() ? "ok" : "FAILED");
  if (!row.fault.empty())
    os << ": " << row.fault;
  os << "\n";
}

void CheckReport::print(raw_ostream &os, bool all) const {
  std::vector<const CheckRow *> shown;
  if (all)
    for (const CheckRow &row : rows)
      shown.push_back(&row);
  else
    shown = interesting(rows);
  int width = 0;
  for (const CheckRow *row : shown)
    width = std::max(width, int(row->name.size()));
  if (!title.empty())
    os << title << "\n";
  for (const CheckRow *row : shown)
    printRow(os, *row, width);
  size_t failing =
      count_if(rows, [](const CheckRow &row) { return !row.ok(); });
  os << (ok() ? "equal" : "DIFFERENT") << ": " << rows.size() - failing
     << " of " << rows.size() << " tensors within tolerance "
     << format("%.0e", tolerance) << " over " << steps << " steps on " << ranks
     << " ranks, seed " << seed << "\n";
}

/// JSON has no infinity or NaN.
static json::Value number(double value) {
  if (std::isfinite(value))
    return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

json::Value CheckReport::toJson() const {
  json::Array tensors;
  for (const CheckRow &row : rows) {
    json::Object entry{{"name", row.name},
                       {"step", row.step},
                       {"error", number(row.error)},
                       {"bound", number(row.bound)},
                       {"ok", row.ok()}};
    if (!row.fault.empty())
      entry["fault"] = row.fault;
    tensors.push_back(std::move(entry));
  }
  return json::Object{{"ok", ok()},
                      {"title", title},
                      {"seed", int64_t(seed)},
                      {"steps", steps},
                      {"ranks", ranks},
                      {"tolerance", tolerance},
                      {"tensors", std::move(tensors)}};
}
