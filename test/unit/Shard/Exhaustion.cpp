//===- Exhaustion.cpp -----------------------------------------------------===//

#include "Exhaustion.h"

#include <algorithm>
#include <cstring>
#include <set>

using namespace stretto;
using namespace stretto::test;

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

static void addPads(const TestMesh &mesh, const int *size,
                    std::vector<TestStep> &steps) {
  for (int dim = 0; dim < 2; ++dim) {
    std::set<int> extents;
    for (const TestDist &dist : allShardings(mesh))
      extents.insert(dist.extent(mesh, dim, size[dim]));
    if (extents.size() > 1)
      for (int extent : extents)
        steps.push_back({TestStep::Pad, {}, {}, dim, 0, extent});
  }
}

static std::vector<TestStep> allSteps(const TestMesh &mesh, const int *size,
                                      bool summed) {
  std::vector<TestStep> steps;
  std::set<std::vector<int>> permutations;
  for (const Axes &group : mesh.lists()) {
    if (group.empty())
      continue;
    for (int dim = 0; dim < 2; ++dim) {
      steps.push_back({TestStep::Slice, group, {}, dim});
      steps.push_back({TestStep::AllGather, group, {}, dim});
      if (summed)
        steps.push_back({TestStep::ReduceScatter, group, {}, dim});
    }
    if (summed && std::is_sorted(group.begin(), group.end())) {
      steps.push_back({TestStep::AllReduce, group, {}});
      steps.push_back({TestStep::KeepFirst, group, {}});
    }
    Axes to = group;
    std::sort(to.begin(), to.end());
    do {
      for (int dim = 0; dim < 2; ++dim)
        steps.push_back({TestStep::AllToAll, group, to, dim, 1 - dim});
      std::vector<int> senders;
      for (int rank = 0; rank < mesh.ranks(); ++rank)
        senders.push_back(mesh.group(rank, group)[mesh.index(rank, to)]);
      if (permutations.insert(senders).second)
        steps.push_back({TestStep::Permute, group, to});
    } while (std::next_permutation(to.begin(), to.end()));
  }
  addPads(mesh, size, steps);
  return steps;
}

static std::string toString(const TestMesh &mesh, const TestStep &step) {
  static const char *const names[] = {
      "slice",          "pad",        "keep-first", "all-gather", "all-to-all",
      "reduce-scatter", "all-reduce", "permute"};
  auto list = [&](const Axes &axes) {
    std::string text;
    for (int axis : axes)
      text += mesh.names[axis];
    return text;
  };
  return std::string(names[step.kind]) + " " + list(step.group) +
         (step.to.empty() ? "" : " as " + list(step.to)) + " dim " +
         std::to_string(step.dim) + "; ";
}

Exhaustion::Exhaustion(const TestMesh &mesh, const int *size, bool summed)
    : mesh(mesh), size(size), steps(allSteps(mesh, size, summed)) {}

const std::optional<Move> &Exhaustion::move(size_t step, int rows,
                                            int columns) {
  auto &all = moves[{rows, columns}];
  if (all.empty())
    for (const TestStep &one : steps)
      all.push_back(moveOf(mesh, one, rows, columns));
  return all[step];
}

//===----------------------------------------------------------------------===//
// What must still be read
//===----------------------------------------------------------------------===//

namespace {
/// Which elements the ranks have.
struct Inventory {
  std::vector<Elements> whole; // per rank, with all terms
  Elements somewhere;          // whole on some rank
  std::vector<int> mostTerms;  // per element, in one piece
  std::vector<uint16_t> terms; // per rank and element, in any piece

  Inventory(const Piece *pieces, int ranks, int size, uint16_t all)
      : whole(ranks), mostTerms(mostElements), terms(ranks * mostElements) {
    for (int rank = 0; rank < ranks; ++rank)
      for (int i = 0; i < size; ++i, ++pieces) {
        if (pieces->element < 0)
          continue;
        int &most = mostTerms[pieces->element];
        most = std::max(most, int(std::bitset<16>(pieces->terms).count()));
        terms[rank * mostElements + pieces->element] |= pieces->terms;
        if (pieces->terms == all)
          whole[rank].set(pieces->element);
      }
    for (const Elements &elements : whole)
      somewhere |= elements;
  }
};

/// A target with what the bound needs.
struct Target {
  Goal goal;
  std::vector<Elements> wanted; // per rank
  int needs = 0;                // ranks that need an element

