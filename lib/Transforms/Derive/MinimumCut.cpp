//===- MinimumCut.cpp - maximum flow and the cut it proves ----------------===//

#include "MinimumCut.h"

#include <algorithm>

using namespace stretto;

void MinimumCut::addEdge(unsigned from, unsigned to, double capacity) {
  edges.push_back({to, first[from], capacity});
  first[from] = int(edges.size()) - 1;
  edges.push_back({from, first[to], 0});
  first[to] = int(edges.size()) - 1;
  if (capacity != infinite)
    largest = std::max(largest, capacity);
}

/// Distances from the source along open edges.
bool MinimumCut::findLevels(unsigned source, unsigned sink) {
  level.assign(first.size(), -1);
  level[source] = 0;
  std::vector<unsigned> queue = {source};
  for (size_t head = 0; head < queue.size(); ++head)
    for (int e = first[queue[head]]; e >= 0; e = edges[e].next)
      if (isOpen(edges[e]) && level[edges[e].to] < 0) {
        level[edges[e].to] = level[queue[head]] + 1;
        queue.push_back(edges[e].to);
      }
  return level[sink] >= 0;
}

double MinimumCut::push(unsigned node, unsigned sink, double limit) {
  if (node == sink)
    return limit;
  for (int &e = cursor[node]; e >= 0; e = edges[e].next) {
    if (!isOpen(edges[e]) || level[edges[e].to] != level[node] + 1)
      continue;
    double pushed = push(edges[e].to, sink, std::min(limit, edges[e].left));
    if (pushed <= 0)
      continue;
    edges[e].left -= pushed;
    edges[e ^ 1].left += pushed;
    return pushed;
  }
  return 0;
}

llvm::BitVector MinimumCut::sourceSide(unsigned source, unsigned sink) {
  tolerance = largest * 1e-13;
  while (findLevels(source, sink)) {
    cursor = first;
    while (push(source, sink, infinite) > 0)
      ;
  }
  llvm::BitVector side(first.size());
  for (unsigned node = 0; node < first.size(); ++node)
    side[node] = level[node] >= 0;
  return side;
}
