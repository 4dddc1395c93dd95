//===- MinimumCut.h - maximum flow and the cut it proves --------*- C++ -*-===//
//
// Dinic's algorithm (Soviet Math. Doklady 11, 1970) on small graphs with real
// capacities: O(V^2 E) whatever the capacities.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_LIB_TRANSFORMS_DERIVE_MINIMUMCUT_H
#define STRETTO_LIB_TRANSFORMS_DERIVE_MINIMUMCUT_H

#include "llvm/ADT/BitVector.h"
#include <vector>

namespace stretto {

class MinimumCut {
public:
  /// More than any sum of capacities; a number, so that a graph without a
  /// finite cut still has one.
  static constexpr double infinite = 1e300;

  explicit MinimumCut(unsigned numNodes) : first(numNodes, -1) {}

  void addEdge(unsigned from, unsigned to, double capacity);
  /// The nodes on the source's side of a minimum cut.
  llvm::BitVector sourceSide(unsigned source, unsigned sink);

private:
  struct Edge {
    unsigned to;
    int next; // of the same node; the reverse edge is this number ^ 1
    double left;
  };
  bool findLevels(unsigned source, unsigned sink);
  double push(unsigned node, unsigned sink, double limit);
  bool isOpen(const Edge &edge) const { return edge.left > tolerance; }

  std::vector<Edge> edges;
  std::vector<int> first, level, cursor;
  double largest = 0, tolerance = 0;
};

} // namespace stretto

#endif // STRETTO_LIB_TRANSFORMS_DERIVE_MINIMUMCUT_H
