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

/// What all ranks hold: matrices of one shape.
struct Holdings {
  int rows = 0, columns = 0;
  std::vector<std::vector<Piece>> ranks;

  /// All of it, for comparison.
  std::string key() const;
  int extent(int dim) const { return dim ? columns : rows; }
  const Piece &at(int rank, int row, int column) const {
    return ranks[rank][row * columns + column];
  }
};

Holdings hold(const TestMesh &mesh, const TestDist &dist, const int *size);

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

/// What the ranks hold after the step and how many elements were read from
/// other ranks; nothing if the step is not defined here.
std::optional<std::pair<Holdings, int>>
run(const TestMesh &mesh, const Holdings &before, const TestStep &step);

/// Has every rank what `dist` says? Terms of a partial sum may lie on any rank
/// of its group, each on one.
bool isDone(const TestMesh &mesh, const Holdings &holdings,
            const TestDist &dist, const int *size);

/// Elements that must at least still be read: what a rank needs and has not.
int stillMissing(const TestMesh &mesh, const Holdings &holdings,
                 const TestDist &dist, const int *size);

/// The least elements read by any sequence of at most `depth` steps, if it is
/// less than `known`; else `known`. `ended` is false when there were too many
/// states to look at all.
int leastByExhaustion(const TestMesh &mesh, const TestDist &from,
                      const TestDist &to, const int *size, int depth, int known,
                      bool &ended);

} // namespace stretto::test

#endif // STRETTO_TEST_UNIT_SHARD_VIRTUALRANKS_H
