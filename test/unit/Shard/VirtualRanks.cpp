//===- VirtualRanks.cpp ---------------------------------------------------===//

#include "VirtualRanks.h"

#include <algorithm>

using namespace stretto;
using namespace stretto::test;

//===----------------------------------------------------------------------===//
// Meshes and distributions
//===----------------------------------------------------------------------===//

int TestMesh::ranks() const {
  int count = 1;
  for (int size : sizes)
    count *= size;
  return count;
}

int TestMesh::coordinate(int rank, int axis) const {
  for (size_t minor = sizes.size() - 1; int(minor) > axis; --minor)
    rank /= sizes[minor];
  return rank % sizes[axis];
}

int TestMesh::index(int rank, const Axes &axes) const {
  int result = 0;
  for (int axis : axes)
    result = result * sizes[axis] + coordinate(rank, axis);
  return result;
}

int TestMesh::product(const Axes &axes) const {
  int result = 1;
  for (int axis : axes)
    result *= sizes[axis];
  return result;
}

const std::vector<int> &TestMesh::group(int rank, const Axes &axes) const {
  std::vector<std::vector<int>> &all = groups[axes];
  if (!all.empty())
    return all[rank];
  for (int mine = 0; mine < ranks(); ++mine) {
    std::vector<int> members(product(axes), -1);
    for (int other = 0; other < ranks(); ++other) {
      bool same = true;
      for (int axis = 0; axis < int(sizes.size()); ++axis)
        if (std::find(axes.begin(), axes.end(), axis) == axes.end())
          same &= coordinate(mine, axis) == coordinate(other, axis);
      if (same)
        members[index(other, axes)] = other;
    }
    all.push_back(members);
  }
  return all[rank];
}

std::vector<Axes> TestMesh::lists() const {
  std::vector<Axes> result = {{}};
  for (size_t i = 0; i < result.size(); ++i)
    for (int axis = 0; axis < int(sizes.size()); ++axis) {
      Axes longer = result[i];
      if (std::find(longer.begin(), longer.end(), axis) != longer.end())
        continue;
      longer.push_back(axis);
      result.push_back(longer);
    }
  return result;
}

int TestDist::extent(const TestMesh &mesh, int dim, int size) const {
  int shards = mesh.product(dims[dim]);
  return (size + shards - 1) / shards * shards;
}

std::string TestDist::text(const TestMesh &mesh, const int *size) const {
  auto list = [&](const Axes &axes) {
    std::string text;
    for (int axis : axes)
      text += (text.empty() ? "" : ", ") + mesh.names[axis];
    return "{" + text + "}";
  };
  std::string text = "#stretto.dist<mesh<";
  for (size_t axis = 0; axis < mesh.sizes.size(); ++axis)
    text += (axis ? ", " : "") + mesh.names[axis] + " = " +
            std::to_string(mesh.sizes[axis]);
  text += ">, [" + list(dims[0]) + ", " + list(dims[1]) + "]";
  if (!partial.empty())
    text += ", sum " + list(partial);
  int padded[2];
  for (int dim = 0; dim < 2; ++dim) {
    padded[dim] = extent(mesh, dim, size[dim]);
    padded[dim] = padded[dim] == size[dim] ? 0 : padded[dim];
  }
  if (padded[0] || padded[1])
    text += ", padded [" + std::to_string(padded[0]) + ", " +
            std::to_string(padded[1]) + "]";
  return text + ">";
}

std::vector<TestDist> test::allShardings(const TestMesh &mesh) {
  std::vector<TestDist> result;
  for (const Axes &axes : mesh.lists())
    for (size_t first = 0; first <= axes.size(); ++first)
      result.push_back({{Axes(axes.begin(), axes.begin() + first),
                         Axes(axes.begin() + first, axes.end())},
                        {}});
  return result;
}