  Target(const TestMesh &mesh, const TestDist &dist, const int *size)
      : goal(mesh, dist, size), wanted(mesh.ranks()),
        needs(mesh.ranks() / mesh.product(dist.dims[0]) /
              mesh.product(dist.dims[1])) {
    for (int rank = 0; rank < mesh.ranks(); ++rank)
      for (int i = 0; i < goal.wanted.size(); ++i)
        if (int element = goal.wanted.rank(rank)[i].element; element >= 0)
          wanted[rank].set(element);
  }

  int missing(const Inventory &has, int terms, int elements) const;
  int missingInGroups(const Inventory &has, uint16_t all) const;
};
} // namespace

/// In every group of a partial target some member must have every term, or
/// somebody reads.
int Target::missingInGroups(const Inventory &has, uint16_t all) const {
  int result = 0;
  for (const std::vector<int> &group : goal.groups)
    for (int element = 0; element < mostElements; ++element) {
      if (!wanted[group[0]][element])
        continue;
      uint16_t together = 0;
      for (int member : group)
        together |= has.terms[member * mostElements + element];
      result += together != all;
    }
  return result;
}

/// A rank that needs an element and has not all its terms reads it at least
/// once. Where no rank has it whole, the first that gets it does so by adding
/// pieces; k pieces take k - 1 messages, and none of them is one by which
/// another rank gets the whole.
int Target::missing(const Inventory &has, int terms, int elements) const {
  int result = 0;
  if (goal.isPartial)
    return missingInGroups(has, uint16_t((1 << terms) - 1));
  for (size_t rank = 0; rank < wanted.size(); ++rank)
    result += int((wanted[rank] & has.somewhere & ~has.whole[rank]).count());
  if (terms == 1)
    return result;
  for (int element = 0; element < elements; ++element)
    if (!has.somewhere[element]) {
      int most = std::max(1, has.mostTerms[element]);
      result += (terms + most - 1) / most - 1 + needs - 1;
    }
  return result;
}

int Exhaustion::stillMissing(const TestDist &from, const TestDist &to) {
  Holdings source = hold(mesh, from, size);
  uint16_t all = allTerms(source);
  Inventory has(source.pieces.data(), mesh.ranks(), source.size(), all);
  return Target(mesh, to, size)
      .missing(has, int(std::bitset<16>(all).count()), size[0] * size[1]);
}

//===----------------------------------------------------------------------===//
// The search
//===----------------------------------------------------------------------===//

/// Layer by layer: what can be held after one step, two, three. States are
/// what the ranks hold; each is kept once, with the least that led to it.
/// Dropped is what cannot beat the known sequence of any target.
class Exhaustion::Search {
public:
  Search(Exhaustion &all, const TestDist &from,
         std::vector<Question> &questions)
      : all(all), ranks(all.mesh.ranks()), questions(questions),
        slots(1 << 12, -1) {
    for (const Question &question : questions)
      targets.emplace_back(all.mesh, question.to, all.size);
    Holdings source = hold(all.mesh, from, all.size);
    terms = allTerms(source);
    numTerms = int(std::bitset<16>(terms).count());
    buffer = source.pieces;
    add(source.rows, source.columns, 0, -1, 0, 0);
  }

  void run(int depth) {
    for (int step = 0; step < depth && !layer.empty(); ++step) {
      std::vector<int> now;
      now.swap(layer);
      for (int index : now)
        expand(index, step + 1, step + 1 == depth);
    }
    all.visited += long(states.size());
  }

private:
  struct State {
    int rows, columns, spent, parent, step, depth;
    size_t at; // in `pieces`
    uint64_t hash;
  };

  void expand(int index, int depth, bool isLast);
  void finish(int index, size_t step, const Move &move, const Piece *before);
  bool promises(int rows, int columns, int spent);
  void add(int rows, int columns, int spent, int parent, int step, int depth);
  uint64_t hash(int rows, int columns) const;
  void grow();

  Exhaustion &all;
  int ranks;
  std::vector<Question> &questions;
  std::vector<Target> targets;
  uint16_t terms;
  int numTerms;
  std::vector<State> states;
  std::vector<Piece> pieces, buffer;
  std::vector<int> slots, layer;
};

uint64_t Exhaustion::Search::hash(int rows, int columns) const {
  uint64_t hash = uint64_t(rows) * 0x9e3779b97f4a7c15u + uint64_t(columns);
  for (const Piece &piece : buffer) {
    hash ^= uint64_t(uint16_t(piece.element)) << 16 | piece.terms;
    hash *= 0xff51afd7ed558ccdu;
    hash ^= hash >> 32;
  }
  return hash;
}

