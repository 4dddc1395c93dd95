//===- Exhaustion.h - the best sequence of a few steps ----------*- C++ -*-===//
//
// The least that must be moved between two distributions, found by trying every
// sequence of at most four steps. It knows what each rank holds, element by
// element, and nothing of the compiler's states; one search from a source
// answers for all targets.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_TEST_UNIT_SHARD_EXHAUSTION_H
#define STRETTO_TEST_UNIT_SHARD_EXHAUSTION_H

#include "VirtualRanks.h"

#include <bitset>

namespace stretto::test {

/// A matrix has at most this many elements.
inline constexpr int mostElements = 128;
using Elements = std::bitset<mostElements>;

/// What is asked of a search, and its answer.
struct Question {
  TestDist to;
  int known;         ///< elements read by a sequence that is known
  std::string steps; ///< a better one; then `known` is what it reads
};

class Exhaustion {
public:
  /// `size` must outlive it; `summed`: distributions are partial somewhere.
  Exhaustion(const TestMesh &mesh, const int *size, bool summed);

  /// Looks for sequences of at most `depth` steps that read less than `known`.
  void search(const TestDist &from, std::vector<Question> &questions,
              int depth);

  /// Elements that at least must be read: every element that a rank needs and
  /// has not takes one message; so does every term that must come from
  /// elsewhere before an element is added up.
  int stillMissing(const TestDist &from, const TestDist &to);

  long numStates() const { return visited; }

private:
  class Search;

  /// The step on matrices of a shape, written down once.
  const std::optional<Move> &move(size_t step, int rows, int columns);

  const TestMesh &mesh;
  const int *size;
  std::vector<TestStep> steps;
  std::map<std::pair<int, int>, std::vector<std::optional<Move>>> moves;
  long visited = 0;
};

} // namespace stretto::test

#endif // STRETTO_TEST_UNIT_SHARD_EXHAUSTION_H