Holdings test::hold(const TestMesh &mesh, const TestDist &dist,
                    const int *size) {
  Holdings result;
  int extents[2], shards[2];
  for (int dim = 0; dim < 2; ++dim) {
    extents[dim] = dist.extent(mesh, dim, size[dim]);
    shards[dim] = mesh.product(dist.dims[dim]);
  }
  result.rows = extents[0] / shards[0];
  result.columns = extents[1] / shards[1];
  for (int rank = 0; rank < mesh.ranks(); ++rank) {
    uint16_t terms = 1 << mesh.index(rank, dist.partial);
    for (int row = 0; row < result.rows; ++row)
      for (int column = 0; column < result.columns; ++column) {
        int i = mesh.index(rank, dist.dims[0]) * result.rows + row;
        int j = mesh.index(rank, dist.dims[1]) * result.columns + column;
        bool padding = i >= size[0] || j >= size[1];
        result.pieces.push_back(
            padding ? Piece{-1, 0} : Piece{int16_t(i * size[1] + j), terms});
      }
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

namespace {
/// Writes down where the pieces of a step's result come from.
class MoveWriter {
public:
  MoveWriter(const TestMesh &mesh, const TestStep &step, int rows, int columns)
      : mesh(mesh), step(step), rows(rows), columns(columns),
        members(mesh.product(step.group)) {}

  std::optional<Move> write();

private:
  bool splits() const {
    return step.kind == TestStep::Slice || step.kind == TestStep::AllToAll ||
           step.kind == TestStep::ReduceScatter;
  }
  bool adds() const {
    return step.kind == TestStep::ReduceScatter ||
           step.kind == TestStep::AllReduce;
  }
  bool joins() const {
    return step.kind == TestStep::AllGather || step.kind == TestStep::AllToAll;
  }
  int joined() const {
    return step.kind == TestStep::AllToAll ? step.concat : step.dim;
  }
  int &extent(int dim) { return dim ? move.columns : move.rows; }
  int place(int rank, const int *at) const {
    return (rank * rows + at[0]) * columns + at[1];
  }
  void shape();
  void drop();
  void writePlace(int rank, int row, int column);
  int elementsRead() const;

  const TestMesh &mesh;
  const TestStep &step;
  int rows, columns, members;
  Move move;
};
} // namespace

void MoveWriter::shape() {
  move.rows = rows;
  move.columns = columns;
  if (splits())
    extent(step.dim) /= members;
  if (joins())
    extent(joined()) *= members;
  if (step.kind == TestStep::Pad)
    extent(step.dim) = step.extent;
}

/// What is cut off where an extent becomes smaller.
void MoveWriter::drop() {
  for (int rank = 0; rank < mesh.ranks(); ++rank)
    for (int row = 0; row < rows; ++row)
      for (int column = 0; column < columns; ++column)
        if (int at[] = {row, column}; at[step.dim] >= step.extent)
          move.dropped.push_back(place(rank, at));
}

void MoveWriter::writePlace(int rank, int row, int column) {
  int at[] = {row, column};
  const std::vector<int> &group = mesh.group(rank, step.group);
  int me = mesh.index(rank, step.group), from = rank;
  if (step.kind == TestStep::Pad && at[step.dim] >= (step.dim ? columns : rows))
    return move.from.push_back(-1);
  if (step.kind == TestStep::Permute)
    from = group[mesh.index(rank, step.to)];
  if (joins()) { // block k is member k's
    int block = extent(joined()) / members;
    from = group[at[joined()] / block];
    at[joined()] %= block;
  }
  if (splits()) // of the whole, this rank's block
    at[step.dim] +=
        extent(step.dim) *
        (step.kind == TestStep::AllToAll ? mesh.index(rank, step.to) : me);
  if (!adds())
    return move.from.push_back(place(from, at));
  for (int member : group)
    move.from.push_back(place(member, at));
}

/// Over all ranks. All-reduce: the owner of an element reads n - 1 terms, n - 1
/// others read the sum.
int MoveWriter::elementsRead() const {
  int size = rows * columns, others = members - 1, ranks = mesh.ranks();
  switch (step.kind) {
  case TestStep::AllGather:
    return ranks * others * size;
  case TestStep::AllToAll:
  case TestStep::ReduceScatter:
    return ranks * others * size / members;
  case TestStep::AllReduce:
    return ranks / members * 2 * others * size;
  case TestStep::Permute: {
    int moved = 0;
    for (int rank = 0; rank < ranks; ++rank)
      moved += mesh.group(rank, step.group)[mesh.index(rank, step.to)] != rank;
    return moved * size;
  }
  default:
    return 0;
  }
}

std::optional<Move> MoveWriter::write() {
  if (splits() && (step.dim ? columns : rows) % members != 0)
    return std::nullopt;
  shape();
  move.parts = adds() ? members : 1;
  move.read = elementsRead();
  if (step.kind == TestStep::Pad)
    drop();
  if (step.kind == TestStep::KeepFirst)
    for (int rank = 0; rank < mesh.ranks(); ++rank)
      move.zeroed.push_back(mesh.index(rank, step.group) != 0);
  for (int rank = 0; rank < mesh.ranks(); ++rank)
    for (int row = 0; row < move.rows; ++row)
      for (int column = 0; column < move.columns; ++column)
        writePlace(rank, row, column);
  return std::move(move);
}

std::optional<Move> test::moveOf(const TestMesh &mesh, const TestStep &step,
                                 int rows, int columns) {
  return MoveWriter(mesh, step, rows, columns).write();
}

bool Move::apply(const Piece *before, Piece *after, int rank) const {
  int size = rows * columns;
  const int *source = from.data() + size_t(rank) * size * parts;
  for (int i = 0; i < size; ++i, source += parts) {
    Piece piece = *source < 0 ? Piece{-1, 0} : before[*source];
    for (int part = 1; part < parts; ++part) {
      const Piece &more = before[source[part]];
      if (piece.element != more.element || (piece.terms & more.terms))
        return false; // not terms of one sum
      piece.terms |= more.terms;
    }
    after[i] = piece;
  }
  if (!zeroed.empty() && zeroed[rank])
    for (int i = 0; i < size; ++i)
      after[i].terms = 0;
  return true;
}

bool Move::isDefined(const Piece *before) const {
  return std::all_of(dropped.begin(), dropped.end(),
                     [&](int place) { return before[place].element < 0; });
}

std::optional<std::pair<Holdings, int>>
test::run(const TestMesh &mesh, const Holdings &before, const TestStep &step) {
  std::optional<Move> move = moveOf(mesh, step, before.rows, before.columns);
  if (!move || !move->isDefined(before.pieces.data()))
    return std::nullopt;
  Holdings after;
  after.rows = move->rows;
  after.columns = move->columns;
  after.pieces.resize(mesh.ranks() * after.size());
  for (int rank = 0; rank < mesh.ranks(); ++rank)
    if (!move->apply(before.pieces.data(),
                     after.pieces.data() + rank * after.size(), rank))
      return std::nullopt;
  return std::pair(std::move(after), move->read);
}

//===----------------------------------------------------------------------===//
// Goals
//===----------------------------------------------------------------------===//

uint16_t test::allTerms(const Holdings &source) {
  uint16_t terms = 0;
  for (const Piece &piece : source.pieces)
    terms |= piece.terms;
  return terms;
}

Goal::Goal(const TestMesh &mesh, const TestDist &dist, const int *size)
    : isPartial(!dist.partial.empty()) {
  TestDist whole = dist;
  whole.partial.clear();
  wanted = hold(mesh, whole, size);
  for (int rank = 0; rank < mesh.ranks(); ++rank)
    if (mesh.index(rank, dist.partial) == 0)
      groups.push_back(mesh.group(rank, dist.partial));
}

bool Goal::isMetBy(const Piece *pieces, uint16_t all) const {
  int size = wanted.size();
  for (const std::vector<int> &group : groups)
    for (int i = 0; i < size; ++i) {
      int element = wanted.pieces[group[0] * size + i].element;
      if (element < 0)
        continue;
      uint16_t terms = 0;
      for (int member : group) {
        const Piece &piece = pieces[member * size + i];
        if (piece.element != element || (terms & piece.terms))
          return false;
        terms |= piece.terms;
      }
      if (terms != all)
        return false;
    }
  return true;
}

bool test::isDone(const TestMesh &mesh, const Holdings &holdings,
                  const TestDist &dist, const int *size) {
  Goal goal(mesh, dist, size);
  return goal.wanted.rows == holdings.rows &&
         goal.wanted.columns == holdings.columns &&
         goal.isMetBy(holdings.pieces.data(), allTerms(holdings));
}
