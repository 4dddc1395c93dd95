//===- SaveChoice.cpp - what backward keeps and what it repeats -----------===//

#include "stretto/Transforms/Derive/SaveChoice.h"

#include "MinimumCut.h"
#include "llvm/ADT/STLExtras.h"

using namespace stretto;
using llvm::BitVector;

namespace {

/// What a byte kept and a FLOP repeated cost.
struct Prices {
  double byte, flop;
};

/// What a branch of the search has decided about an operation.
enum class Decision : char { Open, Repeat, Keep };

class Cuts {
public:
  explicit Cuts(const SaveProblem &problem)
      : problem(problem), decisions(problem.ops.size(), Decision::Open) {}

  /// The cheapest choice; nothing when the decisions leave none.
  std::optional<SaveChoice> solve(Prices prices);

  const SaveProblem &problem;
  std::vector<Decision> decisions;
  unsigned count = 0;

private:
  unsigned valueNode(unsigned value) const { return 2 + value; }
  unsigned opNode(unsigned op) const {
    return 2 + unsigned(problem.values.size()) + op;
  }
  void addValue(MinimumCut &cut, unsigned value, Prices prices) const;
  void addOp(MinimumCut &cut, unsigned op, Prices prices) const;
  bool mayRepeat(unsigned op) const {
    return problem.ops[op].mayRepeat && decisions[op] != Decision::Keep;
  }

  bool mayKeep(unsigned value) const {
    const SaveProblem::Value &v = problem.values[value];
    return v.maySave && decisions[v.producer] != Decision::Repeat;
  }

  static constexpr unsigned source = 0, sink = 1;
};

} // namespace

void Cuts::addValue(MinimumCut &cut, unsigned value, Prices prices) const {
  const SaveProblem::Value &v = problem.values[value];
  if (v.isRequired)
    cut.addEdge(source, valueNode(value), MinimumCut::infinite);
  if (v.producer < 0)
    return;
  cut.addEdge(valueNode(value), opNode(v.producer),
              mayKeep(value) ? v.bytes * prices.byte : MinimumCut::infinite);
}

void Cuts::addOp(MinimumCut &cut, unsigned op, Prices prices) const {
  cut.addEdge(opNode(op), sink,
              mayRepeat(op) ? problem.ops[op].flops * prices.flop
                            : MinimumCut::infinite);
  for (unsigned operand : problem.ops[op].operands)
    if (problem.values[operand].producer >= 0)
      cut.addEdge(opNode(op), valueNode(operand), MinimumCut::infinite);
}

std::optional<SaveChoice> Cuts::solve(Prices prices) {
  ++count;
  unsigned numValues = problem.values.size(), numOps = problem.ops.size();
  MinimumCut cut(2 + numValues + numOps);
  for (unsigned value = 0; value < numValues; ++value)
    addValue(cut, value, prices);
  for (unsigned op = 0; op < numOps; ++op)
    addOp(cut, op, prices);
  BitVector side = cut.sourceSide(source, sink);
  SaveChoice choice;
  choice.saved.resize(numValues);
  choice.repeated.resize(numOps);
  for (unsigned op = 0; op < numOps; ++op)
    if (side[opNode(op)]) {
      if (!mayRepeat(op))
        return std::nullopt;
      choice.repeated.set(op);
      choice.flops += problem.ops[op].flops;
    }
  for (unsigned value = 0; value < numValues; ++value) {
    const SaveProblem::Value &v = problem.values[value];
    if (v.producer < 0 || !side[valueNode(value)] ||
        choice.repeated[v.producer])
      continue;
    if (!mayKeep(value))
      return std::nullopt;
    choice.saved.set(value);
    choice.bytes += v.bytes;
  }
  return choice;
}

/// The sum of what can be paid, so that a price can be made small beside it.
static double totalBytes(const SaveProblem &problem) {
  double total = 1;
  for (const SaveProblem::Value &value : problem.values)
    if (value.producer >= 0 && value.maySave)
      total += value.bytes;
  return total;
}
static double totalFlops(const SaveProblem &problem) {
  double total = 1;
  for (const SaveProblem::Op &op : problem.ops)
    total += op.flops;
  return total;
}

/// Bytes are whole, so less than half of one breaks ties only.
static Prices bytesFirst(const SaveProblem &problem) {
  return {1, 0.5 / totalFlops(problem)};
}
static Prices flopsFirst(const SaveProblem &problem) {
  return {1e-6 * totalFlops(problem) / totalBytes(problem), 1};
}

