//===- VirtualRanks.cpp ---------------------------------------------------===//

#include "VirtualRanks.h"

#include <algorithm>
#include <set>
#include <unordered_map>

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

std::string Holdings::key() const {
  std::string text = std::to_string(rows) + "x" + std::to_string(columns);
  for (const auto &held : ranks)
    text.append(reinterpret_cast<const char *>(held.data()),
                held.size() * sizeof(Piece));
  return text;
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
    auto &held = result.ranks.emplace_back();
    uint16_t terms = 1 << mesh.index(rank, dist.partial);
    for (int row = 0; row < result.rows; ++row)
      for (int column = 0; column < result.columns; ++column) {
        int i = mesh.index(rank, dist.dims[0]) * result.rows + row;
        int j = mesh.index(rank, dist.dims[1]) * result.columns + column;
        bool padding = i >= size[0] || j >= size[1];
        held.push_back(padding ? Piece{-1, 0}
                               : Piece{int16_t(i * size[1] + j), terms});
      }
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

/// Block `index` of `count` along `dim`.
static std::vector<Piece> block(const Holdings &holdings, int rank, int dim,
                                int index, int count) {
  int rows = holdings.rows / (dim ? 1 : count);
  int columns = holdings.columns / (dim ? count : 1);
  std::vector<Piece> result;
  for (int row = 0; row < rows; ++row)
    for (int column = 0; column < columns; ++column)
      result.push_back(holdings.at(rank, row + (dim ? 0 : index * rows),
                                   column + (dim ? index * columns : 0)));
  return result;
}

/// Matrices of `rows` rows side by side (dim 1) or below each other.
static std::vector<Piece> join(const std::vector<std::vector<Piece>> &parts,
                               int rows, int dim) {
  std::vector<Piece> result;
  if (dim == 0) {
    for (const auto &part : parts)
      result.insert(result.end(), part.begin(), part.end());
    return result;
  }
  int columns = int(parts[0].size()) / rows;
  for (int row = 0; row < rows; ++row)
    for (const auto &part : parts)
      result.insert(result.end(), part.begin() + row * columns,
                    part.begin() + (row + 1) * columns);
  return result;
}

/// Adds terms; false when the pieces are not terms of one sum.
static bool add(std::vector<Piece> &sum, const std::vector<Piece> &more) {
  for (size_t i = 0; i < sum.size(); ++i) {
    if (sum[i].element != more[i].element || (sum[i].terms & more[i].terms))
      return false;
    sum[i].terms |= more[i].terms;
  }
  return true;
}

static std::optional<Holdings> pad(const Holdings &before,
                                   const TestStep &step) {
  Holdings after = before;
  (step.dim ? after.columns : after.rows) = step.extent;
  for (size_t rank = 0; rank < before.ranks.size(); ++rank) {
    std::vector<Piece> held(after.rows * after.columns, Piece{-1, 0});
    for (int row = 0; row < before.rows; ++row)
      for (int column = 0; column < before.columns; ++column) {
        const Piece &piece = before.at(rank, row, column);
        if (row < after.rows && column < after.columns)
          held[row * after.columns + column] = piece;
        else if (piece.element >= 0)
          return std::nullopt; // cuts more than padding
      }
    after.ranks[rank] = held;
  }
  return after;
}

std::optional<std::pair<Holdings, int>>
test::run(const TestMesh &mesh, const Holdings &before, const TestStep &step) {
  if (step.kind == TestStep::Pad) {
    auto after = pad(before, step);
    if (!after)
      return std::nullopt;
    return std::pair(*after, 0);
  }
  Holdings after;
  int n = mesh.product(step.group), read = 0;
  int size = before.rows * before.columns;
  auto &extent = step.dim ? after.columns : after.rows;
  after.rows = before.rows;
  after.columns = before.columns;
  bool splits = step.kind == TestStep::Slice ||
                step.kind == TestStep::AllToAll ||
                step.kind == TestStep::ReduceScatter;
  if (splits) {
    if (before.extent(step.dim) % n != 0)
      return std::nullopt;
    extent /= n;
  }
  if (step.kind == TestStep::AllGather)
    extent *= n;
  if (step.kind == TestStep::AllToAll)
    (step.concat ? after.columns : after.rows) *= n;
  for (int rank = 0; rank < mesh.ranks(); ++rank) {
    const std::vector<int> &members = mesh.group(rank, step.group);
    int me = mesh.index(rank, step.group);
    std::vector<std::vector<Piece>> parts;
    std::vector<Piece> held;
    switch (step.kind) {
    case TestStep::Slice:
      held = block(before, rank, step.dim, me, n);
      break;
    case TestStep::KeepFirst:
      held = before.ranks[rank];
      for (Piece &piece : held)
        piece.terms = me == 0 ? piece.terms : 0;
      break;
    case TestStep::AllGather:
      for (int member : members)
        parts.push_back(before.ranks[member]);
      held = join(parts, before.rows, step.dim);
      read += (n - 1) * size;
      break;
    case TestStep::AllToAll: {
      int mine = mesh.index(rank, step.to);
      for (int member : members)
        parts.push_back(block(before, member, step.dim, mine, n));
      held = join(parts, step.dim == 0 ? before.rows / n : before.rows,
                  step.concat);
      read += (n - 1) * size / n;
      break;
    }
    case TestStep::ReduceScatter:
    case TestStep::AllReduce: {
      bool scatter = step.kind == TestStep::ReduceScatter;
      auto part = [&](int member) {
        return scatter ? block(before, member, step.dim, me, n)
                       : before.ranks[member];
      };
      held = part(members[0]);
      for (int k = 1; k < n; ++k)
        if (!add(held, part(members[k])))
          return std::nullopt;
      // All-reduce: an owner reads n - 1 terms, n - 1 others read its sum;
      // counted over the whole group and spread over its members.
      if (scatter)
        read += (n - 1) * size / n;
      else if (me == 0)
        read += 2 * (n - 1) * size;
      break;
    }
    case TestStep::Permute: {
      int sender = members[mesh.index(rank, step.to)];
      held = before.ranks[sender];
      read += sender == rank ? 0 : size;
      break;
    }
    case TestStep::Pad:
      break;
    }
    after.ranks.push_back(std::move(held));
  }
  return std::pair(std::move(after), read);
}

//===----------------------------------------------------------------------===//
// Goals
//===----------------------------------------------------------------------===//

static uint16_t allTerms(const Holdings &source) {
  uint16_t terms = 0;
  for (const auto &held : source.ranks)
    for (const Piece &piece : held)
      terms |= piece.terms;
  return terms;
}

bool test::isDone(const TestMesh &mesh, const Holdings &holdings,
                  const TestDist &dist, const int *size) {
  TestDist whole = dist;
  whole.partial.clear();
  Holdings wanted = hold(mesh, whole, size);
  if (wanted.rows != holdings.rows || wanted.columns != holdings.columns)
    return false;
  uint16_t all = allTerms(holdings);
  for (int rank = 0; rank < mesh.ranks(); ++rank)
    for (size_t i = 0; i < wanted.ranks[rank].size(); ++i) {
      int element = wanted.ranks[rank][i].element;
      if (element < 0)
        continue;
      uint16_t terms = 0;
      for (int member : mesh.group(rank, dist.partial)) {
        const Piece &piece = holdings.ranks[member][i];
        if (piece.element != element || (terms & piece.terms))
          return false;
        terms |= piece.terms;
      }
      if (terms != all)
        return false;
    }
  return true;
}

int test::stillMissing(const TestMesh &mesh, const Holdings &holdings,
                       const TestDist &dist, const int *size) {
  if (!dist.partial.empty())
    return 0;
  Holdings wanted = hold(mesh, dist, size);
  uint16_t all = allTerms(holdings);
  int missing = 0;
  for (int rank = 0; rank < mesh.ranks(); ++rank) {
    std::vector<bool> has(size[0] * size[1]);
    for (const Piece &piece : holdings.ranks[rank])
      if (piece.element >= 0 && piece.terms == all)
        has[piece.element] = true;
    for (const Piece &piece : wanted.ranks[rank])
      missing += piece.element >= 0 && !has[piece.element];
  }
  return missing;
}

//===----------------------------------------------------------------------===//
// Exhaustive search
//===----------------------------------------------------------------------===//

static std::vector<TestStep>
allSteps(const TestMesh &mesh, bool partial,
         const std::set<std::pair<int, int>> &pads) {
  std::vector<TestStep> steps;
  std::set<std::vector<int>> permutations;
  for (const Axes &group : mesh.lists()) {
    if (group.empty())
      continue;
    for (int dim = 0; dim < 2; ++dim) {
      steps.push_back({TestStep::Slice, group, {}, dim});
      steps.push_back({TestStep::AllGather, group, {}, dim});
      if (partial)
        steps.push_back({TestStep::ReduceScatter, group, {}, dim});
    }
    if (partial && std::is_sorted(group.begin(), group.end())) {
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
  for (auto [dim, extent] : pads)
    steps.push_back({TestStep::Pad, {}, {}, dim, 0, extent});
  return steps;
}

int test::leastByExhaustion(const TestMesh &mesh, const TestDist &from,
                            const TestDist &to, const int *size, int depth,
                            int known, bool &ended) {
  std::set<std::pair<int, int>> pads;
  for (int dim = 0; dim < 2; ++dim)
    for (int extent : {size[dim], from.extent(mesh, dim, size[dim]),
                       to.extent(mesh, dim, size[dim])})
      pads.insert({dim, extent});
  if (pads.size() == 2) // nothing is padded
    pads.clear();
  bool partial = !from.partial.empty() || !to.partial.empty();
  std::vector<TestStep> steps = allSteps(mesh, partial, pads);
  struct Reached {
    Holdings holdings;
    int spent;
  };
  std::vector<Reached> layer = {{hold(mesh, from, size), 0}};
  std::unordered_map<std::string, int> seen = {{layer[0].holdings.key(), 0}};
  constexpr int mostStates = 20000;
  int looked = 0;
  ended = true;
  for (int step = 0; step < depth && !layer.empty(); ++step) {
    std::vector<Reached> next;
    for (const auto &[holdings, spent] : layer) {
      if (++looked > mostStates) {
        ended = false;
        return known;
      }
      for (const TestStep &one : steps) {
        auto result = run(mesh, holdings, one);
        if (!result)
          continue;
        int total = spent + result->second;
        if (total + stillMissing(mesh, result->first, to, size) >= known)
          continue;
        if (isDone(mesh, result->first, to, size)) {
          known = total;
          continue;
        }
        auto [old, isNew] = seen.try_emplace(result->first.key(), total);
        if (!isNew && old->second <= total)
          continue;
        old->second = total;
        next.push_back({std::move(result->first), total});
      }
    }
    layer = std::move(next);
  }
  return known;
}
