//===- MemoryPicture.cpp - the memory curve as a picture ------------------===//

#include "stretto/Report/MemoryPicture.h"

#include "stretto/Dialect/Program/IR/ProgramDialect.h"
#include "stretto/Support/Text.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

using namespace stretto;

namespace {

/// Pixels. The legend is right of the plot.
constexpr double width = 900, height = 380, left = 90, right = 170, top = 40,
                 bottom = 60;
constexpr double plotWidth = width - left - right,
                 plotHeight = height - top - bottom;

// The palette of Okabe and Ito, which the colour-blind can tell apart; in the
// order of regions.
constexpr const char *colours[] = {"#0072B2", "#56B4E9", "#999999",
                                   "#D55E00", "#CCCCCC", "#F0E442",
                                   "#009E73", "#E69F00", "#CC79A7"};

class Picture {
public:
  Picture(llvm::raw_ostream &os, llvm::ArrayRef<MemoryMoment> curve,
          uint64_t arena, llvm::ArrayRef<uint64_t> measured)
      : os(os), curve(curve), measured(measured), arena(arena),
        most(double(std::max(arena, peakOf(curve).total()))) {}

  void draw(llvm::StringRef title);

private:
  double x(size_t call) const {
    return left + plotWidth * double(call) / double(curve.size());
  }
  double y(double bytes) const { return top + plotHeight * (1 - bytes / most); }
  void text(double x, double y, llvm::StringRef anchor, llvm::StringRef words);
  void layer(size_t region);
  void axes();
  void arenaLine();
  void measuredLine();
  void peak();
  void legend();

  llvm::raw_ostream &os;
  llvm::ArrayRef<MemoryMoment> curve;
  llvm::ArrayRef<uint64_t> measured;
  uint64_t arena;
  double most;
};

} // namespace

static std::string escaped(llvm::StringRef text) {
  std::string result;
  llvm::raw_string_ostream os(result);
  llvm::printHTMLEscaped(text, os);
  return result;
}

void Picture::text(double x, double y, llvm::StringRef anchor,
                   llvm::StringRef words) {
  os << llvm::format("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"", x, y)
     << anchor << "\">" << escaped(words) << "</text>\n";
}

/// The band of one region on top of those before it, as a step function.
void Picture::layer(size_t region) {
  auto below = [&](size_t call, size_t end) {
    double sum = 0;
    for (size_t r = 0; r < end; ++r)
      sum += double(curve[call].bytes[r]);
    return sum;
  };
  os << "<path fill=\"" << colours[region] << "\" d=\"";
  const char *command = "M";
  auto to = [&](double px, double py) {
    os << llvm::format("%s%.2f %.2f", command, px, py);
    command = "L";
  };
  for (size_t call = 0; call < curve.size(); ++call)
    for (size_t end : {call, call + 1})
      to(x(end), y(below(call, region + 1)));
  for (size_t call = curve.size(); call-- > 0;)
    for (size_t end : {call + 1, call})
      to(x(end), y(below(call, region)));
  os << "Z\"/>\n";
}

void Picture::axes() {
  constexpr int ticks = 4;
  for (int tick = 0; tick <= ticks; ++tick) {
    double bytes = most * tick / ticks;
    os << llvm::format("<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" "
                       "stroke=\"#00000022\"/>\n",
                       left, left + plotWidth, y(bytes), y(bytes));
    text(left - 6, y(bytes) + 4, "end", readableBytes(uint64_t(bytes)));
  }
  text(left + plotWidth / 2, height - 12, "middle",
       "calls of one step, in order (" + std::to_string(curve.size()) + ")");
}

void Picture::arenaLine() {
  os << llvm::format("<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" "
                     "stroke=\"black\" stroke-dasharray=\"5 3\"/>\n",
                     left, left + plotWidth, y(double(arena)),
                     y(double(arena)));
  text(left + plotWidth + 8, y(double(arena)) + 4, "start",
       "arena " + readableBytes(arena));
}

void Picture::measuredLine() {
  if (measured.empty())
    return;
  os << "<path fill=\"none\" stroke=\"black\" stroke-width=\"1.5\" d=\"";
  for (size_t call = 0; call < measured.size(); ++call)
    for (size_t end : {call, call + 1})
      os << llvm::format("%s%.2f %.2f", call + end == 0 ? "M" : "L", x(end),
                         y(double(measured[call])));
  os << "\"/>\n";
  text(left + plotWidth + 12, height - bottom, "start", "line: measured");
}

void Picture::peak() {
  const MemoryMoment &moment = peakOf(curve);
  size_t call = &moment - curve.data();
  double centre = (x(call) + x(call + 1)) / 2;
  os << llvm::format("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"none\" "
                     "stroke=\"black\"/>\n",
                     centre, y(double(moment.total())));
  text(left + plotWidth / 2, height - 30, "middle",
       "peak " + readableBytes(moment.total()) + " in " + moment.segment +
           " of " + moment.instance + ", micro-batch " +
           std::to_string(moment.microbatch));
}

void Picture::legend() {
  double row = top + 40;
  for (size_t region = runtime::numRegions; region-- > 0;) {
    if (llvm::all_of(curve, [&](const MemoryMoment &moment) {
          return moment.bytes[region] == 0;
        }))
      continue;
    os << llvm::format("<rect x=\"%.1f\" y=\"%.1f\" width=\"12\" "
                       "height=\"12\" fill=\"%s\"/>\n",
                       left + plotWidth + 12, row - 10, colours[region]);
    text(left + plotWidth + 30, row, "start",
         exec::stringifyRegion(exec::Region(region)));
    row += 20;
  }
}

void Picture::draw(llvm::StringRef title) {
  os << llvm::format("<svg xmlns=\"http://www.w3.org/2000/svg\" "
                     "width=\"%.0f\" height=\"%.0f\" "
                     "font-family=\"sans-serif\" font-size=\"12\">\n",
                     width, height);
  os << "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n";
  text(left, 22, "start", title);
  for (size_t region = 0; region < runtime::numRegions; ++region)
    layer(region);
  axes();
  arenaLine();
  measuredLine();
  peak();
  legend();
  os << "</svg>\n";
}

void stretto::drawMemory(llvm::raw_ostream &os,
                         llvm::ArrayRef<MemoryMoment> curve, uint64_t arena,
                         llvm::StringRef title,
                         llvm::ArrayRef<uint64_t> measured) {
  Picture(os, curve, arena, measured).draw(title);
}