SaveChoice stretto::saveLeastBytes(const SaveProblem &problem) {
  return *Cuts(problem).solve(bytesFirst(problem));
}

namespace {

class BoundedSearch {
public:
  BoundedSearch(const SaveProblem &problem, double limit, unsigned maxCuts)
      : cuts(problem), limit(limit), maxCuts(maxCuts),
        flopsFirst(::flopsFirst(problem)), bytesFirst(::bytesFirst(problem)) {}

  std::optional<SaveChoice> run() {
    search();
    if (best)
      best->isOptimal = !abandoned;
    return best;
  }

private:
  void search();
  void branch(unsigned op);
  std::optional<unsigned> undecided(const SaveChoice &a,
                                    const SaveChoice &b) const;
  void offer(const SaveChoice &choice) {
    if (choice.bytes <= limit &&
        (!best || choice.flops < best->flops ||
         (choice.flops == best->flops && choice.bytes < best->bytes)))
      best = choice;
  }
  bool isHopeless(double bound) const {
    return best && bound >= best->flops * (1 - 1e-12);
  }

  Cuts cuts;
  double limit;
  unsigned maxCuts;
  Prices flopsFirst, bytesFirst;
  std::optional<SaveChoice> best;
  bool abandoned = false;
};

} // namespace

/// Between the choice with the fewest FLOPs and the one with the fewest bytes
/// the price of a byte moves along the lower hull of (bytes, FLOPs) until its
/// two ends are neighbours there. Only where the hull passes below the limit
/// without touching it an operation that the ends disagree on is decided.
void BoundedSearch::search() {
  std::optional<SaveChoice> many = cuts.solve(flopsFirst);
  if (!many || isHopeless(many->flops))
    return;
  offer(*many);
  SaveChoice few = *cuts.solve(bytesFirst);
  offer(few);
  if (many->bytes <= limit || few.bytes > limit)
    return;
  while (true) {
    if (cuts.count > maxCuts) {
      abandoned = true;
      return;
    }
    double price = (few.flops - many->flops) / (many->bytes - few.bytes);
    SaveChoice middle = *cuts.solve({price, 1});
    offer(middle);
    double cost = middle.flops + price * middle.bytes;
    double ends = few.flops + price * few.bytes;
    if (isHopeless(cost - price * limit))
      return;
    if (cost >= ends * (1 - 1e-12))
      break;
    (middle.bytes <= limit ? few : *many) = middle;
  }
  if (std::optional<unsigned> op = undecided(few, *many))
    branch(*op);
}

/// The heaviest operation that one of two choices repeats and the other does
/// not. One that is needed in both is among them, and that one is open.
std::optional<unsigned> BoundedSearch::undecided(const SaveChoice &a,
                                                 const SaveChoice &b) const {
  BitVector candidates = a.repeated;
  candidates ^= b.repeated;
  std::optional<unsigned> heaviest;
  for (unsigned op : candidates.set_bits())
    if (cuts.decisions[op] == Decision::Open &&
        (!heaviest ||
         cuts.problem.ops[op].flops > cuts.problem.ops[*heaviest].flops))
      heaviest = op;
  return heaviest;
}

void BoundedSearch::branch(unsigned op) {
  for (Decision decision : {Decision::Keep, Decision::Repeat}) {
    cuts.decisions[op] = decision;
    search();
  }
  cuts.decisions[op] = Decision::Open;
}

/// Appends what lies between two choices of the hull, `few` included.
static void refine(Cuts &cuts, const SaveChoice &many, const SaveChoice &few,
                   std::vector<SaveChoice> &frontier) {
  if (few.bytes >= many.bytes)
    return;
  double price = (few.flops - many.flops) / (many.bytes - few.bytes);
  SaveChoice middle = *cuts.solve({price, 1});
  double ends = few.flops + price * few.bytes;
  if (middle.flops + price * middle.bytes < ends * (1 - 1e-9)) {
    refine(cuts, many, middle, frontier);
    refine(cuts, middle, few, frontier);
    return;
  }
  frontier.push_back(few);
}

std::vector<SaveChoice> stretto::saveFrontier(const SaveProblem &problem) {
  Cuts cuts(problem);
  std::vector<SaveChoice> frontier = {*cuts.solve(flopsFirst(problem))};
  SaveChoice few = *cuts.solve(bytesFirst(problem));
  refine(cuts, SaveChoice(frontier.front()), few, frontier);
  return frontier;
}

std::optional<SaveChoice> stretto::saveWithin(const SaveProblem &problem,
                                              double bytes, unsigned maxCuts) {
  return BoundedSearch(problem, bytes, maxCuts).run();
}