void Exhaustion::Search::grow() {
  slots.assign(slots.size() * 2, -1);
  for (size_t index = 0; index < states.size(); ++index) {
    size_t slot = states[index].hash & (slots.size() - 1);
    while (slots[slot] >= 0)
      slot = (slot + 1) & (slots.size() - 1);
    slots[slot] = int(index);
  }
}

/// Adds what is in the buffer, unless it was reached as cheaply before.
void Exhaustion::Search::add(int rows, int columns, int spent, int parent,
                             int step, int depth) {
  uint64_t key = hash(rows, columns);
  size_t slot = key & (slots.size() - 1);
  for (; slots[slot] >= 0; slot = (slot + 1) & (slots.size() - 1)) {
    State &old = states[slots[slot]];
    if (old.hash != key || old.rows != rows || old.columns != columns ||
        std::memcmp(pieces.data() + old.at, buffer.data(),
                    buffer.size() * sizeof(Piece)) != 0)
      continue;
    if (old.spent <= spent)
      return;
    if (old.depth != depth)
      layer.push_back(slots[slot]);
    old.spent = spent;
    old.parent = parent;
    old.step = step;
    old.depth = depth;
    return;
  }
  if (!promises(rows, columns, spent))
    return;
  slots[slot] = int(states.size());
  layer.push_back(int(states.size()));
  states.push_back(
      {rows, columns, spent, parent, step, depth, pieces.size(), key});
  pieces.insert(pieces.end(), buffer.begin(), buffer.end());
  if (states.size() * 2 > slots.size())
    grow();
}

bool Exhaustion::Search::promises(int rows, int columns, int spent) {
  Inventory has(buffer.data(), ranks, rows * columns, terms);
  for (size_t i = 0; i < targets.size(); ++i)
    if (spent < questions[i].known &&
        spent + targets[i].missing(has, numTerms, all.size[0] * all.size[1]) <
            questions[i].known)
      return true;
  return false;
}

/// Does the step end where some target is?
void Exhaustion::Search::finish(int index, size_t step, const Move &move,
                                const Piece *before) {
  int total = states[index].spent + move.read;
  bool isWhole = false;
  for (size_t i = 0; i < targets.size(); ++i) {
    const Goal &goal = targets[i].goal;
    if (goal.wanted.rows != move.rows || goal.wanted.columns != move.columns ||
        total >= questions[i].known)
      continue;
    // Most are told apart by what the first rank would hold.
    buffer.resize(size_t(ranks) * move.size());
    if (!isWhole && !move.apply(before, buffer.data(), 0))
      return;
    bool fits = true;
    for (int place = 0; place < move.size() && fits; ++place)
      if (int element = goal.wanted.pieces[place].element; element >= 0)
        fits = buffer[place].element == element;
    if (!fits)
      continue;
    for (int rank = 1; rank < ranks && !isWhole; ++rank)
      if (!move.apply(before, buffer.data() + rank * move.size(), rank))
        return;
    isWhole = true;
    if (!goal.isMetBy(buffer.data(), terms))
      continue;
    questions[i].known = total;
    questions[i].steps = toString(all.mesh, all.steps[step]);
    for (int at = index; states[at].parent >= 0; at = states[at].parent)
      questions[i].steps =
          toString(all.mesh, all.steps[states[at].step]) + questions[i].steps;
  }
}

void Exhaustion::Search::expand(int index, int depth, bool isLast) {
  const State state = states[index]; // `states` and `pieces` grow
  int most = 0;
  for (const Question &question : questions)
    most = std::max(most, question.known);
  for (size_t step = 0; step < all.steps.size(); ++step) {
    const auto &move = all.move(step, state.rows, state.columns);
    if (!move || state.spent + move->read >= most ||
        !move->isDefined(pieces.data() + state.at))
      continue;
    finish(index, step, *move, pieces.data() + state.at);
    if (isLast)
      continue;
    buffer.resize(size_t(ranks) * move->size());
    bool isDefined = true;
    for (int rank = 0; rank < ranks && isDefined; ++rank)
      isDefined = move->apply(pieces.data() + state.at,
                              buffer.data() + rank * move->size(), rank);
    if (isDefined)
      add(move->rows, move->columns, state.spent + move->read, index, int(step),
          depth);
  }
}

void Exhaustion::search(const TestDist &from, std::vector<Question> &questions,
                        int depth) {
  Search(*this, from, questions).run(depth);
}
