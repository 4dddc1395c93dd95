//===- VirtualRanks.h - data on ranks, by definition ------------*- C++ -*-===//
//
// What every rank holds, element by element, and what collectives do to it and
// move: the definitions, written without the compiler's arithmetic on axes.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_TEST_UNIT_SHARD_VIRTUALRANKS_H
#define STRETTO_TEST_UNIT_SHARD_VIRTUALRANKS_H

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace stretto::test {

/// Mesh axes by number, major to minor.
using Axes = std::vector<int>;

struct TestMesh {
  std::vector<int> sizes;
  std::vector<std::string> names;

  int ranks() const;
  int coordinate(int rank, int axis) const;
  /// The rank's index counted by `axes`.
  int index(int rank, const Axes &axes) const;
  int product(const Axes &axes) const;
  /// The ranks that differ from `rank` in `axes` only, in their order.
  const std::vector<int> &group(int rank, const Axes &axes) const;
  /// Every list of different axes, none first.
  std::vector<Axes> lists() const;

  /// Groups of all ranks by axes, made when asked for.
  mutable std::map<Axes, std::vector<std::vector<int>>> groups = {};
};

/// Dimension 0 and 1 of a matrix over axes, and a partial sum.
struct TestDist {
  Axes dims[2], partial;

  /// The type's encoding; `size`s that do not divide are padded.
  std::string text(const TestMesh &mesh, const int *size) const;
  int extent(const TestMesh &mesh, int dim, int size) const;
};

/// All distributions of two dimensions over the axes, without partial state.
std::vector<TestDist> allShardings(const TestMesh &mesh);

/// An element of the global matrix (-1: padding) and which terms of its sum.
struct Piece {
  int16_t element;
  uint16_t terms;
  bool operator==(const Piece &o) const {
    return std::tie(element, terms) == std::tie(o.element, o.terms);
  }
};

/// What all ranks hold, rank by rank: matrices of one shape.
struct Holdings {
  int rows = 0, columns = 0;
  std::vector<Piece> pieces;

  int size() const { return rows * columns; }
  /// The first piece of a rank.
  const Piece *rank(int rank) const { return pieces.data() + rank * size(); }
};

Holdings hold(const TestMesh &mesh, const TestDist &dist, const int *size);
/// The terms of an element's sum.
uint16_t allTerms(const Holdings &source);

/// A step, in the words of the operation.
struct TestStep {
  enum Kind {
    Slice,
    Pad,
    KeepFirst,
    AllGather,
    AllToAll,
    ReduceScatter,
    AllReduce,
    Permute
  } kind;
  Axes group, to;
  int dim = 0;    // all_to_all: split
  int concat = 0; // all_to_all
  int extent = 0; // pad
};

/// A step on matrices of one shape: which pieces are added to make each piece
/// of the result, and how many elements are read from other ranks.
struct Move {
  int rows = 0, columns = 0, parts = 1, read = 0;
  std::vector<int> from;    // `parts` places for every place, -1 for padding
  std::vector<int> dropped; // must be padding
  std::vector<bool> zeroed; // ranks that keep nothing

  int size() const { return rows * columns; }
  bool isDefined(const Piece *before) const;
  /// The pieces of one rank; false where they are not terms of one sum.
  bool apply(const Piece *before, Piece *after, int rank) const;
};

/// Nothing where the shape does not divide.
std::optional<Move> moveOf(const TestMesh &mesh, const TestStep &step, int rows,
                           int columns);

/// What the ranks hold after the step and how many elements were read from
/// other ranks; nothing if the step is not defined here.
std::optional<std::pair<Holdings, int>>
run(const TestMesh &mesh, const Holdings &before, const TestStep &step);

/// What all ranks must hold. Terms of a partial sum may lie on any rank of
/// their group, each on one.
struct Goal {
  Holdings wanted; // whole elements
  bool isPartial;
  std::vector<std::vector<int>> groups; // over the partial axes

  Goal(const TestMesh &mesh, const TestDist &dist, const int *size);
  bool isMetBy(const Piece *pieces, uint16_t all) const;
};

bool isDone(const TestMesh &mesh, const Holdings &holdings,
            const TestDist &dist, const int *size);

} // namespace stretto::test

#endif // STRETTO_TEST_UNIT_SHARD_VIRTUALRANKS_H
